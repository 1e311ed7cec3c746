package channels

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// check looks at all operations for what nothing below could work with. It leaves out what the form of a one-sided
// program says.
func (u *unroller) check() {
	p := u.p
	switch {
	case p.Coll == nil || len(p.Ranks) != p.Coll.Ranks || u.turns < 1 || u.turns > maxParts:
		u.found = append(u.found, diag.New(diag.Malformed, diag.Span{},
			"the program has %d ranks, %d loop iterations and no collective of them", len(p.Ranks), u.turns))
		return
	}
	for r := range p.Ranks {
		u.checkChannels(int32(r))
		if len(u.found) > 0 {
			return
		}
	}
	for r := range p.Ranks {
		for b, ops := range p.Ranks[r].Blocks {
			k := &unrolled{rank: int32(r)}
			for i := range ops {
				o := &ops[i]
				k.at = source{block: int32(b), op: int32(i), inner: -1, what: o}
				u.checkOp(k, o, nil)
				for j := range o.Body {
					k.at.inner, k.at.what = int32(j), &o.Body[j]
					u.checkOp(k, &o.Body[j], o)
				}
			}
		}
	}
}

// checkChannels looks at the channels of a rank.
func (u *unroller) checkChannels(r int32) {
	bad := func(format string, args ...any) {
		d := diag.New(diag.Malformed, diag.Span{}, format, args...)
		d.Rank = int(r)
		u.found = append(u.found, d)
	}
	n := int32(len(u.p.Ranks))
	if u.p.Ranks[r].Scratch < 0 {
		bad("rank %d has %d chunks of scratch", r, u.p.Ranks[r].Scratch)
	}
	for t := range u.p.Ranks[r].Channels {
		for i := range u.p.Ranks[r].Channels[t] {
			c := &u.p.Ranks[r].Channels[t][i]
			if ir.ChannelType(t) != ir.SwitchChannel && (c.Peer < 0 || c.Peer >= n) {
				bad("rank %d has a channel to rank %d", r, c.Peer)
			}
			for _, x := range c.Group {
				if x < 0 || x >= n {
					bad("rank %d has a switch channel to rank %d", r, x)
				}
			}
		}
	}
}

// checkOp looks at one operation, of a loop's body where loop is not nil.
func (u *unroller) checkOp(k *unrolled, o, loop *ir.ChannelOp) {
	k.pos = o.Pos
	rank, info := &u.p.Ranks[k.rank], o.Kind.Info()
	switch {
	case o.Kind >= ir.NumChannelOps:
		u.say(k, diag.Malformed, "is operation %d", o.Kind)
		return
	case o.Kind == ir.ChLoop && (loop != nil || o.Chunks < 1 || o.Unit < 1):
		u.say(k, diag.Malformed, "is a loop in a loop, or one over %d chunks by %d bytes", o.Chunks, o.Unit)
	case o.Kind != ir.ChLoop && len(o.Body) > 0:
		u.say(k, diag.Malformed, "has a body, and is no loop")
	case o.Kind == ir.ChBarrier && o.Blocks < 1:
		u.say(k, diag.Malformed, "meets %d blocks", o.Blocks)
	case !info.Moves:
	case o.Parts < 0 || o.Part < 0 || o.Part >= max(o.Parts, 1):
		u.say(k, diag.Malformed, "is part %d of %d", o.Part, o.Parts)
	case len(o.Srcs) == 0 || len(o.Dsts) == 0 || info.Pairs && len(o.Srcs) != len(o.Dsts):
		u.say(k, diag.Malformed, "has %d sources and %d destinations", len(o.Srcs), len(o.Dsts))
	}
	for i := range min(len(o.Srcs), len(o.Dsts)) {
		n := o.Srcs[i].Count
		if info.Pairs && (o.Dsts[i].Count != n || o.Parts > 1 && n != o.Srcs[0].Count) {
			u.say(k, diag.Counts, "moves %d chunks to %d, or parts of unequal numbers", n, o.Dsts[i].Count)
		}
	}
	for _, c := range o.Channels {
		if o.Type >= ir.NumChannelTypes || c < 0 || int(c) >= len(rank.Channels[o.Type]) {
			u.say(k, diag.OutOfBounds, "goes through channel %d of type %d, which the rank has not", c, o.Type)
		} else if !info.Moves && o.Type == ir.SwitchChannel {
			u.say(k, diag.Unsupported, "signals through a switch")
		}
	}
	for _, s := range o.Semaphores {
		if s < 0 || int(s) >= len(rank.Semaphores) {
			u.say(k, diag.OutOfBounds, "has semaphore %d of %d", s, len(rank.Semaphores))
		}
	}
	count := int32(-1)
	for i := range o.Srcs {
		u.checkRef(k, o, &o.Srcs[i], loop, &count)
	}
	for i := range o.Dsts {
		u.checkRef(k, o, &o.Dsts[i], loop, &count)
	}
}

// checkRef looks at one operand.
func (u *unroller) checkRef(k *unrolled, o *ir.ChannelOp, x *ir.ChannelRef, loop *ir.ChannelOp, count *int32) {
	if *count < 0 {
		*count = x.Count
	}
	switch {
	case x.Rank != ir.AllRanks && (x.Rank < 0 || int(x.Rank) >= len(u.p.Ranks)):
		u.say(k, diag.OutOfBounds, "has an operand of rank %d", x.Rank)
		return
	case x.Rank == ir.AllRanks && (x.Switch < 0 || int(x.Switch) >= len(u.p.Ranks[k.rank].Channels[ir.SwitchChannel])):
		u.say(k, diag.OutOfBounds, "has an operand through switch channel %d", x.Switch)
		return
	case x.Buf > ir.Scratch || x.Packets && x.Buf != ir.Scratch || x.Count < 1:
		u.say(k, diag.Malformed, "has an operand of %d chunks of buffer %d", x.Count, x.Buf)
		return
	case x.Packets && u.p.Protocol == ir.Simple:
		u.say(k, diag.Malformed, "moves packets, and the protocol is %v: there is scratch for data alone", u.p.Protocol)
	case x.Packets && loop != nil:
		u.say(k, diag.Unsupported,
			"moves packets in a loop: MSCCL++ moves all of them in each loop iteration, under one flag, so that who reads them takes those of any loop iteration").
			Hint = "move packets outside of loops, or data in them"
	case x.Count != *count && !o.Kind.Info().Pairs:
		u.say(k, diag.Counts, "moves %d chunks and %d", *count, x.Count)
	case loop != nil && x.Count != loop.Chunks:
		u.say(k, diag.Counts,
			"moves %d chunks, and its loop goes over %d: the executor of MSCCL++ would move what it should not, or too little",
			x.Count, loop.Chunks)
	}
	for _, r := range u.ranksOf(k.rank, x) {
		if size := u.size(r, x.Buf); x.Index < 0 || int64(x.Index)+int64(x.Count) > int64(size) {
			u.say(k, diag.OutOfBounds, "has %v[%d]*%d of rank %d as an operand, and that has %d", x.Buf, x.Index,
				x.Count, r, size)
			return
		}
	}
}

// ranksOf returns the ranks whose memory an operand of a rank's operation is.
func (u *unroller) ranksOf(rank int32, x *ir.ChannelRef) []int32 {
	if x.Rank == ir.AllRanks {
		return u.p.Ranks[rank].Channels[ir.SwitchChannel][x.Switch].Group
	}
	return []int32{x.Rank}
}

// size returns the chunks of a buffer.
func (u *unroller) size(rank int32, b ir.Buf) int32 {
	switch b {
	case ir.Input:
		return int32(u.p.Coll.InChunks(int(rank)))
	case ir.Output:
		return int32(u.p.Coll.OutChunks(int(rank)))
	}
	return u.p.Ranks[rank].Scratch
}

// divide finds into how many parts chunks are cut: turns and parts of operations begin and end where some part does. It
// returns how many parts all buffers have.
func (u *unroller) divide() int64 {
	u.parts = 1
	need := func(k *unrolled, o *ir.ChannelOp, chunks, turns int32) {
		pieces := int(turns) * int(max(o.Parts, 1))
		n := pieces / ir.GCD(pieces, int(max(chunks, 1)))
		if all := int(u.parts) / ir.GCD(int(u.parts), n) * n; all <= maxParts {
			u.parts = int32(all)
		} else if len(u.found) == 0 {
			u.say(k, diag.Limit, "is one of those that cut chunks into %d parts, and no more than %d are followed",
				all, maxParts)
		}
	}
	cells := int64(0)
	for r := range u.p.Ranks {
		cells += int64(u.size(int32(r), ir.Input)) + int64(u.size(int32(r), ir.Output)) + int64(u.p.Ranks[r].Scratch)
		for b, ops := range u.p.Ranks[r].Blocks {
			k := &unrolled{rank: int32(r)}
			for i := range ops {
				o := &ops[i]
				k.at, k.pos = source{block: int32(b), op: int32(i), inner: -1, what: o}, o.Pos
				if o.Kind.Info().Moves {
					need(k, o, count(o), 1)
				}
				for j := range o.Body {
					if o.Body[j].Kind.Info().Moves {
						need(k, &o.Body[j], o.Chunks, u.turnsOf(o))
					}
				}
			}
		}
	}
	if cells*int64(u.parts) > maxChunks {
		u.found = append(u.found, diag.New(diag.Limit, diag.Span{},
			"all buffers have %d chunks of %d parts, and no more than %d are followed", cells, u.parts, maxChunks))
	}
	return cells * int64(u.parts)
}

// count returns the chunks that an operation moves.
func count(o *ir.ChannelOp) int32 {
	if len(o.Srcs) == 0 {
		return 1
	}
	return o.Srcs[0].Count
}

// span returns which parts of its operands an operation moves: where they begin, and how many.
func (u *unroller) span(o *ir.ChannelOp, chunks, turn, turns int32) (at, n int32) {
	n = chunks * u.parts / turns
	at = turn * n
	if o.Parts > 1 {
		n /= o.Parts
		at += o.Part * n
	}
	return at, n
}
