package explore

import (
	"math/rand"
	"slices"

	"mscclc/ir"
	"mscclc/ir/fifo"
)

// A Mutation is one kind of single fault.
type Mutation struct {
	Name string
	Doc  string
	do   func(m *mutant) bool // false where the program has nothing of the kind
}

// Mutations are the kinds of single fault that programs are broken by.
var Mutations = []Mutation{
	{"drop", "a step is left out", (*mutant).drop},
	{"swap", "two neighbouring steps change places", (*mutant).swap},
	{"move", "a step moves to another place, of its block or of another of its rank", (*mutant).move},
	{"peer", "a block sends to or receives from another rank, or none", (*mutant).peer},
	{"channel", "a block is on another channel", (*mutant).channel},
	{"offset", "an operand begins elsewhere", (*mutant).offset},
	{"count", "a step moves more or fewer chunks", (*mutant).count},
	{"counts", "a transfer moves more or fewer chunks at both its ends", (*mutant).counts},
	{"buffer", "an operand lies in another buffer", (*mutant).buffer},
	{"operation", "a step does something else", (*mutant).operation},
	{"wait", "a step waits for another step", (*mutant).rewait},
	{"no wait", "a step does not wait", (*mutant).unwait},
	{"hasdep", "a step does not say that it ended, or says so without need", (*mutant).hasdep},
	{"merge", "two blocks of a rank become one", (*mutant).merge},
	{"slots", "connections hold fewer messages", (*mutant).slots},
	{"messages", "messages hold fewer or more chunks", (*mutant).messages},
	{"protocol", "data is flagged in another way on the wire", (*mutant).protocol},
}

// Break puts one fault of a kind into a copy of p, or into the options that it
// is judged with. It returns false where p has no place for one.
func (k *Mutation) Break(rnd *rand.Rand, p *fifo.Program, opt Options) (*fifo.Program, Options, bool) {
	m := &mutant{draft: edit(p), rnd: rnd, opt: opt}
	for range 20 {
		if k.do(m) {
			return m.build(), m.opt, true
		}
	}
	return p, opt, false
}

// Broken breaks p by a kind at random.
func Broken(rnd *rand.Rand, p *fifo.Program, opt Options) (*fifo.Program, Options) {
	for {
		k := &Mutations[rnd.Intn(len(Mutations))]
		if q, o, ok := k.Break(rnd, p, opt); ok {
			return q, o
		}
	}
}

type mutant struct {
	*draft
	rnd *rand.Rand
	opt Options
}

// pick returns a block and the index of one of its steps.
func (m *mutant) pick() (*draftBlock, int) {
	n := 0
	for _, b := range m.blocks {
		n += len(b.steps)
	}
	if n == 0 {
		return m.blocks[0], -1
	}
	k := m.rnd.Intn(n)
	for _, b := range m.blocks {
		if k < len(b.steps) {
			return b, k
		}
		k -= len(b.steps)
	}
	return nil, -1
}

// step returns one at random, or nil.
func (m *mutant) step() *draftStep {
	b, i := m.pick()
	if i < 0 {
		return nil
	}
	return b.steps[i]
}

func (m *mutant) drop() bool {
	b, i := m.pick()
	if i >= 0 {
		m.remove(b, i)
	}
	return i >= 0
}

func (m *mutant) swap() bool {
	b, i := m.pick()
	if i < 1 {
		return false
	}
	b.steps[i-1], b.steps[i] = b.steps[i], b.steps[i-1]
	return true
}

func (m *mutant) move() bool {
	b, i := m.pick()
	if i < 0 {
		return false
	}
	s := b.steps[i]
	b.steps = slices.Delete(b.steps, i, i+1)
	own := m.ofRank(b.Rank)
	to := b
	if m.rnd.Intn(2) == 0 {
		to = own[m.rnd.Intn(len(own))]
	}
	k := m.rnd.Intn(len(to.steps) + 1)
	if to == b && k == i {
		k = len(b.steps) - k
	}
	to.steps = slices.Insert(to.steps, k, s)
	return to != b || k != i
}

func (m *mutant) peer() bool {
	b := m.blocks[m.rnd.Intn(len(m.blocks))]
	peer := &b.SendPeer
	if m.rnd.Intn(2) == 0 {
		peer = &b.RecvPeer
	}
	to := m.rnd.Int31n(int32(m.Coll.Ranks)+1) - 1
	if to == b.Rank || to == *peer || *peer < 0 && m.rnd.Intn(4) > 0 {
		return false
	}
	*peer = to
	return true
}

func (m *mutant) channel() bool {
	b := m.blocks[m.rnd.Intn(len(m.blocks))]
	to := m.rnd.Int31n(int32(m.Channels) + 1)
	if to == b.Channel || b.SendPeer < 0 && b.RecvPeer < 0 {
		return false
	}
	b.Channel = to
	return true
}

func (m *mutant) rewait() bool {
	b, i := m.pick()
	if i < 0 || b.steps[i].wait == nil {
		return false
	}
	own := m.ofRank(b.Rank)
	to := own[m.rnd.Intn(len(own))]
	if len(to.steps) == 0 {
		return false
	}
	on := to.steps[m.rnd.Intn(len(to.steps))]
	if on == b.steps[i].wait {
		return false
	}
	if m.rnd.Intn(2) == 0 { // a flag that is there
		on.Flags |= ir.HasDep
	}
	b.steps[i].wait = on
	return true
}

// unwait takes a wait away: with its nop, where it has one, or by moving that
// of the nop before it to it.
func (m *mutant) unwait() bool {
	b, i := m.pick()
	if i < 0 || b.steps[i].wait == nil {
		return false
	}
	switch {
	case b.steps[i].Op == ir.Nop:
		m.remove(b, i)
	case i > 0 && b.steps[i-1].Op == ir.Nop:
		b.steps[i].wait = b.steps[i-1].wait
		m.remove(b, i-1)
	default:
		b.steps[i].wait = nil
	}
	return true
}

func (m *mutant) hasdep() bool {
	s := m.step()
	if s == nil || s.Flags&ir.HasDep == 0 && m.rnd.Intn(8) > 0 {
		return false
	}
	s.Flags ^= ir.HasDep
	return true
}

// merge joins two blocks that have one peer each way at most, by placing the
// steps of the one after or among those of the other.
func (m *mutant) merge() bool {
	a := m.blocks[m.rnd.Intn(len(m.blocks))]
	own := m.ofRank(a.Rank)
	b := own[m.rnd.Intn(len(own))]
	connected := func(b *draftBlock) bool { return b.SendPeer >= 0 || b.RecvPeer >= 0 }
	if a == b || a.SendPeer >= 0 && b.SendPeer >= 0 || a.RecvPeer >= 0 && b.RecvPeer >= 0 || connected(a) &&
		connected(b) && a.Channel != b.Channel {
		return false
	}
	if connected(b) {
		a.Channel = b.Channel
	}
	a.SendPeer, a.RecvPeer = max(a.SendPeer, b.SendPeer), max(a.RecvPeer, b.RecvPeer)
	var steps []*draftStep
	among := m.rnd.Intn(3) > 0
	for rest := b.steps; len(a.steps)+len(rest) > 0; {
		if len(rest) > 0 && (len(a.steps) == 0 || among && m.rnd.Intn(len(a.steps)+len(rest)) >= len(a.steps)) {
			steps, rest = append(steps, rest[0]), rest[1:]
		} else {
			steps, a.steps = append(steps, a.steps[0]), a.steps[1:]
		}
	}
	a.steps = steps
	m.blocks = slices.DeleteFunc(m.blocks, func(x *draftBlock) bool { return x == b })
	return true
}

func (m *mutant) slots() bool {
	if m.opt.Slots <= 1 {
		return false
	}
	m.opt.Slots = 1 + m.rnd.Intn(m.opt.Slots-1)
	return true
}

func (m *mutant) messages() bool {
	old := m.opt.MessageChunks
	m.opt.MessageChunks = 1 + m.rnd.Intn(3)
	return m.opt.MessageChunks != old
}

// protocol turns from one in which messages order memory to one in which they
// do not, or back. The slots stay.
func (m *mutant) protocol() bool {
	p := *m.Program
	if p.Protocol == ir.Simple {
		p.Protocol = ir.LL
	} else {
		p.Protocol = ir.Simple
	}
	m.Program = &p
	return true
}
