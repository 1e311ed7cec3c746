package core

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
)

// A fault is what a broken copy of a pass does wrong, and what must catch it.
type fault struct {
	pass, what string
	spoil      func(s *State, rnd *rand.Rand) // what the pass has made

	by   string    // the property that does not hold after the pass, or after one after it
	code diag.Code // what the proof of the finished program says; "" where other passes make up for the fault
}

// faults lists three broken copies of each pass and more.
var faults = slices.Concat(brokenRuns, brokenMerge, brokenMoves, brokenDrop, brokenFuse, brokenDepend, brokenAssign,
	brokenOrder, brokenGroup, brokenPlace, brokenJoin, brokenSync, brokenLeave, brokenCredit)

// A tally counts what became of the inputs of one fault.
type tally struct {
	tried, caught int
	by            map[string]int // properties that were missing, and how often
	rejected      map[diag.Code]int
	stopped       int // a later pass gave up, or emit must not be tried
	right         int // another program came out, and is proven
}

// TestBrokenPasses holds that what goes wrong in a pass is found. Each fault is tried on programs of the catalog and
// on random ones. The property that should catch it must, on one of them at least; so must the proof of the finished
// program, which knows nothing of passes.
func TestBrokenPasses(t *testing.T) {
	per := map[string]int{}
	var table strings.Builder
	for i := range faults {
		f := &faults[i]
		per[f.pass]++
		t.Run(strings.ReplaceAll(f.pass+" "+f.what, " ", "-"), func(t *testing.T) {
			y := f.try(t, irtest.Count(t, 60))
			fmt.Fprintf(&table, "\n%-6s | %-64s | %5d | %6d | %s | %s, no program %d, right %d",
				f.pass, f.what, y.tried, y.caught, counts(y.by), counts(y.rejected), y.stopped, y.right)
		})
	}
	for _, p := range Table {
		if per[p.Name] < 3 {
			t.Errorf("%s has %d broken copies", p.Name, per[p.Name])
		}
	}
	head := fmt.Sprintf("%-6s | %-64s | %5s | %6s | by | the finished program", "pass", "fault", "tried", "caught")
	t.Logf("\n%s%s", head, table.String())
}

// counts writes how often there was what.
func counts[K ~string](m map[K]int) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(words, ", ")
}

// try tries f on programs of the catalog and on n random ones.
func (f *fault) try(t *testing.T, n int) *tally {
	y := &tally{by: map[string]int{}, rejected: map[diag.Code]int{}}
	for _, name := range []string{"allreduce/allpairs", "allreduce/ring", "allgather/allpairs", "alltoall/one_step"} {
		for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
			for k := range 4 {
				opt := Options{Staged: k&1 > 0, Lanes: 1 + k&2}
				f.tryOne(y, known(t, name, 4, protocol), opt, rand.New(rand.NewSource(1)))
			}
		}
	}
	for seed := range n {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{Ops: 30})
		c.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
		f.tryOne(y, c, Options{OnePass: seed%4 == 3, Staged: seed%3 == 1, Lanes: 1 + seed%2*3}, rnd)
	}
	if y.by[f.by] == 0 {
		t.Errorf("%s was never missing in %d inputs: %v", f.by, y.tried, y.by)
	}
	if f.code != "" && y.rejected[f.code] == 0 {
		t.Errorf("the finished program was never found %q in %d inputs: %v", f.code, y.tried, y.rejected)
	}
	return y
}

func (f *fault) tryOne(y *tally, c *ir.ChunkDAG, opt Options, rnd *rand.Rand) {
	good, err := Lower(c, opt)
	if err != nil {
		return
	}
	y.tried++
	bad, lacks, err := f.lower(c, opt, rnd)
	if len(lacks) > 0 {
		y.caught++
	}
	for name := range lacks {
		y.by[name]++
	}
	if err != nil {
		y.stopped++
		return
	}
	if programText(bad) == programText(good) {
		return
	}
	_, found := verify.Check(either.OfOneSided(bad), verify.Options{})
	if len(found) == 0 {
		y.right++
	}
	codes := map[diag.Code]bool{}
	for _, d := range found {
		codes[d.Code] = true
	}
	for code := range codes {
		y.rejected[code]++
	}
}

// lower is Lower with f in its pass's place. It says which properties were missing from there on.
func (f *fault) lower(c *ir.ChunkDAG, opt Options, rnd *rand.Rand) (
	p *onesided.Program, lacks map[string]bool, err error) {
	defer func() {
		if r := recover(); r != nil { // later passes may trust what the broken one gave
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	table := slices.Clone(Table)
	at := find(table, f.pass)
	right := table[at].Run
	table[at].Run = func(s *State) (int, error) {
		n, err := right(s)
		f.spoil(s, rnd)
		return n, err
	}
	lacks = map[string]bool{}
	opt.after = func(pass *Pass, s *State, have Property) error {
		if find(table, pass.Name) < at {
			return nil
		}
		for _, name := range lacking(s, have) {
			lacks[name] = true
		}
		if lacks["form"] || lacks["placed"] {
			return errors.New("emit trusts its tables")
		}
		return nil
	}
	s, err := run(c, opt, table)
	if err != nil {
		return nil, lacks, err
	}
	p, err = s.emit()
	return p, lacks, err
}
