package codegen

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// A channelPair is two ranks, and what is between them.
type channelPair struct {
	from, to int32
	t        ir.ChannelType
}

// connect numbers the channels between any two ranks, and says whether every block has room for its own. Signals of one direction and flag are on one
// channel where one block raises and one awaits them; the k-th channel of a direction is the k-th of the other.
func (x *channelMaker) connect(segments [][]segment) bool {
	type class struct {
		flag *channelFlag
		a, b int32
	}
	of := map[class]int32{}
	count := map[channelPair]int32{} // of a direction
	for _, f := range x.all {
		if f.raised != int32(len(f.awaits)) {
			x.say(diag.Unsupported, "a flag of rank %d is signalled %d times in a launch, and awaited %d times", f.to, f.raised, len(f.awaits))
			return true
		}
		p := channelPair{f.from, f.to, ir.MemoryChannel}
		if f.port {
			p.t = ir.PortChannel
		}
		for n := range f.signals {
			k := class{f, f.signals[n], f.awaits[n]}
			if _, ok := of[k]; !ok {
				of[k] = count[p]
				count[p]++
			}
			f.channels[n] = of[k]
		}
	}
	x.base = map[channelPair]int32{}
	x.reached(count)
	for r := range x.out.Ranks {
		c := &x.out.Ranks[r]
		c.Channels = [ir.NumChannelTypes][]ir.Channel{}
		for _, t := range []ir.ChannelType{ir.MemoryChannel, ir.PortChannel} {
			for peer := range int32(len(x.out.Ranks)) {
				n := max(count[channelPair{int32(r), peer, t}], count[channelPair{peer, int32(r), t}])
				x.base[channelPair{int32(r), peer, t}] = int32(len(c.Channels[t]))
				for range n * x.ways {
					c.Channels[t] = append(c.Channels[t], ir.Channel{Peer: peer})
				}
			}
		}
		c.Channels[ir.SwitchChannel] = x.switches
	}
	return x.roomy(segments)
}

// reached sees to it that ranks are connected that reach each other's memory, and finds the switch channels: one for each buffer.
func (x *channelMaker) reached(count map[channelPair]int32) {
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
						p := channelPair{int32(r), ref.Rank, op.Type}
						count[p] = max(count[p], 1)
					}
				}
			}
		}
	}
}

// switchOf is the channel of a buffer through the switch, of all ranks.
func (x *channelMaker) switchOf(b ir.Buf) int32 {
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

// channel is the number of rank r's channel that e is on, for block w of those that share an operation.
func (x *channelMaker) channel(r int32, e flagUse, w int32) int32 {
	p := channelPair{r, e.flag.to, ir.MemoryChannel}
	if r == e.flag.to {
		p.to = e.flag.from
	}
	if e.flag.port {
		p.t = ir.PortChannel
	}
	return x.base[p] + e.flag.channels[e.n]*x.ways + w
}

// roomy says whether no segment has more channels than a block has room for.
func (x *channelMaker) roomy(segments [][]segment) bool {
	for r, list := range segments {
		for _, seg := range list {
			seen := [ir.NumChannelTypes]map[int32]bool{{}, {}, {}}
			for i := seg.first; i < seg.end; i++ {
				it := &x.items[r][i]
				for _, e := range it.ends {
					if int(e.n) < len(e.flag.channels) {
						seen[it.op.Type][x.channel(int32(r), e, 0)] = true
					}
				}
			}
			if len(seen[ir.MemoryChannel]) > PlanMaxChannels || len(seen[ir.PortChannel]) > PlanMaxChannels {
				return false
			}
		}
	}
	return true
}

// build makes the blocks of all ranks: those that share a segment's operations one behind the other, segment by segment.
func (x *channelMaker) build(segments [][]segment) {
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
func (x *channelMaker) block(r int32, list []segment, k, w int32) []ir.ChannelOp {
	var ops []ir.ChannelOp
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
		op.Channels = nil
		for _, e := range it.ends {
			if int(e.n) >= len(e.flag.channels) {
				x.pos = op.Pos
				x.say(diag.Unsupported, "nothing tells rank %d of what goes to it through a port", e.flag.to)
				return nil
			}
			op.Channels = append(op.Channels, x.channel(r, e, w))
		}
		if op.Kind >= ir.ChMove && x.ways > 1 {
			op.Part, op.Parts = w, x.ways
		}
		ops = append(ops, op)
	}
	if int(k) < len(list)-1 {
		sync(ir.ChMeet, 0)
		sync(ir.ChRelease, k)
	}
	return ops
}
