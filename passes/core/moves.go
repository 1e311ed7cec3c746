package core

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// moves writes runs as Moves. The rank that owns the source of a copy writes it: plain data directly to the
// destination, or packets, which the owner of the destination unpacks. The owner of the destination makes a fold, and
// the other ranks send it their sources. If all sources are of one other rank, that rank makes the fold. With pull, the
// owner of the destination reads the sources where they are.
//
// If opt.Staged, no rank accesses input or output of another. A copy first goes to scratch of the destination's rank,
// and a rank first copies what others pull to its own scratch. The same holds between nodes, with plain stores in place
// of packets, and without pull. With several nodes, scratch is not pulled within a node either: only its own rank can
// wait for what comes from another node. With opt.Ports, a port writes what goes to another node, in its place or as
// packets. It cannot fold, so the rank that owns the sources does that first.
func moves(l *State) (int, error) {
	most := 0
	for i := range l.runs {
		most += len(l.runs[i].srcs) + 1
	}
	l.moves = make([]oneMove, 0, min(most, l.most))
	for i := range l.runs {
		r := &l.runs[i]
		if err := l.move(r, &l.c.Hints[r.hint]); err != nil {
			return 0, err
		}
		if l.full() {
			return 0, l.tooLarge(r.pos, len(l.moves))
		}
	}
	header := *l.c
	header.Ops, header.Srcs = nil, nil // so that their memory may be freed
	l.c, l.runs = &header, nil
	return len(l.moves), nil
}

// add appends a Move that rank makes, for run r.
func (l *State) add(r *oneRun, rank int32, srcs []spot, dst spot) {
	l.moves = append(l.moves, oneMove{srcs: srcs, dsts: l.one(dst), rank: rank, count: r.count, class: r.class,
		pos: r.pos, label: l.c.Hints[r.hint].Lane + 1})
}

func (l *State) move(r *oneRun, h *ir.Hint) error {
	via := h.Via
	if via == ir.ViaSwitch {
		via = ir.ViaAny // its operands say so
	}
	if via == ir.ViaPort && len(r.srcs) > 1 {
		return diag.List{diag.New(diag.Hint, l.c.Span(r.pos), "a port copies, and cannot reduce").
			WithHint("copy through the port to scratch, and reduce there")}
	}
	owner := r.srcs[0].rank
	for _, s := range r.srcs {
		if s.rank != owner {
			owner = ir.AllRanks
		}
	}
	switch {
	case l.finished(r.srcs[0]) && owner >= 0 && owner != r.dst.rank && (l.opt.Staged || l.away(owner, r.dst.rank)):
		return diag.List{diag.New(diag.Unsupported, l.c.Span(r.pos), "finished rows go straight to the output of another "+
			"rank, which is out of reach between nodes, and for a staged program").WithHint(
			"copy the raw sum to scratch of that rank, and finish it there: sum.copy(rank, NAME, index).then(...)")}
	case l.opt.over() && (r.dst.rank == ir.AllRanks || r.srcs[0].rank == ir.AllRanks):
		return diag.List{diag.New(diag.Hint, l.c.Span(r.pos), "the switch joins the ranks of one node, and the program is "+
			"for ranks of several").WithHint("remove the hint via = switch, or compile for one node")}
	case l.opt.Staged && (r.dst.rank == ir.AllRanks || r.srcs[0].rank == ir.AllRanks):
		return diag.List{diag.New(diag.Hint, l.c.Span(r.pos), "the switch reaches input and output of all ranks, and a "+
			"staged program reaches scratch and packets of other ranks only").WithHint("remove the hint via = switch")}
	case r.dst.rank == ir.AllRanks:
		l.add(r, owner, r.srcs, throughSwitch(r.dst))
	case owner != ir.AllRanks && owner != r.dst.rank && !l.pulls(r, h):
		l.send(r, owner, r.srcs, r.dst, via)
	default:
		l.gather(r, h.Pull, via)
	}
	return nil
}

// pulls reports whether the owner of r's destination reads some sources where they are.
func (l *State) pulls(r *oneRun, h *ir.Hint) bool {
	return h.Pull && (!l.opt.over() || slices.ContainsFunc(r.srcs, func(s spot) bool {
		return s.user() && !l.away(s.rank, r.dst.rank)
	}))
}

// finished reports whether x holds finished rows. Scratch and packets hold raw sums.
func (l *State) finished(x spot) bool { return len(l.c.Then) > 0 && x.buf == ir.Output }

// throughSwitch returns x as an operand of all ranks, by the switch.
func throughSwitch(x spot) spot {
	x.via = ir.ViaSwitch
	return x
}

// send has rank from write the fold of srcs to dst, which is of another rank.
func (l *State) send(r *oneRun, from int32, srcs []spot, dst spot, via ir.Via) {
	buf, away := ir.Packets, l.away(from, dst.rank)
	switch {
	case away && l.opt.Ports:
		l.put(r, from, srcs, dst)
		return
	case away:
		via = ir.ViaAny
	}
	if l.finished(srcs[0]) || l.c.Protocol == ir.Simple || via == ir.ViaPort || away {
		if !l.opt.Staged && !away || !dst.user() {
			dst.via = via
			l.add(r, from, srcs, dst)
			return
		}
		buf = ir.Scratch
	}
	slot := spot{rank: dst.rank, buf: buf, index: l.slot(r.count), via: via}
	l.add(r, from, srcs, slot)
	slot.via = ir.ViaAny
	l.add(r, dst.rank, l.one(slot), dst)
}

// put has a port write the fold of srcs, which are rank from's, to dst, which is of another node.
func (l *State) put(r *oneRun, from int32, srcs []spot, dst spot) {
	if len(srcs) > 1 {
		sum := spot{rank: from, buf: ir.Scratch, index: l.slot(r.count)}
		l.add(r, from, srcs, sum)
		srcs = l.one(sum)
	}
	if l.c.Protocol == ir.Simple && !(l.opt.Staged && dst.user()) {
		dst.via = ir.ViaPort
		l.add(r, from, srcs, dst)
		return
	}
	slot := l.through(r, dst.rank)
	l.add(r, from, srcs, slot)
	slot.via = ir.ViaAny
	l.add(r, dst.rank, l.one(slot), dst)
}

// through returns new scratch of a rank, or packets, that a port of another node writes.
func (l *State) through(r *oneRun, rank int32) spot {
	slot := spot{rank: rank, buf: ir.Scratch, index: l.slot(r.count), via: ir.ViaPort}
	if l.c.Protocol != ir.Simple {
		slot.buf = ir.Packets
	}
	return slot
}

// gather has the owner of r's destination fold the sources, after the Moves by which other ranks send theirs.
func (l *State) gather(r *oneRun, pull bool, via ir.Via) {
	for k, s := range r.srcs {
		buf, via := ir.Scratch, via
		if s.rank != ir.AllRanks && l.opt.Ports && l.away(s.rank, r.dst.rank) {
			slot := l.through(r, r.dst.rank)
			l.add(r, s.rank, l.one(s), slot)
			slot.via = ir.ViaAny
			r.srcs[k] = slot
			continue
		}
		if s.rank != ir.AllRanks && l.away(s.rank, r.dst.rank) {
			via = ir.ViaAny
		} else if l.c.Protocol != ir.Simple {
			buf = ir.Packets
		}
		switch {
		case s.rank == ir.AllRanks:
			r.srcs[k] = throughSwitch(s)
		case s.rank == r.dst.rank:
		case pull && !l.away(s.rank, r.dst.rank) && (s.user() || !l.opt.over()):
			if l.opt.Staged && s.user() {
				slot := spot{rank: s.rank, buf: ir.Scratch, index: l.slot(r.count)}
				l.add(r, s.rank, l.one(s), slot)
				r.srcs[k] = slot
			}
			r.srcs[k].via = via
		default:
			slot := spot{rank: r.dst.rank, buf: buf, index: l.slot(r.count), via: via}
			l.add(r, s.rank, l.one(s), slot)
			slot.via = ir.ViaAny
			r.srcs[k] = slot
		}
	}
	l.add(r, r.dst.rank, r.srcs, r.dst)
}
