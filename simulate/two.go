package simulate

import (
	"math"

	"mscclc/executor"
	"mscclc/ir"
)

// A twoSided is the blocks of a two-sided program. What they wait for is, in this order: the end of each step, the next message of
// each connection, and a free slot of each.
type twoSided struct {
	*simulation
	e       *engine
	cost    MoveCosts
	blocks  []twoBlock
	conns   []connection
	slots   int32
	holds   int32 // chunks of a message
	done    []int64
	doneAt  []float64
	waitsOn []int32 // of a step: that which it waits for, or -1
}

type twoBlock struct {
	rank             int32
	step, first, end int32
	message          int32 // chunks of the step that went before
	waiting          bool
	came             float64 // to its message, where it waits
	pass             int64
	send, recv       int32 // connections, or -1
}

// A connection has the last messages, by their number modulo the slots.
type connection struct {
	way            span32
	far            bool
	sent, received int64
	arrived, freed []float64
}

func newTwoSided(s *simulation) (runner, error) {
	p := s.program
	t := &twoSided{simulation: s, cost: s.costs.TwoSided.Protocol[p.Protocol], done: make([]int64, len(p.Steps)), doneAt: make([]float64, len(p.Steps)),
		waitsOn: make([]int32, len(p.Steps)), slots: int32(s.call.Slots)}
	if t.slots <= 0 {
		t.slots = int32(p.Protocol.Slots())
	}
	slot, tile := s.call.SlotBytes, s.call.Tile
	if slot <= 0 {
		slot = p.Protocol.SlotBytes()
	}
	if tile <= 0 {
		tile = executor.DefaultTileBytes
	}
	s.share, s.tile = s.chunk, max(1, math.Min(s.chunk, float64(min(tile, slot))))
	s.passes = int64(math.Ceil(s.share / s.tile))
	t.holds = int32(max(1, min(float64(slot)/s.tile, ir.MaxMessageChunks)))
	return t, t.connect()
}

// connect joins the ends of connections.
func (t *twoSided) connect() error {
	type end struct{ channel, src, dst int32 }
	known := map[end]int32{}
	find := func(channel, src, dst int32) (int32, error) {
		if src < 0 || dst < 0 {
			return -1, nil
		}
		at := end{channel, src, dst}
		if c, ok := known[at]; ok {
			return c, nil
		}
		way, err := t.way(src, dst)
		known[at] = int32(len(t.conns))
		t.conns = append(t.conns, connection{way: way, far: t.net.leaves(way), arrived: make([]float64, t.slots), freed: make([]float64, t.slots)})
		return known[at], err
	}
	for b := range t.program.Blocks {
		tb := &t.program.Blocks[b]
		send, err := find(tb.Channel, tb.Rank, tb.SendPeer)
		if err != nil {
			return err
		}
		recv, err := find(tb.Channel, tb.RecvPeer, tb.Rank)
		if err != nil {
			return err
		}
		t.blocks = append(t.blocks, twoBlock{rank: tb.Rank, step: tb.Steps.First, first: tb.Steps.First, end: tb.Steps.End, send: send, recv: recv})
		for i := tb.Steps.First; i < tb.Steps.End; i++ {
			t.waitsOn[i] = -1
			if s := &t.program.Steps[i]; s.DepBlock >= 0 {
				t.waitsOn[i] = t.program.TBsOf(int(tb.Rank))[s.DepBlock].Steps.First + s.DepStep
			}
		}
	}
	return nil
}

func (t *twoSided) start(e *engine) { t.e = e }
func (t *twoSided) launch() float64 { return t.costs.TwoSided.Launch }
func (t *twoSided) count() int      { return len(t.blocks) }
func (t *twoSided) things() int     { return len(t.program.Steps) + 2*len(t.conns) }

func (t *twoSided) dataOf(conn int32) int32 { return int32(len(t.program.Steps)) + conn }
func (t *twoSided) slotOf(conn int32) int32 { return t.dataOf(conn) + int32(len(t.conns)) }

// act does a message of a step, or a step without any.
func (t *twoSided) act(block int32, now float64) verdict {
	b := &t.blocks[block]
	if b.step == b.end || b.pass == t.simulated {
		if b.step == b.end && b.pass < t.simulated {
			t.e.passed(b.pass, now)
			b.pass, b.step = b.pass+1, b.first
			if b.pass < t.simulated && b.first < b.end {
				return verdict{kind: goesOn, at: now}
			}
		}
		return verdict{kind: ended, at: now}
	}
	step := &t.program.Steps[b.step]
	op := step.Op.Info()
	if !b.waiting {
		b.waiting, b.came = true, now
	}
	if v, ok := t.ready(b, op, now); !ok {
		return v
	}
	end := now
	count := min(step.Count-b.message, t.holds)
	if op.Sends || op.Receives || op.ReadsSrc || op.Writes {
		end = t.move(b, op, now, float64(count)*t.bytes(b.pass))
	}
	t.took(b.step, 0, b.pass, b.message/t.holds, b.came, end)
	b.waiting = false
	if b.message += count; b.message < step.Count {
		return verdict{kind: goesOn, at: end}
	}
	t.done[b.step], t.doneAt[b.step] = b.pass+1, end
	if step.Flags&ir.HasDep != 0 {
		t.e.wake(b.step, end+t.costs.TwoSided.Flag)
	}
	b.step, b.message = b.step+1, 0
	return verdict{kind: goesOn, at: end}
}

// ready says whether b's step has all that it waits for, and if not, what then.
func (t *twoSided) ready(b *twoBlock, op *ir.OpInfo, now float64) (v verdict, ok bool) {
	at := now
	if on := t.waitsOn[b.step]; on >= 0 && b.message == 0 {
		if t.done[on] <= b.pass {
			return verdict{kind: waits, on: on}, false
		}
		if t.done[on] == b.pass+1 {
			at = max(at, t.doneAt[on]+t.costs.TwoSided.Flag)
		}
	}
	if op.Receives {
		c := &t.conns[b.recv]
		if c.sent == c.received {
			return verdict{kind: waits, on: t.dataOf(b.recv)}, false
		}
		at = max(at, c.arrived[c.received%int64(t.slots)])
	}
	if op.Sends {
		c := &t.conns[b.send]
		if c.sent-c.received == int64(t.slots) {
			return verdict{kind: waits, on: t.slotOf(b.send)}, false
		}
		at = max(at, c.freed[c.sent%int64(t.slots)])
	}
	return verdict{kind: goesOn, at: at}, at <= now
}

// move does what a step does with so many bytes, and returns when the block has done it.
func (t *twoSided) move(b *twoBlock, op *ir.OpInfo, now, bytes float64) float64 {
	begin := now + t.cost.Step
	end := begin + bytes/t.cost.Block
	end = max(end, t.net.local(t.gpu[b.rank], begin, 2*bytes, t.costs.Memory))
	if op.Sends {
		c := &t.conns[b.send]
		extra := 0.
		if c.far {
			extra = t.costs.TwoSided.Network
		}
		taken, arrived := t.net.carry(c.way, begin+extra, bytes*t.cost.Wire, t.cost.Block*t.cost.Wire)
		end = max(end, taken-extra)
		c.arrived[c.sent%int64(t.slots)] = arrived
		c.sent++
		t.e.wake(t.dataOf(b.send), arrived)
	}
	if op.Receives {
		c := &t.conns[b.recv]
		free := end + t.costs.TwoSided.Credit + t.net.latency(c.way)
		c.freed[c.received%int64(t.slots)] = free
		c.received++
		t.e.wake(t.slotOf(b.recv), free)
	}
	return end
}
