package abi

import (
	"math"
	"slices"

	"mscclc/bundle/limits"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// block adds block i, whose steps are those of the program in order.
func (c *oneBuilder) block(i int) error {
	b := &c.p.Blocks[i]
	row := OneBlock{Rank: uint32(b.Rank), Number: uint32(i), FirstStep: uint32(len(c.one.Steps)),
		Steps: uint32(b.Steps.End - b.Steps.First), FirstOperand: uint32(len(c.one.Operands)), Together: uint32(b.Together)}
	signalled := map[oneFlag]int32{} // in this pass so far
	for s := b.Steps.First; s < b.Steps.End; s++ {
		if err := c.step(s, &row, signalled); err != nil {
			return err
		}
	}
	row.Operands = uint32(len(c.one.Operands)) - row.FirstOperand
	steps, operands := c.one.Steps[row.FirstStep:], c.one.Operands[row.FirstOperand:]
	joinGroups(steps, operands)
	orderSignals(steps, operands)
	c.one.Blocks = append(c.one.Blocks, row)
	return nil
}

// joinGroups counts the Moves that run together, from each: Joint ones that are alike, so that a GPU
// can deal them to its warps. A thread that has units of several of them waits for the packets of all before
// it sends any, so that nothing after a Move that passes packets on may be joined to it: its packets may
// be made of those that are to be sent.
func joinGroups(steps []OneStep, operands []OneOperand) {
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		s.Group = 1
		if ir.Op(s.Op) != ir.Move || i+1 == len(steps) {
			continue
		}
		next := &steps[i+1]
		if ir.Op(next.Op) == ir.Move && ir.StepFlags(next.Flags)&ir.Joint != 0 && next.Group < math.MaxUint16 &&
			alike(s, next, operands) && !passesOn(s, operands) {
			s.Group = next.Group + 1
		}
	}
}

// orderSignals marks the Signals before which the threads must synchronise so that a flag's counts are stored in order:
// thread i signals operand i, and between Signals that follow each other threads do not wait for each other. The last
// of a pass may be followed by the first of the next.
func orderSignals(steps []OneStep, operands []OneOperand) {
	const marks = ir.Enter | ir.Leave // steps with these are absent from some passes
	last := map[oneFlag]uint32{}      // the operand that signals it, since the threads met
	for range 2 {
		for i := range steps {
			s := &steps[i]
			marked := ir.StepFlags(s.Flags)&marks != 0
			if ir.Op(s.Op) != ir.Signal {
				if !marked {
					clear(last) // a Signal after it begins with a meeting
				}
				continue
			}
			for k := range uint32(s.Dsts) {
				d := &operands[s.First+uint32(s.Srcs)+k]
				if at, ok := last[oneFlag{int32(d.Rank), int32(d.Index)}]; ok && at != k {
					s.Flags |= oneMeets
				}
			}
			if s.Flags&oneMeets != 0 && !marked {
				clear(last)
			}
			for k := range uint32(s.Dsts) {
				d := &operands[s.First+uint32(s.Srcs)+k]
				last[oneFlag{int32(d.Rank), int32(d.Index)}] = k
			}
		}
	}
}

// passesOn reports whether a Move of one source reads packets and sends packets.
func passesOn(s *OneStep, operands []OneOperand) bool {
	return operands[s.First].Buf == uint8(ir.Packets) &&
		slices.ContainsFunc(operands[s.First+1:][:s.Dsts], func(d OneOperand) bool { return d.Buf == uint8(ir.Packets) })
}

// alike reports whether two Moves each copy one chunk, both from packets or neither, and to
// packets or not, and no port may do either.
func alike(a, b *OneStep, operands []OneOperand) bool {
	plain := func(s *OneStep) bool {
		return s.Srcs == 1 && s.Count == 1 && ir.StepFlags(s.Flags)&ir.Final == 0 && operands[s.First].Rank >= 0
	}
	return plain(a) && plain(b) && a.Flags&onePackets == b.Flags&onePackets && (a.Flags|b.Flags)&onePort == 0 &&
		(operands[a.First].Buf == uint8(ir.Packets)) == (operands[b.First].Buf == uint8(ir.Packets))
}

// step adds the row of step i of a block, and its operands'.
func (c *oneBuilder) step(i int32, block *OneBlock, signalled map[oneFlag]int32) error {
	s := &c.p.Steps[i]
	src, dst := c.p.Sources(s), c.p.Dests(s)
	if s.Count > limits.Chunks {
		d := diag.New(diag.Limit, c.p.Span(s.Pos), "%s moves %d chunks, more than %d", c.p.StepName(i), s.Count, limits.Chunks)
		d.Rank, d.Block, d.Step = c.p.Place(i)
		return diag.List{d}
	}
	flags := s.Flags &^ ir.Loose // a launch waits for all its blocks, which is one of the things that may happen
	if !s.Op.Moves() {           // the kernel meets before Signals and orders all it can, which is more than is asked
		flags &^= ir.Joint | ir.Relaxed
	}
	row := OneStep{Op: uint8(s.Op), Flags: uint8(flags), Srcs: uint16(s.NSrc), Dsts: uint16(s.NDst),
		Count: uint16(s.Count), Class: uint16(s.Class), First: uint32(len(c.one.Operands)) - block.FirstOperand}
	c.img.Final = c.img.Final || s.Flags&ir.Final != 0
	if ported(s, src, dst) {
		row.Flags |= onePort
		c.one.Port = true
	}
	if s.Op.Moves() && (len(src) > 1 || src[0].Rank == ir.AllRanks || s.Flags&ir.Final != 0) {
		c.one.Copies = false
	}
	for k, x := range c.p.OperandsOf(s) {
		o := c.operand(s, &x, signalled)
		if c.fresh != nil && c.fresh.Operands[int(s.Src)+k] {
			o.Via |= oneFresh
		}
		c.one.Operands = append(c.one.Operands, o)
		c.one.Lines = c.one.Lines && x.Rank != ir.AllRanks
		switch {
		case x.Buf == ir.Packets:
			row.Flags |= onePackets
		case x.Buf == ir.Scratch && x.Rank != int32(block.Rank):
			c.one.Message = max(c.one.Message, int(s.Count))
		}
	}
	c.one.Steps = append(c.one.Steps, row)
	return nil
}

// ported reports whether a port is to move what s does, and can: it copies, and knows neither packets nor a switch.
func ported(s *ir.Step, src, dst []onesided.Operand) bool {
	if !s.Op.Moves() || len(src) != 1 || s.Flags&ir.Final != 0 {
		return false
	}
	all := slices.Concat(src, dst)
	return slices.ContainsFunc(all, func(o onesided.Operand) bool { return o.Via == ir.ViaPort }) &&
		!slices.ContainsFunc(all, func(o onesided.Operand) bool { return o.Buf == ir.Packets || o.Rank == ir.AllRanks })
}

// operand turns an operand of s into its row. It notes where its classes are not the step's.
func (c *oneBuilder) operand(s *ir.Step, x *onesided.Operand, signalled map[oneFlag]int32) OneOperand {
	row := OneOperand{Rank: int16(x.Rank), Buf: uint8(x.Buf), Via: uint8(x.Via), Index: uint32(x.Index)}
	switch {
	case x.Buf == ir.Flags:
		at := oneFlag{x.Rank, x.Index}
		if row.A, row.B = x.Nth, c.signals[at]; s.Op == ir.Signal {
			signalled[at]++
			row.A = signalled[at]
		}
	case x.Buf == ir.Input || x.Buf == ir.Output:
		row.A, row.B = x.Index/int32(c.p.Coll.Chunks), uint32(c.p.Coll.Class(int(x.Index)))
		c.img.Even = c.img.Even || int32(row.B) != s.Class
	}
	return row
}
