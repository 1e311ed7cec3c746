package bitwise_test

import (
	"fmt"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// threeRanks is an allreduce of three ranks, each of which gets all inputs in
// scratch and adds them up by itself; %s is how rank 0 does.
const threeRanks = `program three
collective allreduce ranks=3 chunks=1 inplace
scratch 3
channels 2
block 0.0 send 1 recv 1 ch 0
  0 s input[0] hasdep
  1 r scratch[1] hasdep
block 0.1 send 2 recv 2 ch 0
  0 s input[0] hasdep
  1 r scratch[2] hasdep
block 0.2 ch 0
%s
block 1.0 send 0 recv 0 ch 0
  0 s input[0] hasdep
  1 r scratch[0] hasdep
block 1.1 send 2 recv 2 ch 1
  0 s input[0] hasdep
  1 r scratch[2] hasdep
block 1.2 ch 0
  0 nop dep 0.1
  1 nop dep 1.1
  2 re scratch[0] => input[0] dep 0.0
  3 re scratch[2] => input[0]
block 2.0 send 0 recv 0 ch 0
  0 s input[0] hasdep
  1 r scratch[0] hasdep
block 2.1 send 1 recv 1 ch 1
  0 s input[0] hasdep
  1 r scratch[1] hasdep
block 2.2 ch 0
  0 nop dep 0.1
  1 nop dep 1.1
  2 re scratch[0] => input[0] dep 0.0
  3 re scratch[1] => input[0]
`

// The order of sums is shown, for types that round each addition and for those
// that round a chain once.
func TestBitwise(t *testing.T) {
	waits := "  0 nop dep 0.1\n  1 nop dep 1.1\n"
	for _, x := range []struct {
		name, steps string
		differ      [bitwise.NumRoundings]int
		expr        [2]string // of Chain
	}{
		{"chain, 0+1+2; rank 1 the same, rank 2 2+0+1",
			waits + "  2 re scratch[1] => input[0] dep 0.0\n  3 re scratch[2] => input[0]\n", [2]int{1, 1},
			[2]string{"in[0][0] + in[1][0] + in[2][0]", "in[0][0] + in[2][0] + in[1][0]"}},
		{"two steps, 0+1+2", waits + "  2 re scratch[1] => input[0] dep 0.0 hasdep\n  3 re scratch[2] => input[0]\n",
			[2]int{1, 1}, [2]string{"(in[0][0] + in[1][0]) + in[2][0]", "in[0][0] + in[1][0] + in[2][0]"}},
	} {
		p := irtest.Program(t, strings.Replace(threeRanks, "%s\n", x.steps, 1))
		o := orderOf(t, p)
		if o.Sums != 1 || o.Differ != x.differ || o.Same() {
			t.Errorf("%s: %+v", x.name, o)
		} else if d := o.Counterexample[bitwise.Chain]; d.Expr != x.expr || d.Part {
			t.Errorf("%s: %+v", x.name, d)
		}
	}
	if o := orderOf(t, irtest.Program(t, irtest.TwoRanksProgram)); !o.Same() || o.Sums != 1 {
		t.Errorf("%+v", o)
	}
}

// orderOf is bitwise.OrderOf of a program that must be proven.
func orderOf(t *testing.T, p *either.Program) bitwise.Order {
	t.Helper()
	if _, list := verify.Check(p, verify.Options{}); len(list) > 0 {
		t.Fatalf("%s: %s", p.Name, irtest.Text(list))
	}
	return bitwise.OrderOf(p)
}

// That a step rounds between two additions is seen where ranks differ in it
// alone: rank 0 makes one chain of its sum, rank 1 two.
func TestBitwiseSeesRounding(t *testing.T) {
	steps := "  0 nop dep 0.1\n  1 nop dep 1.1\n  2 re scratch[%d] => input[0] dep 0.0%s\n  3 re scratch[%d] => input[0]\n"
	ownFirst := func(first, second int, flag string) string { return fmt.Sprintf(steps, first, flag, second) }
	text := strings.Replace(threeRanks, "%s\n", ownFirst(1, 2, ""), 1)
	text = strings.Replace(text, "  2 re scratch[0] => input[0] dep 0.0\n  3 re scratch[2] => input[0]\n",
		"  2 re scratch[0] => input[0] dep 0.0 hasdep\n  3 re scratch[2] => input[0]\n", 1)
	// Rank 2 sums 0+1 in scratch, and then its own.
	text = strings.Replace(text, "  2 re scratch[0] => input[0] dep 0.0\n  3 re scratch[1] => input[0]\n",
		"  2 re scratch[1] => scratch[0] dep 0.0 hasdep\n  3 re scratch[0] => input[0]\n", 1)
	o := orderOf(t, irtest.Program(t, text))
	if o.Differ != [bitwise.NumRoundings]int{bitwise.Chain: 1} || o.Counterexample[bitwise.Each] != nil {
		t.Fatalf("%+v", o)
	}
	d := o.Counterexample[bitwise.Chain]
	if d.Expr != [2]string{"in[0][0] + in[1][0] + in[2][0]", "(in[0][0] + in[1][0]) + in[2][0]"} ||
		d.Chunk[1] != (ir.Part{Rank: 1}) {
		t.Errorf("%+v", d)
	}
}

// A ring's sums are made once and passed on; a collective without sums has none
// to compare; and one whose outputs nobody states compares what they hold.
func TestBitwiseOfOtherCollectives(t *testing.T) {
	p := irtest.RingProgram(24)
	if o := orderOf(t, p); !o.Same() || o.Sums != 24 {
		t.Errorf("%+v", o)
	}
	p.Coll = &ir.Collective{Kind: ir.Opaque, Ranks: 24, Chunks: 24, In: 24, Out: 24, Inplace: true}
	if o := orderOf(t, p); !o.Same() || o.Sums != 24 {
		t.Errorf("of its own kind: %+v", o)
	}
	text := strings.Replace(threeRanks, "%s\n",
		"  0 nop dep 0.1\n  1 nop dep 1.1\n  2 re scratch[1] => input[0] dep 0.0\n  3 re scratch[2] => input[0]\n", 1)
	for _, kind := range []ir.Kind{ir.Opaque, ir.Custom} {
		p := irtest.Program(t, text)
		p.Coll = &ir.Collective{Kind: kind, Ranks: 3, Chunks: 1, In: 1, Out: 1, Inplace: true}
		if kind == ir.Custom {
			all := []ir.Part{{Rank: 0}, {Rank: 1}, {Rank: 2}}
			p.Coll.Require = map[ir.Part][]ir.Part{{Rank: 0}: all, {Rank: 1}: all}
		}
		o := orderOf(t, p)
		same := kind == ir.Custom // ranks 0 and 1 agree, and nothing is asked of rank 2
		if o.Same() != same || o.Sums != 1 {
			t.Errorf("%v: %+v", kind, o)
		}
	}
	if o := bitwise.OrderOf(irtest.Program(t,
		"program p\ncollective allgather ranks=1 chunks=1\nblock 0.0 ch 0\n  0 cpy input[0] => output[0]\n")); o.Sums != 0 ||
		!o.Same() {
		t.Errorf("%+v", o)
	}
}
