package passes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore"
	"mscclc/lang"
)

// A fault is a broken copy of a pass, and what must catch it.
type fault struct {
	pass string // "lower" is Lower, which comes before the table
	what string
	name string // where it is one of MSCCLang's: the name that TestFaultsOfMSCCLang knows it by
	run  func(s *state) (int, error)

	by   string    // the property that does not hold after the pass; "form" is ir's own idea of a DAG
	code diag.Code // what the proof of the finished program says, where the property's check is left out

	source string         // a program made by hand, tried before the random ones
	tune   func(*Options) // what the fault needs to show
}

// faults lists three broken copies of each pass and more.
var faults = slices.Concat(brokenLower, brokenMatch, brokenDrop, brokenAggregate, brokenFuse, brokenPlace, brokenOrder, brokenSync, brokenPack, brokenFit)

// A tally counts what became of the inputs of one fault.
type tally struct {
	tried    int            // inputs
	caught   int            // of which a property did not hold after the pass
	by       map[string]int // which ones, and how often
	other    int            // of which another program came out, or none
	stopped  int            // a later pass or Assemble gave up
	rejected map[diag.Code]int
	right    int // proven all the same: on the CPU, 0 wrong
	explored int // of which no schedule at all shows a fault; the others are too large to tell
}

// TestBrokenPasses holds that what goes wrong in a pass is found. Each fault is
// put in its pass's place and tried on random programs. The property that should
// catch it must, on one of them at least; so must the proof of the finished
// program when all property checks are left out. What is proven nevertheless
// must run with 0 wrong. On the same inputs nothing is found of the pass itself.
func TestBrokenPasses(t *testing.T) {
	per := map[string]int{}
	var table strings.Builder
	for i := range faults {
		f := &faults[i]
		per[f.pass]++
		t.Run(strings.ReplaceAll(f.pass+" "+f.what, " ", "-"), func(t *testing.T) {
			sum := f.try(t, max(*programs/30, 20))
			fmt.Fprintf(&table, "\n%-9s | %-68s | %5d | %6d | %-22s | %9d | %s", f.pass, f.what, sum.tried, sum.caught, counts(sum.by), sum.other, sum.end())
		})
	}
	theirs, err := os.ReadFile("../faults_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if f.name != "" && !strings.Contains(string(theirs), fmt.Sprintf("{name: %q", f.name)) {
			t.Errorf("faults_test.go knows no %s", f.name)
		}
	}
	for _, p := range Table {
		if per[p.Name] < 3 {
			t.Errorf("%s has %d broken copies", p.Name, per[p.Name])
		}
	}
	t.Logf("\n%-9s | %-68s | %5s | %6s | %-22s | %9s | %s%s", "pass", "fault", "tried", "caught", "what was missing", "other end", "the finished program, proven without looking before", table.String())
}

// counts writes how often there was what.
func counts[K ~string](m map[K]int) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(words, ", ")
}

func (y *tally) end() string {
	text := counts(y.rejected)
	for _, x := range []struct {
		n    int
		what string
	}{{y.stopped, "no program"}, {y.right, "right"}, {y.explored, "in all schedules"}} {
		if x.n > 0 {
			text += fmt.Sprintf(", %s %d", x.what, x.n)
		}
	}
	return strings.TrimPrefix(text, ", ")
}

// try tries f on its own input and on n random ones.
func (f *fault) try(t *testing.T, n int) tally {
	y := tally{by: map[string]int{}, rejected: map[diag.Code]int{}}
	if f.source != "" {
		c, err := expandText(f.source)
		if err != nil {
			t.Fatal(err)
		}
		f.tryOne(t, &y, c, f.options(rand.New(rand.NewSource(1))))
		if f.by != "" && y.by[f.by] == 0 {
			t.Errorf("its own input does not show it: %v, %v", y.by, y.rejected)
		}
	}
	for seed := range int64(n) {
		rnd := rand.New(rand.NewSource(seed))
		c := irtest.Random(rnd, irtest.Config{Ops: 30})
		f.tryOne(t, &y, c, f.options(rnd))
	}
	if y.by[f.by] == 0 {
		t.Errorf("%s was never missing in %d inputs: %v", f.by, y.tried, y.by)
	}
	if f.code != "" && y.rejected[f.code] == 0 {
		t.Errorf("the finished program was never found %s in %d inputs: %v", f.code, y.tried, y.rejected)
	}
	return y
}

// expandText is the chunk DAG of a .mscl text.
func expandText(text string) (*ir.ChunkDAG, error) {
	f, err := lang.Parse("broken.mscl", []byte(text))
	if err != nil {
		return nil, err
	}
	return lang.Expand(f, lang.Options{})
}

func (f *fault) options(rnd *rand.Rand) Options {
	opt := Options{Slots: 1 + rnd.Intn(2), Seed: rnd.Int63()}
	if f.tune != nil {
		f.tune(&opt)
	}
	return opt
}

func (f *fault) tryOne(t *testing.T, y *tally, c *ir.ChunkDAG, opt Options) {
	y.tried++
	good := takeThrough(c, opt, f.pass, nil)
	if len(good.lacks) > 0 || len(good.found) > 0 || good.stopped != nil && !isLimit(good.stopped) {
		t.Fatalf("input %d: the pass itself: %v, %v, %v", y.tried, good.lacks, good.found, good.stopped)
	}
	bad := takeThrough(c, opt, f.pass, f.run)
	for _, p := range bad.lacks {
		y.by[p]++
	}
	if len(bad.lacks) > 0 {
		y.caught++
	}
	if bad.stopped == nil && good.stopped == nil && bad.text == good.text {
		return
	}
	y.other++
	codes := map[diag.Code]bool{}
	for _, d := range bad.found {
		codes[d.Code] = true
	}
	for code := range codes {
		y.rejected[code]++
	}
	switch {
	case bad.stopped != nil:
		y.stopped++
	case len(codes) == 0:
		y.right++
		if err := runs(bad.program, opt.Slots); err != nil {
			t.Errorf("input %d: %s: a program was proven that runs wrong: %v", y.tried, f.what, err)
		}
		v, err := explore.Reduced(bad.program, explore.Options{Slots: opt.Slots, MessageChunks: 1, Moves: 1 << 14})
		if large := (*explore.TooLarge)(nil); errors.As(err, &large) {
			return
		}
		if err != nil || !v.Good() {
			t.Errorf("input %d: %s: a program was proven that some schedule shows wrong: %v, %v", y.tried, f.what, v, err)
		}
		y.explored++
	}
}

// A trial is what became of one program.
type trial struct {
	lacks   []string // properties that do not hold after the pass
	stopped error    // why there is no program
	program *ir.Program
	text    string
	found   diag.List // by the proof of the program, and by its target's limits
}

// takeThrough compiles c with run instead of the named pass, or where run is
// nil with all passes as they are. What is found after the pass stops nothing.
func takeThrough(c *ir.ChunkDAG, opt Options, name string, run func(*state) (int, error)) (t trial) {
	defer func() {
		if r := recover(); r != nil && run != nil {
			t.stopped = fmt.Errorf("panic: %v", r) // later passes may trust what the broken one gave
		} else if r != nil {
			panic(r)
		}
	}()
	d, err := Lower(c, opt)
	if err != nil {
		return trial{stopped: err}
	}
	s := newState(d, opt)
	if name == "lower" {
		if run != nil {
			if _, t.stopped = run(s); t.stopped != nil {
				return t
			}
		}
		name, run = Table[0].Name, Table[0].Run // before which transfers have one end
	}
	have, rnd := ir.Meaning, rand.New(rand.NewSource(opt.Seed))
	for i := range Table {
		p := &Table[i]
		if opt.Level0 && !p.Required {
			continue
		}
		this := p.Run
		if p.Name == name && run != nil {
			this = run
		}
		if have&ir.Ordered == 0 {
			s.Shuffle(rnd)
		}
		if _, t.stopped = this(s); t.stopped != nil {
			return t
		}
		have |= p.Gives
		if p.Name == name {
			t.lacks = lacking(s, have)
		}
	}
	t.finish(s)
	return t
}

// finish assembles the program and asks for its proof.
func (t *trial) finish(s *state) {
	if t.program, t.stopped = codegen.Assemble(s.InstDAG); t.stopped != nil {
		return
	}
	var b strings.Builder
	if t.stopped = ir.WriteProgram(&b, t.program); t.stopped != nil {
		return
	}
	t.text = b.String()
	_, t.found = verify.Check(t.program, verify.Options{Slots: s.slots, MessageChunks: int(s.group)})
	if l := s.opt.Limits; l.Target != "" {
		t.found = slices.Concat(t.found, codegen.Fits(t.program, &codegen.Target{Name: l.Target, Format: codegen.FormatPlan, Limits: l}))
	}
}

// lacking names the properties among have that s does not have.
func lacking(s *state, have ir.Property) (names []string) {
	err := ir.Check(s.InstDAG, have, ir.CheckOptions{Slots: s.slots, MessageCount: int(s.group), Limits: s.opt.Limits})
	var list diag.List
	if err != nil && !errors.As(err, &list) {
		return []string{err.Error()}
	}
	for _, d := range list {
		name := "form"
		if not, ok := strings.CutPrefix(d.Text, "not "); ok {
			name, _, _ = strings.Cut(not, ":")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// runs runs p on the CPU and compares every element.
func runs(p *ir.Program, slots int) error {
	l, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true}) // has been proven for these slots
	if err != nil {
		return err
	}
	defer l.Close()
	data := executor.NewData(executor.NewGeometry(p.Coll, int64(24*max(p.Coll.Chunks, 1)), 4), executor.I32, executor.Sum, 1)
	args := data.Args()
	args.Threads, args.TileBytes, args.Slots, args.Wait = 1, 64, slots, time.Minute
	if _, err := l.Run(context.Background(), args); err != nil {
		return err
	}
	found := data.Check()
	return found.Err()
}
