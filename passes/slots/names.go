package slots

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/fifo"
)

// names is the ir.Source of a lowered program: it names the steps, blocks and chunks of the program that was lowered.
type names struct {
	of      *fifo.Program
	block   []int32       // of a step of that: its block
	steps   []int32       // of a step of the lowered program: the step of the other
	signals [][][2]string // by rank and flag: what a signal is called, and of what it is one
}

// flags names the flags of connections, and those between blocks.
func (n *names) flags(s *State, between map[[2]int32]blockFlag) {
	n.signals = make([][][2]string, len(s.flags))
	for r := range n.signals {
		n.signals[r] = make([][2]string, s.flags[r])
	}
	for k := range s.conns {
		c := &s.conns[k]
		text := fmt.Sprintf("of connection %d %d->%d", c.channel, c.src, c.dst)
		n.signals[c.dst][c.data], n.signals[c.src][c.free] = [2]string{"message", text}, [2]string{"credit", text}
	}
	for pair, to := range between {
		n.signals[s.p.Blocks[pair[1]].Rank][to.flag] = [2]string{"signal", "of " + s.p.BlockName(pair[0])}
	}
}

// Op implements ir.Source.
func (n *names) Op(i int32) string { return n.of.OpName(n.steps[i]) }

// BlockOf implements ir.Source.
func (n *names) BlockOf(i int32) string { return n.of.BlockName(n.block[n.steps[i]]) }

// Block implements ir.Source.
func (n *names) Block(b int32) string { return n.of.BlockName(b) }

// Buf implements ir.Source.
func (n *names) Buf(b ir.Buf) string { return b.String() }

// Chunks implements ir.Source.
func (n *names) Chunks(from, to int) string { return ir.ChunksText(n.of.Source, from, to) }

// Place implements ir.StepSource.
func (n *names) Place(i int32) (rank, block, step int) { return n.of.Place(n.steps[i]) }

// Flag implements ir.FlagSource.
func (n *names) Flag(rank, index int32) (what, of string) {
	return n.signals[rank][index][0], n.signals[rank][index][1]
}
