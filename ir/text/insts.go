package text

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"mscclc/ir"
)

// The text form of an InstDAG has, after the header, the blocks and then the
// instructions, in any order:
//
//	scratch 4                  chunks of each rank, or 4,4,0,0; left out where there is none at all
//	even                       operands of different classes meet
//	deps none                  dependences are computed, and there are none; so for waits
//	block 0 rank 2 send 3 recv 1 ch 0
//	i0 rank 1 s input[3] -> i1
//	i1 rank 2 rrcs input[3] <- i0 -> 3 (i8) seq 11/14 ch 0 block 0 step 1 deps i4,i7 waits i4
//	i2 rank 2 cpy input[0] => output[0]*2 class 1 part 1 hint 1 pos 3
//
// Operands are the source and, after =>, the destination; one alone is both
// where the operation has two. `-> i8` sends to the rank of i8, its mate, and
// `-> 3` to rank 3 without a mate yet. An instruction that does not say where
// it receives from, or names only the rank, has the mate that names it; `(-)`
// denies that. Left out, seq is the line's number among the instructions (and
// what follows the stroke the same), class that of the operand in input or
// output or of what is received, part and hint are 0, and ch, block and step
// mean not placed.

// WriteInsts writes the text form of d.
func WriteInsts(w io.Writer, d *ir.InstDAG) error {
	return writeText(w, func(b *bufio.Writer) {
		WriteHeader(b, "insts", &d.Header, d.Hints)
		writePerRank(b, "scratch", d.Scratch)
		if d.Even {
			b.WriteString("even\n")
		}
		if len(d.Deps.Start) > 0 && len(d.Deps.To) == 0 {
			b.WriteString("deps none\n")
		}
		if len(d.Waits.Start) > 0 && len(d.Waits.To) == 0 {
			b.WriteString("waits none\n")
		}
		for i, t := range d.Blocks {
			line := appendField(fmt.Appendf(nil, "block %d rank %d", i, t.Rank), "send", t.SendPeer, -1)
			line = appendField(line, "recv", t.RecvPeer, -1)
			fmt.Fprintf(b, "%s ch %d\n", line, t.Channel)
		}
		claims := Claims(d)
		var line []byte
		for i := range d.Insts {
			line = appendInst(d, line[:0], int32(i), claims)
			b.Write(line)
		}
	})
}

// MateClaims say of each instruction which is the first to name it as its mate:
// the one that it receives from, and the one that it sends to; -1 is none.
type MateClaims struct{ Recv, Send []int32 }

// Claims returns the MateClaims of d.
func Claims(d *ir.InstDAG) MateClaims {
	c := MateClaims{make([]int32, len(d.Insts)), make([]int32, len(d.Insts))}
	for i := range c.Recv {
		c.Recv[i], c.Send[i] = -1, -1
	}
	for i := range d.Insts {
		if m := d.Insts[i].SendMate; m >= 0 && int(m) < len(c.Recv) && c.Recv[m] < 0 {
			c.Recv[m] = int32(i)
		}
		if m := d.Insts[i].RecvMate; m >= 0 && int(m) < len(c.Send) && c.Send[m] < 0 {
			c.Send[m] = int32(i)
		}
	}
	return c
}

func appendInst(d *ir.InstDAG, b []byte, i int32, claims MateClaims) []byte {
	in := &d.Insts[i]
	b = strconv.AppendInt(append(b, 'i'), int64(i), 10)
	b = strconv.AppendInt(append(b, " rank "...), int64(in.Rank), 10)
	b = append(append(b, ' '), in.Op.String()...)
	b = AppendOperands(b, in.Op, in.SrcBuf, in.Src, in.DstBuf, in.Dst, in.Count)
	b = appendMate(d, b, " <-", in.RecvPeer, in.RecvMate, claims.Recv[i])
	b = appendMate(d, b, " ->", in.SendPeer, in.SendMate, claims.Send[i])
	if in.Seq != i || in.SendSeq != in.Seq {
		b = strconv.AppendInt(append(b, " seq "...), int64(in.Seq), 10)
		if in.SendSeq != in.Seq {
			b = strconv.AppendInt(append(b, '/'), int64(in.SendSeq), 10)
		}
	}
	b = appendField(b, "class", in.Class, UsualClass(d, i))
	b = appendField(b, "part", in.Part, 0)
	b = appendField(b, "hint", in.Hint, 0)
	b = appendField(b, "ch", in.Channel, -1)
	b = appendField(b, "block", in.Block, -1)
	b = appendField(b, "step", in.Step, -1)
	b = appendNames(b, " deps ", d.Deps.Of(int(i)))
	b = appendNames(b, " waits ", d.Waits.Of(int(i)))
	b = appendField(b, "pos", in.Pos, -1)
	return append(b, '\n')
}

// AppendOperands writes the operands that op has.
func AppendOperands(b []byte, op ir.Op, srcBuf ir.Buf, src int32, dstBuf ir.Buf, dst, count int32) []byte {
	hasSrc, hasDst := Operands(op)
	switch {
	case hasSrc && hasDst && (srcBuf != dstBuf || src != dst):
		b = appendRef(append(b, ' '), srcBuf.String(), src, 1)
		return appendRef(append(b, " => "...), dstBuf.String(), dst, count)
	case hasSrc:
		return appendRef(append(b, ' '), srcBuf.String(), src, count)
	case hasDst:
		return appendRef(append(b, ' '), dstBuf.String(), dst, count)
	}
	return b
}

// Operands says which operands an operation has.
func Operands(op ir.Op) (src, dst bool) {
	if op >= ir.NumOps {
		return false, false
	}
	info := op.Info()
	return info.ReadsSrc, info.ReadsDst || info.Writes
}

// appendMate writes one end of a transfer.
func appendMate(d *ir.InstDAG, b []byte, arrow string, peer, mate, claimed int32) []byte {
	switch {
	case mate >= 0 && int(mate) < len(d.Insts) && d.Insts[mate].Rank == peer:
		b = strconv.AppendInt(append(append(b, arrow...), " i"...), int64(mate), 10)
	case mate >= 0:
		b = strconv.AppendInt(append(append(b, arrow...), ' '), int64(peer), 10)
		b = append(strconv.AppendInt(append(b, " (i"...), int64(mate), 10), ')')
	case claimed >= 0:
		b = append(strconv.AppendInt(append(append(b, arrow...), ' '), int64(peer), 10), " (-)"...)
	case peer >= 0:
		b = strconv.AppendInt(append(append(b, arrow...), ' '), int64(peer), 10)
	}
	return b
}

func appendNames(b []byte, key string, list []int32) []byte {
	for k, i := range list {
		if k == 0 {
			b = append(b, key...)
		} else {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, 'i'), int64(i), 10)
	}
	return b
}

// UsualClass returns the class that instruction i has where its line says nothing.
func UsualClass(d *ir.InstDAG, i int32) int32 {
	in := &d.Insts[i]
	if index, own := OwnIndex(in); own {
		return int32(d.Coll.Class(int(index)))
	}
	if ClassOfMate(d, in) {
		return d.Insts[in.RecvMate].Class
	}
	return 0
}

// OwnIndex returns the index of in's operand in input or output, if one of them has the usual class.
func OwnIndex(in *ir.Inst) (index int32, own bool) {
	hasSrc, hasDst := Operands(in.Op)
	switch {
	case hasSrc && in.SrcBuf <= ir.Output && in.Src >= 0:
		return in.Src, true
	case hasDst && in.DstBuf <= ir.Output && in.Dst >= 0:
		return in.Dst, true
	}
	return 0, false
}

// ClassOfMate reports whether in receives from an instruction before it, whose
// class is its own as far as its line is concerned.
func ClassOfMate(d *ir.InstDAG, in *ir.Inst) bool {
	return in.Op < ir.NumOps && in.Op.Info().Receives && in.RecvMate >= 0 && int(in.RecvMate) < len(d.Insts) &&
		d.Insts[in.RecvMate].Seq < in.Seq
}
