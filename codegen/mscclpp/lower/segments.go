package lower

import (
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// A segment is items of a rank that one block does, or as many as share out operations. The next segment is another
// block's, which waits at a semaphore until this one is over.
type segment struct{ first, end int32 }

// handover is the operations of a block for what comes before and after its segment: it acquires a semaphore and
// releases one, each with a block barrier.
const handover = 4

// looping is those of a pipeline: the loop, and a meeting before it.
const looping = 2

// spread cuts ranks' items into segments, and gives all their channels. Where one flag's signals come to lie in several
// segments here or there it needs several channels, of which a block may then have too many: with smaller segments they
// are fewer.
func (x *maker) spread() {
	x.remote, x.peers = make([]int32, len(x.items)*remoteKinds), make([][peerTypes]int32, len(x.items))
	for most := mscclpp.MaxChannels; ; most /= 2 {
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
		if most == ir.OpChannels { // as many as one operation may have
			x.say(diag.Limit, "a thread block needs more than %d channels, however its work is divided",
				mscclpp.MaxChannels).Hint = "compile for fewer ranks"
			return
		}
	}
}

// A load is what a segment has so far.
type load struct {
	id  int32 // of the segment, from 1: what bears it was counted
	ops int
	// by type of channel: what is signalled to one and awaited of it is on one channel, unless other segments have a part
	peers   [peerTypes]int
	remote  int // buffers of others, by type of channel
	pending int // ports with puts without a signal yet
}

// remoteKinds is how many remote buffers a rank may have, reached through memory or ports.
const remoteKinds = 3 * 2

// segments cuts the own rank's items into segments, each with channels of a type to at most a given number of peers.
func (x *maker) segments(peers int) []segment {
	items := x.items[x.own]
	most := mscclpp.MaxOps - handover
	if x.pipeline > 0 {
		most -= looping
	}
	begins := x.stagesOf(items)
	var list []segment
	l := x.newLoad()
	first, safe := 0, 0 // safe: no put is in a segment that its signal is not in
	for i := 0; i < len(items); i++ {
		if l.pending == 0 {
			safe = i
		}
		if begins[i] && safe == i && i > first {
			list = append(list, segment{int32(first), int32(i)})
			first, l = i, x.newLoad()
		}
		x.take(&l, &items[i], i > first)
		if l.ops <= most && max(l.peers[ir.MemoryChannel], l.peers[ir.PortChannel]) <= peers &&
			l.remote <= mscclpp.MaxRemote {
			continue
		}
		if safe == first {
			x.pos = items[i].op.Pos
			x.say(diag.Limit, "MSCCL++ has no room in a thread block for what is put through ports before a signal").Hint =
				"compile for fewer ranks, or without via = port"
			return nil
		}
		list = append(list, segment{int32(first), int32(safe)})
		first, l = safe, x.newLoad()
		i = safe - 1
	}
	return append(list, segment{int32(first), int32(len(items))})
}

func (x *maker) newLoad() load {
	x.loads++
	return load{id: x.loads}
}

// take adds an item of the own rank. The first of a segment needs no meeting.
func (x *maker) take(l *load, it *item, meets bool) {
	l.ops++
	if it.meet && meets {
		l.ops++
	}
	info := it.op.Kind.Info()
	for _, e := range it.ends {
		f := e.flag
		peer := f.to
		if peer == x.own {
			peer = f.from
		}
		if at := &x.peers[peer][it.op.Type]; *at != l.id {
			*at = l.id
			l.peers[it.op.Type]++
		}
		switch {
		case !info.Signals && info.Moves && f.pending != l.id:
			f.pending, f.coveredBy = l.id, e.n
			l.pending++
		case info.Signals && f.pending == l.id && f.coveredBy == e.n:
			f.pending = 0
			l.pending--
		}
	}
	for _, peer := range it.puts {
		if at := &x.peers[peer][ir.PortChannel]; *at != l.id {
			*at = l.id
			l.peers[ir.PortChannel]++
		}
	}
	for _, list := range [2][]ir.ChannelRef{it.op.Srcs, it.op.Dsts} {
		for _, r := range list {
			if r.Rank == x.own || r.Rank == ir.AllRanks {
				continue
			}
			if at := &x.remote[int(r.Rank)*remoteKinds+int(r.Buf)*2+int(it.op.Type)]; *at != l.id {
				*at = l.id
				l.remote++
			}
		}
	}
}

// number notes in which segments flags are signalled and awaited.
func (x *maker) number(segments [][]segment) {
	for r, list := range segments {
		for k, seg := range list {
			for i := seg.first; i < seg.end; i++ {
				it := &x.items[r][i]
				info := it.op.Kind.Info()
				for _, e := range it.ends {
					switch {
					case info.Signals:
						e.flag.signals[e.n] = int32(k)
					case info.Awaits:
						e.flag.awaits[e.n] = int32(k)
					}
				}
			}
		}
	}
}
