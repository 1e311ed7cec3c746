package core

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"testing"

	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/irtest"
	"mscclc/ir/onesided"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/passes/passestest"
)

// lowered lowers c and checks what comes out.
func lowered(c *ir.ChunkDAG, opt Options) (*onesided.Program, error) {
	p, err := Lower(c, opt)
	if err != nil {
		return nil, err
	}
	if opt.Staged && !p.Staged() {
		return p, errors.New("a rank reaches input or output of another")
	}
	if p.OnePass {
		if err := allAwaited(p); err != nil {
			return p, err
		}
	}
	if err := eval.OneSided(p).Err(); err != nil {
		return p, err
	}
	_, list := verify.Check(either.OfOneSided(p), verify.Options{})
	return p, list.Err()
}

// isHint reports whether err is of a hint that cannot be followed, or of finished rows that are out of reach.
func isHint(err error) bool {
	var list diag.List
	return errors.As(err, &list) && (list[0].Code == diag.Hint || list[0].Code == diag.Unsupported)
}

// allAwaited reports whether each flag of p, of launches of one pass, is awaited signal by signal, as channels count
// them.
func allAwaited(p *onesided.Program) error {
	type flag struct{ rank, index int32 }
	raised, awaited := map[flag]int32{}, map[flag]int32{}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Op == ir.Signal {
			for _, x := range p.Dests(s) {
				raised[flag{x.Rank, x.Index}]++
			}
		}
		if s.Op != ir.Await {
			continue
		}
		for _, x := range p.Sources(s) {
			at := flag{x.Rank, x.Index}
			if awaited[at]++; x.Nth != awaited[at] {
				return fmt.Errorf("%s awaits signal %d of flag %d as number %d", p.StepName(int32(i)), x.Nth, x.Index, awaited[at])
			}
		}
	}
	if !maps.Equal(raised, awaited) {
		return fmt.Errorf("raised %v, awaited %v", raised, awaited)
	}
	return nil
}

func programText(p *onesided.Program) string {
	var b bytes.Buffer
	text.WriteProgram(&b, either.OfOneSided(p))
	return b.String()
}

// TestOneSidedCatalog lowers every program of the catalog and of the examples, in every form, in and out of place, and
// asks for its proof. Forms and numbers of lanes take turns; CI tries all of them.
func TestOneSidedCatalog(t *testing.T) {
	n := 0
	for turn, file := range passestest.Catalog(t) {
		t.Run(file.Name, func(t *testing.T) {
			for _, shape := range []string{"2 1 2", "3 1 3", "4 2 2", "6 3 2", "8 2 4", "16 2 8"} {
				for _, inplace := range []bool{false, true} {
					c := file.Expand(t, shape, inplace)
					if c == nil {
						continue
					}
					for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
						c.Protocol = protocol
						turn++
						for _, opt := range catalogForms(turn) {
							p, err := lowered(c, opt)
							if opt.Staged && isHint(err) {
								continue
							}
							if err != nil {
								t.Fatalf("%s, in place %v, %v, %+v: %v\n%.5000s", shape, inplace, protocol, opt, err, programText(p))
							}
							n++
						}
					}
				}
			}
		})
	}
	t.Logf("%d programs", n)
}

// catalogForms returns a form with one lane, and two of those with several, of which one is staged; for CI all.
func catalogForms(turn int) []Options {
	forms, lanes := []Options{{}, {OnePass: true}, {Staged: true}}, []int{2, 3, 4, 6, 8, 16, MostLanes}
	if !covering.CI() {
		forms = forms[turn%3:][:1]
	}
	for i, n := range lanes {
		if staged := (turn + i) % len(lanes); covering.CI() || staged < 2 {
			forms = append(forms, Options{Lanes: n, Staged: staged%2 == 1})
		}
	}
	return forms
}

// TestOneSidedForgets lowers with room for the newest snapshots only: more may be waited for, and all is proven.
func TestOneSidedForgets(t *testing.T) {
	defer func(most int64) { mostEntries = most }(mostEntries)
	more := 0
	for seed := range irtest.Count(t, covering.Share(500)) {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		c.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
		steps := [2]int{}
		for i, most := range []int64{1 << 26, int64(rnd.Intn(4) * c.Coll.Ranks)} {
			mostEntries = most
			p, err := lowered(c, Options{OnePass: seed%2 == 1})
			if err != nil {
				t.Fatalf("seed %d, %d entries: %v\n%s", seed, most, err, programText(p))
			}
			steps[i] = len(p.Steps) + len(p.Operands)
		}
		if steps[1] > steps[0] {
			more++
		}
	}
	if more == 0 {
		t.Error("nothing was forgotten that anybody asked for")
	}
	t.Logf("%d of them wait for more", more)
}

// TestOneSidedRandom lowers random legal programs, and asks for their proofs.
func TestOneSidedRandom(t *testing.T) {
	for seed := range irtest.Count(t, covering.Share(2000)) {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		c.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
		if p, err := lowered(c, Options{OnePass: seed%2 == 1, Staged: seed%3 == 1}); err != nil {
			var b bytes.Buffer
			text.WriteChunks(&b, c)
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, b.String(), programText(p))
		}
	}
}
