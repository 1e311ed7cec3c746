// Package channels holds what a file says at the level of channels: a [Level] collects each rank's channels, semaphores
// and barriers, and what its thread blocks do. [Level.Match] reports channels that lack an end, and [Level.Program]
// makes an ir.ChannelProgram. The code that fills a Level must check first that ranks and chunks exist.
package channels

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// A Level is the channels and operations made so far.
type Level struct {
	First  diag.Span // the first statement of this level
	Launch Launch

	ranks     []rank
	ends      []End       // by number
	semas     []semaphore // by number
	memory    map[[2]int32]struct{}
	open      *Pipeline
	pipelines int32 // opened so far
}

// A rank is what one rank has and does.
type rank struct {
	count    [ir.NumChannelTypes]int32
	semas    []int32 // their initial values
	barriers [][]int32
	blocks   []block
}

// A block is a thread block's operations so far.
type block struct {
	ops      []ir.ChannelOp
	pipeline int32 // the number of the pipeline whose loop is the last operation, or 0
}

// An End is a rank's end of a channel.
type End struct {
	Rank, Peer int32
	Via        ir.ChannelType
	ID         int32   // among the rank's of its type
	Group      []int32 // switch: the ranks, in order
	Span       diag.Span
	bufs       uint8 // switch: the buffers that it is used with, as bits
}

// A semaphore counts among the blocks of a rank.
type semaphore struct{ rank, id int32 }

// A Launch is what launches are like.
type Launch struct {
	Span           diag.Span
	Threads, Align int64 // of a block, or 0 where the file does not say; bytes that parts of operands are multiples of
	Double, Reuse  bool
}

// UsualThreads and UsualAlign are those of a Launch that the file says nothing of.
const (
	UsualThreads = 1024
	UsualAlign   = 16
)

// New returns a level without channels for a given number of ranks. first is its first statement.
func New(first diag.Span, ranks int) *Level {
	return &Level{First: first, ranks: make([]rank, ranks), memory: map[[2]int32]struct{}{}}
}

// Connect adds e, sets its ID, and returns its number.
func (l *Level) Connect(e End) int64 {
	if e.Via == ir.MemoryChannel {
		l.memory[[2]int32{e.Rank, e.Peer}] = struct{}{}
	}
	n := &l.ranks[e.Rank].count[e.Via]
	e.ID = *n
	*n++
	l.ends = append(l.ends, e)
	return int64(len(l.ends)) - 1
}

// End returns the end of a number, until the next Connect.
func (l *Level) End(number int64) *End { return &l.ends[number] }

// Use notes that the end of a switch channel is used with a buffer.
func (e *End) Use(b ir.Buf) { e.bufs |= 1 << b }

// Reaches reports whether a rank has a memory channel to a peer.
func (l *Level) Reaches(rank, peer int32) bool {
	_, ok := l.memory[[2]int32{rank, peer}]
	return ok
}

// AddSemaphore adds a semaphore of a rank, and returns its number.
func (l *Level) AddSemaphore(rank, initial int32) int64 {
	own := &l.ranks[rank].semas
	l.semas = append(l.semas, semaphore{rank, int32(len(*own))})
	*own = append(*own, initial)
	return int64(len(l.semas)) - 1
}

// Semaphore returns the rank of the semaphore of a number, and its ID among the rank's.
func (l *Level) Semaphore(number int64) (rank, id int32) {
	return l.semas[number].rank, l.semas[number].id
}

// Barriers returns how many barriers a rank has.
func (l *Level) Barriers(rank int32) int { return len(l.ranks[rank].barriers) }

// Barrier returns the ID of a rank's barrier among blocks, which are sorted. Those that meet at one set of blocks have
// one barrier.
func (l *Level) Barrier(rank int32, blocks []int32) int32 {
	r := &l.ranks[rank]
	id := slices.IndexFunc(r.barriers, func(b []int32) bool { return slices.Equal(b, blocks) })
	if id < 0 {
		id = len(r.barriers)
		r.barriers = append(r.barriers, slices.Clone(blocks))
	}
	return int32(id)
}

// Missing returns how many blocks a rank lacks to have one of a number.
func (l *Level) Missing(rank, block int32) int { return max(0, int(block)+1-len(l.ranks[rank].blocks)) }

// AddBlocks gives a rank a given number of additional blocks.
func (l *Level) AddBlocks(rank int32, more int) {
	r := &l.ranks[rank]
	r.blocks = append(r.blocks, make([]block, more)...)
}

// Add adds an operation to a block that the rank has: to the loop of the pipeline that is open, if any.
func (l *Level) Add(rank, block int32, op *ir.ChannelOp) {
	b := &l.ranks[rank].blocks[block]
	if l.open == nil {
		b.ops, b.pipeline = append(b.ops, *op), 0
		return
	}
	loop := l.open.loop(b)
	loop.Body = append(loop.Body, *op)
}

// A Pipeline is, in every block that does something in it, one loop over what the block does there.
type Pipeline struct {
	Unit   int64 // bytes of a loop iteration
	Chunks int32 // of all iterations
	Pos    int32
	Span   diag.Span
	number int32
}

// Open opens p, which has what is added until Close.
func (l *Level) Open(p *Pipeline) {
	l.pipelines++
	p.number = l.pipelines
	l.open = p
}

// Close closes the pipeline that is open.
func (l *Level) Close() { l.open = nil }

// Pipeline returns the pipeline that is open, or nil.
func (l *Level) Pipeline() *Pipeline { return l.open }

// loop returns the loop of p in a block, which is the block's last operation.
func (p *Pipeline) loop(b *block) *ir.ChannelOp {
	if b.pipeline != p.number {
		b.ops = append(b.ops, ir.ChannelOp{Kind: ir.ChLoop, Type: ir.NoChannel, Unit: p.Unit, Chunks: p.Chunks, Pos: p.Pos})
		b.pipeline = p.number
	}
	return &b.ops[len(b.ops)-1]
}
