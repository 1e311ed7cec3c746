// Package onesided simulates the blocks of one-sided programs. [New] sets a launch's replicas, threads and tiles, as
// the executor chooses them, and finds the paths between ranks. [Blocks.Act] then does each step when the engine asks
// for it. The comment of package simulate has the model.
package onesided

import (
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/eval"
	"mscclc/ir/onesided"
	"mscclc/simulate/devices"
	"mscclc/simulate/internal/events"
	"mscclc/simulate/internal/launches"
	"mscclc/simulate/internal/network"
)

// A Call is what a call says of a one-sided program's launches, as simulate.Call has it.
type Call struct {
	launch.Width
	Row, Elem        int  // bytes of a row, of a program with an epilogue, and of an element
	Even             bool // all chunks have as many elements, or rows
	Multicast, Rough bool
}

// Blocks are the blocks of a one-sided program. Its replicas are alike, and share links and memory evenly: what one of
// them does in a pass all end together, so that they are one block of their common rate. What blocks wait for is chunks
// of packets of all ranks, after these the flags of all ranks, and after these the launches of each.
type Blocks struct {
	*launches.Launches
	call     Call
	program  *onesided.Program
	e        *events.Engine
	links    *eval.Links
	messages *network.Messages // between nodes
	cost     devices.MoveCosts // of Moves that packets are in
	plain    devices.MoveCosts // of others
	late     float64           // from the arrival of a signal or packet to when its reader sees it, where GPUs are apart
	rate     float64           // of a block's threads, against the costs': twice as many move 1.6 times as much
	replicas float64
	whole    bool // tiles are, but for the last
	few      bool
	rows     float64 // of a chunk that a replica has, of a program with an epilogue
	blocks   []block
	ways     []int32   // of an operand, between its rank's GPU and the block's
	up       []int32   // by rank: its link to a switch that adds or spreads, where operands are of all ranks
	down     []int32   // and that from it
	each     []int32   // from rank to rank: the way, where operands of all ranks are reached one by one
	parts    []float64 // by way: what a CTA moves over it, as part of what it moves over others
	depth    int64
	written  []int64   // of a chunk of packets: passes in which it was
	heads    []float64 // by chunk and copy: when its first packet arrived
	tails    []float64 // and its last
	proxy    []float64 // by rank: when its port's proxy has given the driver all copies so far
	sends    []float64 // by rank: when its network proxy has sent all messages so far
	takes    []float64 // and when it has taken all that have come
	groups   []group   // of a step, the group that begins there, where its end is above 0
	calls    launches.Sequence
	finish   finishing
	sent     []int32 // ways of the step that is being done
	flags    []flag
}

type block struct {
	wide                   float64 // how many CTAs its replicas have: parts of them where they share
	rank, step, first, end int32
	part                   int32 // of the group that it is at, which has several
	pass                   int64
	waiting                bool    // for what its step needs
	came                   float64 // to its step, where it waits
	issued                 float64 // when its last step began
	moved                  float64 // when its threads have moved all so far: joint steps one after the other
	over                   float64 // when all its steps so far have ended
	stored                 float64 // when all that they stored has arrived
	owed                   []owed  // what they stored for ranks of other nodes since the last signal
	streams                []int32 // of messages to these
	turn                   int     // of the streams: the one after that of the last message
}

// New returns the blocks of p for a call, and settles the share, the tile and the passes of its launches. It fails with
// ErrWide where a GPU does not hold all CTAs of a launch, and with network.ErrNoWay where ranks cannot reach others.
func New(p *onesided.Program, l *launches.Launches, call Call) (*Blocks, error) {
	c := &l.Costs.OneSided
	o := &Blocks{Launches: l, call: call, program: p, links: eval.Link(p), plain: c.Protocol[ir.Simple],
		cost: c.Protocol[p.Protocol], depth: int64(max(p.Depth, 1))}
	if err := o.width(); err != nil {
		return nil, err
	}
	if o.few = o.isFew(); o.few {
		o.plain, o.cost = o.plain.InFew(len(p.Then) > 0), o.cost.InFew(len(p.Then) > 0)
	}
	if l.Net.Topology.Apart {
		o.apart(&c.Apart)
	}
	for b := range p.Blocks {
		tb, wide := &p.Blocks[b], o.replicas
		if c.Shares {
			wide /= float64(max(tb.Together, 1))
		}
		o.blocks = append(o.blocks, block{wide: wide, rank: tb.Rank, step: tb.Steps.First, first: tb.Steps.First,
			end: tb.Steps.End})
	}
	if err := o.reach(); err != nil {
		return nil, err
	}
	o.partsOfWays()
	o.findGroups()
	packets, flags := int64(0), 0
	for r := range p.Rank {
		packets += int64(p.Packets[r])
		flags += int(p.Flags[r])
	}
	for _, of := range []*[]float64{&o.proxy, &o.sends, &o.takes} {
		*of = make([]float64, len(p.Rank))
	}
	o.calls = launches.NewSequence(len(p.Rank), int32(packets)+int32(flags))
	for b := range o.blocks {
		if !o.loose(&o.blocks[b]) {
			o.calls.Add(o.blocks[b].rank)
		}
	}
	o.written, o.heads, o.tails, o.flags = make([]int64, packets), make([]float64, packets*o.depth),
		make([]float64, packets*o.depth), o.newFlags(flags)
	o.finish = o.finishing()
	return o, nil
}

// Start has the blocks act in e.
func (o *Blocks) Start(e *events.Engine) {
	o.e = e
	o.messages = o.Net.Messages(e, o.ways, o.take)
}

// Count returns the number of blocks.
func (o *Blocks) Count() int { return len(o.blocks) }

// Things returns the number of things that blocks wait for.
func (o *Blocks) Things() int { return len(o.written) + len(o.flags) + o.calls.Ranks() }

// packet returns the number of a chunk of packets, and flag that of a flag.
func (o *Blocks) packet(x *onesided.Operand) int32 { return o.links.Packet(x.Rank, x.Index) }
func (o *Blocks) flag(x *onesided.Operand) int32   { return o.links.Flag(x.Rank, x.Index) }

func (o *Blocks) flagThing(f int32) int32 { return int32(len(o.written)) + f }

// Act does the next step of a block, or an event of messages.
func (o *Blocks) Act(block int32, now float64) events.Verdict {
	if n := int32(len(o.blocks)); block >= n {
		o.messages.Act(block-n, now)
		return events.Gone()
	}
	b := &o.blocks[block]
	for b.step < b.end && o.skips(b, &o.program.Steps[b.step]) {
		b.step++
	}
	if b.step == b.end {
		o.post(b, false, max(b.over, b.stored))
		o.e.Passed(b.pass, max(b.over, b.stored))
		if b.pass++; b.pass == o.Simulated*o.Repeated || b.first == b.end {
			return events.End(max(b.over, b.stored))
		}
		b.step = b.first
		if b.pass%o.Simulated == 0 && !o.loose(b) {
			return o.calls.Ends(o.e, b.rank, max(b.over, b.stored), o.Launch())
		}
		return events.GoOn(b.over)
	}
	if o.groups[b.step].end > 0 {
		if parts := o.partsOf(b); parts > 1 && o.call.Rough {
			o.AtOnce = true
		} else if parts > 1 {
			return o.turn(b, parts, now)
		}
	}
	s := &o.program.Steps[b.step]
	var v events.Verdict
	var ok bool
	if !b.waiting {
		b.waiting, b.came = true, now
	}
	switch {
	case s.Op.Moves():
		v, ok = o.move(b, s, now)
	case s.Op == ir.Signal:
		v, ok = o.signal(b, s, now)
	default:
		v, ok = o.await(b, s, now)
	}
	if !ok {
		return v
	}
	o.Took(b.step, 0, b.pass, 0, b.came, now, v.At)
	b.waiting = false
	b.issued, b.over = now, max(b.over, v.At)
	b.step++
	if b.step < b.end && o.program.Steps[b.step].Flags&ir.Joint != 0 {
		return events.GoOn(b.issued + o.Costs.OneSided.Joint)
	}
	return events.GoOn(b.over)
}

// skips reports whether s is not of b's pass.
func (o *Blocks) skips(b *block, s *ir.Step) bool {
	return s.Flags&ir.Enter != 0 && b.pass%o.Simulated != 0 || s.Flags&ir.Leave != 0 && (b.pass+1)%o.Simulated != 0
}

// loose reports whether b is a port's, which no launch waits for.
func (o *Blocks) loose(b *block) bool {
	return b.first < b.end && o.program.Steps[b.first].Flags&ir.Loose != 0
}

// Launch returns what a launch costs before its blocks and after them.
func (o *Blocks) Launch() float64 {
	if o.few {
		return o.Costs.OneSided.Few
	}
	return o.Costs.OneSided.Launch
}
