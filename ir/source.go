package ir

import (
	"fmt"
	"strconv"
)

// A Source says what messages call the parts of a Program that was made from what a user wrote in other terms. It
// translates positions, so that text is made once, in the user's terms.
type Source interface {
	// Op names step i of Program.Steps within its thread block, and Block says whose step it is.
	Op(i int32) string
	BlockOf(i int32) string
	// Block names block b of Program.Blocks, with its rank.
	Block(b int32) string
	// Buf names a buffer.
	Buf(b Buf) string
	// Chunks is the index of chunks [from, to) of a buffer, as it stands between brackets.
	Chunks(from, to int) string
}

// A StepSource is a Source that numbers the steps of what the user wrote.
type StepSource interface {
	Source
	// Place returns the rank, the block within it and the step within that which step i of Program.Steps comes of.
	Place(i int32) (rank, block, step int)
}

// A FlagSource is a Source that names the signals of a flag: by what one is called, and of what it is one, such as
// "message" and "of connection 0 1->2".
type FlagSource interface {
	Source
	Flag(rank, index int32) (what, of string)
}

// SourcePlace returns which step of which block of which rank step i of p.Steps is for messages: as Place says, or as
// p.Source does.
func (p *Program) SourcePlace(i int32) (rank, block, step int) {
	if s, ok := p.Source.(StepSource); ok {
		return s.Place(i)
	}
	return p.Place(i)
}

// OpName names step i of p.Steps within its thread block: "step 3 (mv)", or what p.Source calls it.
func (p *Program) OpName(i int32) string {
	if p.Source != nil {
		return p.Source.Op(i)
	}
	_, _, step := p.Place(i)
	return fmt.Sprintf("step %d (%v)", step, p.Steps[i].Op)
}

// StepName names step i of p.Steps: "rank 0 block 1 step 3 (mv)", or what p.Source calls it.
func (p *Program) StepName(i int32) string { return p.blockOf(i) + " " + p.OpName(i) }

// blockOf names the block of step i.
func (p *Program) blockOf(i int32) string {
	if p.Source != nil {
		return p.Source.BlockOf(i)
	}
	rank, block, _ := p.Place(i)
	return fmt.Sprintf("rank %d block %d", rank, block)
}

// BlockName names block b of p.Blocks: "rank 0 block 1", or what p.Source calls it.
func (p *Program) BlockName(b int32) string {
	if p.Source != nil {
		return p.Source.Block(b)
	}
	rank := p.Blocks[b].Rank
	return fmt.Sprintf("rank %d block %d", rank, b-p.Rank[rank].First)
}

// ChunkName names chunk i of a buffer: "input[3]", or what p.Source calls it.
func (p *Program) ChunkName(b Buf, i int) string {
	if p.Source == nil {
		return fmt.Sprintf("%v[%d]", b, i)
	}
	return p.Source.Buf(b) + "[" + p.Source.Chunks(i, i+1) + "]"
}

// ChunksText returns the index of chunks [from, to) of a buffer: "3", "3..5", or what s calls it. s may be nil.
func ChunksText(s Source, from, to int) string {
	switch {
	case s != nil:
		return s.Chunks(from, to)
	case to-from == 1:
		return strconv.Itoa(from)
	}
	return fmt.Sprintf("%d..%d", from, to)
}
