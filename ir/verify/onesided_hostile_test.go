package verify_test

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
)

var chunkOf, chunks, flagOf = irtest.ChunkOf, irtest.Operands, irtest.FlagOf

// copyOf returns a copy of p whose tables can be changed.
func copyOf(p *either.Program) *either.Program {
	q, c := p.Copy(), *p.Coll
	o := q.OneSided
	o.Operands, o.Packets, o.Flags = slices.Clone(o.Operands), slices.Clone(o.Packets), slices.Clone(o.Flags)
	q.Coll = &c
	q.Rank, q.Blocks, q.Steps, q.Scratch = slices.Clone(q.Rank), slices.Clone(q.Blocks), slices.Clone(q.Steps),
		slices.Clone(q.Scratch)
	return q
}

// numbers returns all numbers of p's tables.
func numbers(p *either.Program) (small []func(int), all []*int32) {
	o := p.OneSided
	all = append(all, &o.Depth)
	for _, table := range [][]int32{o.Packets, o.Flags, p.Scratch} {
		for i := range table {
			all = append(all, &table[i])
		}
	}
	for i := range p.Rank {
		all = append(all, &p.Rank[i].First, &p.Rank[i].End)
	}
	for i := range p.Blocks {
		b := &p.Blocks[i]
		all = append(all, &b.Rank, &b.SendPeer, &b.RecvPeer, &b.Channel, &b.Steps.First, &b.Steps.End)
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		all = append(all, &s.Src, &s.Dst, &s.Count, &s.Class, &s.DepBlock, &s.DepStep, &s.Pos)
		small = append(small, func(n int) { s.Op = ir.Op(n) }, func(n int) { s.Flags = ir.StepFlags(n) },
			func(n int) { s.SrcBuf = ir.Buf(n) }, func(n int) { s.NSrc = int16(n) }, func(n int) { s.NDst = int16(n) })
	}
	for i := range o.Operands {
		x := &o.Operands[i]
		all = append(all, &x.Rank, &x.Index, &x.Nth)
		small = append(small, func(n int) { x.Buf = ir.Buf(n) }, func(n int) { x.Via = ir.Via(n) })
	}
	small = append(small, func(n int) { p.Protocol = ir.Protocol(n) }, func(n int) { p.Coll.Ranks = n },
		func(n int) { p.Coll.Chunks = n })
	return small, all
}

// Numbers that are no longer what they were are reported, or change nothing, and
// never crash: each number in turn, and several at once.
func TestOneSidedNumbers(t *testing.T) {
	values := []int{math.MinInt32, math.MinInt32 + 1, -2, -1, 0, 1, 2, 3, 5, 127, 128, 255, 1 << 15, 1<<15 - 1,
		1 << 20, math.MaxInt32 - 1, math.MaxInt32}
	rnd := rand.New(rand.NewSource(1))
	codes := map[string]int{}
	judge := func(name string, p *either.Program) {
		at := time.Now()
		_, list := verify.Check(p, verify.Options{Cells: 1 << 16, Moves: 1 << 16, Work: 1 << 20})
		if len(list) == 0 {
			codes["ok"]++
		}
		for _, d := range list {
			codes[string(d.Code)]++
		}
		if took := time.Since(at); took > covering.Patience(2*time.Second) {
			t.Errorf("%s takes %v", name, took)
		}
	}
	for _, p := range []*either.Program{irtest.AllPairsPlain(2, 2), irtest.AllPairsPackets(2, 2), irtest.Chain(3, 2),
		irtest.ThroughSwitch(2), twoSidedTables()} {
		change := func(q *either.Program, k, value int) {
			small, all := numbers(q)
			if k %= len(small) + len(all); k < len(all) {
				*all[k] = int32(value)
			} else {
				small[k-len(all)](value)
			}
		}
		small, all := numbers(p)
		for k := range len(small) + len(all) {
			for _, v := range values {
				q := copyOf(p)
				change(q, k, v)
				judge(fmt.Sprintf("number %d is %d", k, v), q)
			}
		}
		for range irtest.Count(t, 500) {
			q := copyOf(p)
			for range 1 + rnd.Intn(4) {
				change(q, rnd.Int(), values[rnd.Intn(len(values))])
			}
			judge(fmt.Sprint(q), q)
		}
	}
	t.Log(codes)
	for _, code := range []diag.Code{diag.Malformed, diag.OutOfBounds, diag.Limit, diag.Race, diag.Deadlock,
		diag.Unmatched, diag.Uninitialized, diag.WrongResult, diag.Overlap, "ok"} {
		if codes[string(code)] == 0 {
			t.Errorf("nothing was %s", code)
		}
	}
}

// twoSidedTables returns a one-sided program with the steps of a two-sided one.
func twoSidedTables() *either.Program {
	b := irtest.NewOneSided(ir.Collective{Kind: ir.AllReduce, Ranks: 2, Chunks: 1}, ir.LL, 1, 1, 1, 1)
	b.Block(0)
	b.Move(1, chunks(chunkOf(0, ir.Input, 0)), chunks(chunkOf(0, ir.Output, 0)))
	b.Program.Steps[0].Op = ir.Copy
	b.Block(1)
	return b.Done()
}

// oneSidedShapes are programs of n that cost more than they look, with what is
// to be said of them.
var oneSidedShapes = []struct {
	name string
	n    int
	make func(n int) *either.Program
	want []diag.Code
}{
	{"one move of many sources, not ordered", 5000, func(n int) *either.Program {
		b := irtest.NewOneSided(ir.Collective{Kind: ir.Opaque, Ranks: 2, Chunks: n, In: 1, Out: n}, ir.LL, 1000, 0, n, 0)
		b.Block(0)
		for k := range n {
			b.Move(1, chunks(chunkOf(0, ir.Input, 0)), chunks(chunkOf(1, ir.Packets, k)), irtest.JointFrom(k)...)
		}
		b.Block(1)
		var all []onesided.Operand
		for k := range n {
			all = append(all, chunkOf(1, ir.Packets, k))
		}
		b.Move(1, all, chunks(chunkOf(1, ir.Output, 0)))
		return b.Done()
	}, []diag.Code{diag.Race, diag.Undecided}},
	{"one await of long ago", 1000, func(n int) *either.Program {
		b := irtest.NewOneSided(ir.Collective{Kind: ir.Opaque, Ranks: 2, Chunks: 1, In: 1, Out: 1}, ir.Simple, 1000, 1, 0, n)
		b.Block(0)
		for k := range n {
			b.Signal(chunks(flagOf(1, k, 0)))
		}
		b.Block(1)
		for k := range n {
			b.Await(chunks(flagOf(1, k, -900)))
		}
		return b.Done()
	}, nil},
	{"packets cut ever finer", 2000, func(n int) *either.Program {
		b := irtest.NewOneSided(ir.Collective{Kind: ir.Opaque, Ranks: 2, Chunks: 2, In: 2, Out: 2}, ir.LL, 2, 0, 2*n, 0)
		b.Program.Even = true
		b.Block(0)
		b.Move(1, chunks(chunkOf(0, ir.Input, 0)), chunks(chunkOf(1, ir.Packets, 0)))
		b.Move(1, chunks(chunkOf(0, ir.Input, 1)), chunks(chunkOf(1, ir.Packets, 1)), ir.Joint)
		b.Block(1)
		for k := range n - 1 {
			b.Move(2, chunks(chunkOf(1, ir.Packets, 2*k)), chunks(chunkOf(1, ir.Packets, 2*k+2)))
		}
		b.Move(2, chunks(chunkOf(1, ir.Packets, 2*n-2)), chunks(chunkOf(1, ir.Output, 0)))
		return b.Done()
	}, []diag.Code{diag.Race}},
	{"as many blocks as steps", 2000, func(n int) *either.Program {
		b := irtest.NewOneSided(ir.Collective{Kind: ir.Opaque, Ranks: 1, Chunks: 1, In: 1, Out: 1}, ir.LL, 1, 0, n, 0)
		b.Block(0)
		b.Move(1, chunks(chunkOf(0, ir.Input, 0)), chunks(chunkOf(0, ir.Packets, 0)))
		for k := range n - 1 {
			b.Block(0)
			b.Move(1, chunks(chunkOf(0, ir.Packets, k)), chunks(chunkOf(0, ir.Packets, k+1)))
		}
		b.Move(1, chunks(chunkOf(0, ir.Packets, n-1)), chunks(chunkOf(0, ir.Output, 0)), ir.Joint)
		return b.Done()
	}, []diag.Code{diag.Race, diag.Undecided}},
	{"a circle of blocks that wait for all", 400, func(n int) *either.Program {
		b := irtest.NewOneSided(ir.Collective{Kind: ir.Opaque, Ranks: n, Chunks: 1, In: 1, Out: 1}, ir.Simple, 1, 0, 0, n)
		for r := range n {
			b.Block(r)
			b.Await(irtest.ToOthers(n, r, func(q int) onesided.Operand { return flagOf(r, q, 1) }))
			b.Signal(irtest.ToOthers(n, r, func(q int) onesided.Operand { return flagOf(q, r, 0) }))
		}
		return b.Done()
	}, []diag.Code{diag.Deadlock}},
	{"the switch on many ranks", 1000, func(n int) *either.Program {
		b := irtest.NewOneSided(ir.Collective{Kind: ir.AllReduce, Ranks: n, Chunks: 1, Inplace: true}, ir.Simple, 1, 0, 0, 0)
		for r := range n {
			b.Block(r)
			b.Move(1, chunks(chunkOf(ir.AllRanks, ir.Input, 0)), chunks(chunkOf(ir.AllRanks, ir.Output, 0)))
		}
		return b.Done()
	}, []diag.Code{diag.Race, diag.WrongResult, diag.Undecided}},
}

func TestOneSidedShapes(t *testing.T) {
	for _, s := range oneSidedShapes {
		p := s.make(s.n)
		at := irtest.CPUTime()
		_, list := verify.Check(p, verify.Options{})
		took := irtest.CPUTime() - at
		t.Logf("%s: %v, %d problems", s.name, took, len(list))
		if (len(list) > 0) != (len(s.want) > 0) || took > covering.Patience(20*time.Second) {
			t.Errorf("%s: in %v %.300s", s.name, took, irtest.Text(list))
		}
		for _, d := range list {
			if !slices.Contains(s.want, d.Code) {
				t.Errorf("%s: %s", s.name, irtest.Text(diag.List{d}))
			}
		}
	}
}
