package lower

import (
	"slices"

	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// peerTypes is how many types of channels are between two ranks: memory and port.
const peerTypes = int(ir.SwitchChannel)

// connect numbers the channels between any two ranks, and says whether every block has room for its own. Signals of one
// direction and flag are on one channel where one block raises and one awaits them; the k-th channel of a direction is
// the k-th of the other.
func (x *maker) connect(segments [][]segment) bool {
	ranks := len(x.out.Ranks)
	count := make([][peerTypes]int32, ranks*ranks) // of a direction
	for _, f := range x.all {
		if f.raised != int32(len(f.awaits)) {
			x.say(diag.Unsupported, "a flag of rank %d is signalled %d times in a launch, and awaited %d times", f.to,
				f.raised, len(f.awaits))
			return true
		}
		f.divide(&count[int(f.from)*ranks+int(f.to)][f.channelType()])
	}
	x.base = make([][peerTypes]int32, ranks*ranks)
	for i := range count { // the blocks that share an operation signal and await on channels of their own
		for t := range count[i] {
			count[i][t] *= x.ways
		}
	}
	x.reached(count)
	for r := range ranks {
		c := &x.out.Ranks[r]
		c.Channels = [ir.NumChannelTypes][]ir.Channel{}
		for t := range peerTypes {
			total := int32(0)
			for peer := range ranks {
				x.base[r*ranks+peer][t] = total
				total += max(count[r*ranks+peer][t], count[peer*ranks+r][t])
			}
			list := make([]ir.Channel, 0, total)
			for peer := range ranks {
				for range max(count[r*ranks+peer][t], count[peer*ranks+r][t]) {
					list = append(list, ir.Channel{Peer: int32(peer)})
				}
			}
			c.Channels[t] = list
		}
		c.Channels[ir.SwitchChannel] = x.switches
	}
	return x.roomy(segments)
}

// channelType returns the type of the channels that f is on.
func (f *flag) channelType() ir.ChannelType {
	if f.port {
		return ir.PortChannel
	}
	return ir.MemoryChannel
}

// divide numbers the channels of f, whose direction has that many yet: one for each two segments that signal and
// await it. Signals of the same two follow each other.
func (f *flag) divide(count *int32) {
	for n := range f.signals {
		if n > 0 && f.signals[n] == f.signals[n-1] && f.awaits[n] == f.awaits[n-1] {
			f.channels[n] = f.channels[n-1]
			continue
		}
		f.channels[n] = *count
		*count++
	}
}

// reached sees to it that ranks are connected that reach each other's memory, and finds the switch channels: one for
// each buffer.
func (x *maker) reached(count [][peerTypes]int32) {
	x.switches = nil
	for r, items := range x.items {
		for i := range items {
			op := &items[i].op
			for _, list := range [2][]ir.ChannelRef{op.Srcs, op.Dsts} {
				for k := range list {
					switch ref := &list[k]; {
					case ref.Rank == ir.AllRanks:
						ref.Switch = x.switchOf(ref.Buf)
					case ref.Rank != int32(r):
						n := &count[r*len(x.items)+int(ref.Rank)][op.Type]
						*n = max(*n, 1)
						if len(items[i].puts) > 0 {
							*n = max(*n, x.ways)
						}
					}
				}
			}
		}
	}
}

// switchOf returns the channel of a buffer through the switch, of all ranks.
func (x *maker) switchOf(b ir.Buf) int32 {
	i := slices.IndexFunc(x.switches, func(c ir.Channel) bool { return c.Buf == b })
	if i < 0 {
		group := make([]int32, len(x.out.Ranks))
		for r := range group {
			group[r] = int32(r)
		}
		i = len(x.switches)
		x.switches = append(x.switches, ir.Channel{Group: group, Buf: b})
	}
	return int32(i)
}

// channel returns the number of rank r's channel that e is on, for block w of those that share an operation.
func (x *maker) channel(r int32, e flagUse, w int32) int32 {
	peer := e.flag.to
	if r == peer {
		peer = e.flag.from
	}
	return x.base[int(r)*len(x.items)+int(peer)][e.flag.channelType()] + e.flag.channels[e.n]*x.ways + w
}

// putChannel returns the number of rank r's port channel by which block w of those that share an operation puts packets
// to a peer: the first.
func (x *maker) putChannel(r, peer, w int32) int32 {
	return x.base[int(r)*len(x.items)+int(peer)][ir.PortChannel] + w
}

// roomy reports whether no segment has more channels than a block has room for.
func (x *maker) roomy(segments [][]segment) bool {
	var seen [peerTypes][]int32 // of a rank's channel: 1 + the last segment that has it
	for r, list := range segments {
		for t := range seen {
			n := len(x.out.Ranks[r].Channels[t])
			seen[t] = slices.Grow(seen[t][:0], n)[:n]
			clear(seen[t])
		}
		for k, seg := range list {
			var count [peerTypes]int
			for i := seg.first; i < seg.end; i++ {
				it := &x.items[r][i]
				note := func(channel int32) {
					if at := &seen[it.op.Type][channel]; *at != int32(k)+1 {
						*at = int32(k) + 1
						count[it.op.Type]++
					}
				}
				for _, e := range it.ends {
					if int(e.n) < len(e.flag.channels) {
						note(x.channel(int32(r), e, 0))
					}
				}
				for _, peer := range it.puts {
					note(x.putChannel(int32(r), peer, 0))
				}
			}
			if max(count[ir.MemoryChannel], count[ir.PortChannel]) > mscclpp.MaxChannels {
				return false
			}
		}
	}
	return true
}

// build makes the blocks of all ranks: those that share a segment's operations one after the other, segment by
// segment.
func (x *maker) build(segments [][]segment) {
	for r, list := range segments {
		c := &x.out.Ranks[r]
		for k := range list {
			for w := range x.ways {
				c.Blocks = append(c.Blocks, x.block(int32(r), list, int32(k), w))
				if k > 0 {
					c.Semaphores = append(c.Semaphores, 0)
				}
			}
		}
	}
}

// block makes block w of those of segment k.
func (x *maker) block(r int32, list []segment, k, w int32) []ir.ChannelOp {
	count, ends := handover, 0
	for i := list[k].first; i < list[k].end; i++ {
		it := &x.items[r][i]
		if count++; it.meet {
			count++
		}
		ends += len(it.ends) + len(it.puts)
	}
	ops, ids := make([]ir.ChannelOp, 0, count), make([]int32, 0, ends)
	sync := func(kind ir.ChannelOpKind, semaphore int32) {
		o := ir.ChannelOp{Kind: kind, Type: ir.NoChannel, Pos: -1}
		if kind != ir.ChMeet {
			o.Semaphores = []int32{semaphore*x.ways + w}
		}
		ops = append(ops, o)
	}
	if k > 0 {
		sync(ir.ChAcquire, k-1)
		sync(ir.ChMeet, 0)
	}
	for i := list[k].first; i < list[k].end; i++ {
		it := &x.items[r][i]
		if it.meet && i > list[k].first {
			sync(ir.ChMeet, 0)
		}
		op := it.op
		for _, e := range it.ends {
			if int(e.n) >= len(e.flag.channels) {
				x.pos = op.Pos
				x.say(diag.Unsupported, "nothing signals to rank %d what goes to it through a port", e.flag.to)
				return nil
			}
			ids = append(ids, x.channel(r, e, w))
		}
		for _, peer := range it.puts {
			ids = append(ids, x.putChannel(r, peer, w))
		}
		if n := len(it.ends) + len(it.puts); n > 0 {
			op.Channels = ids[len(ids)-n : len(ids) : len(ids)]
		}
		if op.Kind.Info().Moves && x.ways > 1 {
			op.Part, op.Parts = w, x.ways
		}
		ops = append(ops, op)
	}
	if int(k) < len(list)-1 {
		sync(ir.ChMeet, 0)
		sync(ir.ChRelease, k)
	}
	if x.pipeline > 0 {
		ops = x.loop(ops)
	}
	return joinAlike(ops, r)
}

// joinAlike makes one operation of neighbours that signal, or that await, on different channels of a type, if it has
// room for all, and one meeting of two in a row. Awaits join the last awaits before them, neighbours or not.
func joinAlike(ops []ir.ChannelOp, rank int32) []ir.ChannelOp {
	kept := ops[:0]
next:
	for i := range ops {
		o := &ops[i]
		if o.Kind == ir.ChLoop {
			o.Body = joinAlike(o.Body, rank)
		}
		for k := len(kept) - 1; k >= 0 && (k == len(kept)-1 || awaits(o) && awaits(&kept[k])); k-- {
			if one, ok := alike(kept[k], o, rank); ok {
				kept[k] = one
				continue next
			}
		}
		kept = append(kept, *o)
	}
	return kept
}

func awaits(o *ir.ChannelOp) bool { return o.Kind.Info().Awaits }

// alike returns before and o, which move nothing, as one operation. A relaxed await joins the awaits after it too: it
// is for launches that nothing announced before.
func alike(before ir.ChannelOp, o *ir.ChannelOp, rank int32) (one ir.ChannelOp, ok bool) {
	if before.Kind == ir.ChRelaxedAwait && o.Kind == ir.ChAwait {
		before.Kind = ir.ChAwait
	}
	if o.Kind.Info().Moves || o.Kind == ir.ChLoop {
		return one, false
	}
	return before.Join(o, rank)
}
