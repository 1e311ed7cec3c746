package channels

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// # Ends of several blocks
//
// Several blocks may signal an end of a channel, or a semaphore, or await it, where their order is fixed by what else
// the program does. The order is taken from one run, and must follow from happens-before, with the n-th await after
// the n-th signal. That is no circle: in the first run that had another order, all that came before the first signal or
// await out of order was in this order, so that each await that was over by then had its signal, and what
// happens-before says of the one out of order held. An await reads how many there were before it, which must be visible
// to it; a signal adds one wherever it is, so that those before it need only be over.
//
// Each pair of blocks then has a flag of its own: who awaits the n-th signal awaits the one of the block that gives it.

// A sharedEnd is an end that several blocks signal or await: who does, in order.
type sharedEnd struct {
	e       *ends
	before  int32 // awaits that take no signal of the first launch
	signals []sharedUse
	awaits  []sharedUse
}

// A sharedUse is an operand of a step: of a Signal's destinations or an Await's sources.
type sharedUse struct {
	block, step int32
	operand     int32
}

// maxShareWork bounds how many steps are looked at to find orders.
const maxShareWork = 1 << 26

// A sharer decides the order at ends that several blocks share.
type sharer struct {
	u      *unroller
	blocks []*unrolled
	shared map[onesided.Operand]*sharedEnd // by rank and index of the flag
	list   []*sharedEnd
}

// share gives ends of several blocks a flag for each pair of blocks, or reports them.
func (u *unroller) share() {
	s := u.sharer()
	switch {
	case len(s.list) == 0:
	case !s.run():
		for _, x := range s.list {
			s.report(x, nil, nil, ", and there is a run that hangs")
		}
	case s.ordered():
		for _, x := range s.list {
			s.split(x)
		}
	}
}

// sharer finds the ends that several blocks share.
func (u *unroller) sharer() *sharer {
	s := &sharer{u: u, blocks: slices.Concat(u.blocks...), shared: map[onesided.Operand]*sharedEnd{}}
	for _, e := range u.order {
		if e.signals.other == nil && e.awaited.other == nil || e.signals.n != e.awaited.n {
			continue
		}
		x := &sharedEnd{e: e}
		if e.key.kind == semaphoreEnd {
			x.before = u.p.Ranks[e.key.rank].Semaphores[e.key.a]
		}
		s.list = append(s.list, x)
		s.shared[onesided.Operand{Rank: e.key.rank, Index: e.flag}] = x
	}
	return s
}

// report says that the order of two uses of an end is not fixed; nil is any two.
func (s *sharer) report(x *sharedEnd, a, b *sharedUse, why string) {
	one, other := x.e.signals.first, x.e.signals.other
	if other == nil {
		one, other = x.e.awaited.first, x.e.awaited.other
	}
	if a != nil {
		of := func(y *sharedUse) usage {
			k := s.blocks[y.block]
			return usage{k.rank, k.steps[y.step].of, k.steps[y.step].pos}
		}
		one = of(a)
		second := of(b)
		other = &second
	}
	d := s.u.sayAt(one.rank, one.at, one.pos, diag.Undecided,
		"is at %s, and so is %s: which of the two comes first depends on time%s", s.u.endName(x.e.key),
		other.at.name(other.rank), why)
	*d = d.WithNote(s.u.p.Span(other.pos), "the other")
}

// run runs all blocks in turn, and notes the order at shared ends. It says whether all came to their end.
func (s *sharer) run() bool {
	at := make([]int, len(s.blocks))
	taken := make([]map[int32]bool, len(s.blocks)) // indexed by block: the operands that its current step holds
	count := map[onesided.Operand]int32{}
	sent := map[[2]int32]bool{}
	key := func(x onesided.Operand) onesided.Operand { return onesided.Operand{Rank: x.Rank, Index: x.Index} }
	ready := func(b int, st *unrolledStep) bool {
		all := true
		for i, x := range st.srcs {
			switch {
			case st.lies:
			case x.Buf == ir.Packets:
				for n := range st.count {
					all = all && sent[[2]int32{x.Rank, x.Index + n}]
				}
			case x.Buf != ir.Flags || taken[b][int32(i)]:
			case s.shared[key(x)] != nil:
				e := s.shared[key(x)]
				if int32(len(e.signals))+e.before <= int32(len(e.awaits)) {
					all = false
					continue
				}
				e.awaits = append(e.awaits, sharedUse{int32(b), int32(at[b]), int32(i)})
				if taken[b] == nil {
					taken[b] = map[int32]bool{}
				}
				taken[b][int32(i)] = true
			default:
				all = all && count[key(x)] >= x.Nth
			}
		}
		return all
	}
	for moved := true; moved; {
		moved = false
		for b, k := range s.blocks {
			for at[b] < len(k.steps) && ready(b, &k.steps[at[b]]) {
				for i, x := range k.steps[at[b]].dsts {
					switch x.Buf {
					case ir.Flags:
						count[key(x)]++
						if e := s.shared[key(x)]; e != nil {
							e.signals = append(e.signals, sharedUse{int32(b), int32(at[b]), int32(i)})
						}
					case ir.Packets:
						for n := range k.steps[at[b]].count {
							sent[[2]int32{x.Rank, x.Index + n}] = true
						}
					}
				}
				moved = true
				taken[b] = nil
				at[b]++
			}
		}
	}
	for b, k := range s.blocks {
		if at[b] < len(k.steps) {
			return false
		}
	}
	return true
}

// split gives an end's pairs of blocks their flags.
func (s *sharer) split(x *sharedEnd) {
	n := int32(len(x.signals))
	type pair struct{ signals, awaits int32 }
	flags, counts := map[pair]*ends{}, map[*ends]int32{}
	number := make([]int32, n)                     // by signal: which of its flag's it is, from 1
	partner := func(i int32) (signal, ago int32) { // of the await i
		at := i - x.before
		signal = ((at % n) + n) % n
		return signal, (signal - at) / n
	}
	of := make([]*ends, n) // of a signal
	for i := range n {
		j, _ := partner(i)
		key := pair{x.signals[j].block, x.awaits[i].block}
		if flags[key] == nil {
			flags[key] = &ends{key: x.e.key, flag: s.u.flags[x.e.key.rank], shared: true}
			s.u.flags[x.e.key.rank]++
			s.u.order = append(s.u.order, flags[key])
		}
		of[j] = flags[key]
	}
	for j := range n {
		counts[of[j]]++
		number[j] = counts[of[j]]
		at := x.signals[j]
		s.blocks[at.block].steps[at.step].dsts[at.operand].Index = of[j].flag
	}
	for i := range n {
		j, ago := partner(i)
		at := x.awaits[i]
		operand := &s.blocks[at.block].steps[at.step].srcs[at.operand]
		operand.Index, operand.Nth = of[j].flag, number[j]-ago*counts[of[j]]
	}
}
