package onesided

import (
	"math/bits"

	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/onesided"
)

// This file says which launches are of few packets, for which there is a kernel that does less. A program without an
// epilogue has them where it is one of packets and its launch has one pass: how many packets a step has is not looked
// at. With an epilogue it is, as the executor does it (abi.OnePart.FewRows).

// isFew reports whether the call's launch is one of few packets.
func (o *Blocks) isFew() bool {
	return o.Passes <= 1 && o.onlyPackets() && (len(o.program.Then) == 0 || o.finishesFew())
}

// onlyPackets reports whether the program is one of few packets, for which a kernel is made that does less: one block a
// rank, whose steps move packets and its own memory.
func (o *Blocks) onlyPackets() bool {
	if len(o.program.Blocks) != len(o.program.Rank) {
		return false
	}
	for b := range o.program.Blocks {
		tb := &o.program.Blocks[b]
		for i := range o.program.StepsOf(tb) {
			s := &o.program.StepsOf(tb)[i]
			if !s.Op.Moves() {
				return false
			}
			for _, list := range [2][]onesided.Operand{o.program.Sources(s), o.program.Dests(s)} {
				for k := range list {
					if list[k].Buf != ir.Packets && list[k].Rank != tb.Rank {
						return false
					}
				}
			}
		}
	}
	return true
}

// finishesFew reports whether a launch of one pass, of packets only, finishes rows as one of few packets.
func (o *Blocks) finishesFew() bool {
	p := o.program
	if !o.call.Even || !launch.FewRow(o.call.Row, o.call.Threads) || o.Chunk > launch.FewChunk ||
		bits.OnesCount(uint(o.depth)) != 1 || len(p.Rank) > launch.OneRanks {
		return false
	}
	for _, s := range p.Then {
		if !launch.FewScales(s.Block, o.call.Elem) {
			return false
		}
	}
	pieces := launch.FewPieces(uint64(o.rows)*uint64(o.call.Row)/8, p.Protocol.Row().Lines)
	for b := range p.Blocks {
		steps, operands := p.StepsOf(&p.Blocks[b]), 0
		for i := range steps {
			s := &steps[i]
			operands += int(s.NSrc + s.NDst)
			if uint64(o.runs(steps[i:]))*pieces > launch.FewMost(p.Protocol.Row().Lines, true) || !o.finishesOwn(s) {
				return false
			}
		}
		if len(steps) > launch.FewSteps || operands > launch.FewOperands {
			return false
		}
	}
	return true
}

// runs returns how many chunks the first of some steps moves, and copies of one chunk that are joint with it.
func (o *Blocks) runs(steps []ir.Step) int32 {
	n := int32(0)
	for i := range steps {
		s := &steps[i]
		if s.NSrc != 1 || s.Count != 1 || i > 0 && s.Flags&ir.Joint == 0 {
			break
		}
		n++
	}
	return max(n, steps[0].Count)
}

// finishesOwn reports whether s has no scratch, reads no output, and if it finishes rows writes them once, and as lines
// nowhere else.
func (o *Blocks) finishesOwn(s *ir.Step) bool {
	outputs := 0
	for k, x := range o.program.OperandsOf(s) {
		switch {
		case x.Buf == ir.Scratch, x.Buf == ir.Output && k < int(s.NSrc):
			return false
		case x.Buf == ir.Output:
			outputs++
		}
	}
	return outputs == 0 || outputs == 1 && (s.NDst == 1 || !o.program.Protocol.Row().Lines)
}
