package channels

import (
	"cmp"
	"fmt"

	"mscclc/ir"
	"mscclc/ir/onesided"
)

// opNames are what messages call operations that have no name of their file, where that is not the word of the text
// form.
var opNames = map[ir.ChannelOpKind]string{ir.ChMeet: "block barrier", ir.ChMove: "move", ir.ChEach: "move",
	ir.ChEachSignal: "move and signal", ir.ChEachSignalFlush: "move, signal and flush"}

// name names an operation for a message.
func (s source) name(rank int32) string {
	return fmt.Sprintf("rank %d block %d %s", rank, s.block, s.short())
}

// short names an operation of a block.
func (s source) short() string {
	kind := cmp.Or(s.what.Name, opNames[s.what.Kind], s.what.Kind.String())
	if s.inner < 0 {
		return fmt.Sprintf("op %d (%s)", s.op, kind)
	}
	if s.turn < 0 {
		return fmt.Sprintf("op %d.%d (%s)", s.op, s.inner, kind)
	}
	return fmt.Sprintf("op %d.%d (%s) in loop iteration %d", s.op, s.inner, kind, s.turn+1)
}

// names is the ir.Source of a program that was unrolled: it names the operations of the channel program, and its
// chunks.
type names struct {
	p       *onesided.Program
	sources []source  // indexed as p.Steps
	owners  [][]int32 // by rank and block of p: the block whose port it is, or -1
	parts   int       // of a chunk of the channel program, which are chunks of p
	lying   int       // chunks from here on are packets of scratch, as they lie
}

// names returns the names of g, whose steps and blocks are those of u.
func (u *unroller) names(g *onesided.Program) *names {
	n := &names{g, u.sources, make([][]int32, len(u.blocks)), int(u.parts), int(u.lying)}
	for r, blocks := range u.blocks {
		for b, k := range blocks {
			owner := int32(-1)
			if b >= len(u.p.Ranks[r].Blocks) {
				owner = k.owner
			}
			n.owners[r] = append(n.owners[r], owner)
		}
	}
	return n
}

// Op implements ir.Source.
func (n *names) Op(i int32) string { return n.sources[i].short() }

// BlockOf implements ir.Source: the step of a port is its block's operation.
func (n *names) BlockOf(i int32) string {
	rank, _, _ := n.p.Place(i)
	return fmt.Sprintf("rank %d block %d", rank, n.sources[i].block)
}

// Block implements ir.Source.
func (n *names) Block(b int32) string {
	rank := n.p.Blocks[b].Rank
	block := b - n.p.Rank[rank].First
	if owner := n.owners[rank][block]; owner >= 0 {
		return fmt.Sprintf("a port of rank %d block %d", rank, owner)
	}
	return fmt.Sprintf("rank %d block %d", rank, block)
}

// Buf implements ir.Source.
func (n *names) Buf(b ir.Buf) string {
	if b == ir.Packets {
		return "packets of scratch"
	}
	return b.String()
}

// Chunks implements ir.Source.
func (n *names) Chunks(from, to int) string {
	if from >= n.lying {
		from, to = from-n.lying, to-n.lying
	}
	switch {
	case n.parts > 1 && to-from == 1:
		return n.part(from)
	case from%n.parts != 0 || to%n.parts != 0:
		return n.part(from) + ", to " + n.part(to-1)
	}
	return ir.ChunksText(nil, from/n.parts, to/n.parts)
}

// part names one part of a chunk.
func (n *names) part(i int) string {
	return fmt.Sprintf("%d, part %d of %d", i/n.parts, i%n.parts+1, n.parts)
}
