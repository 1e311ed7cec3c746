package codegen

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// A segment is items of a rank that one block does, or as many as share out operations. The next segment is another block's,
// which waits at a semaphore until this one is over.
type segment struct{ first, end int32 }

// handover is the operations of a block for what comes before and after its segment: it acquires a semaphore and releases one,
// each with a meeting of threads.
const handover = 4

// spread cuts ranks' items into segments, and gives all their channels. Where one flag's signals come to lie in several
// segments here or there it needs several channels, of which a block may then have too many: with smaller segments they are fewer.
func (x *channelMaker) spread() {
	for most := PlanMaxChannels; ; most /= 2 {
		segments := make([][]segment, len(x.items))
		for r := range x.items {
			x.own = int32(r)
			if segments[r] = x.segments(most); segments[r] == nil {
				return
			}
		}
		x.number(segments)
		if x.connect(segments) {
			x.build(segments)
			return
		}
		if most == PlanMaxChannelIDs { // as many as one operation may have
			x.say(diag.Limit, "a thread block needs more than %d channels, however its work is divided", PlanMaxChannels).Hint = "compile for fewer ranks"
			return
		}
	}
}

// A load is what a segment has so far.
type load struct {
	ops     int
	flags   map[*channelFlag]bool
	remote  map[ir.ChannelRef]bool // by type, in Switch; rank and buffer
	pending map[*channelFlag]int32 // ports with puts that no signal tells of yet: the signal that will
}

// segments cuts the own rank's items into segments, each of at most so many flags.
func (x *channelMaker) segments(flags int) []segment {
	items := x.items[x.own]
	var list []segment
	l := newLoad()
	first, safe := 0, 0 // safe: no put is in a segment that its signal is not in
	for i := 0; i < len(items); i++ {
		if len(l.pending) == 0 {
			safe = i
		}
		l.take(&items[i], x.own, i > first)
		if l.ops+handover <= PlanMaxOps && len(l.flags) <= flags && len(l.remote) <= PlanMaxRemote {
			continue
		}
		if safe == first {
			x.pos = items[i].op.Pos
			x.say(diag.Limit, "MSCCL++ has no room in a thread block for what is put through ports before a signal").Hint = "compile for fewer ranks, or without via = port"
			return nil
		}
		list = append(list, segment{int32(first), int32(safe)})
		first, l = safe, newLoad()
		i = safe - 1
	}
	return append(list, segment{int32(first), int32(len(items))})
}

func newLoad() *load {
	return &load{flags: map[*channelFlag]bool{}, remote: map[ir.ChannelRef]bool{}, pending: map[*channelFlag]int32{}}
}

// take adds an item. The first of a segment needs no meeting.
func (l *load) take(it *channelItem, own int32, meets bool) {
	l.ops++
	if it.meet && meets {
		l.ops++
	}
	for _, e := range it.ends {
		l.flags[e.flag] = true
		switch {
		case it.op.Kind >= ir.ChMove:
			l.pending[e.flag] = e.n
		case it.op.Kind == ir.ChSignal && e.flag.port && l.pending[e.flag] == e.n:
			delete(l.pending, e.flag)
		}
	}
	for _, list := range [2][]ir.ChannelRef{it.op.Srcs, it.op.Dsts} {
		for _, r := range list {
			if r.Rank != own && r.Rank != ir.AllRanks {
				l.remote[ir.ChannelRef{Rank: r.Rank, Buf: r.Buf, Switch: int32(it.op.Type)}] = true
			}
		}
	}
}

// number notes in which segments flags are signalled and awaited.
func (x *channelMaker) number(segments [][]segment) {
	for _, f := range x.all {
		f.signals, f.channels = make([]int32, f.raised), make([]int32, f.raised)
	}
	for r, list := range segments {
		for k, seg := range list {
			for i := seg.first; i < seg.end; i++ {
				it := &x.items[r][i]
				for _, e := range it.ends {
					switch it.op.Kind {
					case ir.ChSignal, ir.ChRelaxedSignal:
						e.flag.signals[e.n] = int32(k)
					case ir.ChAwait, ir.ChRelaxedAwait:
						e.flag.awaits[e.n] = int32(k)
					}
				}
			}
		}
	}
}
