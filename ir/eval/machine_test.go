package eval

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
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

// A chunkMachine is a Machine that goes chunk by chunk, with values as texts in which operands of a sum are sorted:
// what a Machine, which goes by runs, must agree with.
type chunkMachine struct {
	*Machine
	text   []string
	writer []int32
	class  []int
	says   []string
	made   map[int32][]string
}

func newChunkMachine(m *Machine) *chunkMachine {
	n := m.Mem.Len()
	c := &chunkMachine{Machine: m, text: make([]string, n), writer: make([]int32, n), class: make([]int, n),
		made: map[int32][]string{}}
	for i := range n {
		c.writer[i], c.class[i] = -1, noClass
	}
	for r := range m.Coll.Ranks {
		for i := range m.Coll.InChunks(r) {
			c.text[m.Mem.Cell(r, ir.Input, i)] = fmt.Sprintf("%d.%d", r, i)
		}
	}
	return c
}

// textOf writes a value of a Machine as a chunkMachine has it.
func (m *Machine) textOf(x Value) string {
	switch {
	case x == None:
		return ""
	case !x.IsSum():
		p := m.Values.Part(x)
		return fmt.Sprintf("%d.%d", p.Rank, p.Index)
	}
	a, b := m.Values.Operands(x)
	return sumText(m.textOf(a), m.textOf(b))
}

func sumText(a, b string) string {
	if a == "" || b == "" {
		return ""
	}
	return "(" + min(a, b) + "+" + max(a, b) + ")"
}

// operand reads operand k of a, and reports on it.
func (c *chunkMachine) operand(id int32, a *Action, rank int, b ir.Buf, index int32) []string {
	at, n := c.Mem.Cell(rank, b, int(index)), int(a.Count)
	for k := range n {
		if c.text[at+k] == "" && c.writer[at+k] < 0 {
			c.says = append(c.says, fmt.Sprint("read ", id, rank, b, int(index)+k))
			break
		}
	}
	for k := range n {
		class := c.class[at+k]
		if b < ir.Scratch {
			class = c.Coll.Class(int(index) + k)
		}
		if class != noClass && class != c.Coll.Class(int(a.Class)+k) {
			c.says = append(c.says, fmt.Sprint("class ", id, rank, b, int(index)+k))
			break
		}
	}
	return slices.Clone(c.text[at : at+n])
}

func (c *chunkMachine) store(id int32, a *Action, rank int, b ir.Buf, index int32, list []string) {
	at := c.Mem.Cell(rank, b, int(index))
	said := false
	for k, x := range list {
		class := c.Coll.Class(int(a.Class) + k)
		c.text[at+k], c.writer[at+k] = x, id
		if b >= ir.Scratch {
			c.class[at+k] = class
		} else if class != c.Coll.Class(int(index)+k) && !said {
			said = true
			c.says = append(c.says, fmt.Sprint("class ", id, rank, b, int(index)+k))
		}
	}
}

func sumTexts(a, b []string) []string {
	for k := range a {
		a[k] = sumText(a[k], b[k])
	}
	return a
}

func (c *chunkMachine) exec(id int32, a *Action, in []string) (out []string) {
	info, rank := a.Op.Info(), int(a.Rank)
	if out = slices.Clone(in); info.ReadsSrc {
		if out = c.operand(id, a, rank, a.SrcBuf, a.Src); info.Receives {
			out = sumTexts(out, in)
		}
	}
	if info.ReadsDst {
		out = sumTexts(c.operand(id, a, rank, a.DstBuf, a.Dst), out)
	}
	if info.Writes {
		c.store(id, a, rank, a.DstBuf, a.Dst, out)
	}
	if info.Reduces {
		c.made[id] = slices.Clone(out)
	}
	return out
}

func (c *chunkMachine) moved(id int32, a *Action, sources, dests []ir.Operand) {
	each := func(x ir.Operand, f func(rank int)) {
		for r := range c.Coll.Ranks {
			if x.Rank == ir.AllRanks || int(x.Rank) == r {
				f(r)
			}
		}
	}
	var list []string
	for _, s := range sources {
		each(s, func(r int) {
			if x := c.operand(id, a, r, s.Buf, s.Index); list == nil {
				list = x
			} else {
				list = sumTexts(list, x)
			}
		})
	}
	for _, d := range dests {
		each(d, func(r int) { c.store(id, a, r, d.Buf, d.Index, list) })
	}
	if len(sources) > 1 || sources[0].Rank == ir.AllRanks {
		c.made[id] = list
	}
}

// randomMemory is a collective and a Machine of it that reports to say.
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
		p := &ir.Program{Header: ir.Header{Coll: m.Coll}}
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
	operand := func(n int32) ir.Operand {
		for {
			x := ir.Operand{Rank: int32(rnd.Intn(m.Coll.Ranks)),
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
	overlaps := func(x, y ir.Operand) bool {
		at, to := m.Mem.Cell(int(x.Rank), x.Buf, int(x.Index)), m.Mem.Cell(int(y.Rank), y.Buf, int(y.Index))
		return at != to && at < to+int(a.Count) && to < at+int(a.Count)
	}
	switch k := rnd.Intn(4); {
	case k == 0 && !overlaps(src, dst): // a Move, sometimes by the switch
		o := &ir.OneSided{Operands: []ir.Operand{src, dst, dst}}
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
func randomSum(rnd *rand.Rand, p *ir.Program, m *Machine, c *chunkMachine) {
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

// leavesOf are the leaves of a text, sorted.
func leavesOf(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("(+)", r) })
	slices.Sort(list)
	return list
}

// holds says whether a text is what w asks for.
func (c *chunkMachine) holds(text string, w ir.Want) bool {
	var want []string
	switch {
	case w.Any:
		return true
	case w.Sum:
		for r := range c.Coll.Ranks {
			want = append(want, fmt.Sprintf("%d.%d", r, w.Part.Index))
		}
	case w.List == nil:
		want = []string{fmt.Sprintf("%d.%d", w.Part.Rank, w.Part.Index)}
	default:
		for _, p := range w.List {
			want = append(want, fmt.Sprintf("%d.%d", p.Rank, p.Index))
		}
	}
	slices.Sort(want)
	return slices.Equal(leavesOf(text), want)
}

// outputs are all output chunks.
func (c *chunkMachine) eachOutput(f func(rank, index int, text string, w ir.Want)) {
	for r := range c.Coll.Ranks {
		for i := range c.Coll.OutChunks(r) {
			f(r, i, c.text[c.Mem.Cell(r, ir.Output, i)], c.Coll.Want(r, i))
		}
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

func (c *chunkMachine) sameFinals(t *testing.T, seed int64, f *Finals, p *ir.Program) int {
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
	got, err := f.Steps(p)
	if fails != (err != nil) || !fails && !slices.Equal(got, want) {
		t.Fatalf("seed %d: final are %v, %v, not %v, %v", seed, got, err, want, fails)
	}
	return len(got)
}
