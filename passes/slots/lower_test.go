package slots

import (
	"errors"
	"io"
	"math/rand"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/text"
	"mscclc/ir/verify"
)

// chained returns a program in which rank 0 sums what two others sent, and then copies the sum.
func chained() *either.Program {
	p, err := parse.Program("chained", []byte(`program chained
collective custom ranks=3 chunks=1 in=1 out=2
require 0 output[0] = 0 input[0] + 1 input[0] + 2 input[0]
require 0 output[1] = 0 input[0] + 1 input[0] + 2 input[0]
scratch 2,0,0
block 0.0 recv 1 ch 0
  0 r scratch[0] hasdep
block 0.1 recv 2 ch 0
  0 r scratch[1] hasdep
block 0.2 ch 0
  0 nop dep 0.0
  1 cpy input[0] => output[0] dep 1.0
  2 re scratch[0] => output[0]
  3 re scratch[1] => output[0]
  4 cpy output[0] => output[1]
block 1.0 send 0 ch 0
  0 s input[0]
block 2.0 send 0 ch 0
  0 s input[0]
`))
	if err != nil {
		panic(err)
	}
	return p
}

// TestShape holds that reductions that follow each other are one Move, that waits of a nop are waits of the step after
// it, and that scratch is written again only when its reader has signalled.
func TestShape(t *testing.T) {
	g, err := Lower(chained().Fifo, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, found := verify.Check(either.OfOneSided(g), verify.Options{}); len(found) > 0 {
		t.Fatal(found)
	}
	var moves, waits []int
	b := &g.Blocks[2]
	for _, s := range g.StepsOf(b) {
		switch s.Op {
		case ir.Move:
			moves = append(moves, int(s.NSrc))
		case ir.Await:
			waits = append(waits, int(s.NSrc))
		}
	}
	if len(moves) != 3 || moves[1] != 3 || len(waits) != 1 || waits[0] != 2 {
		t.Errorf("moves have %v sources, and waits %v", moves, waits)
	}
	late := 0 // waits for earlier tile iterations of blocks 0 and 1, which write scratch
	for k := range 2 {
		for _, s := range g.StepsOf(&g.Blocks[k]) {
			for _, x := range g.Sources(&s) {
				if s.Op == ir.Await && x.Nth <= 0 {
					late++
				}
			}
		}
	}
	if late != 2 || !g.Staged() || g.OnePass {
		t.Errorf("%d waits for earlier tile iterations", late)
	}
	if got := g.StepName(b.Steps.First); got != "rank 0 block 2 step 1 (cpy)" {
		t.Errorf("the first step is called %q", got)
	}
}

// TestRefused holds what Lower does not take, and what it says.
func TestRefused(t *testing.T) {
	packets := chained()
	packets.Protocol = ir.LL
	lost := chained()
	lost.Steps[len(lost.Steps)-1].Count = 0
	unmatched := irtest.RingProgram(3)
	unmatched.Protocol = ir.Simple
	for i := range unmatched.Steps {
		if unmatched.Steps[i].Op == ir.Send {
			unmatched.Steps[i].Op = ir.Copy
			unmatched.Steps[i].DstBuf, unmatched.Steps[i].Dst = unmatched.Steps[i].SrcBuf, unmatched.Steps[i].Src
			break
		}
	}
	for _, c := range []struct {
		p    *either.Program
		code diag.Code
		text string
	}{
		{packets, diag.Unsupported, "packets of protocol LL, which stay with the engine of two-sided programs"},
		{lost, diag.Malformed, "moves 0 chunks"},
		{unmatched, diag.Unmatched, ""},
	} {
		_, err := Lower(c.p.Fifo, Options{})
		var list diag.List
		if !errors.As(err, &list) || list[0].Code != c.code || !strings.Contains(list[0].Text, c.text) {
			t.Errorf("%v is not %v: %s", err, c.code, c.text)
		}
	}
}

// TestKeeps holds that Lower leaves the program as it is, and makes the same of it each time.
func TestKeeps(t *testing.T) {
	for seed := range 20 {
		p := randomProgram(t, rand.New(rand.NewSource(int64(seed))))
		if p == nil {
			continue
		}
		before := programText(t, p)
		a, err := Lower(p.Fifo, Options{})
		b, again := Lower(p.Fifo, Options{})
		if err != nil || again != nil {
			t.Fatal(err, again)
		}
		if programText(t, p) != before || programText(t, either.OfOneSided(a)) != programText(t, either.OfOneSided(b)) {
			t.Fatalf("seed %d: the program changed, or two are made of it", seed)
		}
	}
}

func programText(t *testing.T, p *either.Program) string {
	return irtest.Written(t, func(w io.Writer) error { return text.WriteProgram(w, p) })
}
