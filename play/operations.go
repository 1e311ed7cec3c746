package play

import (
	"mscclc/ir"
	"mscclc/ir/eval"
)

// A writing is a chunk that something at a source position writes; scratch is numbered for a rank as a whole.
type writing struct {
	rank  int32
	chunk int // of the rank's input and output, or behind them of its scratch
	pos   int32
}

// A matcher finds of which operation each step of a compiled program is: passes keep source positions, and what is
// written. Where a pass changed that, the operation of the message or of the position counts.
type matcher struct {
	p     *ir.Program
	x     *Algorithm
	own   *ir.Memory // of input and output
	base  []int
	wrote map[writing][]int32  // operations, in order
	at    map[[2]int32][]int32 // by position and rank that is written
	used  map[writing]int
	of    []int32
}

// operationsOf returns of each step of p the operation of x that it is a part of, or -1.
func operationsOf(p *ir.Program, x *Algorithm) []int32 {
	m := &matcher{p: p, x: x, own: ir.NewMemory(x.Coll, nil), wrote: map[writing][]int32{}, at: map[[2]int32][]int32{},
		used: map[writing]int{}, of: make([]int32, len(p.Steps))}
	for i := range m.of {
		m.of[i] = -1
	}
	m.base, _ = x.Bases()
	direct := len(x.Ops) > 0
	for i := range x.Ops {
		op := &x.Ops[i]
		if op.Step < 0 {
			direct = false
		} else {
			m.of[op.Step] = int32(i)
		}
	}
	if direct {
		m.sends()
		return m.of
	}
	for i := range x.Ops {
		m.operation(int32(i))
	}
	for _, i := range orderedSteps(p) {
		m.step(i)
	}
	m.sends()
	return m.of
}

// orderedSteps returns the steps of a program that runs, in an order in which they may end.
func orderedSteps(p *ir.Program) []int32 {
	if p.OneSided != nil {
		return orderOf(p)
	}
	order, _ := eval.Wire(p).Schedule(p, ir.Unbounded, 1).Run()
	return order
}

// chunk numbers a chunk of a rank; scratch has the index in all of the rank's.
func (m *matcher) chunk(rank int32, b ir.Buf, index int) int {
	if b <= ir.Output {
		first, _ := m.own.Rank(int(rank))
		return m.own.Cell(int(rank), b, index) - first
	}
	return 1<<20 + index
}

func (m *matcher) operation(i int32) {
	op := &m.x.Ops[i]
	for _, to := range op.Dests {
		index, buf := int(to.Index), to.Buf
		if buf >= ir.Scratch {
			index, buf = index+m.base[buf-ir.Scratch], ir.Scratch
		}
		for k := range op.Count {
			w := writing{to.Rank, m.chunk(to.Rank, buf, index+k), op.Pos}
			m.wrote[w] = append(m.wrote[w], i)
		}
		m.at[[2]int32{op.Pos, to.Rank}] = append(m.at[[2]int32{op.Pos, to.Rank}], i)
	}
}

// step finds the operation of a step that writes.
func (m *matcher) step(i int32) {
	s := &m.p.Steps[i]
	if m.p.OneSided == nil {
		rank, _, _ := m.p.Place(i)
		switch info := s.Op.Info(); {
		case info.Writes:
			m.find(i, int32(rank), s.DstBuf, int(s.Dst), s.Pos)
		case info.Reduces: // a sum that is sent on and not kept
			m.find(i, int32(rank), s.SrcBuf, int(s.Src), s.Pos)
		}
		return
	}
	if s.Op != ir.Move {
		return
	}
	for _, d := range m.p.OneSided.Dests(s) {
		if rank := d.Rank; rank != ir.AllRanks && m.of[i] < 0 {
			m.find(i, rank, d.Buf, int(d.Index), s.Pos)
		}
	}
}

// find takes, of the operations that write a chunk at a position, the first that is not found yet; or else one that
// writes the rank's memory at that position.
func (m *matcher) find(i, rank int32, b ir.Buf, index int, pos int32) {
	w := writing{rank, m.chunk(rank, b, index), pos}
	list := m.wrote[w]
	if b > ir.Scratch || len(list) == 0 {
		w.chunk = -1
		list = m.at[[2]int32{pos, rank}]
	}
	if len(list) > 0 {
		m.of[i] = list[min(m.used[w], len(list)-1)]
		m.used[w]++
	}
}

// sends has a step that sends be of the operation that the receiver of its message is of.
func (m *matcher) sends() {
	if m.p.OneSided != nil {
		return
	}
	w := eval.Wire(m.p)
	for i, mate := range w.Mate {
		if mate >= 0 && m.of[mate] < 0 {
			m.of[mate] = m.of[i]
		}
	}
}
