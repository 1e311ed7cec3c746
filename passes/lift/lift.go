// Package lift finds which chunk goes where in a two-sided program, such as one that was read from XML. [Chunks] makes
// a ChunkDAG from the program. The passes can then compile this ChunkDAG again, for another runtime.
package lift

import (
	"mscclc/ir"
	"mscclc/ir/eval"
	"mscclc/ir/fifo"
)

// Chunks returns what the steps of p do, as operations in an order in which the steps may run. P must be proven. Thread
// blocks, channels and synchronisation are left out. A message is its source, or where that is written before the
// message is received, or a sum that nobody keeps, a chunk of scratch of its own. A rank that writes its input out of
// place has a copy of it in scratch, since an algorithm in chunks leaves the input as it is.
func Chunks(p *fifo.Program) *ir.ChunkDAG {
	w := eval.Wire(p)
	order, _ := w.Schedule(p, p.Protocol.Slots(), 1).Run()
	if len(order) < len(p.Steps) { // it runs where messages hold several chunks
		order, _ = w.Schedule(p, ir.Unbounded, 1).Run()
	}
	d, _ := lifted(p, w, order)
	return d
}

// ChunksOf is Chunks of some steps of p, in an order in which they may end. steps[i] is the step that operation i is
// of, or -1. P need not be proven, but its form and the counts of its messages must be right.
func ChunksOf(p *fifo.Program, order []int32) (d *ir.ChunkDAG, steps []int32) {
	return lifted(p, eval.Wire(p), order)
}

func lifted(p *fifo.Program, w *eval.Wiring, order []int32) (*ir.ChunkDAG, []int32) {
	p, copied := apart(p)
	x := newLifter(p)
	for _, r := range copied {
		x.copyInput(r)
	}
	x.note(-1)
	for _, i := range order {
		x.step(i, w.Block[i], w.Mate[i])
		x.note(i)
	}
	x.out.Scratch[held].Chunks = int(maxOf(x.held))
	if x.out.Scratch[held].Chunks == 0 {
		x.out.Scratch = x.out.Scratch[:held]
	}
	return x.out, x.from
}

// note notes that the operations since the last call are of step i.
func (x *lifter) note(i int32) {
	for len(x.from) < len(x.out.Ops) {
		x.from = append(x.from, i)
	}
}

// The scratch buffers of what is lifted.
const (
	own  = iota // the program's
	held        // of messages
)

// A lifter goes through the steps of p.
type lifter struct {
	p       *fifo.Program
	out     *ir.ChunkDAG
	cells   *ir.Memory
	held    []int32 // by rank: chunks of scratch for messages so far
	message []ir.Ref
	waiting []int32   // by cell of p: messages that are still there and not received
	sent    [][]int32 // by rank: steps that sent what is not received yet
	from    []int32   // by operation: the step that it is of, or -1
}

func newLifter(p *fifo.Program) *lifter {
	x := &lifter{p: p, cells: p.Memory(), held: make([]int32, p.Coll.Ranks), message: make([]ir.Ref, len(p.Steps)),
		sent: make([][]int32, p.Coll.Ranks)}
	x.waiting = make([]int32, x.cells.Len())
	x.out = &ir.ChunkDAG{Header: p.Header, Hints: []ir.Hint{ir.NoHint}}
	x.out.Scratch = []ir.ScratchDecl{{Name: "scratch", Chunks: int(maxOf(p.Scratch))}, {Name: "held"}}
	return x
}

func maxOf(list []int32) (most int32) {
	for _, n := range list {
		most = max(most, n)
	}
	return most
}

// step does what step i of block b does, which receives what step mate sent.
func (x *lifter) step(i, b, mate int32) {
	s, rank := &x.p.Steps[i], x.p.Blocks[b].Rank
	info := s.Op.Info()
	if s.Op == ir.Nop {
		return
	}
	src, dst := ref(rank, s.SrcBuf, s.Src), ref(rank, s.DstBuf, s.Dst)
	var sources []ir.Ref
	switch {
	case info.ReadsDst: // dst + src
		sources = []ir.Ref{dst, src}
	case info.ReadsSrc && info.Receives:
		sources = []ir.Ref{src, x.receive(mate, s.Count)}
	case info.Receives:
		sources = []ir.Ref{x.receive(mate, s.Count)}
	case info.ReadsSrc:
		sources = []ir.Ref{src}
	}
	out := sources[0]
	switch {
	case info.Writes:
		x.write(s, dst, sources)
		out = dst
	case len(sources) > 1: // a sum that is only sent on
		out = x.hold(rank, s.Count)
		x.add(s, out, sources)
	case info.Receives:
		out = x.hold(rank, s.Count)
		x.add(s, out, sources)
	}
	if info.Sends {
		x.send(i, rank, out)
	}
}

func ref(rank int32, b ir.Buf, index int32) ir.Ref { return ir.Ref{Rank: rank, Buf: b, Index: index} }

// hold returns new scratch of rank for a message.
func (x *lifter) hold(rank, count int32) ir.Ref {
	r := ref(rank, ir.Scratch+held, x.held[rank])
	x.held[rank] += count
	return r
}

// cell returns the cell of r, of the program's own buffers.
func (x *lifter) cell(r ir.Ref) int { return x.cells.Cell(int(r.Rank), r.Buf, int(r.Index)) }

// send notes that step i of rank has sent the chunks at r.
func (x *lifter) send(i, rank int32, r ir.Ref) {
	x.message[i] = r
	if r.Buf == ir.Scratch+held {
		return
	}
	x.mark(r, x.p.Steps[i].Count, 1)
	x.sent[rank] = append(x.sent[rank], i)
}

// mark counts a message more, or less, at the chunks at r.
func (x *lifter) mark(r ir.Ref, count, n int32) {
	for k := range count {
		x.waiting[x.cell(r)+int(k)] += n
	}
}

// receive returns where the message of step mate lies, which is received now.
func (x *lifter) receive(mate, count int32) ir.Ref {
	r := x.message[mate]
	if r.Buf != ir.Scratch+held {
		x.mark(r, count, -1)
		x.forget(r.Rank, mate)
	}
	return r
}

// forget takes step i out of what rank has sent.
func (x *lifter) forget(rank, i int32) {
	list := x.sent[rank]
	for k := range list {
		if list[k] == i {
			list[k] = list[len(list)-1]
			x.sent[rank] = list[:len(list)-1]
			return
		}
	}
}

// write has step s write the reduction of sources to dst, after messages that lie there have got a place of their own.
func (x *lifter) write(s *ir.Step, dst ir.Ref, sources []ir.Ref) {
	first := x.cell(dst)
	for k := range int(s.Count) {
		if x.waiting[first+k] > 0 {
			x.rescue(dst.Rank, first, first+int(s.Count))
			break
		}
	}
	var list []ir.Ref
	for _, r := range sources {
		if r.Rank == dst.Rank && r.Buf != ir.Scratch+held {
			switch same := x.cell(r) == first; {
			case same && len(sources) == 1:
				return // a copy onto itself
			case same:
				r = dst
			}
		}
		list = append(list, r)
	}
	x.add(s, dst, list)
}

// rescue copies the messages of rank that lie in some cells to scratch of their own.
func (x *lifter) rescue(rank int32, first, end int) {
	for _, i := range append([]int32(nil), x.sent[rank]...) {
		s, r := &x.p.Steps[i], x.message[i]
		if at := x.cell(r); at >= end || at+int(s.Count) <= first {
			continue
		}
		x.mark(r, s.Count, -1)
		x.forget(rank, i)
		x.message[i] = x.hold(rank, s.Count)
		x.add(s, x.message[i], []ir.Ref{r})
	}
}

// add adds the operation of step s. Sums into one chunk that follow each other are one operation.
func (x *lifter) add(s *ir.Step, dst ir.Ref, sources []ir.Ref) {
	d := x.out
	if last := len(d.Ops) - 1; last >= 0 && len(sources) == 2 && sources[0] == dst && sources[1] != dst {
		if op := &d.Ops[last]; op.Dst == dst && op.Count == s.Count && op.NSrc > 1 && d.Srcs[op.Src] == dst {
			d.Srcs = append(d.Srcs, sources[1])
			op.NSrc++
			return
		}
	}
	d.Ops = append(d.Ops, ir.ChunkOp{Dst: dst, Count: s.Count, Src: int32(len(d.Srcs)), NSrc: int32(len(sources)), Ways: 1,
		Pos: s.Pos})
	d.Srcs = append(d.Srcs, sources...)
}
