package onesided

import (
	"math"

	"mscclc/ir"
	"mscclc/simulate/internal/events"
)

// move begins when the first of all packets have come that it reads, and ends when the last have: packets go through a
// block as they come.
func (o *Blocks) move(b *block, s *ir.Step, now float64) (events.Verdict, bool) {
	at, last, packets := now, now, false
	for k := s.Src; k < s.Src+int32(s.NSrc); k++ {
		x := &o.program.Operands[k]
		if x.Buf != ir.Packets {
			continue
		}
		packets = true
		first := o.packet(x)
		for i := first; i < first+s.Count; i++ {
			if o.written[i] <= b.pass {
				return events.Wait(i, now), false
			}
			k := int64(i)*o.depth + b.pass%o.depth
			at, last = max(at, o.heads[k]), max(last, o.tails[k])
		}
	}
	if at > now {
		return events.GoOn(at), false
	}
	for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
		packets = packets || o.program.Operands[k].Buf == ir.Packets
	}
	cost := o.plain
	if packets {
		cost = o.cost
	}
	bytes := float64(s.Count) * o.Bytes(b.pass%o.Simulated)
	rate := cost.Block * o.rate * b.wide
	begin := now + cost.Step
	b.moved = max(b.moved, begin) + bytes*o.handled(b, s)/2/rate
	finish := 0.
	if o.finishes(s) {
		finish = o.finish.time
		if o.few { // all but the last row are finished before that has come
			b.moved += finish * (o.rows*float64(s.Count) - 1)
		}
	}
	end := max(b.moved, last+cost.Step)
	if last > now { // as fast as packets come
		rate = min(rate, bytes/(last-now))
	}
	end = max(end, o.load(b, s, begin, bytes, rate), o.store(b, s, begin, bytes, rate, cost.Wire))
	return events.GoOn(end + finish), true
}

// proxies returns what a load or a packet takes more that leaves its node. No executor runs such programs: they are
// simulated as if the proxies of both ends made a message of each.
func (o *Blocks) proxies(way int32) float64 {
	if o.Net.Leaves(way) {
		return 2 * o.Costs.Network.Message
	}
	return 0
}

// load has what is read come, and returns when it is there.
func (o *Blocks) load(b *block, s *ir.Step, begin, bytes, rate float64) (end float64) {
	local := 0.
	o.sent = o.sent[:0]
	for k := s.Src; k < s.Src+int32(s.NSrc); k++ {
		x := &o.program.Operands[k]
		switch {
		case x.Rank == ir.AllRanks && o.each != nil:
			for r := range o.program.Rank {
				o.sent = append(o.sent, o.each[r*len(o.program.Rank)+int(b.rank)]) // no link is on the way from b's own
			}
			local += bytes
		case x.Rank == ir.AllRanks:
			end = max(end, o.gather(b, begin, bytes, rate))
		case x.Rank == b.rank:
			local += bytes
		case x.Via == ir.ViaPort:
			end = max(end, o.copied(b, o.ways[k], begin, bytes))
		default:
			o.sent = append(o.sent, o.ways[k])
		}
	}
	o.Net.Together(o.sent, bytes*o.plain.Wire)
	for _, way := range o.sent {
		end = max(end, o.Net.Spread(o.Net.Ways[way], begin+o.proxies(way)+o.Net.Latency(way), bytes*o.plain.Wire,
			rate*o.plain.Wire*o.parts[way]).Tail)
	}
	o.Net.Apart()
	return max(end, o.Net.Local(b.rank, begin, local, o.Costs.Memory))
}

// copied returns when a port has copied: the proxy of the block's GPU gives the driver a copy of each replica, one
// after the other.
func (o *Blocks) copied(b *block, way int32, begin, bytes float64) float64 {
	o.proxy[b.rank] = max(o.proxy[b.rank], begin) + float64(o.Costs.OneSided.Port*o.replicas)
	return o.Net.Carry(o.Net.Ways[way], o.proxy[b.rank], bytes, math.Inf(1)).Tail
}

// store sends what is written, and returns when the block has sent it.
func (o *Blocks) store(b *block, s *ir.Step, begin, bytes, rate, wire float64) (end float64) {
	local := 0.
	o.sent = o.sent[:0]
	for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
		if x := &o.program.Operands[k]; x.Rank >= 0 && x.Rank != b.rank && x.Via != ir.ViaPort && !o.mirrored(x, k) {
			o.sent = append(o.sent, o.ways[k])
		} else if x.Rank == ir.AllRanks && o.each != nil {
			o.sent = append(o.sent, o.each[int(b.rank)*len(o.program.Rank):][:len(o.program.Rank)]...)
		}
	}
	o.Net.Together(o.sent, bytes*wire)
	for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
		x := &o.program.Operands[k]
		head, arrived := begin, begin
		switch {
		case x.Rank == ir.AllRanks && o.each != nil:
			for r := range o.program.Rank {
				if r != int(b.rank) {
					p := o.Net.Spread(o.Net.Ways[o.each[int(b.rank)*len(o.program.Rank)+r]], begin, bytes*wire, rate*wire)
					arrived, end = max(arrived, p.Tail), max(end, p.Taken)
				}
			}
			local += bytes
		case x.Rank == ir.AllRanks:
			arrived = o.scatter(b, begin, bytes, rate)
			end = max(end, arrived)
		case x.Rank == b.rank:
			local += bytes
		case o.mirrored(x, k):
			local += bytes
			count := s.Count
			if b.part > 0 { // they were counted with the first part
				count = 0
			}
			b.owe(o.ways[k], x.Rank, x.Index, count, bytes)
		case x.Via == ir.ViaPort:
			arrived = o.copied(b, o.ways[k], begin, bytes)
			end = max(end, arrived) // the block waits for its port before its threads synchronise
		default:
			port := o.proxies(o.ways[k])
			p := o.Net.Spread(o.Net.Ways[o.ways[k]], begin+port, bytes*wire, rate*wire*o.part(k))
			head, arrived, end = p.Head, p.Tail, max(end, p.Taken-port)
		}
		b.stored = max(b.stored, arrived)
		if x.Buf == ir.Packets {
			o.send(b, o.packet(x), s.Count, head+o.late, max(arrived, end)+o.late)
		}
	}
	o.Net.Apart()
	if o.finishes(s) {
		local += float64(bytes * o.finish.bytes)
	}
	return max(end, o.Net.Local(b.rank, begin, local, o.Costs.Memory))
}

// send says when the first and the last of packets arrive.
func (o *Blocks) send(b *block, first, count int32, head, tail float64) {
	for i := first; i < first+count; i++ {
		k := int64(i)*o.depth + b.pass%o.depth
		o.heads[k], o.tails[k] = head, tail
		o.written[i] = b.pass + 1
		o.e.Wake(i, head)
	}
}

// gather returns a load through the switch: what all ranks have goes up their links, and their sum comes down that of
// the block's, as soon as the first of it is there.
func (o *Blocks) gather(b *block, begin, bytes, rate float64) (end float64) {
	if o.up == nil {
		return begin
	}
	head := begin
	for r := range o.up {
		head = max(head, o.Net.Carry(o.up[r:r+1], begin, bytes, rate).Head)
	}
	return o.Net.Carry(o.down[b.rank:b.rank+1], head, bytes, rate).Tail
}

// scatter returns a store through the switch: it goes up the block's link once, and down those of all.
func (o *Blocks) scatter(b *block, begin, bytes, rate float64) (end float64) {
	if o.up == nil {
		return begin
	}
	head := o.Net.Carry(o.up[b.rank:b.rank+1], begin, bytes, rate).Head
	for r := range o.down {
		end = max(end, o.Net.Carry(o.down[r:r+1], head, bytes, rate).Tail)
	}
	return end
}
