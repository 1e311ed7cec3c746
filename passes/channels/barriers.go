package channels

import (
	"slices"

	"mscclc/ir"
)

// This file adds the block barriers (ChMeet) that a program of its author needs.
// The threads of a block synchronise
//   - before a signal, so that the work that it signals is done;
//   - after a wait, so that no thread goes on before it;
//   - between two operations, if one writes chunks that the other reads or writes.

// A pending is what the threads of a block did since its last block barrier.
type pending struct {
	s    *synchroniser
	rank int32

	worked bool     // they used operands: no signal may release it yet
	waited bool     // one thread waited: the next operation may not begin yet
	memory []access // what they touched
}

// An access reads or writes cells from..to.
type access struct {
	from, to int
	write    bool
	earlier  bool // in an earlier loop iteration, which touches other bytes of the same cells
}

// mostMemory bounds the accesses that a pending holds. Beyond it, a barrier too many does no harm.
const mostMemory = 256

// barriers returns list, the operations of a block, with the block barriers that they need.
func (s *synchroniser) barriers(rank int32, list []ir.ChannelOp) []ir.ChannelOp {
	w := pending{s: s, rank: rank}
	return w.barriers(list)
}

// barriers returns the operations of list with the block barriers that they need.
func (w *pending) barriers(list []ir.ChannelOp) []ir.ChannelOp {
	out := make([]ir.ChannelOp, 0, len(list)+4)
	for i := range list {
		o, barrier := list[i], false
		if o.Kind == ir.ChLoop {
			o.Body, barrier = w.loop(o.Body)
		} else {
			if barrier = w.needs(&o); barrier {
				w.clear()
			}
			w.add(&o)
		}
		if barrier {
			out = append(out, ir.ChannelOp{Kind: ir.ChMeet, Type: ir.NoChannel, Pos: o.Pos})
		}
		o.Unsynced = false
		out = append(out, o)
	}
	return out
}

// loop returns the body of a loop with its barriers, and whether one belongs before the loop. Each iteration follows
// another one or what is before the loop. If the latter needs more barriers in the body, one barrier before the loop
// replaces them.
func (w *pending) loop(body []ir.ChannelOp) (ops []ir.ChannelOp, before bool) {
	turn := pending{s: w.s, rank: w.rank}
	turn.barriers(body)
	turn.earlier(true)
	first := pending{w.s, w.rank, w.worked || turn.worked, w.waited || turn.waited, slices.Concat(w.memory, turn.memory)}
	alone, all := turn.barriers(body), first.barriers(body)
	turn.earlier(false)
	first.earlier(false)
	if len(alone) < len(all) {
		*w = turn
		return alone, true
	}
	*w = first
	return all, false
}

// earlier marks all accesses as those of an earlier loop iteration, or of none.
func (w *pending) earlier(yes bool) {
	for i := range w.memory {
		w.memory[i].earlier = yes
	}
}

// needs reports whether o needs a block barrier before it.
func (w *pending) needs(o *ir.ChannelOp) bool {
	if o.Unsynced {
		return false
	}
	switch info := o.Kind.Info(); {
	case info.Meets || info.Awaits || o.Kind == ir.ChAcquire:
		return false
	case info.OnChannels() || o.Kind == ir.ChRelease:
		return w.worked || w.waited
	case info.Signals && w.worked:
		return true
	}
	return w.waited || len(w.memory) > mostMemory || w.conflicts(o)
}

// add adds what o does.
func (w *pending) add(o *ir.ChannelOp) {
	info := o.Kind.Info()
	if info.Meets {
		w.clear()
		return
	}
	if o.Unsynced {
		return
	}
	w.waited = w.waited || info.Awaits || info.Flushes || o.Kind == ir.ChAcquire
	if info.Moves {
		w.worked = true
		w.touches(o)
	}
}

// clear is a block barrier: nothing is pending after it.
func (w *pending) clear() { w.worked, w.waited, w.memory = false, false, w.memory[:0] }

// touches adds the operands of o.
func (w *pending) touches(o *ir.ChannelOp) {
	w.operands(o, func(a access) bool {
		w.memory = append(w.memory, a)
		return false
	})
}

// conflicts reports whether o writes what was touched, or touches what was written.
func (w *pending) conflicts(o *ir.ChannelOp) bool {
	return w.operands(o, func(a access) bool {
		return slices.ContainsFunc(w.memory, func(b access) bool {
			return (a.write || b.write) && a.from < b.to && b.from < a.to && !(b.earlier && a.from == b.from && a.to == b.to)
		})
	})
}

// operands calls f for each access of o until f returns true, and reports whether it did. Packets are left out: their
// flags order them.
func (w *pending) operands(o *ir.ChannelOp, f func(access) bool) bool {
	for k, list := range [][]ir.ChannelRef{o.Srcs, o.Dsts} {
		for i := range list {
			x := &list[i]
			if x.Packets {
				continue
			}
			ranks := []int32{x.Rank}
			if x.Rank == ir.AllRanks {
				ranks = w.s.p.Ranks[w.rank].Channels[ir.SwitchChannel][x.Switch].Group
			}
			for _, rank := range ranks {
				from := w.s.mem.Cell(int(rank), x.Buf, int(x.Index))
				if f(access{from: from, to: from + int(x.Count), write: k == 1}) {
					return true
				}
			}
		}
	}
	return false
}
