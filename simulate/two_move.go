package simulate

import "mscclc/ir"

// This file moves the messages of a two-sided program.

// depart sends a message off, and returns when its first link will have taken it.
func (t *twoSided) depart(f flight) (taken float64) {
	at, done := t.net.fly(&f)
	if done {
		t.arrive(&f)
		return f.taken
	}
	i := len(t.flights)
	if n := len(t.landed); n > 0 {
		i, t.landed = int(t.landed[n-1]), t.landed[:n-1]
		t.flights[i] = f
	} else {
		t.flights = append(t.flights, f)
	}
	t.e.at(i, at)
	return f.taken
}

// fly takes flight i on.
func (t *twoSided) fly(i int32) verdict {
	at, done := t.net.fly(&t.flights[i])
	if !done {
		return verdict{kind: goesOn, at: at}
	}
	t.arrive(&t.flights[i])
	t.landed = append(t.landed, i)
	return verdict{kind: gone}
}

// arrive tells the receiver of a message.
func (t *twoSided) arrive(f *flight) {
	c := &t.conns[f.connection]
	c.head[f.slot], c.tail[f.slot] = f.head, f.tail
	t.e.wake(t.dataOf(f.connection), t.begins(c, c.come))
	c.come++
}

// begins returns when a message that was sent can be received: a packet tells of itself, so that its block takes one by
// one as they come, and a slot's flag is behind all of it.
func (t *twoSided) begins(c *connection, message int64) float64 {
	if t.program.Protocol == ir.Simple {
		return c.tail[message%int64(t.slots)]
	}
	return c.head[message%int64(t.slots)]
}

// move does what a step does with so many bytes, and returns when the block has done it.
func (t *twoSided) move(b *twoBlock, step *twoStep, now, bytes float64) float64 {
	begin := now + t.cost.Step
	if step.chained {
		begin = now
	}
	end := begin + bytes*float64(step.handled)/2/t.cost.Block
	if step.receives {
		c := &t.conns[b.recv]
		end = max(end, c.tail[c.received%int64(t.slots)]+t.cost.Step)
	}
	end = max(end, t.net.local(t.gpu[b.rank], begin, 2*bytes, t.costs.Memory))
	if step.sends {
		c := &t.conns[b.send]
		extra := 0.
		if c.far {
			extra = t.costs.TwoSided.Network
		}
		rate := t.cost.Block
		if end > begin {
			rate = bytes / (end - begin) // no faster than what it forwards comes
		}
		f := flight{way: t.net.ways[c.way], bytes: bytes * t.cost.Wire, connection: b.send, slot: c.sent % int64(t.slots)}
		f.head = begin + extra
		f.tail = f.head + bytes/rate
		f.taken = f.tail
		c.sent++
		end = max(end, t.depart(f)-extra)
	}
	if step.receives {
		c := &t.conns[b.recv]
		free := end + t.costs.TwoSided.Credit + t.net.latency(c.way)
		c.freed[c.received%int64(t.slots)] = free
		c.received++
		t.e.wake(t.slotOf(b.recv), free)
	}
	return end
}
