package channels

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore/onesided"
)

// A loopMaker makes a random program of blocks with up to two loops each, which hand a chunk on from one to the next.
type loopMaker struct {
	*rand.Rand
	*channelBuilder
	parts  [][5][]ir.ChannelOp // of each block: what is before its first loop, in it, before the second, in it, and after
	rank   []int32
	chunks int32
}

// turnLink is by what a block signals another: a semaphore, or a channel of its own.
func (m *loopMaker) turnLink(from, to int) (tell, wait ir.ChannelOp) {
	if r := m.rank[from]; r == m.rank[to] {
		id := int32(len(m.Ranks[r].Semaphores))
		m.Ranks[r].Semaphores = append(m.Ranks[r].Semaphores, 0)
		return sema(ir.ChRelease, id), sema(ir.ChAcquire, id)
	}
	id := int32(len(m.Ranks[0].Channels[ir.MemoryChannel]))
	m.connect(ir.MemoryChannel, 1)
	return signalOn(id), awaitOn(id)
}

func (m *loopMaker) add(block, segment int, ops ...ir.ChannelOp) {
	m.parts[block][segment] = append(m.parts[block][segment], ops...)
}

// sprinkle has a block signal another, by a count of its own and with some credit, anywhere in some segments.
func (m *loopMaker) sprinkle() {
	from, to := m.Intn(len(m.parts)), m.Intn(len(m.parts))
	if from == to {
		return
	}
	tell, wait := m.turnLink(from, to)
	credit, loop := m.Intn(4)-1, 1+2*m.Intn(2)
	into := func(block, segment int, o ir.ChannelOp) {
		list := m.parts[block][segment]
		m.parts[block][segment] = slices.Insert(list, m.Intn(len(list)+1), meet, o, meet)
	}
	for range 1 + m.Intn(5)/4 {
		into(from, loop, tell)
		into(to, loop, wait)
	}
	for range max(credit, 0) {
		into(from, loop-1, tell)
		into(to, 4, wait)
	}
	if credit < 0 {
		into(to, loop-1, wait)
		into(from, 4, tell)
	}
}

// randomLoops makes one. Unless something is changed in it, it is right, but for what sprinkle does.
func randomLoops(rnd *rand.Rand) *ir.ChannelProgram {
	m := &loopMaker{Rand: rnd, chunks: int32(1 + rnd.Intn(2))}
	ranks, blocks := 1+rnd.Intn(2), 1+rnd.Intn(3)
	m.channelBuilder = channelProgram(ir.Custom, ranks, int(m.chunks), false)
	m.Coll.In, m.Coll.Out = int(m.chunks), int(m.chunks)
	for r := range m.Ranks {
		m.Ranks[r].In, m.Ranks[r].Out = m.chunks, m.chunks
	}
	m.connect(ir.MemoryChannel, blocks)
	for r := range ranks {
		for b := range blocks {
			m.rank = append(m.rank, int32(r))
			m.parts = append(m.parts, [5][]ir.ChannelOp{})
			if ranks > 1 {
				m.add(r*blocks+b, 0, met(on(ir.ChRelaxedSignal, int32(b)), on(ir.ChRelaxedAwait, int32(b)))...)
			}
		}
	}
	stages := 2 + rnd.Intn(4)
	m.scratch(int32(stages) * m.chunks)
	at, segment := rnd.Intn(len(m.parts)), rnd.Intn(4)
	here := ref(m.rank[at], ir.Input, 0, m.chunks)
	source := here.Rank
	for s := range stages {
		there := ref(m.rank[rnd.Intn(len(m.rank))], ir.Scratch, int32(s)*m.chunks, m.chunks)
		if s == stages-1 {
			there.Buf, there.Index = ir.Output, 0
		}
		m.add(at, segment, meet, move(to(there), here), meet)
		here = there
		if s == stages-1 {
			break
		}
		next, then := rnd.Intn(len(m.parts)), min(segment+rnd.Intn(3)*rnd.Intn(2), 4)
		if next != at {
			tell, wait := m.turnLink(at, next)
			from, to := segment, then
			if segment%2 == 1 && then != segment { // after the loop
				from, to = segment+1, max(then-then%2, segment+1)
			} else if then%2 == 1 && then != segment {
				to = then - 1
			}
			m.add(at, from, meet, tell)
			m.add(next, to, wait, meet)
		}
		at, segment = next, then
	}
	for range rnd.Intn(3) {
		m.sprinkle()
	}
	m.Coll.Require = map[ir.Part][]ir.Part{}
	for c := range m.chunks {
		m.Coll.Require[ir.Part{Rank: here.Rank, Index: c}] = []ir.Part{{Rank: source, Index: c}}
	}
	for i := range m.parts {
		if ranks > 1 {
			m.add(i, 4, met(signalOn(int32(i%blocks)), awaitOn(int32(i%blocks)))...)
		}
		var ops []ir.ChannelOp
		for s, list := range m.parts[i] {
			if s%2 == 1 && len(list) > 0 {
				list = []ir.ChannelOp{{Kind: ir.ChLoop, Type: ir.NoChannel, Unit: 4096 * int64(m.chunks), Chunks: m.chunks,
					Body: slices.Clone(list)}}
			}
			ops = append(ops, list...)
		}
		m.block(int(m.rank[i]), ops...)
	}
	return m.ChannelProgram
}

// What Check accepts of random programs with loops, and of what changes make of them, is accepted in 4 to 8 turns; and
// what it accepts of tiny ones runs with nothing wrong in all orders that the explorer tries. MSCCLC_RANDOM=N asks for
// N programs.
func TestAnyTurns(t *testing.T) {
	n := irtest.Count(t, 300)
	counts := map[string]int{}
	for seed := range n {
		rnd := rand.New(rand.NewSource(int64(seed)))
		p := randomLoops(rnd)
		for range rnd.Intn(3) {
			p = broken(p, rnd)
		}
		if leastLoop(p) == nil {
			counts["no loop"]++
			continue
		}
		_, _, list := Check(p, verify.Options{})
		undecided := len(list) == 1 && list[0].Code == diag.Undecided &&
			strings.Contains(list[0].Hint, "proves the number of loop iterations")
		if len(list) > 0 && !undecided {
			counts["rejected"]++
			continue
		}
		wrong := diag.List(nil)
		for turns := 4; turns <= 8 && wrong == nil; turns++ {
			if _, _, found := CheckTurns(p, turns, verify.Options{}); len(found) > 0 {
				wrong = found
			}
		}
		switch {
		case undecided && wrong == nil:
			counts["undecided, and right in 4 to 8 loop iterations"]++
		case undecided:
			counts["undecided, and wrong in 4 to 8 loop iterations"]++
		case wrong != nil:
			t.Errorf("seed %d: accepted, and\n%s", seed, texts(wrong))
		default:
			counts["accepted"]++
			g, err := Unroll(p, 4)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := onesided.Explore(g, 0, rnd); err == nil && !v.Good() {
				t.Errorf("seed %d: accepted, and %v", seed, v)
			} else if err == nil {
				counts["accepted, and explored in 4 loop iterations"]++
			}
		}
	}
	t.Log(counts)
	if counts["accepted"] < n/4 || counts["rejected"] < n/10 ||
		counts["undecided, and right in 4 to 8 loop iterations"] < n/20 {
		t.Error("too few were judged to say anything")
	}
}

// A loop of a number of chunks, of which an iteration has a part of each.
func loopOver(chunks int32, body ...ir.ChannelOp) ir.ChannelOp {
	return ir.ChannelOp{Kind: ir.ChLoop, Type: ir.NoChannel, Unit: 4096 * int64(chunks), Chunks: chunks, Body: body}
}

// alongside returns one rank that copies its input, and of which two blocks do something beside, with semaphores.
func alongside(semaphores, scratch int32, first, second []ir.ChannelOp) *channelBuilder {
	b := channelProgram(ir.AllReduce, 1, 1, false).scratch(scratch)
	b.Ranks[0].Semaphores = make([]int32, semaphores)
	for i, ops := range [][]ir.ChannelOp{first, second} {
		if i == 0 {
			ops = append([]ir.ChannelOp{move(to(ref(0, ir.Output, 0, 1)), ref(0, ir.Input, 0, 1)), meet}, ops...)
		}
		b.block(0, ops...)
	}
	return b
}

// filled writes chunks of scratch.
func filled(first, n int32) (ops []ir.ChannelOp) {
	for i := range n {
		ops = append(ops, move(to(ref(0, ir.Scratch, first+i, 1)), ref(0, ir.Input, 0, 1)))
	}
	return append(ops, meet)
}

// part makes an operation one of two parts.
func part(i int32, o ir.ChannelOp) ir.ChannelOp {
	o.Part, o.Parts = i, 2
	return o
}

// credited has a loop live on three credits until a later loop of its block has others give more.
func credited() *channelBuilder {
	b := alongside(2, 1, []ir.ChannelOp{looped(sema(ir.ChAcquire, 1), meet), looped(sema(ir.ChRelease, 0))},
		[]ir.ChannelOp{looped(sema(ir.ChAcquire, 0), meet, sema(ir.ChRelease, 1))})
	b.Ranks[0].Semaphores[1] = 3
	return b
}

// takenTurns has two blocks release a semaphore in turn.
func takenTurns() *channelBuilder {
	return alongside(1, 1, []ir.ChannelOp{looped(sema(ir.ChRelease, 0), barrier(0, 2), barrier(1, 2))},
		[]ir.ChannelOp{looped(barrier(0, 2), sema(ir.ChRelease, 0), barrier(1, 2))}).
		block(0, looped(sema(ir.ChAcquire, 0), sema(ir.ChAcquire, 0), meet))
}

// undecidedTurns are programs that are right in 1, 2 and 3 turns, and one of which is wrong in 8.
func undecidedTurns() []struct {
	name  string
	of    *channelBuilder
	text  string
	wrong bool
} {
	in, out := ref(0, ir.Input, 0, 1), ref(0, ir.Output, 0, 1)
	ahead := sema(ir.ChAcquire, 0)
	return []struct {
		name  string
		of    *channelBuilder
		text  string
		wrong bool
	}{
		{"runs askew, a loop iteration apart",
			alongside(1, 9, append(filled(0, 5), loopOver(4, move(to(ref(0, ir.Scratch, 5, 4)), ref(0, ir.Scratch, 0, 4)),
				meet, sema(ir.ChRelease, 0)), sema(ir.ChRelease, 0)), []ir.ChannelOp{ahead, meet, loopOver(4, ahead, meet,
				move(to(ref(0, ir.Scratch, 1, 4)), ref(0, ir.Scratch, 5, 4)), meet)}), "begins or ends elsewhere", true},
		{"an await of the next loop iteration", alongside(1, 1, []ir.ChannelOp{looped(move(to(ref(0, ir.Scratch, 0, 1)), in), meet, sema(ir.ChRelease, 0)), sema(ir.ChRelease, 0)},
			[]ir.ChannelOp{ahead, meet, looped(ahead, meet)}), "what is before its loop awaits signals of a loop iteration", false},
		{"two loops and one", alongside(1, 1, []ir.ChannelOp{looped(sema(ir.ChRelease, 0)), looped(sema(ir.ChRelease, 0))}, []ir.ChannelOp{looped(ahead, ahead, meet)}), "more or less often per loop iteration", false},
		{"bytes of a loop iteration", alongside(0, 1, []ir.ChannelOp{looped(move(to(ref(0, ir.Scratch, 0, 1)), in), meet)}, []ir.ChannelOp{{Kind: ir.ChLoop, Type: ir.NoChannel, Unit: 8192, Chunks: 1, Body: []ir.ChannelOp{meet}}}), "has more bytes of a chunk per loop iteration", false},
		{"a group of two chunks", alongside(0, 4, append(filled(0, 2), loopOver(2, part(0, move(to(ref(0, ir.Scratch, 2, 2)), ref(0, ir.Scratch, 0, 2))), part(1, move(to(ref(0, ir.Scratch, 2, 2)), ref(0, ir.Scratch, 0, 2))))), nil), "goes over 2 chunks", false},
		{"groups in loops and elsewhere", alongside(0, 2, []ir.ChannelOp{part(0, move(to(out), in)), part(1, move(to(out), in)), meet, looped(part(0, move(to(ref(0, ir.Scratch, 0, 1)), in)))}, nil), "as operations in loops are", false},
		{"a semaphore that two release in loops", takenTurns(), "and so is another block: in which order", false},
		{"two loops of a block that one is in step with", credited(), "is in step with another, with which a loop before it is too", true},
	}
}

// What is not decided for all turns is undecided, with the reason, though runs may prove their own turns.
func TestUndecidedTurns(t *testing.T) {
	for _, c := range undecidedTurns() {
		p := c.of.ChannelProgram
		_, _, list := Check(p, verify.Options{})
		if len(list) != 1 || list[0].Code != diag.Undecided || !strings.Contains(list[0].Text, c.text) ||
			list[0].Span.Line == 0 {
			t.Errorf("%s: not undecided since %q, but\n%s", c.name, c.text, texts(list))
		}
		if _, _, list := CheckTurns(p, 8, verify.Options{}); len(list) > 0 != c.wrong {
			t.Errorf("%s, in 8 loop iterations:\n%s", c.name, texts(list))
		}
	}
}
