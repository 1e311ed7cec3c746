package eval

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/onesided"
)

// TestRuns compares Runs with an array of bools, on enough numbers for three levels.
func TestRuns(t *testing.T) {
	for seed := range int64(60) {
		rnd := rand.New(rand.NewSource(seed))
		n := []int{1, 63, 64, 65, 4096, 5000, 300000}[rnd.Intn(7)]
		r, begins := ir.NewRuns(n), make([]bool, n+1)
		begins[0], begins[n] = true, true
		for range 300 {
			c := rnd.Intn(n)
			if rnd.Intn(2) == 0 {
				c = min(n-1, c&^63+rnd.Intn(3)*31) // where words begin and end
			}
			first, end := c, c+1
			for ; !begins[first]; first-- {
			}
			for ; !begins[end]; end++ {
			}
			if r.First(c) != first || r.End(c) != end || r.Begins(c) != (first == c) {
				t.Fatalf("seed %d: %d lies in %d to %d, not %d to %d", seed, c, r.First(c), r.End(c), first, end)
			}
			switch e := min(n, c+1+rnd.Intn(1<<rnd.Intn(12))); {
			case rnd.Intn(3) == 0:
				r.Cut(c)
				r.Cut(e)
				r.Join(c, e)
				clear(begins[c+1 : e])
				begins[c], begins[e] = true, true
			case rnd.Intn(4) == 0 && c > 0 && begins[c]:
				r.Merge(c)
				begins[c] = false
			default:
				if want := map[bool]int{true: -1, false: first}[begins[c]]; r.Cut(c) != want {
					t.Fatalf("seed %d: cut at %d", seed, c)
				}
				begins[c] = true
			}
		}
	}
}

// randomMemory returns a collective and a Machine of it that reports to say.
func randomMemory(rnd *rand.Rand, say func(text string)) *Machine {
	c := &ir.Collective{Kind: []ir.Kind{ir.AllReduce, ir.AllReduce, ir.ReduceTo, ir.ReduceScatter, ir.AllGather,
		ir.AllToAll, ir.Broadcast, ir.SendRecv, ir.Custom}[rnd.Intn(9)], Ranks: 2 + rnd.Intn(3), Chunks: 1 + rnd.Intn(12),
		Inplace: rnd.Intn(2) == 0}
	switch c.Kind {
	case ir.SendRecv:
		c.Peer = []int32{1, 0, -1, -1}[:c.Ranks]
	case ir.Custom:
		c.In, c.Out, c.Require = c.Chunks, c.Chunks, map[ir.Part][]ir.Part{}
		for i := range c.Chunks {
			if rnd.Intn(2) == 0 {
				c.Require[ir.Part{Rank: 0, Index: int32(i)}] = []ir.Part{{Rank: 0, Index: int32(i)},
					{Rank: 1, Index: int32(i)}}[:1+rnd.Intn(2)]
			}
		}
	}
	scratch := make([]int32, c.Ranks)
	for r := range scratch {
		scratch[r] = int32(c.Chunks)
	}
	m := NewMachine(c, ir.NewMemory(c, scratch))
	m.Read = func(id int32, rank int, b ir.Buf, index int) { say(fmt.Sprint("read ", id, rank, b, index)) }
	if rnd.Intn(2) == 0 {
		m.Class = func(id int32, rank int, b ir.Buf, index int) { say(fmt.Sprint("class ", id, rank, b, index)) }
	}
	return m
}

// TestMachineAgainstChunks runs random actions, right and wrong ones, by runs and chunk by chunk: both find the same in
// every cell, report the same, and agree on wrong outputs and on the steps that complete a sum.
func TestMachineAgainstChunks(t *testing.T) {
	wrong, finals := 0, 0
	for seed := range int64(3000) {
		rnd := rand.New(rand.NewSource(seed))
		var says []string
		m := randomMemory(rnd, func(text string) { says = append(says, text) })
		f := WatchFinals(m)
		c := newChunkMachine(m)
		if m.Class == nil {
			c.says = nil
		}
		p := either.OfFifo(&fifo.Program{Program: ir.Program{Header: ir.Header{Coll: m.Coll}}})
		for range 4 + rnd.Intn(30) {
			id := int32(len(p.Steps))
			if slices.ContainsFunc(c.text, func(x string) bool { return len(x) > 500 }) {
				break // sums of sums are soon longer than any memory
			} else if rnd.Intn(4) == 0 && m.Coll.Reduces() && m.Coll.Kind != ir.Custom {
				randomSum(rnd, p, m, c)
			} else {
				p.Steps = append(p.Steps, ir.Step{Count: randomActions(rnd, id, m, c)})
			}
			if m.Class == nil {
				c.says = slices.DeleteFunc(c.says, func(s string) bool { return strings.HasPrefix(s, "class") })
			}
			if !slices.Equal(says, c.says) {
				t.Fatalf("seed %d: action %d: reports %q, not %q", seed, id, says, c.says)
			}
			for cell := range m.Mem.Len() {
				if x, writer := m.cells.At(cell); m.textOf(x) != c.text[cell] || writer != c.writer[cell] {
					t.Fatalf("seed %d: action %d: cell %d holds %s by %d, not %s by %d", seed, id, cell, m.textOf(x), writer,
						c.text[cell], c.writer[cell])
				}
			}
		}
		wrong += c.sameOutputs(t, seed)
		finals += c.sameFinals(t, seed, f, p)
	}
	if t.Logf("%d wrong outputs, %d final steps", wrong, finals); wrong == 0 || finals == 0 {
		t.Error("nothing was compared")
	}
}

// randomActions does one random thing on both machines, and returns how many chunks it moved.
func randomActions(rnd *rand.Rand, id int32, m *Machine, c *chunkMachine) int32 {
	operand := func(n int32) onesided.Operand {
		for {
			x := onesided.Operand{Rank: int32(rnd.Intn(m.Coll.Ranks)),
				Buf: []ir.Buf{ir.Input, ir.Input, ir.Output, ir.Scratch}[rnd.Intn(4)]}
			size := map[ir.Buf]int{ir.Input: m.Coll.InChunks(int(x.Rank)), ir.Output: m.Coll.OutChunks(int(x.Rank)),
				ir.Scratch: m.Coll.Chunks}[x.Buf]
			if size >= int(n) {
				x.Index = int32(rnd.Intn(size - int(n) + 1))
				return x
			}
		}
	}
	a := Action{Count: int32(1 + rnd.Intn(m.Coll.Chunks))}
	src, dst := operand(a.Count), operand(a.Count)
	if rnd.Intn(3) > 0 && src.Buf == ir.Input { // mostly as collectives do
		dst.Buf, dst.Index = ir.Input, src.Index
		if n := m.Coll.InChunks(int(dst.Rank)) - int(a.Count); n < int(dst.Index) {
			dst.Index = int32(max(n, 0))
			if n < 0 {
				dst = src
			}
		}
	}
	a.SrcBuf, a.Src, a.DstBuf, a.Dst = src.Buf, src.Index, dst.Buf, dst.Index
	if a.Class = int32(m.Coll.Class(int(src.Index))); rnd.Intn(8) == 0 {
		a.Class = int32(m.Coll.Class(rnd.Intn(99)))
	}
	overlaps := func(x, y onesided.Operand) bool {
		at, to := m.Mem.Cell(int(x.Rank), x.Buf, int(x.Index)), m.Mem.Cell(int(y.Rank), y.Buf, int(y.Index))
		return at != to && at < to+int(a.Count) && to < at+int(a.Count)
	}
	switch k := rnd.Intn(4); {
	case k == 0 && !overlaps(src, dst): // a Move, sometimes by the switch
		o := &onesided.Program{Operands: []onesided.Operand{src, dst, dst}}
		if rnd.Intn(3) == 0 && m.Coll.Kind == ir.AllReduce && src.Buf < ir.Scratch {
			o.Operands[0].Rank = ir.AllRanks
		}
		s := &ir.Step{Op: ir.Move, Count: a.Count, Class: a.Class, NSrc: int16(1 + rnd.Intn(2)), NDst: 1}
		o.Operands = append(o.Operands[:s.NSrc], dst)
		s.Dst = int32(s.NSrc)
		m.move(id, 0, s, o)
		c.moved(id, &a, o.Sources(s), o.Dests(s))
	case k == 1 && src.Rank == dst.Rank && !overlaps(src, dst):
		a.Op, a.Rank = []ir.Op{ir.Copy, ir.Reduce}[rnd.Intn(2)], src.Rank
		m.Exec(id, &a, nil)
		c.exec(id, &a, nil)
	default:
		send, recv := a, a
		send.Op, send.Rank = ir.Send, src.Rank
		recv.Op, recv.Rank = []ir.Op{ir.Recv, ir.RecvReduceCopy, ir.RecvReduceCopySend, ir.RecvReduceSend,
			ir.RecvCopySend}[rnd.Intn(5)], dst.Rank
		recv.SrcBuf, recv.Src = dst.Buf, dst.Index
		transfer(id, &send, &recv, m, c)
	}
	return a.Count
}

// transfer sends and receives on both machines.
func transfer(id int32, send, recv *Action, m *Machine, c *chunkMachine) {
	message := m.pool.put(m.Exec(id, send, nil))
	want := c.exec(id, send, nil)
	m.Exec(id, recv, m.pool.take(message))
	c.exec(id, recv, want)
}

// randomSum sums some chunks of input over the ranks, in a chain that begins at any of them, and takes them to an
// output.
func randomSum(rnd *rand.Rand, p *either.Program, m *Machine, c *chunkMachine) {
	ranks := int32(m.Coll.Ranks)
	n := int32(1 + rnd.Intn(m.Coll.InChunks(0)))
	index, first := int32(rnd.Intn(m.Coll.InChunks(0)-int(n)+1)), rnd.Int31n(ranks)
	for k := int32(1); k < ranks+1; k++ {
		send := Action{Op: ir.Send, SrcBuf: ir.Input, DstBuf: ir.NoBuf, Rank: (first + k - 1) % ranks, Src: index,
			Count: n, Class: int32(m.Coll.Class(int(index)))}
		recv := send
		recv.Op, recv.Rank, recv.DstBuf, recv.Dst = ir.RecvReduceCopy, (first+k)%ranks, ir.Input, index
		if k == ranks {
			recv.Op = ir.Recv
			if room := m.Coll.OutChunks(int(recv.Rank)); int(n) <= room {
				recv.DstBuf, recv.Dst = ir.Output, min(index, int32(room)-n)
			}
		}
		transfer(int32(len(p.Steps)), &send, &recv, m, c)
		p.Steps = append(p.Steps, ir.Step{Count: n})
	}
}

func (c *chunkMachine) sameOutputs(t *testing.T, seed int64) int {
	var got, want []string
	c.Wrong(func(rank, index int, x Value, _ ir.Want, writer int32) {
		got = append(got, fmt.Sprint(rank, index, c.textOf(x), writer))
	})
	c.eachOutput(func(r, i int, text string, w ir.Want) {
		if !c.holds(text, w) {
			want = append(want, fmt.Sprint(r, i, text, c.writer[c.Mem.Cell(r, ir.Output, i)]))
		}
	})
	if !slices.Equal(got, want) {
		t.Fatalf("seed %d: wrong are\n%q, not\n%q", seed, got, want)
	}
	return len(got)
}

func (c *chunkMachine) sameFinals(t *testing.T, seed int64, f *Finals, p *either.Program) int {
	complete := map[string]bool{}
	c.eachOutput(func(_, _ int, text string, w ir.Want) {
		if !w.Any && strings.Contains(text, "+") && c.holds(text, w) {
			complete[text] = true
		}
	})
	var want []int32
	fails := false
	for id := range int32(len(p.Steps)) {
		n := 0
		for _, text := range c.made[id] {
			if complete[text] {
				n++
			}
		}
		fails = fails || n > 0 && n < len(c.made[id])
		if n > 0 {
			want = append(want, id)
		}
	}
	for s := range complete {
		for x := range complete {
			fails = fails || c.Coll.Kind == ir.Custom && s != x && strings.Contains(x, s)
		}
	}
	got, err := f.Steps(p.Program)
	if fails != (err != nil) || !fails && !slices.Equal(got, want) {
		t.Fatalf("seed %d: final are %v, %v, not %v, %v", seed, got, err, want, fails)
	}
	return len(got)
}
