package lang

import (
	"slices"

	"mscclc/ir"
)

// This file joins operations of a block that one can do, and has its threads
// meet where they must: before a signal, so that what it tells is done; behind
// a wait, so that nobody goes on before it; and between operations of which one
// writes what the other reads or writes.

// What an operation has room for in the plans of MSCCL++, which joined ones
// keep.
const (
	mostChannels   = 8
	mostSemaphores = 16
)

// join joins neighbours: signals, waits and the like at different channels, and
// copies that do not touch each other; and then, through ports, the signals and the
// flushes of channels with what was put through them.
func (p *expansion) join(rank int32, list []draft) []draft {
	for i := range list {
		list[i].body = p.join(rank, list[i].body)
	}
	for {
		out := list[:0]
		for i := range list {
			if n := len(out); n == 0 || !p.joins(rank, &out[n-1], &list[i]) {
				out = append(out, list[i])
			}
		}
		if len(out) == len(list) {
			return out
		}
		list = out
	}
}

// joins adds b to a if one operation can do both, and says whether it does.
func (p *expansion) joins(rank int32, a, b *draft) bool {
	if a.free != b.free || a.Type != b.Type || a.Part != b.Part || a.Parts != b.Parts {
		return false
	}
	switch {
	case a.Kind == ir.ChEach && b.Kind == ir.ChSignal && a.Type == ir.PortChannel && a.Parts <= 1 && slices.Equal(a.Channels, b.Channels):
		a.Kind = ir.ChEachSignal // in the queue of the port, one behind the other
		return true
	case a.Kind == ir.ChEachSignal && b.Kind == ir.ChFlush && slices.Equal(a.Channels, b.Channels):
		a.Kind = ir.ChEachSignalFlush
		return true
	case a.Kind != b.Kind:
		return false
	}
	switch a.Kind {
	case ir.ChSignal, ir.ChAwait, ir.ChRelaxedSignal, ir.ChRelaxedAwait, ir.ChFlush:
		return merge(&a.Channels, b.Channels, mostChannels)
	case ir.ChAcquire, ir.ChRelease:
		return merge(&a.Semaphores, b.Semaphores, mostSemaphores)
	case ir.ChEach:
		return p.joinsEach(rank, a, b)
	case ir.ChMove: // packets that go on to several
		if a.Type == ir.NoChannel || len(a.Srcs) != 1 || len(b.Srcs) != 1 || a.Srcs[0] != b.Srcs[0] || !a.Srcs[0].Packets || len(a.Dsts)+len(b.Dsts) > mostChannels {
			return false
		}
		a.Dsts, a.Channels = slices.Concat(a.Dsts, b.Dsts), slices.Concat(a.Channels, b.Channels)
		return true
	}
	return false
}

// merge adds b to a if that makes at most n different numbers.
func merge(a *[]int32, b []int32, n int) bool {
	if len(*a)+len(b) > n || slices.ContainsFunc(b, func(x int32) bool { return slices.Contains(*a, x) }) {
		return false
	}
	*a = slices.Concat(*a, b)
	return true
}

// joinsEach joins copies that are alike: MSCCL++ takes the first source's
// buffer for that of all.
func (p *expansion) joinsEach(rank int32, a, b *draft) bool {
	if len(a.Srcs)+len(b.Srcs) > mostChannels {
		return false
	}
	like := func(x, y *ir.ChannelRef) bool {
		return x.Buf == y.Buf && x.Packets == y.Packets && x.Count == y.Count && (x.Rank == rank) == (y.Rank == rank)
	}
	if !like(&a.Srcs[0], &b.Srcs[0]) || a.Dsts[0].Packets != b.Dsts[0].Packets || a.Dsts[0].Count != b.Dsts[0].Count {
		return false
	}
	w := wary{p: p, rank: rank}
	w.touches(&a.ChannelOp)
	if w.conflicts(&b.ChannelOp) {
		return false
	}
	a.Srcs, a.Dsts, a.Channels = slices.Concat(a.Srcs, b.Srcs), slices.Concat(a.Dsts, b.Dsts), slices.Concat(a.Channels, b.Channels)
	return true
}

// A wary is what the threads of a block have done since they met.
type wary struct {
	p    *expansion
	rank int32

	worked bool     // with operands: a signal must not tell of it yet
	waited bool     // what comes next must not begin yet
	memory []access // what was touched
}

// An access is cells from..to that are read or written: of a turn before, other
// bytes of each than this turn's.
type access struct {
	from, to int32
	write    bool
	turn     bool // of a turn before
}

// mostMemory bounds what a wary remembers: threads that meet once too often are
// no fault.
const mostMemory = 256

// meets returns what the threads do, with the meets that it needs.
func (w *wary) meets(list []draft) []ir.ChannelOp {
	out := make([]ir.ChannelOp, 0, len(list)+4)
	for i := range list {
		d := &list[i]
		meet := false
		if d.Kind == ir.ChLoop {
			d.Body, meet = w.loop(d.body)
		} else {
			if meet = w.needs(d); meet {
				w.met()
			}
			w.did(d)
		}
		if meet {
			out = append(out, ir.ChannelOp{Kind: ir.ChMeet, Type: ir.NoChannel, Pos: d.Pos})
		}
		out = append(out, d.ChannelOp)
	}
	return out
}

// loop does the same for the body of a loop, of which each turn follows another
// or what is before the loop: where that makes for more meets, there is one
// before the loop instead.
func (w *wary) loop(body []draft) (ops []ir.ChannelOp, before bool) {
	turn := wary{p: w.p, rank: w.rank}
	turn.meets(body)
	turn.turned(true)
	first := wary{w.p, w.rank, w.worked || turn.worked, w.waited || turn.waited, slices.Concat(w.memory, turn.memory)}
	alone, all := turn.meets(body), first.meets(body)
	turn.turned(false)
	first.turned(false)
	if len(alone) < len(all) {
		*w = turn
		return alone, true
	}
	*w = first
	return all, false
}

// turned says of all that is remembered whether it was in a turn before.
func (w *wary) turned(yes bool) {
	for i := range w.memory {
		w.memory[i].turn = yes
	}
}

// needs says whether the threads must meet before d.
func (w *wary) needs(d *draft) bool {
	if d.free {
		return false
	}
	switch d.Kind {
	case ir.ChMeet, ir.ChBarrier, ir.ChAwait, ir.ChRelaxedAwait, ir.ChAcquire:
		return false
	case ir.ChSignal, ir.ChRelaxedSignal, ir.ChRelease, ir.ChFlush:
		return w.worked || w.waited
	case ir.ChEachSignal, ir.ChEachSignalFlush:
		if w.worked {
			return true
		}
	}
	return w.waited || len(w.memory) > mostMemory || w.conflicts(&d.ChannelOp)
}

// did remembers d.
func (w *wary) did(d *draft) {
	switch d.Kind {
	case ir.ChMeet, ir.ChBarrier:
		w.met()
		return
	}
	if d.free {
		return
	}
	switch d.Kind {
	case ir.ChAwait, ir.ChRelaxedAwait, ir.ChAcquire, ir.ChFlush:
		w.waited = true
	case ir.ChMove, ir.ChEach, ir.ChEachSignal, ir.ChEachSignalFlush:
		w.worked = true
		w.waited = w.waited || d.Kind == ir.ChEachSignalFlush
		w.touches(&d.ChannelOp)
	}
}

func (w *wary) met() { w.worked, w.waited, w.memory = false, false, w.memory[:0] }

// touches remembers the operands of o.
func (w *wary) touches(o *ir.ChannelOp) {
	w.operands(o, func(a access) bool {
		w.memory = append(w.memory, a)
		return false
	})
}

// conflicts says whether o writes what was touched, or touches what was written.
func (w *wary) conflicts(o *ir.ChannelOp) bool {
	return w.operands(o, func(a access) bool {
		return slices.ContainsFunc(w.memory, func(b access) bool {
			return (a.write || b.write) && a.from < b.to && b.from < a.to && !(b.turn && a.from == b.from && a.to == b.to)
		})
	})
}

// operands calls f for all that o reads and writes, until it says yes. Packets
// order themselves.
func (w *wary) operands(o *ir.ChannelOp, f func(access) bool) bool {
	for k, list := range [][]ir.ChannelRef{o.Srcs, o.Dsts} {
		for i := range list {
			x := &list[i]
			if x.Packets {
				continue
			}
			ranks := []int32{x.Rank}
			if x.Rank == ir.AllRanks {
				ranks = w.p.channels.groupOf(w.rank, x.Switch)
			}
			for _, rank := range ranks {
				from := w.p.at(rank, x.Buf).cell + x.Index
				if f(access{from: from, to: from + x.Count, write: k == 1}) {
					return true
				}
			}
		}
	}
	return false
}
