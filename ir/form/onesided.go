package form

import (
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// oneSidedBlock checks block b of rank r, which is t, and its steps.
func (f *checker) oneSidedBlock(r, b int, t *ir.TB) {
	if t.SendPeer != -1 || t.RecvPeer != -1 {
		f.block(diag.Malformed, r, b, -1, "has peers, which one-sided blocks have not")
	}
	f.shares(r, b, t.Together)
	f.channel(r, b, t, -1)
	steps := f.p.StepsOf(t)
	for i := range steps {
		s, at := &steps[i], &place{r, b, i, &steps[i]}
		if !f.oneSidedStep(at) {
			continue
		}
		if i > 0 && (s.Flags^steps[0].Flags)&ir.Loose != 0 {
			f.step(at, diag.Malformed, "is loose, and the first of its block is not, or the other way round")
		}
		switch {
		case s.Flags&ir.Joint == 0:
		case i == 0:
			f.step(at, diag.Malformed, "is joint, and no step stands before it")
		case (s.Flags^steps[i-1].Flags)&(ir.Enter|ir.Leave) != 0:
			f.step(at, diag.Malformed, "is joint with a step that runs in other passes")
		}
		operands := int64(0) // and of the switch each rank's
		for k, x := range f.p.OneSided.OperandsOf(s) {
			f.oneSidedOperand(at, &x, k < int(s.NSrc))
			first, end := f.ranksOf(&x)
			operands += int64(end - first)
		}
		f.moved += operands * int64(max(s.Count, 1)) // a flag counts as one
	}
}

// shares checks how many replicas of a block share a CTA.
func (f *checker) shares(r, b int, n int32) {
	switch {
	case n == 0:
	case !ir.MayShare(int(n)):
		f.block(diag.Malformed, r, b, -1, "has %d replicas together in a CTA, which may be 2 or %d", n, ir.MostTogether)
	case f.together != 0 && n != f.together:
		f.block(diag.Malformed, r, b, -1, "has %d replicas together in a CTA, and another block %d", n, f.together)
	default:
		f.together = n
	}
}

// oneSidedStep checks a step but for its operands.
func (f *checker) oneSidedStep(at *place) bool {
	const each = ir.Enter | ir.Leave
	s := at.Step
	move := s.Op.Moves()
	switch {
	case s.Op >= ir.NumOps || !s.Op.Info().OneSided || s.Flags&^(ir.Final|ir.Joint|ir.Relaxed|ir.Loose|each) != 0:
		return f.step(at, diag.Malformed, "is operation %d with flags %d", s.Op, s.Flags)
	case !f.hasPosition(s):
		return f.noPosition(at)
	case s.SrcBuf != ir.NoBuf || s.DstBuf != ir.NoBuf || s.DepBlock != -1 || s.DepStep != -1:
		return f.step(at, diag.Malformed, "has the operands or the wait of a two-sided step")
	case move && s.Flags&each != 0:
		return f.step(at, diag.Malformed, "moves data, which is part of every pass, and is marked enter or leave")
	case !move && s.Flags&ir.Final != 0:
		return f.step(at, diag.Malformed, "moves nothing, and is marked final")
	case s.Flags&ir.Loose != 0 && !f.p.OneSided.OnePass:
		return f.step(at, diag.Malformed, "is loose, and launches have many passes")
	case move && s.Flags&ir.Relaxed != 0:
		return f.step(at, diag.Malformed, "moves data, and is marked relaxed")
	case s.Flags&each == each:
		return f.step(at, diag.Malformed, "is marked enter and leave")
	case move && s.Count < 1:
		return f.step(at, diag.Malformed, "moves %d chunks", s.Count)
	case move && !f.hasClass(s):
		return f.noClass(at)
	case !move && (s.Count != 0 || s.Class != 0):
		return f.step(at, diag.Malformed, "moves nothing, and has a count or a class")
	case !s.Op.Info().Srcs.Hold(s.NSrc) || !s.Op.Info().Dsts.Hold(s.NDst):
		return f.step(at, diag.Malformed, "has %d sources and %d destinations", s.NSrc, s.NDst)
	}
	return true
}

// oneSidedOperand checks an operand of a step.
func (f *checker) oneSidedOperand(at *place, x *onesided.Operand, source bool) bool {
	role, all, move, info := "destination", x.Rank == ir.AllRanks, at.Op.Moves(), at.Op.Info()
	if source {
		role = "source"
	}
	switch {
	case !all && (x.Rank < 0 || int(x.Rank) >= f.p.Coll.Ranks):
		return f.step(at, diag.OutOfBounds, "has a %s on rank %d of %d", role, x.Rank, f.p.Coll.Ranks)
	case x.Via > ir.ViaSwitch:
		return f.step(at, diag.Malformed, "has a %s by way %d", role, x.Via)
	case move == (x.Buf == ir.Flags):
		return f.step(at, diag.Malformed, "has %v as its %s", x.Buf, role)
	case x.Buf > ir.Flags:
		return f.step(at, diag.Malformed, "has no buffer as its %s", role)
	case move && (all && !info.Switch || x.Buf == ir.Packets && !info.Packets):
		return f.step(at, diag.Malformed, "has packets or chunks of all ranks as its %s", role)
	case all && x.Buf > ir.Scratch:
		return f.step(at, diag.Malformed, "has %v of all ranks as its %s, and the switch reads and writes plain data",
			x.Buf, role)
	case all && x.Via != ir.ViaSwitch:
		return f.step(at, diag.Malformed, "has a %s of all ranks that does not go through the switch", role)
	case !all && x.Via == ir.ViaSwitch:
		return f.step(at, diag.Malformed, "has a %s by way of %v, and the switch is for what all ranks have", role, x.Via)
	case !move && x.Via != ir.ViaAny:
		return f.step(at, diag.Malformed, "has a %s by way of %v, and only data goes a way", role, x.Via)
	case source && x.Buf >= ir.Packets && int(x.Rank) != at.rank:
		return f.step(at, diag.Malformed, "has %v of rank %d as its source, and waits for its own only", x.Buf, x.Rank)
	case at.Op != ir.Await && x.Nth != 0:
		return f.step(at, diag.Malformed, "counts to %d at a %s that is not awaited", x.Nth, role)
	}
	return f.inside(at, x, role)
}

// inside checks that an operand lies in its buffer.
func (f *checker) inside(at *place, x *onesided.Operand, role string) bool {
	last := int64(x.Index) + int64(max(at.Count, 1))
	fits := func(size int) bool { return x.Index >= 0 && last <= int64(size) }
	first, end := f.ranksOf(x)
	if x.Rank == ir.AllRanks && fits(f.shortestOf(x.Buf)) {
		return true
	}
	for r := first; r < end; r++ {
		if size := f.length(r, x.Buf); !fits(size) {
			return f.step(at, diag.OutOfBounds, "has %v[%d]*%d of rank %d as its %s, and that has %d", x.Buf, x.Index,
				max(at.Count, 1), r, role, size)
		}
	}
	return true
}

// shortestOf returns the least length of a buffer of all ranks.
func (f *checker) shortestOf(b ir.Buf) int {
	if f.shortest == nil {
		f.shortest = make([]int, ir.Flags+1)
		for b := range f.shortest {
			f.shortest[b] = math.MaxInt32
			for r := range f.p.Coll.Ranks {
				f.shortest[b] = min(f.shortest[b], f.length(r, ir.Buf(b)))
			}
		}
	}
	return f.shortest[b]
}

// length returns the number of chunks, or flags, of a buffer of rank r.
func (f *checker) length(r int, b ir.Buf) int {
	switch b {
	case ir.Input:
		return f.p.Coll.InChunks(r)
	case ir.Output:
		return f.p.Coll.OutChunks(r)
	case ir.Scratch:
		return f.p.ScratchOf(r)
	case ir.Packets:
		return f.p.OneSided.PacketsOf(r)
	}
	return f.p.OneSided.FlagsOf(r)
}
