package onesided

import (
	"math/rand"
	"slices"

	"mscclc/ir"
	"mscclc/ir/onesided"
)

// Mutations are the kinds of single fault that one-sided programs are
// broken by, or relieved of what they do not need.
var Mutations = []Mutation{
	{"drop step", (*mutant).dropStep},
	{"drop operand", (*mutant).dropOperand},
	{"thin", (*mutant).thin},
	{"await", (*mutant).await},
	{"swap", (*mutant).swap},
	{"joint", (*mutant).joint},
	{"marks", (*mutant).marks},
	{"flag's marks", (*mutant).flagMarks},
	{"nth", (*mutant).nth},
	{"depth", (*mutant).deeper},
	{"retarget", (*mutant).retarget},
	{"offset", (*mutant).offset},
	{"block", (*mutant).block},
	{"split", (*mutant).split},
	{"relaxed", (*mutant).relaxed},
	{"passes", (*mutant).passes},
}

// A Mutation is one kind of change.
type Mutation struct {
	Name string
	do   func(m *mutant) bool
}

// Change changes a copy of p once. It returns false where p has no place for it.
func (k *Mutation) Change(rnd *rand.Rand, p *onesided.Program) (*onesided.Program, bool) {
	m := &mutant{newDraft(p), rnd}
	for n := 0; n < 10 && m.steps() > 0; n++ {
		if k.do(m) {
			return m.build(), true
		}
	}
	return p, false
}

type mutant struct {
	*draft
	rnd *rand.Rand
}

// pick returns a block and the index of one of its steps that is of one of
// these operations.
func (m *mutant) pick(ops ...ir.Op) (*draftBlock, int) {
	for range 20 {
		if b, i := m.at(m.rnd.Intn(m.draft.steps())); slices.Contains(ops, b.steps[i].Op) {
			return b, i
		}
	}
	return nil, 0
}

func (m *mutant) any() (*draftBlock, int) { return m.pick(ir.Move, ir.Signal, ir.Await) }

func (m *mutant) dropStep() bool {
	b, i := m.any()
	b.steps = slices.Delete(b.steps, i, i+1)
	return true
}

func (m *mutant) dropOperand() bool {
	b, i := m.any()
	s := b.steps[i]
	k := m.rnd.Intn(len(s.srcs) + len(s.dsts))
	if s.Op == ir.Move && (k < len(s.srcs) && len(s.srcs) == 1 || k >= len(s.srcs) && len(s.dsts) == 1) {
		return false
	}
	s.drop(k)
	return true
}

// thin leaves out a signal, and has awaits count without it.
func (m *mutant) thin() bool {
	b, i := m.pick(ir.Signal)
	if b == nil {
		return false
	}
	s := b.steps[i]
	k := m.rnd.Intn(len(s.dsts))
	f := s.dsts[k]
	nth := int32(1)
	for _, before := range b.steps[:i] {
		nth += int32(countFlag(before.dsts, f))
	}
	s.drop(k)
	for _, a := range m.blocks {
		for _, s := range a.steps {
			for j := 0; s.Op == ir.Await && j < len(s.srcs); j++ {
				x := &s.srcs[j]
				if x.Rank != f.Rank || x.Index != f.Index {
					continue
				}
				if x.Nth >= nth {
					x.Nth--
				}
				if x.Nth == 0 {
					s.srcs = slices.Delete(s.srcs, j, j+1)
					j--
				}
			}
		}
	}
	return true
}

func countFlag(list []onesided.Operand, f onesided.Operand) (n int) {
	for _, x := range list {
		if x.Rank == f.Rank && x.Index == f.Index {
			n++
		}
	}
	return n
}

// await leaves out an await.
func (m *mutant) await() bool {
	b, i := m.pick(ir.Await)
	if b == nil {
		return false
	}
	s := b.steps[i]
	s.drop(m.rnd.Intn(len(s.srcs)))
	return true
}

func (m *mutant) swap() bool {
	b, i := m.any()
	if i == 0 {
		return false
	}
	b.steps[i-1], b.steps[i] = b.steps[i], b.steps[i-1]
	for k := range b.steps { // what is joint runs in the passes of what stands before it
		if k == 0 || (b.steps[k-1].Flags^b.steps[k].Flags)&(ir.Enter|ir.Leave) != 0 {
			b.steps[k].Flags &^= ir.Joint
		}
	}
	return true
}

// joint joins a step with the one before it, or parts it from that.
func (m *mutant) joint() bool {
	b, i := m.any()
	if i == 0 || (b.steps[i-1].Flags^b.steps[i].Flags)&(ir.Enter|ir.Leave) != 0 {
		return false
	}
	b.steps[i].Flags ^= ir.Joint
	return true
}

// relaxed has a Signal or an Await make nothing visible, or what it releases.
func (m *mutant) relaxed() bool {
	b, i := m.pick(ir.Signal, ir.Await)
	if b == nil {
		return false
	}
	b.steps[i].Flags ^= ir.Relaxed
	return true
}

// passes has launches be of one pass, or of any number.
func (m *mutant) passes() bool {
	m.onePass = !m.onePass
	return true
}

// marks changes when a step at flags runs.
func (m *mutant) marks() bool {
	b, i := m.pick(ir.Signal, ir.Await)
	if b == nil {
		return false
	}
	b.steps[i].Flags = []ir.StepFlags{0, ir.Enter, ir.Leave}[m.rnd.Intn(3)]
	return true
}

// flagMarks changes when all the steps of a flag run.
func (m *mutant) flagMarks() bool {
	b, i := m.pick(ir.Signal)
	if b == nil {
		return false
	}
	mark := []ir.StepFlags{0, ir.Enter, ir.Leave}[m.rnd.Intn(3)]
	for _, f := range b.steps[i].dsts {
		for _, a := range m.blocks {
			for _, s := range a.steps {
				if s.Op != ir.Move && countFlag(append(slices.Clone(s.srcs), s.dsts...), f) > 0 {
					s.Flags = mark
				}
			}
		}
	}
	return true
}

// nth has an await wait for another signal.
func (m *mutant) nth() bool {
	b, i := m.pick(ir.Await)
	if b == nil {
		return false
	}
	s := b.steps[i]
	s.srcs[m.rnd.Intn(len(s.srcs))].Nth += []int32{-3, -2, -1, -1, 1}[m.rnd.Intn(5)]
	return true
}

func (m *mutant) deeper() bool {
	m.depth = int32(1 + m.rnd.Intn(3))
	return true
}

// retarget has an operand be on another rank, or a flag or packet be another.
func (m *mutant) retarget() bool {
	x, _ := m.operand()
	x.Rank = int32(m.rnd.Intn(m.Coll.Ranks))
	return true
}

func (m *mutant) operand() (*onesided.Operand, *draftStep) {
	b, i := m.any()
	s := b.steps[i]
	if k := m.rnd.Intn(len(s.srcs) + len(s.dsts)); k < len(s.srcs) {
		return &s.srcs[k], s
	} else {
		return &s.dsts[k-len(s.srcs)], s
	}
}

func (m *mutant) offset() bool {
	x, _ := m.operand()
	x.Index += int32(1 - 2*m.rnd.Intn(2))
	return true
}

// block moves a step to another block of its rank, or to another place.
func (m *mutant) block() bool {
	b, i := m.any()
	s := b.steps[i]
	var own []*draftBlock
	for _, a := range m.blocks {
		if a.rank == b.rank {
			own = append(own, a)
		}
	}
	s.Flags &^= ir.Joint
	if i+1 < len(b.steps) {
		b.steps[i+1].Flags &^= ir.Joint
	}
	b.steps = slices.Delete(b.steps, i, i+1)
	to := own[m.rnd.Intn(len(own))]
	at := m.rnd.Intn(len(to.steps) + 1)
	if at < len(to.steps) {
		to.steps[at].Flags &^= ir.Joint
	}
	to.steps = slices.Insert(to.steps, at, s)
	return true
}

// split makes one Move two, of which each writes some of the destinations.
func (m *mutant) split() bool {
	b, i := m.pick(ir.Move)
	if b == nil || len(b.steps[i].dsts) < 2 ||
		slices.ContainsFunc(b.steps[i].srcs, func(x onesided.Operand) bool { return x.Buf == ir.Packets }) {
		return false
	}
	s := b.steps[i]
	t := &draftStep{s.Step, slices.Clone(s.srcs), slices.Clone(s.dsts[1:])}
	s.dsts = s.dsts[:1]
	b.steps = slices.Insert(b.steps, i+1, t)
	return true
}
