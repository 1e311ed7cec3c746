package twosided

import (
	"mscclc/ir"
	"mscclc/simulate/internal/events"
	"mscclc/simulate/internal/network"
)

// This file moves the messages of a two-sided program.

// depart sends a message off, and returns when its first link will have taken it.
func (t *Blocks) depart(f network.Flight) (taken float64) {
	at, done := t.Net.Fly(&f)
	if done {
		t.arrive(&f)
		return f.Taken
	}
	i := len(t.flights)
	if n := len(t.landed); n > 0 {
		i, t.landed = int(t.landed[n-1]), t.landed[:n-1]
		t.flights[i] = f
	} else {
		t.flights = append(t.flights, f)
	}
	t.e.Schedule(i, at)
	return f.Taken
}

// fly takes flight i on.
func (t *Blocks) fly(i int32) events.Verdict {
	at, done := t.Net.Fly(&t.flights[i])
	if !done {
		return events.GoOn(at)
	}
	t.arrive(&t.flights[i])
	t.landed = append(t.landed, i)
	return events.Gone()
}

// arrive signals a message to its receiver.
func (t *Blocks) arrive(f *network.Flight) {
	c := &t.conns[f.Connection]
	c.head[f.Slot], c.tail[f.Slot] = f.Head, f.Tail
	t.e.Wake(t.dataOf(f.Connection), t.begins(c, c.come))
	c.come++
}

// begins returns when a message that was sent can be received: a packet signals itself, so that its block takes one by
// one as they come, and a slot's flag follows all of it.
func (t *Blocks) begins(c *connection, message int64) float64 {
	if t.program.Protocol == ir.Simple {
		return c.tail[message%int64(t.slots)]
	}
	return c.head[message%int64(t.slots)]
}

// move does what a step does with a given number of bytes, and returns when the block has done it.
func (t *Blocks) move(b *block, step *step, now, bytes float64) float64 {
	begin := now + t.cost.Step
	if step.chained {
		begin = now
	}
	end := begin + bytes*float64(step.handled)/2/t.cost.Block
	if step.receives {
		c := &t.conns[b.recv]
		end = max(end, c.tail[c.received%int64(t.slots)]+t.cost.Step)
	}
	end = max(end, t.Net.Local(b.rank, begin, 2*bytes, t.Costs.Memory))
	if step.sends {
		c := &t.conns[b.send]
		extra := 0.
		if c.far {
			extra = t.Costs.TwoSided.Network
		}
		rate := t.cost.Block
		if end > begin {
			rate = bytes / (end - begin) // no faster than what it forwards comes
		}
		f := network.Flight{Way: t.Net.Ways[c.way], Bytes: bytes * t.cost.Wire, Connection: b.send,
			Slot: c.sent % int64(t.slots)}
		f.Head = begin + extra
		f.Tail = f.Head + bytes/rate
		f.Taken = f.Tail
		c.sent++
		end = max(end, t.depart(f)-extra)
	}
	if step.receives {
		c := &t.conns[b.recv]
		free := end + t.Costs.TwoSided.Credit + t.Net.Latency(c.way)
		c.freed[c.received%int64(t.slots)] = free
		c.received++
		t.e.Wake(t.slotOf(b.recv), free)
	}
	return end
}
