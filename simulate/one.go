package simulate

import (
	"math"
	"slices"

	"mscclc/executor"
	"mscclc/ir"
)

// A oneSided is the blocks of a one-sided program. Its columns are alike, and share links and memory evenly: what one of them does in a
// pass all end together, so that they are one block of their common rate. What blocks wait for is chunks of packets of all ranks, behind these
// the flags of all ranks, and behind these the launches of each.
type oneSided struct {
	*simulation
	e       *engine
	links   *ir.Links
	cost    MoveCosts // of Moves that packets are in
	plain   MoveCosts // of others
	rate    float64   // of a block of so many threads, against one of the costs': twice as many move 1.6 times as much
	columns float64
	few     bool
	blocks  []oneBlock
	ways    []int32 // of an operand, between its rank's GPU and the block's
	up      []int32 // of a rank: its link to a switch that adds or spreads, where operands are of all ranks
	down    []int32 // and that from it
	each    []int32 // from rank to rank: the way, where operands of all ranks are reached one by one
	depth   int64
	written []int64   // of a chunk of packets: passes in which it was
	heads   []float64 // by chunk and copy: when its first packet arrived
	tails   []float64 // and its last
	proxy   []float64 // of a rank: when its port's proxy has given the driver all copies so far
	ranks   []oneRank
	sent    []int32 // ways of the step that is being done
	flags   []flag
}

type oneBlock struct {
	rank, step, first, end int32
	pass                   int64
	waiting                bool    // for what its step needs
	came                   float64 // to its step, where it waits
	issued                 float64 // when its last step began
	over                   float64 // when all its steps so far have ended
	stored                 float64 // when all that they stored has arrived
}

// A oneRank is where a rank is with its launches: each begins when all blocks of the one before have ended, but those of ports.
type oneRank struct {
	blocks, left int32   // that a launch waits for, and of these, those that it still does
	launch       int64   // that it is at
	begun        float64 // when that began
	end          float64 // of the blocks that have ended it
}

// A flag has when the last of its signals arrived, by their number modulo how many are kept.
type flag struct {
	count   int64
	arrived [8]float64
}

func newOneSided(s *simulation) (runner, error) {
	p, c := s.program, &s.costs.OneSided
	o := &oneSided{simulation: s, links: ir.Link(p), plain: c.Protocol[ir.Simple], cost: c.Protocol[p.Protocol], depth: int64(max(p.OneSided.Depth, 1))}
	o.width()
	for b := range p.Blocks {
		tb := &p.Blocks[b]
		o.blocks = append(o.blocks, oneBlock{rank: tb.Rank, step: tb.Steps.First, first: tb.Steps.First, end: tb.Steps.End})
	}
	if err := o.reach(); err != nil {
		return nil, err
	}
	packets, flags := int64(0), 0
	for r := range p.Rank {
		packets += int64(p.OneSided.Packets[r])
		flags += int(p.OneSided.Flags[r])
	}
	o.proxy, o.ranks = make([]float64, len(p.Rank)), make([]oneRank, len(p.Rank))
	for b := range o.blocks {
		if !o.loose(&o.blocks[b]) {
			r := &o.ranks[o.blocks[b].rank]
			r.blocks, r.left = r.blocks+1, r.left+1
		}
	}
	o.written, o.heads, o.tails, o.flags = make([]int64, packets), make([]float64, packets*o.depth), make([]float64, packets*o.depth), make([]flag, flags)
	o.few = s.passes <= 1 && o.onlyPackets()
	return o, nil
}

// width settles columns, threads and passes: as the executor chooses them where nothing says.
func (o *oneSided) width() {
	columns, worth := o.call.Columns, float64(executor.ColumnBytes)
	for i := range o.program.OneSided.Operands {
		if o.program.OneSided.Operands[i].Via == ir.ViaPort {
			worth = executor.PortBytes
		}
	}
	if columns <= 0 {
		columns = int(min(max(o.chunk/worth, 1), executor.PlanColumns))
	}
	tile := float64(o.call.Tile)
	if tile <= 0 {
		tile = executor.PlanTile
		if worth == executor.PortBytes && !slices.ContainsFunc(o.program.OneSided.Packets, func(n int32) bool { return n > 0 }) {
			tile = math.Inf(1)
		}
	}
	if o.program.OneSided.OnePass {
		tile = math.Inf(1)
	}
	threads := o.call.Threads
	if threads <= 0 {
		threads = o.costs.OneSided.Threads
	}
	o.columns, o.rate = float64(columns), math.Pow(float64(threads)/float64(o.costs.OneSided.Threads), 0.7)
	o.share, o.simulation.tile = o.chunk, min(max(o.chunk, 1), tile*o.columns)
	o.passes = int64(math.Ceil(o.share / o.simulation.tile))
}

// Launches at most, and passes of all of them.
const (
	mostLaunches  = 8
	roughLaunches = 4
	launchPasses  = 32 // of all launches
)

// reach finds the ways of all operands.
func (o *oneSided) reach() (err error) {
	one := o.program.OneSided
	pairs := make([][2]int32, len(one.Operands)) // of an operand of its own rank, 0 to 0, which no link is on
	all := false
	for b := range o.program.Blocks {
		tb := &o.program.Blocks[b]
		for i := range o.program.StepsOf(tb) {
			s := &o.program.StepsOf(tb)[i]
			for k := s.Src; k < s.Src+int32(s.NSrc); k++ {
				if r := one.Operands[k].Rank; r >= 0 && r != tb.Rank {
					pairs[k] = [2]int32{r, tb.Rank}
				}
				all = all || one.Operands[k].Rank == ir.AllRanks
			}
			for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
				if r := one.Operands[k].Rank; r >= 0 && r != tb.Rank {
					pairs[k] = [2]int32{tb.Rank, r}
				}
				all = all || one.Operands[k].Rank == ir.AllRanks
			}
		}
	}
	if o.ways, err = o.find(pairs); err != nil || !all || len(o.program.Rank) == 1 {
		return err
	}
	if o.call.Multicast {
		return o.reachSwitch()
	}
	pairs = pairs[:0]
	for from := range o.program.Rank {
		for to := range o.program.Rank {
			pairs = append(pairs, [2]int32{int32(from), int32(to)})
		}
	}
	o.each, err = o.find(pairs)
	return err
}

// others are how many more operands one of all ranks is, where it is reached rank by rank.
func (o *oneSided) others(x *ir.Operand) float64 {
	if x.Rank == ir.AllRanks && o.each != nil {
		return float64(len(o.program.Rank) - 1)
	}
	return 0
}

// reachSwitch finds each rank's link to what is behind its way to the next rank, and back.
func (o *oneSided) reachSwitch() error {
	n := int32(len(o.program.Rank))
	var pairs [][2]int32
	for r := range n {
		pairs = append(pairs, [2]int32{r, (r + 1) % n})
	}
	ways, err := o.find(pairs)
	if err != nil {
		return err
	}
	o.up, o.down = make([]int32, n), make([]int32, n)
	for r := range n {
		links := o.net.ways[ways[r]]
		o.up[r], o.down[(r+1)%n] = links[0], links[len(links)-1]
	}
	return nil
}

// onlyPackets says whether the program is one of few packets, for which a kernel is made that does less: one block a rank, whose steps move packets and its own memory.
func (o *oneSided) onlyPackets() bool {
	if len(o.program.Blocks) != len(o.program.Rank) {
		return false
	}
	for b := range o.program.Blocks {
		tb := &o.program.Blocks[b]
		for i := range o.program.StepsOf(tb) {
			s := &o.program.StepsOf(tb)[i]
			if s.Op != ir.Move {
				return false
			}
			for _, list := range [2][]ir.Operand{o.program.OneSided.Sources(s), o.program.OneSided.Dests(s)} {
				for k := range list {
					if list[k].Buf != ir.Packets && list[k].Rank != tb.Rank {
						return false
					}
				}
			}
		}
	}
	return true
}

func (o *oneSided) start(e *engine) { o.e = e }
func (o *oneSided) count() int      { return len(o.blocks) }
func (o *oneSided) things() int     { return len(o.written) + len(o.flags) + len(o.ranks) }

// packet is the number of a chunk of packets, and flag that of a flag.
func (o *oneSided) packet(x *ir.Operand) int32 { return o.links.Packet(x.Rank, x.Index) }
func (o *oneSided) flag(x *ir.Operand) int32   { return o.links.Flag(x.Rank, x.Index) }

func (o *oneSided) flagThing(f int32) int32    { return int32(len(o.written)) + f }
func (o *oneSided) rankThing(rank int32) int32 { return int32(len(o.written)+len(o.flags)) + rank }

// launches is how many launches are simulated, one after the other: where a launch has few passes, what one rank does in the next while others
// are at this one counts.
func (o *oneSided) launches(rough bool) int64 {
	if o.call.Trace || o.passes > o.simulated {
		return 1
	}
	most := int64(mostLaunches)
	if rough {
		most = roughLaunches
	}
	return max(1, min(most, launchPasses/o.passes, mostEvents/int64(max(len(o.program.Steps), 1))/o.passes))
}

// loose says whether b is a port's, which no launch waits for.
func (o *oneSided) loose(b *oneBlock) bool {
	return b.first < b.end && o.program.Steps[b.first].Flags&ir.Loose != 0
}

// ends has a block end its part of a launch, and says when it begins the next.
func (o *oneSided) ends(b *oneBlock) verdict {
	r := &o.ranks[b.rank]
	if o.loose(b) {
		return verdict{kind: goesOn, at: b.over}
	}
	r.end = max(r.end, b.over, b.stored)
	if r.left--; r.left > 0 {
		return verdict{kind: waits, on: o.rankThing(b.rank), at: b.over}
	}
	r.launch, r.left, r.begun = r.launch+1, r.blocks, r.end+o.launch()
	o.e.wake(o.rankThing(b.rank), r.begun)
	return verdict{kind: goesOn, at: r.begun}
}

func (o *oneSided) launch() float64 {
	if o.few {
		return o.costs.OneSided.Few
	}
	return o.costs.OneSided.Launch
}

func (o *oneSided) act(block int32, now float64) verdict {
	b := &o.blocks[block]
	for b.step < b.end && o.skips(b, &o.program.Steps[b.step]) {
		b.step++
	}
	if b.step == b.end {
		o.e.passed(b.pass, b.over)
		if b.pass++; b.pass == o.simulated*o.repeated || b.first == b.end {
			return verdict{kind: ended, at: max(b.over, b.stored)}
		}
		b.step = b.first
		if b.pass%o.simulated == 0 {
			return o.ends(b)
		}
		return verdict{kind: goesOn, at: b.over}
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

// skips says whether s is not of b's pass.
func (o *oneSided) skips(b *oneBlock, s *ir.Step) bool {
	return s.Flags&ir.Enter != 0 && b.pass%o.simulated != 0 || s.Flags&ir.Leave != 0 && (b.pass+1)%o.simulated != 0
}

// move begins when the first of all packets have come that it reads, and ends when the last have: packets go through a block as they come.
func (o *oneSided) move(b *oneBlock, s *ir.Step, now float64) (verdict, bool) {
	at, last, handled, packets := now, now, 0., false // handled: operands whose bytes go through the block
	for k := s.Src; k < s.Src+int32(s.NSrc); k++ {
		x := &o.program.OneSided.Operands[k]
		handled += 1 + o.others(x)
		if x.Buf != ir.Packets {
			continue
		}
		packets = true
		first := o.packet(x)
		for i := first; i < first+s.Count; i++ {
			if o.written[i] <= b.pass {
				return verdict{kind: waits, on: i, at: now}, false
			}
			k := int64(i)*o.depth + b.pass%o.depth
			at, last = max(at, o.heads[k]), max(last, o.tails[k])
		}
	}
	if at > now {
		return verdict{kind: goesOn, at: at}, false
	}
	for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
		x := &o.program.OneSided.Operands[k]
		packets = packets || x.Buf == ir.Packets
		handled += 1 + o.others(x)
		if x.Via == ir.ViaPort && x.Rank != b.rank {
			handled -= 2 // the port reads and writes
		}
	}
	cost := o.plain
	if packets {
		cost = o.cost
	}
	if o.few {
		cost.Step, cost.Block = cost.FewStep, cost.FewBlock
	}
	bytes := float64(s.Count) * o.bytes(b.pass%o.simulated)
	rate := cost.Block * o.rate * o.columns
	begin := now + cost.Step
	end := max(begin+bytes*max(handled, 0)/2/rate, last+cost.Step)
	if last > now { // as fast as packets come
		rate = min(rate, bytes/(last-now))
	}
	end = max(end, o.load(b, s, begin, bytes, rate), o.store(b, s, begin, bytes, rate, cost.Wire))
	return verdict{kind: goesOn, at: end}, true
}

// port is what a store, a load or a signal takes more that leaves its node: no kernel reaches another's memory, so that a port does it, whatever the
// program says.
func (o *oneSided) port(way int32) float64 {
	if o.net.leaves(way) {
		return o.costs.OneSided.Port
	}
	return 0
}

// load has what is read come, and returns when it is there.
func (o *oneSided) load(b *oneBlock, s *ir.Step, begin, bytes, rate float64) (end float64) {
	local := 0.
	o.sent = o.sent[:0]
	for k := s.Src; k < s.Src+int32(s.NSrc); k++ {
		x := &o.program.OneSided.Operands[k]
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
	o.net.together(o.sent, bytes*o.plain.Wire)
	for _, way := range o.sent {
		end = max(end, o.net.spread(o.net.ways[way], begin+o.port(way)+o.net.latency(way), bytes*o.plain.Wire, rate*o.plain.Wire).tail)
	}
	o.net.apart()
	return max(end, o.net.local(o.gpu[b.rank], begin, local, o.costs.Memory))
}

// copied is when a port has copied: the proxy of the block's GPU gives the driver a copy of each column, one after the other.
func (o *oneSided) copied(b *oneBlock, way int32, begin, bytes float64) float64 {
	o.proxy[b.rank] = max(o.proxy[b.rank], begin) + o.costs.OneSided.Port*o.columns
	return o.net.carry(o.net.ways[way], o.proxy[b.rank], bytes, math.Inf(1)).tail
}

// store sends what is written, and returns when the block has sent it.
func (o *oneSided) store(b *oneBlock, s *ir.Step, begin, bytes, rate, wire float64) (end float64) {
	local := 0.
	o.sent = o.sent[:0]
	for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
		if x := &o.program.OneSided.Operands[k]; x.Rank >= 0 && x.Rank != b.rank && x.Via != ir.ViaPort {
			o.sent = append(o.sent, o.ways[k])
		} else if x.Rank == ir.AllRanks && o.each != nil {
			o.sent = append(o.sent, o.each[int(b.rank)*len(o.program.Rank):][:len(o.program.Rank)]...)
		}
	}
	o.net.together(o.sent, bytes*wire)
	for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
		x := &o.program.OneSided.Operands[k]
		head, arrived := begin, begin
		switch {
		case x.Rank == ir.AllRanks && o.each != nil:
			for r := range o.program.Rank {
				if r != int(b.rank) {
					p := o.net.spread(o.net.ways[o.each[int(b.rank)*len(o.program.Rank)+r]], begin, bytes*wire, rate*wire)
					arrived, end = max(arrived, p.tail), max(end, p.taken)
				}
			}
			local += bytes
		case x.Rank == ir.AllRanks:
			arrived = o.scatter(b, begin, bytes, rate)
			end = max(end, arrived)
		case x.Rank == b.rank:
			local += bytes
		case x.Via == ir.ViaPort:
			arrived = o.copied(b, o.ways[k], begin, bytes)
			end = max(end, arrived) // the block waits for its port before its threads meet
		default:
			port := o.port(o.ways[k])
			p := o.net.spread(o.net.ways[o.ways[k]], begin+port, bytes*wire, rate*wire)
			head, arrived, end = p.head, p.tail, max(end, p.taken-port)
		}
		b.stored = max(b.stored, arrived)
		if x.Buf == ir.Packets {
			o.send(b, o.packet(x), s.Count, head, max(arrived, end))
		}
	}
	o.net.apart()
	return max(end, o.net.local(o.gpu[b.rank], begin, local, o.costs.Memory))
}

// send says when the first and the last of packets arrive.
func (o *oneSided) send(b *oneBlock, first, count int32, head, tail float64) {
	for i := first; i < first+count; i++ {
		k := int64(i)*o.depth + b.pass%o.depth
		o.heads[k], o.tails[k] = head, tail
		o.written[i] = b.pass + 1
		o.e.wake(i, head)
	}
}

// gather is a load through the switch: what all ranks have goes up their links, and their sum comes down that of the block's, as
// soon as the first of it is there.
func (o *oneSided) gather(b *oneBlock, begin, bytes, rate float64) (end float64) {
	if o.up == nil {
		return begin
	}
	head := begin
	for r := range o.up {
		head = max(head, o.net.carry(o.up[r:r+1], begin, bytes, rate).head)
	}
	return o.net.carry(o.down[b.rank:b.rank+1], head, bytes, rate).tail
}

// scatter is a store through the switch: it goes up the block's link once, and down those of all.
func (o *oneSided) scatter(b *oneBlock, begin, bytes, rate float64) (end float64) {
	if o.up == nil {
		return begin
	}
	head := o.net.carry(o.up[b.rank:b.rank+1], begin, bytes, rate).head
	for r := range o.down {
		end = max(end, o.net.carry(o.down[r:r+1], head, bytes, rate).tail)
	}
	return end
}

// signal raises flags behind all that the block stored, or at once where it is relaxed.
func (o *oneSided) signal(b *oneBlock, s *ir.Step, now float64) (verdict, bool) {
	at := now
	if s.Flags&ir.Relaxed == 0 {
		at = max(at, b.stored) + o.costs.OneSided.Signal
	}
	for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
		x := &o.program.OneSided.Operands[k]
		f := o.flag(x)
		arrived := at + o.port(o.ways[k]) + o.net.latency(o.ways[k])
		o.flags[f].count++
		o.flags[f].arrived[o.flags[f].count%int64(len(o.flags[f].arrived))] = arrived
		o.e.wake(o.flagThing(f), arrived)
	}
	return verdict{kind: goesOn, at: at}, true
}

func (o *oneSided) await(b *oneBlock, s *ir.Step, now float64) (verdict, bool) {
	at := now
	for k := s.Src; k < s.Src+int32(s.NSrc); k++ {
		x := &o.program.OneSided.Operands[k]
		f := o.flag(x)
		n := int64(len(o.links.Signals.Of(int(f))))
		of := int64(x.Nth)
		if s.Flags&(ir.Enter|ir.Leave) == 0 {
			of += b.pass * n
		} else {
			of += b.pass / o.simulated * n
		}
		if of <= 0 {
			continue
		}
		g := &o.flags[f]
		if g.count < of {
			return verdict{kind: waits, on: o.flagThing(f), at: now}, false
		}
		if g.count-of < int64(len(g.arrived)) {
			at = max(at, g.arrived[of%int64(len(g.arrived))])
		}
	}
	if at > now {
		return verdict{kind: goesOn, at: at}, false
	}
	return verdict{kind: goesOn, at: now + o.costs.OneSided.Await}, true
}
