package explore

import (
	"math/rand"

	"mscclc/ir"
	"mscclc/ir/fifo"
)

// Random makes a random tiny program of 1 to 4 ranks, each of up to 3 blocks,
// and the slots and chunks of a message to judge it with. It is without races
// and uninitialized reads, asks for just the result that it has, and can run
// with unbounded slots; with those asked for it may deadlock.
//
// Steps are made in a global order in which every one can run. Flags are set
// only where the monitor says that nothing else orders two accesses, so that
// in many programs messages alone do.
func Random(rnd *rand.Rand) (*fifo.Program, Options) {
	for {
		g := newGenerator(rnd)
		ops := 2 + rnd.Intn(9)
		if rnd.Intn(4) == 0 {
			ops = 6 + rnd.Intn(18)
		}
		for range ops {
			g.op()
		}
		for len(g.late) > 0 {
			g.receive(0)
		}
		g.spare()
		opt := Options{Slots: 1 + rnd.Intn(3), MessageChunks: 1 + rnd.Intn(3)}
		if p := g.finish(opt); p != nil {
			return p, opt
		}
	}
}

// A generator makes one program.
type generator struct {
	*draft
	rnd    *rand.Rand
	mem    *ir.Memory
	size   []int  // by cell: the leaves of what it holds, 0 for nothing
	late   []late // transfers whose receive is still to be made
	serial int
	delay  int       // one receive of this many is late
	hot    []operand // of each rank: the last
}

type operand struct {
	buf   ir.Buf
	index int32
}

// A late is a message on its way.
type late struct {
	to    *draftBlock
	from  *draftBlock
	count int32
	size  []int
}

// newGenerator chooses the collective, the blocks and their connections.
func newGenerator(rnd *rand.Rand) *generator {
	ranks := []int{1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4}[rnd.Intn(14)]
	in, out := 1+rnd.Intn(4), 1+rnd.Intn(3)
	if rnd.Intn(2) == 0 {
		out = in
	}
	c := &ir.Collective{Kind: ir.Custom, Ranks: ranks, In: in, Out: out, Chunks: max(in, out), Inplace: rnd.Intn(3) == 0,
		Require: map[ir.Part][]ir.Part{}}
	p := &fifo.Program{Program: ir.Program{Even: true, Scratch: make([]int32, ranks)}, Channels: 1}
	p.Header = ir.Header{Name: "random", Coll: c, RanksPerNode: ranks}
	if rnd.Intn(3) == 0 {
		p.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
	}
	for r := range p.Scratch {
		p.Scratch[r] = int32(rnd.Intn(4) * rnd.Intn(2))
	}
	g := &generator{draft: &draft{Program: p}, rnd: rnd, mem: p.Memory(), delay: 2 + rnd.Intn(6),
		hot: make([]operand, ranks)}
	g.size = make([]int, g.mem.Len())
	for r := range ranks {
		for i := range in {
			g.size[g.mem.Cell(r, ir.Input, i)] = 1
		}
	}
	for n := 1 + rnd.Intn(ranks+1); n > 0 && ranks > 1; n-- {
		src := rnd.Int31n(int32(ranks))
		dst := (src + 1 + rnd.Int31n(int32(ranks-1))) % int32(ranks)
		g.connect(src, dst)
		if rnd.Intn(5) > 1 {
			g.connect(dst, src)
		}
	}
	for r := range ranks {
		if own := len(g.ofRank(int32(r))); own == 0 || own < 3 && rnd.Intn(3) > 0 {
			g.add(int32(r))
		}
	}
	return g
}

func (g *generator) add(rank int32) *draftBlock {
	b := &draftBlock{Block: ir.Block{Rank: rank, SendPeer: -1, RecvPeer: -1}}
	g.blocks = append(g.blocks, b)
	return b
}

// connect makes a connection, if blocks can be found or added for its ends.
func (g *generator) connect(src, dst int32) {
	for range 10 {
		from, to := g.end(src, true), g.end(dst, false)
		if from == nil || to == nil {
			continue
		}
		fixed := func(b *draftBlock) bool { return b.SendPeer >= 0 || b.RecvPeer >= 0 }
		channel := g.rnd.Int31n(2)
		switch {
		case fixed(from) && fixed(to) && from.Channel != to.Channel:
			continue
		case fixed(from):
			channel = from.Channel
		case fixed(to):
			channel = to.Channel
		}
		taken := false
		for _, b := range g.blocks {
			taken = taken || b.Rank == src && b.SendPeer == dst && b.Channel == channel
		}
		if !taken {
			from.SendPeer, to.RecvPeer, from.Channel, to.Channel = dst, src, channel, channel
			return
		}
	}
}

// end finds a block of rank that can get one end more, or adds one.
func (g *generator) end(rank int32, sends bool) *draftBlock {
	own := g.ofRank(rank)
	if i := g.rnd.Intn(3); i < len(own) {
		if peer := own[i].RecvPeer; sends && own[i].SendPeer < 0 || !sends && peer < 0 {
			return own[i]
		}
		return nil
	}
	return g.add(rank)
}

// spare adds flags and waits that nothing needs.
func (g *generator) spare() {
	for _, b := range g.blocks {
		for _, s := range b.steps {
			if g.rnd.Intn(20) == 0 {
				s.Flags |= ir.HasDep
			}
			if g.rnd.Intn(25) > 0 {
				continue
			}
			own := g.ofRank(b.Rank)
			if o := own[g.rnd.Intn(len(own))]; o != b && len(o.steps) > 0 {
				if f := o.steps[g.rnd.Intn(len(o.steps))]; f.serial < s.serial {
					f.Flags |= ir.HasDep
					s.wait = f
				}
			}
		}
	}
}

// finish orders what races and asks for the result; it returns nil where the
// program came out too large, or runs into itself.
func (g *generator) finish(opt Options) *fifo.Program {
	if len(g.blocks) > maxBlocks {
		return nil
	}
	for range 64 {
		p := g.build()
		if len(p.Steps) == 0 {
			return nil
		}
		x, err := expand(p, opt.withDefaults(), maxEvents)
		if err != nil {
			return nil
		}
		w, pair := x.once()
		if pair == nil {
			if w.stuck() >= 0 {
				return nil
			}
			g.require(w)
			return p
		}
		if !g.order(p, pair[0], pair[1]) {
			return nil
		}
	}
	return nil
}

// once runs one schedule, as far as it goes, and returns a pair of steps that
// race, if there is one.
func (x *program) once() (*world, []int32) {
	w, m := newWorld(x, unbounded), newMonitor(x)
	for moved := true; moved; {
		moved = false
		for b := range int32(len(w.pos)) {
			for w.ready(b) {
				e, wrong := w.do(b)
				if wrong == Mismatch {
					return w, nil
				}
				if _, race := m.enter(e); race >= 0 {
					return w, []int32{x.actions[race].step, x.actions[e].step}
				}
				moved = true
			}
		}
	}
	return w, nil
}

// order makes the later of two steps wait for the earlier.
func (g *generator) order(p *fifo.Program, i, j int32) bool {
	var f, e *draftStep
	var block *draftBlock // of e
	at := 0
	k := int32(0)
	for _, b := range g.blocks {
		for n, s := range b.steps {
			if k == i || k == j {
				if f, e = e, s; f != nil && f.serial > e.serial {
					f, e = e, f
				}
				if e == s {
					block, at = b, n
				}
			}
			k++
		}
	}
	if f == nil || len(p.Steps) > 60 {
		return false
	}
	f.Flags |= ir.HasDep
	if e.wait == nil {
		e.wait = f
		return true
	}
	nop := &draftStep{Step: ir.Step{Op: ir.Nop, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: -1, DepStep: -1, Pos: -1},
		wait: f, serial: e.serial}
	block.steps = append(block.steps[:at], append([]*draftStep{nop}, block.steps[at:]...)...)
	return true
}

// require asks for most of what the outputs hold.
func (g *generator) require(w *world) {
	for r := range g.Coll.Ranks {
		for i := range g.Coll.Out {
			if list, ok := w.values.parts(w.cell[g.mem.Cell(r, ir.Output, i)]); ok && g.rnd.Intn(6) > 0 {
				g.Coll.Require[ir.Part{Rank: int32(r), Index: int32(i)}] = list
			}
		}
	}
}
