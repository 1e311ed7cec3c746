package abi

import (
	"slices"

	"mscclc/ir"
)

// This file is inboxes: what ranks of other nodes write. It is apart from a rank's other scratch and flags, since the
// proxies must reach it, which on GPUs takes memory of the host.

// NetInboxes say which chunks of scratch, and which flags, are in the inbox of each rank. Chunks are as close there as
// can be: those that some step has as one operand stay neighbours.
type NetInboxes struct {
	Chunks  int        // the most that a rank has
	numbers [][]uint32 // of chunks in the inbox, counted from 1, by rank and index of scratch; 0 is none
	flags   [][]bool   // by rank and index
}

// inboxes finds them. A step may have chunks from other nodes and others as one operand, so these are there, too.
func (img *Image) inboxes(table *NetTable) NetInboxes {
	p := img.Program
	n := NetInboxes{numbers: make([][]uint32, p.Coll.Ranks), flags: make([][]bool, p.Coll.Ranks)}
	written := img.written(table, &n)
	joined := img.joined(written)
	for r, of := range written {
		if of == nil {
			continue
		}
		n.numbers[r] = make([]uint32, len(of))
		number := uint32(0)
		for first := 0; first < len(of); {
			end := first + 1
			for end < len(of) && joined[r][end-1] > 0 {
				end++
			}
			some := slices.Contains(of[first:end], true)
			for ; first < end; first++ {
				if some {
					number++
					n.numbers[r][first] = number
				}
			}
		}
		n.Chunks = max(n.Chunks, int(number))
	}
	return n
}

// written marks the chunks of scratch that messages bring, by rank and index, and in n the flags.
func (img *Image) written(table *NetTable, n *NetInboxes) [][]bool {
	p, one := img.Program, img.One
	written := make([][]bool, p.Coll.Ranks)
	for _, m := range table.Messages {
		r := int(m.Rank)
		if n.flags[r] == nil {
			n.flags[r], written[r] = make([]bool, one.Flags), make([]bool, p.ScratchOf(r))
		}
		n.flags[r][one.Operands[one.Blocks[m.Block].FirstOperand+m.Operand].Index] = true
		for _, s := range table.Segments[m.First : m.First+m.Segments] {
			for i := range s.Count {
				written[r][s.Index+i] = true
			}
		}
	}
	return written
}

// joined counts the operands that have both a chunk of scratch and the one after it, by rank and index, where ranks
// have an inbox.
func (img *Image) joined(written [][]bool) [][]int32 {
	p := img.Program
	joined := make([][]int32, len(written))
	for r, of := range written {
		joined[r] = make([]int32, len(of)+1)
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		for _, x := range p.OneSided.OperandsOf(s) {
			if s.Op.Moves() && x.Buf == ir.Scratch && x.Rank >= 0 && written[x.Rank] != nil {
				joined[x.Rank][x.Index]++
				joined[x.Rank][x.Index+s.Count-1]--
			}
		}
	}
	for _, of := range joined {
		for i := 1; i < len(of); i++ {
			of[i] += of[i-1]
		}
	}
	return joined
}

// renumber has segments count the chunks of inboxes.
func (t *NetTable) renumber() {
	for _, m := range t.Messages {
		for i := range t.Segments[m.First : m.First+m.Segments] {
			s := &t.Segments[m.First:][i]
			s.Index = t.Inboxes.numbers[m.Rank][s.Index] - 1
		}
	}
}

// Of reports whether a rank has an inbox.
func (n *NetInboxes) Of(rank int) bool { return n.flags[rank] != nil }

// Deliver has the operands of a part name inboxes where they are of such. Nobody but the kernel copies from and to
// inboxes, so no port is asked for that. It returns, by rank, whether the part moves data from or to its
// inbox, or awaits flags there.
func (t *OnePart) Deliver(n *NetInboxes) []bool {
	uses := make([]bool, len(n.flags))
	for _, b := range t.Blocks {
		steps, operands := t.Steps[b.FirstStep:b.FirstStep+b.Steps], t.Operands[b.FirstOperand:b.FirstOperand+b.Operands]
		for i := range steps {
			s := &steps[i]
			list := operands[s.First : s.First+uint32(s.Srcs)+uint32(s.Dsts)]
			for k := range list {
				if o := &list[k]; n.deliver(o) && ir.Op(s.Op) != ir.Signal {
					uses[o.Rank] = true
					s.Flags &^= onePort
				}
			}
		}
	}
	return uses
}

// deliver has one operand name an inbox, if it is of one.
func (n *NetInboxes) deliver(o *OneOperand) bool {
	if o.Rank < 0 {
		return false
	}
	switch ir.Buf(o.Buf) {
	case ir.Scratch:
		if of := n.numbers[o.Rank]; of != nil && of[o.Index] > 0 {
			o.Buf, o.Index = InboxBuf, of[o.Index]-1
			return true
		}
	case ir.Flags:
		if of := n.flags[o.Rank]; of != nil && of[o.Index] {
			o.Buf = InboxFlagsBuf
			return true
		}
	}
	return false
}
