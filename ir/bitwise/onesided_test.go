package bitwise_test

import (
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/onesided"
)

// In which one-sided programs all ranks end with the same bits, by rounding:
// each addition, as of f32, and each Move once, as of bf16.
func TestOneSidedBitwise(t *testing.T) {
	for _, c := range []struct {
		name   string
		p      *either.Program
		sums   int
		differ [bitwise.NumRoundings]int
		shows  string // of Each
	}{
		{"all pairs", irtest.AllPairsPackets(4, 2), 4, [bitwise.NumRoundings]int{}, ""},
		{"all pairs, plain", irtest.AllPairsPlain(3, 2), 3, [bitwise.NumRoundings]int{}, ""},
		{"ring", irtest.RingPackets(4, 2), 4, [bitwise.NumRoundings]int{}, ""},
		{"one phase of two", irtest.OnePhase(2, 2), 1, [bitwise.NumRoundings]int{}, ""},
		{"one phase of three, each from itself on", irtest.OnePhase(3, 2), 1, [bitwise.NumRoundings]int{1, 1}, "in[0][0] + in[1][0] + in[2][0] | in[1][0] + in[2][0] + in[0][0]"},
		{"one switch a chunk", irtest.ThroughSwitch(3), 3, [bitwise.NumRoundings]int{}, ""},
		{"each rank asks the switch", irtest.SwitchToEach(3), 1, [bitwise.NumRoundings]int{1, 1}, "switch(in[0][0] + in[1][0] + in[2][0]) | switch(in[0][0] + in[1][0] + in[2][0])"},
	} {
		o := orderOf(t, c.p)
		shows := ""
		if w := o.Counterexample[bitwise.Each]; w != nil {
			shows = strings.Join(w.Expr[:], " | ")
		}
		if o.Sums != c.sums || o.Differ != c.differ || shows != c.shows {
			t.Errorf("%s: %d sums of which %v differ, %s", c.name, o.Sums, o.Differ, shows)
		}
	}
}

// A Move rounds bf16 once, however many sources it has, and two Moves round
// twice: what is the same for f32 is then not.
func TestOneSidedRounding(t *testing.T) {
	chunkOf, chunks := irtest.ChunkOf, irtest.Operands
	b := irtest.NewOneSided(ir.Collective{Kind: ir.AllReduce, Ranks: 3, Chunks: 1}, ir.LL, 2, 1, 3, 0)
	for r := range 3 {
		b.Block(r)
		b.Move(1, chunks(chunkOf(r, ir.Input, 0)), chunks(chunkOf(0, ir.Packets, r), chunkOf(1, ir.Packets, r),
			chunkOf(2, ir.Packets, r)))
		in := func(q int) onesided.Operand { return chunkOf(r, ir.Packets, q) }
		if r == 0 {
			b.Move(1, chunks(in(0), in(1)), chunks(chunkOf(r, ir.Scratch, 0)))
			b.Move(1, chunks(chunkOf(r, ir.Scratch, 0), in(2)), chunks(chunkOf(r, ir.Output, 0)))
		} else {
			b.Move(1, chunks(in(0), in(1), in(2)), chunks(chunkOf(r, ir.Output, 0)))
		}
	}
	o := orderOf(t, b.Done())
	if o.Differ != [bitwise.NumRoundings]int{bitwise.Chain: 1} {
		t.Fatalf("%v", o.Differ)
	}
	if w := o.Counterexample[bitwise.Chain].Expr; w != [2]string{"(in[0][0] + in[1][0]) + in[2][0]",
		"in[0][0] + in[1][0] + in[2][0]"} {
		t.Errorf("%q", w)
	}
}
