package simulate

import (
	"mscclc/ir"
	"mscclc/ir/eval"
	"mscclc/ir/onesided"
	"mscclc/simulate/devices"
)

// A oneSided is the blocks of a one-sided program. Its replicas are alike, and share links and memory evenly: what one
// of them does in a pass all end together, so that they are one block of their common rate. What blocks wait for is
// chunks of packets of all ranks, behind these the flags of all ranks, and behind these the launches of each.
type oneSided struct {
	*simulation
	program *onesided.Program
	e       *engine
	links   *eval.Links
	cost    devices.MoveCosts // of Moves that packets are in
	plain   devices.MoveCosts // of others
	rate    float64           // of a block's threads, against the costs': twice as many move 1.6 times as much
	columns float64
	whole   bool // tiles are, but for the last
	few     bool
	blocks  []oneBlock
	ways    []int32   // of an operand, between its rank's GPU and the block's
	up      []int32   // by rank: its link to a switch that adds or spreads, where operands are of all ranks
	down    []int32   // and that from it
	each    []int32   // from rank to rank: the way, where operands of all ranks are reached one by one
	parts   []float64 // by way: what a CTA moves over it, as part of what it moves over others
	depth   int64
	written []int64   // of a chunk of packets: passes in which it was
	heads   []float64 // by chunk and copy: when its first packet arrived
	tails   []float64 // and its last
	proxy   []float64 // by rank: when its port's proxy has given the driver all copies so far
	sends   []float64 // by rank: when its network proxy has sent all messages so far
	takes   []float64 // and when it has taken all that have come
	groups  []group   // of a step, the group that begins there, where its end is above 0
	calls   sequence
	sent    []int32 // ways of the step that is being done
	flags   []flag
}

type oneBlock struct {
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
	turn                   int     // of the streams: the one behind that of the last message
}

// A flag has when the last of its signals arrived, by their number modulo how many are kept: those of as many passes as
// who signals may be ahead.
type flag struct {
	count   int64
	arrived []float64
}

func newOneSided(s *simulation) (runner, error) {
	p, c := s.program.OneSided, &s.costs.OneSided
	o := &oneSided{simulation: s, program: p, links: eval.Link(p), plain: c.Protocol[ir.Simple],
		cost: c.Protocol[p.Protocol], depth: int64(max(p.Depth, 1))}
	if err := o.width(); err != nil {
		return nil, err
	}
	for b := range p.Blocks {
		tb, wide := &p.Blocks[b], o.columns
		if c.Shares {
			wide /= float64(max(tb.Together, 1))
		}
		o.blocks = append(o.blocks, oneBlock{wide: wide, rank: tb.Rank, step: tb.Steps.First, first: tb.Steps.First,
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
	o.calls = sequence{make([]rankLaunch, len(p.Rank)), int32(packets) + int32(flags)}
	for b := range o.blocks {
		if !o.loose(&o.blocks[b]) {
			o.calls.add(o.blocks[b].rank)
		}
	}
	o.written, o.heads, o.tails, o.flags = make([]int64, packets), make([]float64, packets*o.depth),
		make([]float64, packets*o.depth), o.newFlags(flags)
	o.few = s.passes <= 1 && o.onlyPackets()
	return o, nil
}

func (o *oneSided) newFlags(count int) []flag {
	flags, all := make([]flag, count), 0
	kept := func(f int) int { return max(8, len(o.links.Signals.Of(f))*int(o.depth+1)) }
	for f := range flags {
		all += kept(f)
	}
	arrived := make([]float64, all)
	for f := range flags {
		n := kept(f)
		flags[f].arrived, arrived = arrived[:n:n], arrived[n:]
	}
	return flags
}

func (o *oneSided) start(e *engine) {
	o.e = e
	o.net.messages = newMessages(o.net, e, o.take)
	o.net.messages.connect(o.ways)
}

func (o *oneSided) count() int  { return len(o.blocks) }
func (o *oneSided) things() int { return len(o.written) + len(o.flags) + len(o.calls.ranks) }

// packet returns the number of a chunk of packets, and flag that of a flag.
func (o *oneSided) packet(x *onesided.Operand) int32 { return o.links.Packet(x.Rank, x.Index) }
func (o *oneSided) flag(x *onesided.Operand) int32   { return o.links.Flag(x.Rank, x.Index) }

func (o *oneSided) flagThing(f int32) int32 { return int32(len(o.written)) + f }

func (o *oneSided) act(block int32, now float64) verdict {
	if n := int32(len(o.blocks)); block >= n {
		o.net.messages.act(block-n, now)
		return verdict{kind: gone}
	}
	b := &o.blocks[block]
	for b.step < b.end && o.skips(b, &o.program.Steps[b.step]) {
		b.step++
	}
	if b.step == b.end {
		o.post(b, false, max(b.over, b.stored))
		o.e.passed(b.pass, max(b.over, b.stored))
		if b.pass++; b.pass == o.simulated*o.repeated || b.first == b.end {
			return verdict{kind: ended, at: max(b.over, b.stored)}
		}
		b.step = b.first
		if b.pass%o.simulated == 0 && !o.loose(b) {
			return o.calls.ends(o.e, b.rank, max(b.over, b.stored), o.launch())
		}
		return verdict{kind: goesOn, at: b.over}
	}
	if o.groups[b.step].end > 0 {
		if parts := o.partsOf(b); parts > 1 && o.call.Rough {
			o.atOnce = true
		} else if parts > 1 {
			return o.turn(b, parts, now)
		}
	}
	s := &o.program.Steps[b.step]
	var v verdict
	var ok bool
	if !b.waiting {
		b.waiting, b.came = true, now
	}
	switch s.Op {
	case ir.Move:
		v, ok = o.move(b, s, now)
	case ir.Signal:
		v, ok = o.signal(b, s, now)
	default:
		v, ok = o.await(b, s, now)
	}
	if !ok {
		return v
	}
	o.took(b.step, 0, b.pass, 0, b.came, now, v.at)
	b.waiting = false
	b.issued, b.over = now, max(b.over, v.at)
	b.step++
	if b.step < b.end && o.program.Steps[b.step].Flags&ir.Joint != 0 {
		return verdict{kind: goesOn, at: b.issued + o.costs.OneSided.Joint}
	}
	return verdict{kind: goesOn, at: b.over}
}

// skips reports whether s is not of b's pass.
func (o *oneSided) skips(b *oneBlock, s *ir.Step) bool {
	return s.Flags&ir.Enter != 0 && b.pass%o.simulated != 0 || s.Flags&ir.Leave != 0 && (b.pass+1)%o.simulated != 0
}

// loose reports whether b is a port's, which no launch waits for.
func (o *oneSided) loose(b *oneBlock) bool {
	return b.first < b.end && o.program.Steps[b.first].Flags&ir.Loose != 0
}

func (o *oneSided) launch() float64 {
	if o.few {
		return o.costs.OneSided.Few
	}
	return o.costs.OneSided.Launch
}
