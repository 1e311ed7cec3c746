package core

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// moves writes runs as Moves. The owner of the source of a copy writes it to
// the destination: itself where data is plain; as packets, which the owner of
// the destination unpacks. A fold is the destination's owner's, to whom others
// send what they have, unless all of it is one other rank's. With pull, whoever
// owns the destination reads what others have where it lies.
//
// Where opt.Staged, no rank reaches input or output of another: the destination of a copy is first scratch of its rank,
// and what others pull their owner first copies to scratch of its own. So it is between nodes, with plain stores in
// place of packets, and nothing is pulled. Nor is scratch pulled where there are several nodes: its own rank must await
// what comes to it from another one.
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
	header.Ops, header.Srcs = nil, nil // the caller may have no more need of them
	l.c, l.runs = &header, nil
	return len(l.moves), nil
}

// add appends a Move of rank, of run r.
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

// pulls says whether r's destination's owner reads where some of the data lies.
func (l *State) pulls(r *oneRun, h *ir.Hint) bool {
	return h.Pull && (!l.opt.over() || slices.ContainsFunc(r.srcs, func(s spot) bool {
		return s.user() && !l.away(s.rank, r.dst.rank)
	}))
}

// throughSwitch is x, of all ranks, with the way there.
func throughSwitch(x spot) spot {
	x.via = ir.ViaSwitch
	return x
}

// send makes rank from write the fold of srcs to dst, of another rank.
func (l *State) send(r *oneRun, from int32, srcs []spot, dst spot, via ir.Via) {
	buf, away := ir.Packets, l.away(from, dst.rank)
	if away {
		via = ir.ViaAny
	}
	if l.c.Protocol == ir.Simple || via == ir.ViaPort || away {
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

// gather makes the owner of r's destination fold its sources, after others
// have sent it theirs.
func (l *State) gather(r *oneRun, pull bool, via ir.Via) {
	for k, s := range r.srcs {
		buf, via := ir.Scratch, via
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
