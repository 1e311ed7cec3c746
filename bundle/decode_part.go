package bundle

import (
	"fmt"

	"mscclc/executor/abi"
	"mscclc/ir"
)

// This file checks the tables of programs: all numbers by which the library or a kernel finds something else.
// runtime/src/bundle/part.cc checks the same.

// pieces returns how many pieces a rank's input and output have, as ir.Collective.Pieces.
func (p *ProgramRow) pieces(rank uint32) (in, out uint32) {
	c := ir.Collective{Kind: ir.Kind(p.Kind), Ranks: int(p.Ranks), Root: int(p.Root)}
	i, o := c.Pieces(int(rank))
	return uint32(i), uint32(o)
}

// chunksOf returns how many chunks a rank's input or output has. A custom collective has as many as its names say.
func (p *Program) chunksOf(rank uint32, buf ir.Buf) uint64 {
	in, out := p.pieces(rank)
	if buf == ir.Output {
		in = out
	}
	if p.kind() == ir.Custom {
		return uint64(p.Named.units(rank, buf)) // checkCalls has seen that it has names
	}
	return uint64(in) * uint64(p.Chunks)
}

// checkTables refuses tables whose rows name others that do not exist. node has the node of each rank; nil is one node.
func (p *Program) checkTables(node []int32) error {
	next := uint32(0)
	for rank := range p.Parts {
		t := partTables{p, &p.Parts[rank], uint32(rank), node}
		if err := t.check(&next); err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
	}
	if next != p.Blocks {
		return fmt.Errorf("its ranks have %d blocks, and not %d", next, p.Blocks)
	}
	return nil
}

// partTables are a rank's part of a program while it is checked.
type partTables struct {
	*Program
	part *abi.OnePart
	rank uint32
	node []int32
}

// check checks the blocks, which are numbered from next on.
func (t *partTables) check(next *uint32) error {
	step, operand, shared := 0, 0, uint32(0)
	for i := range t.part.Blocks {
		b := &t.part.Blocks[i]
		if b.Rank != t.rank || b.Number != *next || int64(b.FirstStep) != int64(step) ||
			int64(b.FirstOperand) != int64(operand) || int64(b.Steps) > int64(len(t.part.Steps)-step) ||
			int64(b.Operands) > int64(len(t.part.Operands)-operand) {
			return fmt.Errorf("block %d is of another rank, or its tables do not follow those of the block before", i)
		}
		if n := b.Together; n != 0 && (!ir.MayShare(int(n)) || shared != 0 && n != shared) {
			return fmt.Errorf("block %d has %d replicas together in a CTA", i, n)
		} else if n != 0 {
			shared = n
		}
		steps := t.part.Steps[step : step+int(b.Steps)]
		for k := range steps {
			if err := t.checkStep(steps[k:], t.part.Operands[operand:operand+int(b.Operands)]); err != nil {
				return fmt.Errorf("step %d of block %d: %w", k, i, err)
			}
		}
		step, operand = step+int(b.Steps), operand+int(b.Operands)
		*next++
	}
	if step != len(t.part.Steps) || operand != len(t.part.Operands) {
		return fmt.Errorf("some steps or operands are of no block")
	}
	return nil
}

// checkStep checks the first of the steps that are left of a block.
func (t *partTables) checkStep(left []abi.OneStep, operands []abi.OneOperand) error {
	s := &left[0]
	op, last := ir.Op(s.Op), uint64(s.First)+uint64(s.Srcs)+uint64(s.Dsts)
	switch {
	case !op.Moves() && op != ir.Signal && op != ir.Await && op != ir.Nop:
		return fmt.Errorf("no operation is %d", s.Op)
	case last > uint64(len(operands)) || uint32(s.Class) >= t.Chunks:
		return fmt.Errorf("its operands or class %d do not fit", s.Class)
	case op.Moves() && (s.Srcs == 0 || s.Dsts == 0), !op.Moves() && op != ir.Await && s.Srcs != 0,
		!op.Moves() && op != ir.Signal && s.Dsts != 0:
		return fmt.Errorf("%d sources and %d destinations are not those of its operation", s.Srcs, s.Dsts)
	case s.Group < 1 || int(s.Group) > len(left):
		return fmt.Errorf("a group of %d does not fit", s.Group)
	}
	for k := 1; k < int(s.Group); k++ { // those that run together are alike, each of one source
		if op != ir.Move || ir.Op(left[k].Op) != ir.Move || s.Srcs != 1 || left[k].Srcs != 1 {
			return fmt.Errorf("those of its group are not alike")
		}
	}
	for k := uint64(s.First); k < last; k++ {
		if err := t.checkOperand(s, &operands[k]); err != nil {
			return fmt.Errorf("operand %d is of rank %d and buffer %d: %w", k-uint64(s.First), operands[k].Rank,
				operands[k].Buf, err)
		}
	}
	return nil
}

// checkOperand checks that the rank of an operand has such memory, and that the step may reach it.
func (t *partTables) checkOperand(s *abi.OneStep, o *abi.OneOperand) error {
	move, fits := ir.Op(s.Op).Moves(), false
	if o.Rank < 0 || uint32(o.Rank) >= t.Ranks || !t.reaches(s, o) {
		return fmt.Errorf("that rank does not exist, or is of another node")
	}
	last := uint64(o.Index) + max(1, uint64(s.Count))
	switch buf := ir.Buf(o.Buf); buf {
	case ir.Scratch:
		fits = move && last <= uint64(t.Scratch)
	case ir.Packets:
		fits = move && last <= uint64(t.Packets)
	case abi.InboxBuf:
		fits = move && t.Net != nil && last <= uint64(t.Net.Inbox)
	case ir.Flags, abi.InboxFlagsBuf:
		fits = !move && o.Index < t.Flags && (buf == ir.Flags || t.Net != nil)
	case ir.Input, ir.Output:
		if uint32(o.Rank) != t.rank && t.Direct == 0 {
			return fmt.Errorf("it is of another rank, and the program is staged")
		}
		fits = move && last <= t.chunksOf(uint32(o.Rank), buf) && o.A >= 0 && o.B < t.Chunks &&
			uint64(o.A)*uint64(t.Chunks)+uint64(o.B) == uint64(o.Index)
	}
	if !fits {
		return fmt.Errorf("index %d does not fit", o.Index)
	}
	return nil
}

// reaches reports whether a step may have an operand of its rank's node. Data for ranks of other nodes goes to their
// inboxes, and signals of ranks of other nodes are messages.
func (t *partTables) reaches(s *abi.OneStep, o *abi.OneOperand) bool {
	if t.node == nil || t.node[o.Rank] == t.node[t.rank] {
		return true
	}
	if ir.Op(s.Op).Moves() {
		return ir.Buf(o.Buf) == abi.InboxBuf
	}
	return ir.Op(s.Op) == ir.Signal
}
