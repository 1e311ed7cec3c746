// Package twosided simulates the blocks of two-sided programs. [New] sets slots and tiles, as the executor chooses
// them, and joins the ends of connections. [Blocks.Act] then does each step when package events asks for it. The
// comment of package simulate has the model.
package twosided

import (
	"cmp"
	"math"
	"slices"

	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/fifo"
	"mscclc/simulate/devices"
	"mscclc/simulate/internal/events"
	"mscclc/simulate/internal/launches"
	"mscclc/simulate/internal/network"
)

// A Call is what a call says of a two-sided program's launches, as simulate.Call has it.
type Call struct {
	Slots           int
	SlotBytes, Tile int64
}

// Blocks are the blocks of a two-sided program. What they wait for is, in this order: the end of each step, the next
// message of each connection, a free slot of each, and each rank's next launch.
type Blocks struct {
	*launches.Launches
	program *fifo.Program
	e       *events.Engine
	cost    devices.MoveCosts
	blocks  []block
	conns   []connection
	slots   int32
	holds   int32 // chunks of a message
	steps   []step
	done    []int64 // of a step whose end others wait for: passes in which it ended, and when it last did
	doneAt  []float64
	calls   launches.Sequence
	flights []network.Flight
	landed  []int32 // of flights, those whose place is free
}

// A step is what a simulation needs of a step, and no more: programs of millions are to lie close.
type step struct {
	on                     int32 // the step that it waits for, or -1
	count                  int32 // chunks
	sends, receives, moves bool
	awaited                bool // others wait for its end
	chained                bool // the step before has begun the sum that it goes on with, in one loop
	handled                int8 // messages and operands that its bytes go through its block for
}

type block struct {
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

// New returns the blocks of p for a call, and settles the share, the tile and the passes of its launches. It fails with
// network.ErrNoWay where ranks cannot reach others.
func New(p *fifo.Program, l *launches.Launches, call Call) (*Blocks, error) {
	t := &Blocks{Launches: l, program: p, cost: l.Costs.TwoSided.Protocol[p.Protocol], steps: make([]step,
		len(p.Steps)),
		done: make([]int64, len(p.Steps)), doneAt: make([]float64, len(p.Steps)), slots: int32(call.Slots)}
	if t.slots <= 0 {
		t.slots = int32(p.Protocol.Slots())
	}
	slot, tile := call.SlotBytes, call.Tile
	if slot <= 0 {
		slot = p.Protocol.SlotBytes()
	}
	if tile <= 0 {
		tile = launch.DefaultTileBytes
	}
	t.Share, t.Tile = t.Chunk, max(1, math.Min(t.Chunk, float64(min(tile, slot))))
	t.Passes = int64(math.Ceil(t.Share / t.Tile))
	t.holds = int32(max(1, min(float64(slot)/t.Tile, ir.MaxMessageChunks)))
	if err := t.connect(); err != nil {
		return nil, err
	}
	t.calls = launches.NewSequence(len(p.Rank), t.slotOf(int32(len(t.conns))))
	for b := range t.blocks {
		if t.blocks[b].first < t.blocks[b].end {
			t.calls.Add(t.blocks[b].rank)
		}
	}
	return t, nil
}

// connect joins the ends of connections.
func (t *Blocks) connect() (err error) {
	type end struct{ channel, src, dst int32 }
	known := make(map[end]int32, len(t.program.Blocks))
	pairs := make([][2]int32, 0, len(t.program.Blocks))
	t.blocks = make([]block, 0, len(t.program.Blocks))
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
		t.blocks = append(t.blocks, block{rank: tb.Rank, step: tb.Steps.First, first: tb.Steps.First, end: tb.Steps.End,
			send: find(tb.Channel, tb.Rank, tb.SendPeer), recv: find(tb.Channel, tb.RecvPeer, tb.Rank), sends: tb.SendPeer})
		for i := tb.Steps.First; i < tb.Steps.End; i++ {
			s := &t.program.Steps[i]
			op := s.Op.Info()
			t.steps[i] = step{on: -1, count: s.Count, sends: op.Sends, receives: op.Receives, awaited: s.Flags&ir.HasDep != 0,
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
	// first; beginning after themselves they are as far as if links were shared.
	n := int32(len(t.program.Rank))
	turn := func(b *block, peer int32) int32 { return (peer - b.rank + n) % n }
	slices.SortStableFunc(t.blocks, func(a, b block) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(turn(&a, a.sends), turn(&b, b.sends)))
	})
	ways, err := t.Net.Find(pairs)
	times := make([]float64, 3*int(t.slots)*len(ways))
	t.conns = make([]connection, 0, len(ways))
	for _, way := range ways {
		n := t.slots
		t.conns = append(t.conns, connection{way: way, far: t.Net.Leaves(way), head: times[:n:n], tail: times[n : 2*n : 2*n],
			freed: times[2*n : 3*n : 3*n]})
		times = times[3*n:]
	}
	return err
}

// publisher returns the step whose flag signals the end of a step of a block: itself, or the first after it that has
// one.
func (t *Blocks) publisher(steps ir.Range, step int32) int32 {
	at := steps.First + step
	for at+1 < steps.End && t.program.Steps[at].Flags&ir.HasDep == 0 {
		at++
	}
	return at
}

// Start has the blocks act in e.
func (t *Blocks) Start(e *events.Engine) { t.e = e }

// Launch returns what a launch costs before its blocks and after them.
func (t *Blocks) Launch() float64 { return t.Costs.TwoSided.Launch }

// Count returns the number of blocks.
func (t *Blocks) Count() int { return len(t.blocks) }

// Things returns the number of things that blocks wait for.
func (t *Blocks) Things() int { return len(t.program.Steps) + 2*len(t.conns) + t.calls.Ranks() }

func (t *Blocks) dataOf(conn int32) int32 { return int32(len(t.program.Steps)) + conn }
func (t *Blocks) slotOf(conn int32) int32 { return t.dataOf(conn) + int32(len(t.conns)) }

// Act does a message of a step, or a step without any, and says when the next one begins, so that each is one event
// where what it needs is there in time.
func (t *Blocks) Act(block int32, now float64) events.Verdict {
	if n := int32(len(t.blocks)); block >= n {
		return t.fly(block - n)
	}
	b := &t.blocks[block]
	if b.first == b.end {
		return events.End(now)
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
		end = t.move(b, step, now, float64(count)*t.Bytes(b.pass%t.Simulated))
	}
	t.Took(b.step, 0, b.pass, b.message/t.holds, b.came, now, end)
	b.came = end
	if b.message += count; b.message >= step.count {
		if step.awaited {
			t.done[b.step], t.doneAt[b.step] = b.pass+1, end
			t.e.Wake(b.step, end+t.Costs.TwoSided.Flag)
		}
		b.step, b.message = b.step+1, 0
	}
	if b.step == b.end {
		t.e.Passed(b.pass, end)
		if b.pass, b.step = b.pass+1, b.first; b.pass == t.Simulated*t.Repeated {
			return events.End(end)
		}
		if b.pass%t.Simulated == 0 {
			b.ready = false
			return t.calls.Ends(t.e, b.rank, end, t.Launch())
		}
	}
	v, ok := t.ready(b, end)
	b.ready = ok || !v.Waits()
	return v
}

// ready reports whether b's message has all that it waits for, and if not, what then.
func (t *Blocks) ready(b *block, now float64) (v events.Verdict, ok bool) {
	at := now
	step := &t.steps[b.step]
	if on := step.on; on >= 0 && b.message == 0 {
		if t.done[on] <= b.pass {
			return events.Wait(on, now), false
		}
		if t.done[on] == b.pass+1 {
			at = max(at, t.doneAt[on]+t.Costs.TwoSided.Flag)
		}
	}
	if step.receives {
		c := &t.conns[b.recv]
		if c.come == c.received {
			return events.Wait(t.dataOf(b.recv), now), false
		}
		at = max(at, t.begins(c, c.received))
	}
	if step.sends {
		c := &t.conns[b.send]
		if c.sent-c.received == int64(t.slots) {
			return events.Wait(t.slotOf(b.send), now), false
		}
		at = max(at, c.freed[c.sent%int64(t.slots)])
	}
	return events.GoOn(at), at <= now
}
