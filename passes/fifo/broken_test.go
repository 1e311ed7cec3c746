package fifo

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/irtest"
	"mscclc/ir/verify/explore"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// A fault is a broken copy of a pass, and what must catch it.
type fault struct {
	pass string // "lower" is Lower, which comes before the table
	what string
	name string // where it is one of MSCCLang's: the name that TestFaultsOfMSCCLang knows it by
	run  func(s *state) (int, error)

	by string // the property that does not hold after the pass; "form" is ir's own idea of a DAG
	// what the proof of the finished program says, where the property's check is left out; "": there is no program
	code diag.Code

	source string         // a program made by hand, tried before the random ones
	tune   func(*Options) // what the fault needs to show
}

// faults lists three broken copies of each pass and more.
var faults = slices.Concat(brokenLower, brokenMatch, brokenDrop, brokenAggregate, brokenFuse, brokenPlace, brokenOrder,
	brokenSync, brokenPack, brokenFit)

// A tally counts what became of the inputs of one fault.
type tally struct {
	tried    int            // inputs
	caught   int            // of which a property did not hold after the pass
	by       map[string]int // which ones, and how often
	other    int            // of which another program came out, or none
	stopped  int            // a later pass or Assemble gave up
	rejected map[diag.Code]int
	right    int // proven all the same: on the CPU, 0 wrong
	explored int // run in every schedule, which agree with the proof; others are too large for that
}

// TestBrokenPasses holds that what goes wrong in a pass is found. Each fault is
// put in its pass's place and tried on random programs. The property that should
// catch it must, on one of them at least; so must the proof of the finished
// program when all property checks are left out. What is proven nevertheless
// must run with 0 wrong, and programs small enough for that are run in every
// schedule, which must show what the proof says. On the same inputs nothing is
// found of the pass itself.
func TestBrokenPasses(t *testing.T) {
	per := map[string]int{}
	var table strings.Builder
	for i := range faults {
		f := &faults[i]
		per[f.pass]++
		t.Run(strings.ReplaceAll(f.pass+" "+f.what, " ", "-"), func(t *testing.T) {
			sum := f.try(t, max(*programs/30, 20))
			fmt.Fprintf(&table, "\n%-9s | %-68s | %5d | %6d | %-22s | %9d | %s", f.pass, f.what, sum.tried, sum.caught,
				counts(sum.by), sum.other, sum.end())
		})
	}
	theirs, err := os.ReadFile("../../faults_test.go")
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
	t.Logf("\n%-9s | %-68s | %5s | %6s | %-22s | %9s | %s%s", "pass", "fault", "tried", "caught", "what was missing",
		"other end", "the finished program, proven without looking before", table.String())
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
	}{{y.stopped, "no program"}, {y.right, "right"}, {y.explored, "run in every schedule"}} {
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
	if f.code != "" && y.rejected[f.code] == 0 || f.code == "" && y.stopped == 0 {
		t.Errorf("the finished program was never found %q in %d inputs: %v", f.code, y.tried, y.rejected)
	}
	return y
}

// expandText returns the chunk DAG of a .mscl text.
func expandText(text string) (*ir.ChunkDAG, error) {
	f, err := syntax.Parse("broken.mscl", []byte(text))
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
	if bad.stopped != nil {
		y.stopped++
		return
	}
	f.execute(t, y, &bad, codes, opt.Slots)
}

// execute runs what came of f, if it was proven, on the CPU, and if it is small
// enough in every schedule.
func (f *fault) execute(t *testing.T, y *tally, bad *trial, codes map[diag.Code]bool, slots int) {
	if len(codes) == 0 {
		y.right++
		if err := runs(bad.program, slots); err != nil {
			t.Errorf("input %d: %s: a program was proven that runs wrong: %v", y.tried, f.what, err)
		}
	}
	for code := range codes {
		if !slices.Contains([]diag.Code{diag.Race, diag.Deadlock, diag.Uninitialized, diag.WrongResult}, code) {
			return // no schedule shows it
		}
	}
	v, err := explore.Reduced(bad.program, explore.Options{Slots: slots, MessageChunks: 1, Moves: 1 << 14})
	if large := (*explore.TooLarge)(nil); errors.As(err, &large) {
		return
	}
	if err != nil || v.Good() != (len(codes) == 0) {
		t.Errorf("input %d: %s: the proof finds %v, and all schedules %v, %v", y.tried, f.what, bad.found, v, err)
	}
	y.explored++
}
