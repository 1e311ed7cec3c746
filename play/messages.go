package play

import (
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
)

// A word is a chunk of a message, or of memory.
type word struct {
	sum  sum
	cell int // of input or output that it was read from, or -1
}

// A messenger runs the steps of a two-sided program. Unlike passes/lift it takes no steps together.
type messenger struct {
	p     *either.Program
	mem   *ir.Memory
	own   *ir.Memory // of input and output
	holds []sum
	sent  [][]word // by step
	list  []piece
}

// messagePieces returns what each chunk of each step of a two-sided program read and wrote, in an order in which the
// steps may end. What a step reads of a message is what was sent. A sum that is sent on and not kept is written to no
// known cell.
func messagePieces(p *either.Program) []piece {
	m := &messenger{p: p, mem: p.Memory(), own: ir.NewMemory(p.Coll, nil), sent: make([][]word, len(p.Steps))}
	m.holds = make([]sum, m.mem.Len())
	for r := range p.Coll.Ranks {
		for i := range p.Coll.InChunks(r) {
			m.holds[m.mem.Cell(r, ir.Input, i)] = leaf(r, i)
		}
	}
	w := eval.Wire(p.Fifo)
	order, _ := w.Schedule(p.Fifo, ir.Unbounded, 1).Run()
	for _, i := range order {
		if p.Steps[i].Op != ir.Nop {
			m.step(i, p.Blocks[w.Block[i]].Rank, w.Mate[i])
		}
	}
	return m.list
}

// at returns a chunk of rank's memory: its cell, and what is there.
func (m *messenger) at(rank int32, b ir.Buf, index int) (cell int, is word) {
	cell = m.mem.Cell(int(rank), b, index)
	is = word{m.holds[cell], -1}
	if b <= ir.Output {
		is.cell = m.own.Cell(int(rank), b, index)
	}
	return cell, is
}

// step runs step i, which receives what step mate sent.
func (m *messenger) step(i, rank, mate int32) {
	s := &m.p.Steps[i]
	info := s.Op.Info()
	for k := range int(s.Count) {
		w := piece{op: i, pos: s.Pos, first: k == 0, dests: []ir.Ref{{Rank: rank, Buf: ir.Scratch}}, writes: []int{-1}}
		read := func(x word) {
			w.sources, w.reads, w.result = append(w.sources, x.sum), append(w.reads, x.cell), w.result+x.sum
		}
		if info.ReadsDst {
			_, x := m.at(rank, s.DstBuf, int(s.Dst)+k)
			read(x)
		}
		if info.ReadsSrc {
			_, x := m.at(rank, s.SrcBuf, int(s.Src)+k)
			read(x)
		}
		if info.Receives && mate >= 0 && k < len(m.sent[mate]) {
			read(m.sent[mate][k])
		}
		out := word{w.result, -1}
		if len(w.reads) == 1 && !info.Writes {
			out.cell = w.reads[0]
		}
		if info.Writes {
			cell, to := m.at(rank, s.DstBuf, int(s.Dst)+k)
			m.holds[cell] = w.result
			out.cell, w.writes[0] = to.cell, to.cell
		}
		if info.Sends {
			m.sent[i] = append(m.sent[i], out)
		}
		if info.Writes || info.Receives || len(w.sources) > 1 {
			m.list = append(m.list, w)
		}
	}
}
