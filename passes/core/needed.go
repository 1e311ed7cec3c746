package core

import "mscclc/ir/vclock"

// This file finds which parts of clocks blocks need not learn in the passes of credit, since no later question depends
// on them. With many lanes that is most.

// fewParts is of how many parts clocks must be for the search to pay. Tests set it.
var fewParts = 8

// learnAll says whether blocks learn all that they are told. Packets tell more than needed follows.
func (s *oneSync) learnAll() bool { return s.packets || s.rows.Parts() < fewParts }

// needed returns, indexed by group, which parts of what a group hears before it in a pass its block needs, and which of
// what it learns when it has asked; and, indexed by block, which parts each needs of what it knows when the pass
// begins.
//
// asks has the parts that each group asks for when it has waited, told those that somebody learns of what its block
// knows at its end, and end those that each block needs at the end of the pass. Any of them may be nil for none.
func (s *oneSync) needed(asks, told, end []uint64) (hears, learns, begin []uint64) {
	if s.learnAll() {
		return nil, nil, nil
	}
	hears, learns, begin = make([]uint64, len(s.groups)), make([]uint64, len(s.groups)), make([]uint64, s.blocks())
	copy(begin, end)
	after := make([]uint64, len(s.groups)) // of a group: what somebody needs of what its signals tell
	copy(after, told)
	for g := len(s.groups) - 1; g >= 0; g-- {
		b := s.groups[g].block
		learns[g] = begin[b] | after[g]
		hears[g] = learns[g]
		if asks != nil {
			hears[g] |= asks[g]
		}
		begin[b] = hears[g]
		for _, w := range s.awaits[g] {
			if w.ago == 0 {
				after[s.signals[w.signal].group] |= hears[g]
			}
		}
	}
	return hears, learns, begin
}

// neededBy is needed of a pass, with so many to come, at whose end and behind it list is asked.
func (s *oneSync) neededBy(list []reuse, more int32) []uint64 {
	if s.learnAll() {
		return nil
	}
	asks, end := make([]uint64, len(s.groups)), make([]uint64, s.blocks())
	for _, u := range list {
		asks[s.of[u.writer]] |= s.part(u)
	}
	hears, _, begin := s.needed(asks, nil, nil)
	for ; more > 0; more-- {
		copy(end, begin)
		for _, u := range list {
			end[s.blockOf(u.writer)] |= s.part(u)
		}
		hears, _, begin = s.needed(nil, nil, end)
	}
	return hears
}

// lastNeeds is needed of the pass in which owe is asked.
func (s *oneSync) lastNeeds(owe []owed) (hears, learns []uint64) {
	if s.learnAll() {
		return nil, nil
	}
	asks := make([]uint64, len(s.groups))
	for k := range owe {
		asks[s.of[owe[k].writer]] |= s.part(owe[k].reuse)
	}
	hears, learns, _ = s.needed(asks, nil, nil)
	return hears, learns
}

// part is the part of a clock that says whether u's reader is over.
func (s *oneSync) part(u reuse) uint64 { return s.rows.Part(s.chain[s.blockOf(u.read)]) }

// toLearn is what the block of the first of owe needs of what it is told for that: what learns says, and what others of
// the group ask behind it.
func (s *oneSync) toLearn(owe []owed, learns []uint64) uint64 {
	if learns == nil {
		return vclock.All
	}
	g := s.of[owe[0].writer]
	parts := learns[g]
	for k := 1; k < len(owe) && s.of[owe[k].writer] == g; k++ {
		parts |= s.part(owe[k].reuse)
	}
	return parts
}
