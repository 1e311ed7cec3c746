package channels

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// eachStep calls f for all steps.
func (u *unroller) eachStep(f func(k *unrolled, s *unrolledStep)) {
	for _, list := range u.blocks {
		for _, k := range list {
			for i := range k.steps {
				f(k, &k.steps[i])
			}
		}
	}
}

// stepSay notes a problem of a step.
func (u *unroller) stepSay(k *unrolled, s *unrolledStep, code diag.Code, format string, args ...any) *diag.Diagnostic {
	return u.sayAt(k.rank, s.of, s.pos, code, format, args...)
}

// apart reports scratch that has plain data and packets in one place: packets lie at twice their chunk's offset. It
// also reports plain data in double scratch that others access.
func (u *unroller) apart() {
	plain := make([][]*unrolledStep, len(u.p.Ranks)) // by rank: of a part, who uses it
	for r, n := range u.used(ir.Scratch) {
		plain[r] = make([]*unrolledStep, n)
	}
	each := func(k *unrolled, s *unrolledStep, buf ir.Buf, f func(rank, part int32)) {
		for _, x := range slices.Concat(s.srcs, s.dsts) {
			first, end := x.Rank, x.Rank+1
			if x.Rank == ir.AllRanks {
				first, end = 0, int32(len(u.p.Ranks))
			}
			for r := first; r < end && x.Buf == buf; r++ {
				for part := x.Index; part < x.Index+s.count; part++ {
					f(r, part)
				}
			}
		}
	}
	u.eachStep(func(k *unrolled, s *unrolledStep) {
		each(k, s, ir.Scratch, func(rank, part int32) {
			plain[rank][part] = s
			if u.p.DoubleScratch && rank != k.rank && len(u.found) == 0 {
				u.stepSay(k, s, diag.Unsupported,
					"accesses scratch[%d] of rank %d, which is double: MSCCL++ has others access the first half in all launches, and the rank itself one and the other in turn", part/u.parts, rank).
					Hint = "have others send packets there, or the scratch not be double"
			}
		})
	})
	seen := map[*unrolledStep]bool{}
	u.eachStep(func(k *unrolled, s *unrolledStep) {
		each(k, s, ir.Packets, func(rank, part int32) {
			for _, at := range []int32{2 * part, 2*part + 1} {
				if int(at) >= len(plain[rank]) || plain[rank][at] == nil || seen[s] {
					continue
				}
				seen[s] = true
				d := u.stepSay(k, s, diag.Overlap,
					"has packets of scratch[%d] of rank %d, which take the place of two chunks: scratch[%d], which has data too",
					part/u.parts, rank, at/u.parts)
				*d = d.WithNote(u.p.Span(plain[rank][at].pos), "the data")
			}
		})
	})
}

// A packetUse is who has to do with a part of scratch as packets.
type packetUse struct {
	readers []*unrolled // who wait for them
	lies    bool        // a port copies them as they lie
	writer  *unrolledStep
	by      *unrolled // whose step that is
}

// packets gives each block that waits for packets chunks of its own: a chunk of ir.Packets is read by one block.
// Packets that nobody reads are left out. A rank's chunks of the n-th block of those that read each begin after those
// of the one before.
//
// Who copies packets as they lie waits for none. To it they are plain data: whoever makes them writes a chunk of
// scratch too, which it reads. So the proof finds that they are there, made in this launch, and seen by the port,
// whichever block made them: else the two race.
func (u *unroller) packets() {
	room := u.used(ir.Packets)
	if slices.Max(room) == 0 {
		return
	}
	u.echoes(room)
	for r := range room {
		for _, b := range []ir.Buf{ir.Input, ir.Output, ir.Scratch} {
			u.lying = max(u.lying, u.size(int32(r), b)*u.parts)
		}
	}
	use := make([][]packetUse, len(u.p.Ranks))
	for r, n := range room {
		use[r] = make([]packetUse, n)
	}
	parts := func(s *unrolledStep, x *onesided.Operand) []packetUse {
		if x.Buf != ir.Packets {
			return nil
		}
		return use[x.Rank][x.Index : x.Index+s.count]
	}
	u.eachStep(func(k *unrolled, s *unrolledStep) {
		for i := range s.srcs {
			if x := &s.srcs[i]; x.Buf == ir.Packets && x.Rank != k.rank {
				u.stepSay(k, s, diag.Malformed, "waits for packets of rank %d", x.Rank)
				return
			}
			list := parts(s, &s.srcs[i])
			for j := range list {
				switch p := &list[j]; {
				case s.lies:
					p.lies = true
				case !slices.Contains(p.readers, k):
					p.readers = append(p.readers, k)
				}
			}
		}
	})
	u.eachStep(func(k *unrolled, s *unrolledStep) {
		for i := range s.dsts {
			list := parts(s, &s.dsts[i])
			for j := range list {
				if w := list[j].writer; w != nil && (list[j].lies || len(list[j].readers) > 0) {
					d := u.stepSay(k, s, diag.Race,
						"sends packets to scratch[%d] of rank %d, where another operation of the launch sends some: who reads them takes either", (s.dsts[i].Index+int32(j))/u.parts, s.dsts[i].Rank)
					*d = d.WithNote(u.p.Span(w.pos), "the other is %s", w.of.name(list[j].by.rank))
					u.twice = append(u.twice, sentTwice{d: *d, later: s, earlier: w})
					break
				}
				list[j].writer, list[j].by = s, k
			}
		}
	})
	u.unsent(parts)
	if len(u.found) > 0 {
		return
	}
	room = u.used(ir.Scratch)
	for r := range use {
		if slices.ContainsFunc(use[r], func(p packetUse) bool { return p.lies }) {
			room[r] = u.lying + int32(len(use[r]))
		}
	}
	for r, list := range u.blocks {
		for _, k := range list {
			k.room = room[r]
			for i := range k.steps {
				if s := &k.steps[i]; s.waits {
					room[r] = max(room[r], k.room+s.count)
				}
			}
			steps := make([]unrolledStep, 0, len(k.steps))
			opens := false // what was left out last began a group
			for i := range k.steps {
				s, before := &k.steps[i], len(steps)
				if opens {
					s.flags &^= ir.Joint
				}
				steps = u.split(steps, k, s, parts)
				opens = len(steps) == before && s.flags&ir.Joint == 0
			}
			k.steps = steps
		}
	}
}

// unsent reports reads of packets that nothing sends.
func (u *unroller) unsent(parts func(*unrolledStep, *onesided.Operand) []packetUse) {
	u.eachStep(func(k *unrolled, s *unrolledStep) {
		for i := range s.srcs {
			for j, p := range parts(s, &s.srcs[i]) {
				if p.writer != nil {
					continue
				}
				does := "waits for packets of scratch[%d], which nothing sends in a launch"
				if s.lies {
					does = "copies packets of scratch[%d] as they lie, and nothing makes them in a launch"
				}
				u.stepSay(k, s, diag.Unmatched, does, (s.srcs[i].Index+int32(j))/u.parts)
				return
			}
		}
	})
}

// split appends s, in pieces in each of which the packets' operands have the same readers all along.
func (u *unroller) split(to []unrolledStep, k *unrolled, s *unrolledStep,
	parts func(*unrolledStep, *onesided.Operand) []packetUse) []unrolledStep {
	operands := slices.Concat(s.srcs, s.dsts)
	if !slices.ContainsFunc(operands, func(x onesided.Operand) bool { return x.Buf == ir.Packets }) {
		return append(to, *s)
	}
	for at, before := int32(0), len(to); at < s.count; {
		end := at + 1
		for end < s.count && !slices.ContainsFunc(operands, func(x onesided.Operand) bool {
			list := parts(s, &x)
			return list != nil && (list[end].lies != list[end-1].lies ||
				!slices.Equal(list[end].readers, list[end-1].readers))
		}) {
			end++
		}
		piece := *s
		piece.count, piece.srcs, piece.dsts = end-at, nil, nil
		if len(to) > before {
			piece.flags |= ir.Joint
		}
		lie := func(x onesided.Operand) onesided.Operand {
			x.Buf, x.Index = ir.Scratch, u.lying+x.Index+at
			return x
		}
		for _, x := range s.srcs {
			layer := int32(0)
			switch list := parts(s, &x); {
			case list != nil && s.lies:
				piece.srcs = append(piece.srcs, lie(x))
				continue
			case list != nil:
				layer = int32(slices.Index(list[at].readers, k))
			}
			piece.srcs = append(piece.srcs, u.layered(x, at, layer))
		}
		for _, x := range s.dsts {
			n, list := 1, parts(s, &x)
			if list != nil {
				n = len(list[at].readers)
			}
			if n == 0 && !list[at].lies && u.comesLate(k, s, x.Rank) {
				return to
			}
			for layer := range int32(n) {
				piece.dsts = append(piece.dsts, u.layered(x, at, layer))
			}
			if list != nil && list[at].lies {
				piece.dsts = append(piece.dsts, lie(x))
			}
		}
		if s.waits {
			piece.dsts = []onesided.Operand{{Rank: k.rank, Index: k.room + at, Buf: ir.Scratch}}
		}
		switch {
		case len(piece.dsts) > 0:
			to = append(to, piece)
		case slices.ContainsFunc(piece.srcs, func(x onesided.Operand) bool { return x.Buf == ir.Packets }):
			u.stepSay(k, s, diag.Unmatched, "waits for packets, and sends packets that nothing reads in the launch")
			return to
		default:
			u.unread = append(u.unread, u.problem(k.rank, s.of, s.pos, diag.LintUnused,
				"sends packets that nothing reads in the launch"))
		}
		at = end
	}
	return to
}

// comesLate reports that packets for rank, which nothing reads, can break a later launch. No rank waits for them, so
// they may come when the rank runs another plan already. Where plans share scratch, they overwrite packets of that
// plan, whose flag is a later one, and the rank waits for ever. In scratch of its own nobody looks where they lie, and
// the end of a launch orders what a rank writes itself.
func (u *unroller) comesLate(k *unrolled, s *unrolledStep, rank int32) bool {
	if !u.p.Reuse || rank == k.rank {
		return false
	}
	u.stepSay(k, s, diag.Unmatched, "sends packets to rank %d that nothing reads in the launch: they may come when the rank "+
		"runs another plan, and overwrite its packets, as plans that reuse scratch share it", rank).
		Hint = "have the rank read them, or leave out reuse_resources (reuse_scratch)"
	return true
}

// layered returns an operand from part at on, of packets of a layer.
func (u *unroller) layered(x onesided.Operand, at, layer int32) onesided.Operand {
	x.Index += at
	if x.Buf == ir.Packets {
		x.Index += layer * u.p.Ranks[x.Rank].Scratch * u.parts
	}
	return x
}
