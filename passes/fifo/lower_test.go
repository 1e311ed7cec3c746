package fifo

import (
	"bytes"
	"math/rand"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/property"
	"mscclc/ir/text"
	"mscclc/passes/passestest"
)

// TestLower lowers the chunk DAGs of testdata/lower.txtar, whose sections are
// those of TestPasses, and evaluates what comes out.
func TestLower(t *testing.T) {
	passestest.Cases(t, "testdata/lower.txtar", func(t *testing.T, in string, list []passestest.Option) string {
		o := caseOptions(t, list)
		c, err := parse.Chunks("in", []byte("chunks lower\n"+in))
		if err != nil {
			t.Fatalf("%s", described(err))
		}
		d, err := Lower(c, o)
		if err != nil {
			return described(err)
		}
		text := bodyOf(t, d)
		if _, err := match(newState(d, o)); err != nil {
			t.Fatal(err)
		}
		if err := property.Check(d, property.Meaning|property.Matched|property.Acyclic, property.Options{}); err != nil {
			t.Errorf("%s", described(err))
		}
		return text
	})
}

// TestLowerKeepsItsInput holds that Lower changes nothing of a chunk DAG, which
// is compiled for several targets.
func TestLowerKeepsItsInput(t *testing.T) {
	for seed := range int64(200) {
		rnd := rand.New(rand.NewSource(seed))
		c := irtest.Random(rnd, irtest.Config{})
		write := func() string {
			var b bytes.Buffer
			if err := text.WriteChunks(&b, c); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		before := write()
		opt := randomOptions(rnd)
		if d, err := Lower(c, opt); err == nil {
			_ = Run(d, opt) // may be refused for a limit
		}
		if write() != before {
			t.Fatalf("seed %d: compiling changed the chunk DAG", seed)
		}
	}
}

// TestDeterminism compiles random programs, some with hints, in different orders
// of the slice of instructions before every pass: the same steps come out.
func TestDeterminism(t *testing.T) {
	compiled := 0
	for seed := range int64(max(*programs/10, 100)) {
		rnd := rand.New(rand.NewSource(seed))
		c := irtest.Random(rnd, irtest.Config{Ops: 40})
		if seed%3 == 0 {
			hintAtRandom(rnd, c)
		}
		opt := randomOptions(rnd)
		first := ""
		for shuffle := range int64(3) {
			d, err := Lower(c, opt)
			if err != nil {
				t.Fatal(err)
			}
			opt.Check, opt.Seed = nil, shuffle
			if shuffle > 0 {
				opt.Check = func(string, *ir.InstDAG, property.Property) error { return nil }
			}
			text := ""
			if err := Run(d, opt); err != nil {
				text = described(err)
			} else {
				text = bodyOf(t, d)
				compiled++
			}
			if shuffle > 0 && text != first {
				t.Fatalf("seed %d: another order of the slice gives\n%s\nand not\n%s", seed, text, first)
			}
			first = text
		}
	}
	if compiled < *programs/10 {
		t.Errorf("only %d were compiled", compiled)
	}
}
