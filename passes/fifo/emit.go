package fifo

import "mscclc/ir"

// This file writes the instructions of a run of sub-chunks that Lower has gathered.

// flush emits the run: its destination becomes the reduction of its sources,
// from left to right.
func (l *lowering) flush() {
	if l.run.count == 0 {
		return
	}
	dst, srcs := l.run.dst, l.srcs
	occurs, at := 0, -1
	for k, s := range srcs {
		if l.cell(s) == l.cell(dst) {
			occurs++
			at = k
		}
	}
	switch {
	case len(srcs) == 1:
		l.move(dst, srcs[0])
	case occurs == 0:
		l.fold(dst, srcs)
	case occurs == 1 && at <= 1: // operands of one ⊕ may be swapped
		l.accumulate(dst, srcs[1-at])
		for _, s := range srcs[2:] {
			l.accumulate(dst, s)
		}
	default: // dst is needed after it would be overwritten
		temp := l.temp(dst.rank)
		l.fold(temp, srcs)
		l.move(dst, temp)
	}
	l.run.count = 0
}

// fold writes the reduction of at least two sources to dst, none of which is dst.
func (l *lowering) fold(dst place1, srcs []place1) {
	a, b := srcs[0], srcs[1]
	if a.rank != dst.rank && b.rank == dst.rank {
		a, b = b, a
	}
	if a.rank == dst.rank && b.rank != dst.rank && l.opt.receivesFuse() {
		l.transfer(ir.RecvReduceCopy, dst, a, b)
	} else {
		l.move(dst, a)
		l.accumulate(dst, b)
	}
	for _, s := range srcs[2:] {
		l.accumulate(dst, s)
	}
}

// accumulate emits dst = dst ⊕ src.
func (l *lowering) accumulate(dst, src place1) {
	switch {
	case src.rank == dst.rank:
		l.local(ir.Reduce, dst, src)
	case l.opt.receivesFuse():
		l.transfer(ir.RecvReduceCopy, dst, dst, src)
	default:
		temp := l.temp(dst.rank)
		l.move(temp, src)
		l.local(ir.Reduce, dst, temp)
	}
}

// move emits dst = src.
func (l *lowering) move(dst, src place1) {
	if src.rank == dst.rank {
		l.local(ir.Copy, dst, src)
		return
	}
	l.transfer(ir.Recv, dst, place1{buf: ir.NoBuf}, src)
}

// temp returns a run of new cells of scratch, as long as the run being lowered.
func (l *lowering) temp(rank int32) place1 {
	t := place1{rank, l.d.Scratch[rank], ir.Scratch}
	l.d.Scratch[rank] += l.run.count
	return t
}

// transfer emits the send of src and, right after it, the receive by op into
// dst, with own as op's local operand.
func (l *lowering) transfer(op ir.Op, dst, own, src place1) {
	send := l.emit(src.rank)
	send.Op, send.SrcBuf, send.Src, send.SendPeer = ir.Send, src.buf, src.index, dst.rank
	recv := l.emit(dst.rank)
	recv.Op, recv.SrcBuf, recv.Src, recv.DstBuf, recv.Dst, recv.RecvPeer = op, own.buf, own.index, dst.buf,
		dst.index, src.rank
	l.seq -= 2
	recv.Seq, recv.SendSeq = l.seq-1, l.seq-1
}

// local emits an operation of one rank.
func (l *lowering) local(op ir.Op, dst, src place1) {
	in := l.emit(dst.rank)
	in.Op, in.SrcBuf, in.Src, in.DstBuf, in.Dst = op, src.buf, src.index, dst.buf, dst.index
}

// emit appends an instruction of the run that does nothing yet at the next even place of the source order, and leaves
// the odd one after it free for a receive. What it returns is valid until the next call.
func (l *lowering) emit(rank int32) *ir.Inst {
	r := &l.run
	l.d.Insts = append(l.d.Insts, ir.Inst{
		SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, Rank: rank, Count: r.count, Class: r.class,
		SendPeer: -1, RecvPeer: -1, SendMate: -1, RecvMate: -1, Seq: l.seq, SendSeq: l.seq,
		Part: r.part, Hint: r.op.Hint, Pos: r.op.Pos, Channel: -1, Block: -1, Step: -1,
	})
	l.seq += 2
	return &l.d.Insts[len(l.d.Insts)-1]
}
