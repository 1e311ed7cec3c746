package abi

import (
	"math"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// block adds block i, whose steps are those of the program in order.
func (c *oneBuilder) block(i int) error {
	b := &c.p.Blocks[i]
	row := OneBlock{Rank: uint32(b.Rank), Number: uint32(i), FirstStep: uint32(len(c.one.Steps)), Steps: uint32(b.Steps.End - b.Steps.First),
		FirstOperand: uint32(len(c.one.Operands))}
	signalled := map[oneFlag]int32{} // in this pass so far
	for s := b.Steps.First; s < b.Steps.End; s++ {
		if err := c.step(s, int(b.Rank), &row, signalled); err != nil {
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
// it sends any, so that nothing behind a Move that passes packets on may be joined to it: its packets may
// be made of those that are to be sent.
func joinGroups(steps []OneStep, operands []OneOperand) {
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		s.Group = 1
		if ir.Op(s.Op) != ir.Move || i+1 == len(steps) {
			continue
		}
		next := &steps[i+1]
		if ir.Op(next.Op) == ir.Move && ir.StepFlags(next.Flags)&ir.Joint != 0 && next.Group < math.MaxUint16 && alike(s, next, operands) && !passesOn(s, operands) {
			s.Group = next.Group + 1
		}
	}
}

// orderSignals marks the Signals before which the threads must meet so that a flag's counts are stored in order:
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
					clear(last) // a Signal behind it begins with a meeting
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

// passesOn says whether a Move of one source reads packets and sends packets.
func passesOn(s *OneStep, operands []OneOperand) bool {
	return operands[s.First].Buf == uint8(ir.Packets) &&
		slices.ContainsFunc(operands[s.First+1:][:s.Dsts], func(d OneOperand) bool { return d.Buf == uint8(ir.Packets) })
}

// alike says whether two Moves each copy one chunk, both from packets or neither, and to
// packets or not, and no port may do either.
func alike(a, b *OneStep, operands []OneOperand) bool {
	plain := func(s *OneStep) bool {
		return s.Srcs == 1 && s.Count == 1 && ir.StepFlags(s.Flags)&ir.Final == 0 && operands[s.First].Rank >= 0
	}
	return plain(a) && plain(b) && a.Flags&onePackets == b.Flags&onePackets && (a.Flags|b.Flags)&onePort == 0 &&
		(operands[a.First].Buf == uint8(ir.Packets)) == (operands[b.First].Buf == uint8(ir.Packets))
}

// step checks step i, and adds its row and its operands'.
func (c *oneBuilder) step(i int32, rank int, block *OneBlock, signalled map[oneFlag]int32) error {
	s := &c.p.Steps[i]
	src, dst, err := c.operands(i)
	if err != nil {
		return err
	}
	if err := c.form(i, s); err != nil {
		return err
	}
	if len(c.one.Operands)+len(src)+len(dst) >= maxTables {
		return c.malformed("program has too many operands")
	}
	flags := s.Flags &^ ir.Loose // a launch waits for all its blocks, which is one of the things that may happen
	if s.Op != ir.Move {         // the kernel meets before Signals and orders all it can, which is more than is asked
		flags &^= ir.Joint | ir.Relaxed
	}
	c.one.Steps = append(c.one.Steps, OneStep{Op: uint8(s.Op), Flags: uint8(flags), Srcs: uint16(len(src)), Dsts: uint16(len(dst)),
		Count: uint16(s.Count), Class: uint16(s.Class), First: uint32(len(c.one.Operands)) - block.FirstOperand})
	c.img.Final = c.img.Final || s.Flags&ir.Final != 0
	if ported(s, src, dst) {
		c.one.Steps[len(c.one.Steps)-1].Flags |= onePort
		c.one.Port = true
	}
	if s.Op == ir.Move && (len(src) > 1 || src[0].Rank == ir.AllRanks || s.Flags&ir.Final != 0) {
		c.one.Copies = false
	}
	for _, list := range [2][]ir.Operand{src, dst} {
		for k := range list {
			row, err := c.operand(i, rank, &list[k], signalled)
			if err != nil {
				return err
			}
			c.one.Operands = append(c.one.Operands, row)
			c.one.Lines = c.one.Lines && list[k].Rank != ir.AllRanks
			if list[k].Buf == ir.Packets {
				c.one.Steps[len(c.one.Steps)-1].Flags |= onePackets
			}
		}
	}
	return nil
}

// ported says whether a port is to move what s does, and can: it copies, and knows neither packets nor a switch.
func ported(s *ir.Step, src, dst []ir.Operand) bool {
	if s.Op != ir.Move || len(src) != 1 || s.Flags&ir.Final != 0 {
		return false
	}
	all := slices.Concat(src, dst)
	return slices.ContainsFunc(all, func(o ir.Operand) bool { return o.Via == ir.ViaPort }) &&
		!slices.ContainsFunc(all, func(o ir.Operand) bool { return o.Buf == ir.Packets || o.Rank == ir.AllRanks })
}

// form checks what a step says beside its operands.
func (c *oneBuilder) form(i int32, s *ir.Step) error {
	const once = ir.Enter | ir.Leave
	allowed := once | ir.Joint | ir.Relaxed
	switch s.Op {
	case ir.Move:
		allowed = ir.Final | ir.Joint
		if s.NSrc < 1 || s.NDst < 1 || s.Count < 0 || s.Class < 0 || int(s.Class) >= c.p.Coll.Chunks {
			return c.faultAt(diag.Malformed, i, "moves %d chunks of class %d from %d to %d operands", s.Count, s.Class, s.NSrc, s.NDst)
		}
		if s.Count > maxOneCount {
			return c.faultAt(diag.Limit, i, "moves %d chunks, more than %d", s.Count, maxOneCount)
		}
	case ir.Signal:
		if s.NSrc != 0 || s.NDst < 1 || s.Count != 0 || s.Class != 0 {
			return c.faultAt(diag.Malformed, i, "has %d sources, %d flags and %d chunks", s.NSrc, s.NDst, s.Count)
		}
	case ir.Await:
		if s.NDst != 0 || s.NSrc < 1 || s.Count != 0 || s.Class != 0 {
			return c.faultAt(diag.Malformed, i, "has %d flags, %d destinations and %d chunks", s.NSrc, s.NDst, s.Count)
		}
	default:
		return c.faultAt(diag.Malformed, i, "has operation %d", s.Op)
	}
	if s.Flags&^(allowed|ir.Loose) != 0 || s.Flags&once == once {
		return c.faultAt(diag.Malformed, i, "has flags %#x", s.Flags)
	}
	return nil
}

// operand checks one operand of step i and turns it into its row.
func (c *oneBuilder) operand(i int32, rank int, o *ir.Operand, signalled map[oneFlag]int32) (OneOperand, error) {
	row := OneOperand{Rank: int16(o.Rank), Buf: uint8(o.Buf), Via: uint8(o.Via), Index: uint32(o.Index)}
	op := c.p.Steps[i].Op
	if op == ir.Move {
		return row, c.moved(i, o, &row)
	}
	use, err := c.flag(i, o)
	if err != nil {
		return row, err
	}
	row.A, row.B = o.Nth, use.signals
	switch at := (oneFlag{o.Rank, o.Index}); {
	case op == ir.Signal:
		signalled[at]++
		row.A = signalled[at]
	case int(o.Rank) != rank:
		return row, c.faultAt(diag.Malformed, i, "awaits flag %d of rank %d", o.Index, o.Rank)
	}
	return row, nil
}

// moved checks an operand of a Move: its chunks lie in the buffers of whatever
// ranks it is of. It notes where their classes are not the step's.
func (c *oneBuilder) moved(i int32, o *ir.Operand, row *OneOperand) error {
	s, first, end := &c.p.Steps[i], int(o.Rank), int(o.Rank)+1
	if o.Rank == ir.AllRanks {
		first, end = 0, c.p.Coll.Ranks
	}
	if first < 0 || end > c.p.Coll.Ranks || o.Via > ir.ViaSwitch {
		return c.faultAt(diag.Malformed, i, "has an operand of rank %d via %d", o.Rank, o.Via)
	}
	if o.Buf == ir.Packets && c.p.Protocol == ir.Simple {
		return c.faultAt(diag.Malformed, i, "moves packets, and the protocol is %v", c.p.Protocol)
	}
	for r := first; r < end; r++ {
		if size := c.img.Chunks(r, o.Buf); size < 0 || o.Index < 0 || int(o.Index)+int(s.Count) > size {
			return c.faultAt(diag.OutOfBounds, i, "moves %d chunks from %d of %v of rank %d, which has %d", s.Count, o.Index, bufName(o.Buf), r, size)
		}
	}
	if o.Buf == ir.Input || o.Buf == ir.Output {
		row.A, row.B = o.Index/int32(c.p.Coll.Chunks), uint32(c.p.Coll.Class(int(o.Index)))
		c.img.Even = c.img.Even || int32(row.B) != s.Class
	}
	return nil
}
