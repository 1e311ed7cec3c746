package form

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/fifo"
)

// twoSided checks the blocks of rank r, and their steps.
func (f *checker) twoSided(r int, tbs []ir.TB) {
	f.ends(r, tbs)
	c := f.p.Coll
	sizes := [ir.Scratch + 1]int{c.InChunks(r), c.OutChunks(r), f.p.ScratchOf(r)}
	for b := range tbs {
		if tbs[b].Together != 0 {
			f.block(diag.Malformed, r, b, -1, "has replicas together in a CTA, which only one-sided blocks have")
		}
		steps := f.p.StepsOf(&tbs[b])
		chain := 0 // where the chain of reductions begins that step i continues
		for i := range steps {
			s, at := &steps[i], &place{r, b, i, &steps[i]}
			if !f.twoSidedStep(at, &tbs[b], &sizes) {
				continue
			}
			f.moved += int64(s.Count)
			if s.DepBlock != -1 || s.DepStep != -1 {
				f.wait(at, tbs)
			}
			if s.Op == ir.Nop || i > 0 && steps[i-1].Op == ir.Nop {
				f.nops(at, steps)
			}
			if i == 0 || !fifo.Chained(&steps[i-1], s) {
				chain = i
			} else {
				f.chain(at, &steps[chain])
			}
		}
	}
}

// ends checks the peers and channels of a rank's blocks: one block is at each end of a connection.
func (f *checker) ends(r int, tbs []ir.TB) {
	type end struct {
		peer, channel int32
		sends         bool
	}
	owner := make(map[end]int, 2*len(tbs))
	for b := range tbs {
		t, pos := &tbs[b], int32(-1)
		if t.Steps.First < t.Steps.End {
			pos = f.p.Steps[t.Steps.First].Pos
		}
		f.channel(r, b, t, pos)
		for _, e := range []end{{t.SendPeer, t.Channel, true}, {t.RecvPeer, t.Channel, false}} {
			if e.peer == -1 {
				continue
			}
			verb := "receives from"
			if e.sends {
				verb = "sends to"
			}
			switch other, taken := owner[e]; {
			case int(e.peer) == r:
				f.block(diag.Malformed, r, b, pos, "%s its own rank", verb)
			case e.peer < 0 || int(e.peer) >= f.p.Coll.Ranks:
				f.block(diag.OutOfBounds, r, b, pos, "%s rank %d of %d", verb, e.peer, f.p.Coll.Ranks)
			case taken:
				f.block(diag.Malformed, r, b, pos, "%s rank %d on channel %d, as block %d does", verb, e.peer, t.Channel, other)
			default:
				owner[e] = b
			}
		}
	}
}

// channel checks the channel of block b of rank r, which is t.
func (f *checker) channel(r, b int, t *ir.TB, pos int32) {
	if t.Channel < 0 || int(t.Channel) >= f.p.Channels() {
		f.block(diag.OutOfBounds, r, b, pos, "is on channel %d of %d", t.Channel, f.p.Channels())
	}
}

// twoSidedStep checks a step of block t by itself. sizes has the chunks of each of the rank's buffers.
func (f *checker) twoSidedStep(at *place, t *ir.TB, sizes *[ir.Scratch + 1]int) bool {
	s := at.Step
	if s.Op >= ir.NumOps || s.Op.Info().OneSided || s.Flags&^(ir.HasDep|ir.Final) != 0 {
		return f.step(at, diag.Malformed, "is operation %d with flags %d", s.Op, s.Flags)
	}
	info := s.Op.Info()
	switch {
	case !f.hasPosition(s):
		return f.noPosition(at)
	case s.NSrc != 0 || s.NDst != 0:
		return f.step(at, diag.Malformed, "has the operands of a one-sided step")
	case s.Count < 0 || (s.Count == 0) != (s.Op == ir.Nop):
		return f.step(at, diag.Malformed, "moves %d chunks", s.Count)
	case info.Sends && t.SendPeer < 0:
		return f.step(at, diag.Malformed, "sends, and its block has no peer to send to")
	case info.Receives && t.RecvPeer < 0:
		return f.step(at, diag.Malformed, "receives, and its block has no peer to receive from")
	case !f.hasClass(s):
		return f.noClass(at)
	case !fits(info.ReadsSrc, s.SrcBuf, s.Src, s.Count, sizes):
		return f.unfit(at, info.ReadsSrc, s.SrcBuf, s.Src, sizes, "source")
	case !fits(info.ReadsDst || info.Writes, s.DstBuf, s.Dst, s.Count, sizes):
		return f.unfit(at, info.ReadsDst || info.Writes, s.DstBuf, s.Dst, sizes, "destination")
	}
	if info.ReadsSrc && info.Writes {
		if apart, ok := distance(f.p.Coll, at.rank, s); ok && apart > 0 && apart < int64(s.Count) {
			return f.step(at, diag.Overlap, "has a source and a destination that overlap in part")
		}
	}
	return true
}

// hasPosition reports whether the source position of a step exists.
func (f *checker) hasPosition(s *ir.Step) bool { return s.Pos >= -1 && int(s.Pos) < len(f.p.Spans) }

func (f *checker) noPosition(at *place) bool {
	return f.step(at, diag.Malformed, "is at source position %d of %d", at.Pos, len(f.p.Spans))
}

// hasClass reports whether the class of the first chunk that a step moves exists.
func (f *checker) hasClass(s *ir.Step) bool {
	return s.Class >= 0 && int(s.Class) < max(1, f.p.Coll.Chunks)
}

func (f *checker) noClass(at *place) bool {
	return f.step(at, diag.Malformed, "begins at class %d of %d", at.Class, f.p.Coll.Chunks)
}

// fits reports whether a source or a destination is as it must be; used says whether the operation has one.
func fits(used bool, b ir.Buf, index, count int32, sizes *[ir.Scratch + 1]int) bool {
	if !used {
		return b == ir.NoBuf && index == 0
	}
	return b <= ir.Scratch && index >= 0 && int64(index)+int64(count) <= int64(sizes[b])
}

// unfit reports a source or a destination that does not fit.
func (f *checker) unfit(at *place, used bool, b ir.Buf, index int32, sizes *[ir.Scratch + 1]int, role string) bool {
	switch {
	case !used:
		return f.step(at, diag.Malformed, "has %v[%d] as its %s, and its operation has none", b, index, role)
	case b > ir.Scratch:
		return f.step(at, diag.Malformed, "has no buffer as its %s", role)
	}
	return f.step(at, diag.OutOfBounds, "has %v[%d]*%d as its %s, and %v has %d chunks", b, index, at.Count, role, b,
		sizes[b])
}

// wait checks what a step waits for that has a block or a step to wait for; tbs are the blocks of its rank.
func (f *checker) wait(at *place, tbs []ir.TB) {
	switch s := at.Step; {
	case s.DepBlock == -1:
		f.step(at, diag.Malformed, "waits for step %d of no block", s.DepStep)
	case s.DepBlock < 0 || int(s.DepBlock) >= len(tbs):
		f.step(at, diag.OutOfBounds, "waits for block %d, and its rank has %d", s.DepBlock, len(tbs))
	case s.DepStep < 0 || s.DepStep >= tbs[s.DepBlock].Steps.End-tbs[s.DepBlock].Steps.First:
		t := &tbs[s.DepBlock]
		f.step(at, diag.OutOfBounds, "waits for step %d of block %d, which has %d", s.DepStep, s.DepBlock,
			t.Steps.End-t.Steps.First)
	}
}

// nops checks a nop, or the step after one: waits are chained as the runtimes take them, in nops and a step after
// them that waits too.
func (f *checker) nops(at *place, steps []ir.Step) {
	switch s := at.Step; {
	case s.Op == ir.Nop && s.DepBlock < 0:
		f.step(at, diag.Malformed, "waits for nothing")
	case s.Op == ir.Nop && at.step == len(steps)-1:
		f.step(at, diag.Malformed, "has no step after it that would wait on its behalf")
	case s.Op != ir.Nop && s.DepBlock < 0:
		f.step(at, diag.Malformed, "stands after a nop and waits for nothing itself, which ends the chain of waits")
	}
}

// chain checks the last step of a chain of reductions, which run as one: the destination is read once, before, and
// written once, after.
func (f *checker) chain(at *place, first *ir.Step) {
	if at.Count != first.Count {
		f.step(at, diag.Malformed, "moves %d chunks, and the reduction that it is fused with moves %d", at.Count, first.Count)
	}
	if apart, ok := distance(f.p.Coll, at.rank, at.Step); ok && apart < int64(at.Count) {
		f.step(at, diag.Overlap, "reads chunks that the reductions before it, which it is fused with, write")
	}
}

// distance returns how far apart the operands of s begin, where they lie in one memory. In place, input and output are
// one.
func distance(coll *ir.Collective, rank int, s *ir.Step) (int64, bool) {
	apart := int64(s.Src) - int64(s.Dst)
	if s.SrcBuf != s.DstBuf {
		if !coll.Inplace || s.SrcBuf > ir.Output || s.DstBuf > ir.Output {
			return 0, false
		}
		inOut, outIn := coll.Shift(rank)
		ahead := int64(max(inOut, 0) - max(outIn, 0)) // of chunk 0 of input before that of output
		if s.SrcBuf == ir.Output {
			ahead = -ahead
		}
		apart += ahead
	}
	return max(apart, -apart), true
}
