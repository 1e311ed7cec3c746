package core

import "mscclc/ir/vclock"

// This file finds which parts of clocks blocks need to learn in the passes of credit. No later question depends on the
// other parts, which with many lanes are most.

// fewParts is the least number of parts of a clock for which the search saves time. Tests set it.
var fewParts = 8

// learnAll reports whether blocks learn all parts. needed does not follow what packets release.
func (s *oneSync) learnAll() bool { return s.packets || s.rows.Parts() < fewParts }

// needed returns which parts of clocks are needed in a pass. acquires, indexed by group, has the parts that the block
// needs of what the group's waits acquire. learns, indexed by group, has the parts that it needs of what it learns
// after these waits. begin, indexed by block, has the parts that the block needs of its clock when the pass begins.
//
// asks, indexed by group, has the parts that are asked for after the group's waits. released, indexed by group, has the
// parts that others learn of the block's clock at the group's end. end, indexed by block, has the parts that are needed
// at the end of the pass. Each may be nil for none.
func (s *oneSync) needed(asks, released, end []uint64) (acquires, learns, begin []uint64) {
	if s.learnAll() {
		return nil, nil, nil
	}
	acquires, learns, begin = make([]uint64, len(s.groups)), make([]uint64, len(s.groups)), make([]uint64, s.blocks())
	copy(begin, end)
	after := make([]uint64, len(s.groups)) // by group: the parts that others need of what its signals release
	copy(after, released)
	for g := len(s.groups) - 1; g >= 0; g-- {
		b := s.groups[g].block
		learns[g] = begin[b] | after[g]
		acquires[g] = learns[g]
		if asks != nil {
			acquires[g] |= asks[g]
		}
		begin[b] = acquires[g]
		for _, w := range s.awaits[g] {
			if w.ago == 0 {
				after[s.signals[w.signal].group] |= acquires[g]
			}
		}
	}
	return acquires, learns, begin
}

// neededBy returns acquires of needed for a pass that more passes follow. All of list is asked at the end of each.
func (s *oneSync) neededBy(list []reuse, more int32) []uint64 {
	if s.learnAll() {
		return nil
	}
	asks, end := make([]uint64, len(s.groups)), make([]uint64, s.blocks())
	for _, u := range list {
		asks[s.of[u.writer]] |= s.part(u)
	}
	acquires, _, begin := s.needed(asks, nil, nil)
	for ; more > 0; more-- {
		copy(end, begin)
		for _, u := range list {
			end[s.blockOf(u.writer)] |= s.part(u)
		}
		acquires, _, begin = s.needed(nil, nil, end)
	}
	return acquires
}

// lastNeeds returns acquires and learns of needed for the pass in which owe is asked.
func (s *oneSync) lastNeeds(owe []owed) (acquires, learns []uint64) {
	if s.learnAll() {
		return nil, nil
	}
	asks := make([]uint64, len(s.groups))
	for k := range owe {
		asks[s.of[owe[k].writer]] |= s.part(owe[k].reuse)
	}
	acquires, learns, _ = s.needed(asks, nil, nil)
	return acquires, learns
}

// part returns the part of a clock that says whether u's reader is over.
func (s *oneSync) part(u reuse) uint64 { return s.rows.Part(s.chain[s.blockOf(u.read)]) }

// toLearn returns the parts that the writer of owe[0] needs of what the signal for owe[0] releases: those of learns,
// and those that the later reuses of the same group ask for.
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
