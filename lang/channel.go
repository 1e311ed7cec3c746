package lang

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file holds what a file says at the level of channels: which thread block
// does what, over which channel. channel_words.go and channel_call.go compile
// it, channel_move.go and channel_reduce.go do operations on chunks, and
// channel_result.go makes an ir.ChannelProgram of it.

// A channelLevel is the channels and operations made so far.
type channelLevel struct {
	first  diag.Span // the first statement of this level
	ranks  []channelRank
	ends   []channelEnd          // by the numbers that values of kChannel have
	semas  []semaphore           // by those of kSemaphore
	memory map[[2]int32]struct{} // the rank has a memory channel to the peer
	pipe   *pipe                 // that is open, or nil
	pipes  int32                 // opened so far
	launch launchSettings
}

// A channelRank is what one rank has and does.
type channelRank struct {
	count    [ir.NumChannelTypes]int32
	semas    []int32 // their initial values
	barriers [][]int32
	blocks   []channelBlock
}

// A channelBlock is a thread block's operations so far.
type channelBlock struct {
	ops  []ir.ChannelOp
	pipe int32 // the number of the pipeline whose loop is the last operation, or 0
}

// A channelEnd is a rank's end of a channel.
type channelEnd struct {
	rank, peer int32
	via        ir.ChannelType
	id         int32   // among the rank's of its type
	group      []int32 // switch: the ranks, in order
	bufs       uint8   // switch: the buffers that it is used with, as bits
	span       diag.Span
}

// A semaphore counts among the blocks of a rank.
type semaphore struct{ rank, id int32 }

// maxTB is the most that a thread block's number may be.
const maxTB = 1023

// level returns the level of channels for a statement of it, or nil after a
// fault.
func (m *machine) level(span diag.Span) *channelLevel {
	p := &m.prog
	switch {
	case m.custom:
		m.fault(diag.Declaration, span, "a custom collective says what must hold, and has no channels")
		return nil
	case !m.ready(&span):
		return nil
	case p.channels == nil && p.spent > 0:
		d := m.fault(diag.Mixed, span,
			"channels and thread blocks, in an algorithm that has copies and reduces for the compiler to place")
		*d = d.WithNote(p.firstOp, "the first of these is here")
		d.Hint = "one algorithm is of one level: tb = N at a copy or reduce says which thread block does it"
		return nil
	case p.ways != 1:
		m.fault(diag.Mixed, span, "parallelize is for what the compiler places").Hint =
			"tb = [0, 1] shares an operation out among two thread blocks"
		return nil
	}
	if p.channels == nil {
		p.channels = &channelLevel{first: span, ranks: make([]channelRank, p.coll.Ranks), memory: map[[2]int32]struct{}{}}
	}
	return p.channels
}

// mixedChunks reports an operation without a thread block among those that have
// one.
func (m *machine) mixedChunks(span diag.Span) {
	d := m.fault(diag.Mixed, span, "which thread block does this? The algorithm says it of others")
	*d = d.WithNote(m.prog.channels.first, "the first statement at the level of channels is here")
	d.Hint = "tb = N says it; a channel's put and get go to another rank"
}

// rankAt checks that rank exists.
func (m *machine) rankAt(rank int64, span diag.Span) bool {
	if n := int64(m.prog.coll.Ranks); rank < 0 || rank >= n {
		m.fault(diag.OutOfBounds, span, "rank %d does not exist: ranks are 0 to %d", rank, n-1)
		return false
	}
	return true
}

// newChannel makes an end of a memory or port channel.
func (m *machine) newChannel(span diag.Span, rank, peer int64, via ir.ChannelType) int64 {
	ch := m.level(span)
	if ch == nil || !m.rankAt(rank, span) || !m.rankAt(peer, span) {
		return 0
	}
	if rank == peer {
		m.fault(diag.Channel, span,
			"a channel from rank %d to itself: within a rank, thread blocks have semaphores and barriers", rank)
		return 0
	}
	if via == ir.MemoryChannel {
		ch.memory[[2]int32{int32(rank), int32(peer)}] = struct{}{}
	}
	return m.addEnd(channelEnd{rank: int32(rank), peer: int32(peer), via: via, span: span})
}

// newSwitch makes an end of a switch channel.
func (m *machine) newSwitch(span diag.Span, rank int64, list []value) int64 {
	ch := m.level(span)
	if ch == nil || !m.rankAt(rank, span) {
		return 0
	}
	e := channelEnd{rank: int32(rank), peer: -1, via: ir.SwitchChannel, span: span}
	for i := range list {
		if v := &list[i]; v.kind != kInt {
			m.wrongKind(v.kind, kInt, "a rank", span)
			return 0
		} else if !m.rankAt(v.n, span) {
			return 0
		}
		e.group = append(e.group, int32(list[i].n))
	}
	slices.Sort(e.group)
	switch {
	case len(slices.Compact(slices.Clone(e.group))) != len(list):
		m.fault(diag.Channel, span, "a rank stands twice among those of a switch channel")
		return 0
	case !slices.Contains(e.group, e.rank):
		m.fault(diag.Channel, span, "rank %d is not among the ranks of its switch channel", rank)
		return 0
	}
	if !m.elements(len(list), len(list), span) {
		return 0
	}
	return m.addEnd(e)
}

func (m *machine) addEnd(e channelEnd) int64 {
	ch := m.prog.channels
	if !m.elements(0, 8, e.span) {
		return 0
	}
	n := &ch.ranks[e.rank].count[e.via]
	e.id = *n
	*n++
	ch.ends = append(ch.ends, e)
	return int64(len(ch.ends)) - 1
}

// opCost is the elements of a list that an operation takes the memory of.
const opCost = 16

// emit adds an operation to a block.
func (m *machine) emit(s *site, rank, tb int32, op ir.ChannelOp) {
	ch := m.prog.channels
	if m.prog.spent += int64(1 + len(op.Srcs) + len(op.Dsts)); m.prog.spent > m.lim.Ops {
		m.exhausted("ops", m.lim.Ops, syntax.MoreHint("ops", m.lim.Ops), &s.span, "the file makes more than %d operations")
		return
	}
	if !m.elements(0, opCost, s.span) {
		return
	}
	if m.watch != nil {
		m.watch(s.span.Pos, rank)
	}
	op.Pos = s.pos
	r := &ch.ranks[rank]
	if more := int(tb) + 1 - len(r.blocks); more > 0 {
		if !m.elements(0, more, s.span) {
			return
		}
		r.blocks = append(r.blocks, make([]channelBlock, more)...)
	}
	block := &r.blocks[tb]
	if ch.pipe == nil {
		block.ops, block.pipe = append(block.ops, op), 0
	} else if ch.pipe.takes(m, s, &op) {
		loop := ch.pipe.loop(block)
		loop.Body = append(loop.Body, op)
	}
}

// blocksOf adds the thread block that v is, or those in the list that it is.
func (m *machine) blocksOf(tbs []int32, v *value, span diag.Span) []int32 {
	one := []value{*v}
	list := &one
	if v.kind == kList {
		list = v.list
	}
	if len(*list) == 0 {
		m.fault(diag.Arguments, span, "no thread block")
	}
	for i := range *list {
		x := &(*list)[i]
		switch {
		case m.bad:
		case x.kind != kInt:
			m.wrongKind(x.kind, kInt, "a thread block", span)
		case x.n < 0 || x.n > maxTB:
			m.fault(diag.OutOfBounds, span, "thread block %d: there are 0 to %d", x.n, maxTB)
		case slices.Contains(tbs, int32(x.n)):
			m.fault(diag.Arguments, span, "thread block %d stands twice", x.n)
		default:
			tbs = append(tbs, int32(x.n))
		}
	}
	return tbs
}

// launchSettings are what a launch is like; threads is 0 where the file does not say.
type launchSettings struct {
	span           diag.Span
	threads, align int64 // of a block; bytes that parts of operands are multiples of
	double, reuse  bool
}
