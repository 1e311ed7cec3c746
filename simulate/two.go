package simulate

import (
	"cmp"
	"math"
	"slices"

	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/fifo"
	"mscclc/simulate/devices"
)

// A twoSided is the blocks of a two-sided program. What they wait for is, in this order: the end of each step, the next
// message of each connection, a free slot of each, and each rank's next launch.
type twoSided struct {
	*simulation
	program *fifo.Program
	e       *engine
	cost    devices.MoveCosts
	blocks  []twoBlock
	conns   []connection
	slots   int32
	holds   int32 // chunks of a message
	steps   []twoStep
	done    []int64 // of a step whose end others wait for: passes in which it ended, and when it last did
	doneAt  []float64
	calls   sequence
	flights []flight
	landed  []int32 // of flights, those whose place is free
}

// A twoStep is what a simulation needs of a step, and no more: programs of millions are to lie close.
type twoStep struct {
	on                     int32 // the step that it waits for, or -1
	count                  int32 // chunks
	sends, receives, moves bool
	told                   bool // others wait for its end
	chained                bool // the step before has begun the sum that it goes on with, in one loop
	handled                int8 // messages and operands that its bytes go through its block for
}

type twoBlock struct {
	rank             int32
	step, first, end int32
	message          int32   // chunks of the step that went before
	ready            bool    // its message has all that it waits for
	came             float64 // to its message
	pass             int64
	send, recv       int32 // connections, or -1
	sends            int32 // the rank that it sends to, or -1
}

// A connection has the last messages, by their number modulo the slots.
type connection struct {
	way            int32
	far            bool
	sent, received int64
	come           int64     // messages whose arrival is known
	head, tail     []float64 // when its first byte arrived, and its last
	freed          []float64
}

func newTwoSided(s *simulation) (runner, error) {
	p := s.program.Fifo
	t := &twoSided{simulation: s, program: p, cost: s.costs.TwoSided.Protocol[p.Protocol], steps: make([]twoStep,
		len(p.Steps)),
		done: make([]int64, len(p.Steps)), doneAt: make([]float64, len(p.Steps)), slots: int32(s.call.Slots)}
	if t.slots <= 0 {
		t.slots = int32(p.Protocol.Slots())
	}
	slot, tile := s.call.SlotBytes, s.call.Tile
	if slot <= 0 {
		slot = p.Protocol.SlotBytes()
	}
	if tile <= 0 {
		tile = launch.DefaultTileBytes
	}
	s.share, s.tile = s.chunk, max(1, math.Min(s.chunk, float64(min(tile, slot))))
	s.passes = int64(math.Ceil(s.share / s.tile))
	t.holds = int32(max(1, min(float64(slot)/s.tile, ir.MaxMessageChunks)))
	if err := t.connect(); err != nil {
		return nil, err
	}
	t.calls = sequence{make([]rankLaunch, len(p.Rank)), t.slotOf(int32(len(t.conns)))}
	for b := range t.blocks {
		if t.blocks[b].first < t.blocks[b].end {
			t.calls.add(t.blocks[b].rank)
		}
	}
	return t, nil
}

// connect joins the ends of connections.
func (t *twoSided) connect() (err error) {
	type end struct{ channel, src, dst int32 }
	known := make(map[end]int32, len(t.program.Blocks))
	pairs := make([][2]int32, 0, len(t.program.Blocks))
	t.blocks = make([]twoBlock, 0, len(t.program.Blocks))
	find := func(channel, src, dst int32) int32 {
		if src < 0 || dst < 0 {
			return -1
		}
		at := end{channel, src, dst}
		c, ok := known[at]
		if !ok {
			c = int32(len(pairs))
			known[at], pairs = c, append(pairs, [2]int32{src, dst})
		}
		return c
	}
	for b := range t.program.Blocks {
		tb := &t.program.Blocks[b]
		t.blocks = append(t.blocks, twoBlock{rank: tb.Rank, step: tb.Steps.First, first: tb.Steps.First, end: tb.Steps.End,
			send: find(tb.Channel, tb.Rank, tb.SendPeer), recv: find(tb.Channel, tb.RecvPeer, tb.Rank), sends: tb.SendPeer})
		for i := tb.Steps.First; i < tb.Steps.End; i++ {
			s := &t.program.Steps[i]
			op := s.Op.Info()
			t.steps[i] = twoStep{on: -1, count: s.Count, sends: op.Sends, receives: op.Receives, told: s.Flags&ir.HasDep != 0,
				moves: op.Sends || op.Receives || op.ReadsSrc || op.Writes}
			for _, is := range [...]bool{op.Sends, op.Receives, op.ReadsSrc, op.Writes} {
				if is {
					t.steps[i].handled++
				}
			}
			if i > tb.Steps.First && fifo.Chained(&t.program.Steps[i-1], s) {
				t.steps[i].handled, t.steps[i].chained = 1, true
			}
			if s.DepBlock >= 0 {
				t.steps[i].on = t.publisher(t.program.TBsOf(int(tb.Rank))[s.DepBlock].Steps, s.DepStep)
			}
		}
	}
	// What begins at once is served in the order of blocks. Were that the order of peers, all ranks would send to rank 0
	// first; beginning behind themselves they are as far as if links were shared.
	n := int32(len(t.program.Rank))
	turn := func(b *twoBlock, peer int32) int32 { return (peer - b.rank + n) % n }
	slices.SortStableFunc(t.blocks, func(a, b twoBlock) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(turn(&a, a.sends), turn(&b, b.sends)))
	})
	ways, err := t.find(pairs)
	times := make([]float64, 3*int(t.slots)*len(ways))
	t.conns = make([]connection, 0, len(ways))
	for _, way := range ways {
		n := t.slots
		t.conns = append(t.conns, connection{way: way, far: t.net.leaves(way), head: times[:n:n], tail: times[n : 2*n : 2*n],
			freed: times[2*n : 3*n : 3*n]})
		times = times[3*n:]
	}
	return err
}

// publisher returns the step whose flag tells that a step of a block is over: itself, or the first behind it that has
// one.
func (t *twoSided) publisher(steps ir.Range, step int32) int32 {
	at := steps.First + step
	for at+1 < steps.End && t.program.Steps[at].Flags&ir.HasDep == 0 {
		at++
	}
	return at
}

func (t *twoSided) start(e *engine) { t.e = e }
func (t *twoSided) launch() float64 { return t.costs.TwoSided.Launch }
func (t *twoSided) count() int      { return len(t.blocks) }
func (t *twoSided) things() int     { return len(t.program.Steps) + 2*len(t.conns) + len(t.calls.ranks) }

func (t *twoSided) dataOf(conn int32) int32 { return int32(len(t.program.Steps)) + conn }
func (t *twoSided) slotOf(conn int32) int32 { return t.dataOf(conn) + int32(len(t.conns)) }

// act does a message of a step, or a step without any, and says when the next one begins, so that each is one event
// where what it needs is there in time.
func (t *twoSided) act(block int32, now float64) verdict {
	if n := int32(len(t.blocks)); block >= n {
		return t.fly(block - n)
	}
	b := &t.blocks[block]
	if b.first == b.end {
		return verdict{kind: ended, at: now}
	}
	if !b.ready {
		if v, ok := t.ready(b, now); !ok {
			return v
		}
	}
	step := &t.steps[b.step]
	end := now
	count := min(step.count-b.message, t.holds)
	if step.moves {
		end = t.move(b, step, now, float64(count)*t.bytes(b.pass%t.simulated))
	}
	t.took(b.step, 0, b.pass, b.message/t.holds, b.came, now, end)
	b.came = end
	if b.message += count; b.message >= step.count {
		if step.told {
			t.done[b.step], t.doneAt[b.step] = b.pass+1, end
			t.e.wake(b.step, end+t.costs.TwoSided.Flag)
		}
		b.step, b.message = b.step+1, 0
	}
	if b.step == b.end {
		t.e.passed(b.pass, end)
		if b.pass, b.step = b.pass+1, b.first; b.pass == t.simulated*t.repeated {
			return verdict{kind: ended, at: end}
		}
		if b.pass%t.simulated == 0 {
			b.ready = false
			return t.calls.ends(t.e, b.rank, end, t.launch())
		}
	}
	v, ok := t.ready(b, end)
	b.ready = ok || v.kind == goesOn
	return v
}

// ready reports whether b's message has all that it waits for, and if not, what then.
func (t *twoSided) ready(b *twoBlock, now float64) (v verdict, ok bool) {
	at := now
	step := &t.steps[b.step]
	if on := step.on; on >= 0 && b.message == 0 {
		if t.done[on] <= b.pass {
			return verdict{kind: waits, on: on, at: now}, false
		}
		if t.done[on] == b.pass+1 {
			at = max(at, t.doneAt[on]+t.costs.TwoSided.Flag)
		}
	}
	if step.receives {
		c := &t.conns[b.recv]
		if c.come == c.received {
			return verdict{kind: waits, on: t.dataOf(b.recv), at: now}, false
		}
		at = max(at, t.begins(c, c.received))
	}
	if step.sends {
		c := &t.conns[b.send]
		if c.sent-c.received == int64(t.slots) {
			return verdict{kind: waits, on: t.slotOf(b.send), at: now}, false
		}
		at = max(at, c.freed[c.sent%int64(t.slots)])
	}
	return verdict{kind: goesOn, at: at}, at <= now
}
