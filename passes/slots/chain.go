package slots

import (
	"mscclc/ir"
	"mscclc/ir/fifo"
)

// chain finds reductions that follow each other into one place, and of which only the last is signalled. They become
// one Move, which reads and writes the place once, as runtimes of MSCCL-IR do.
func chain(s *State) error {
	s.head, s.last = make([]int32, len(s.p.Steps)), make([]int32, len(s.p.Steps))
	for b := range s.p.Blocks {
		t := &s.p.Blocks[b]
		for i := t.Steps.First; i < t.Steps.End; i++ {
			s.head[i], s.last[i] = i, i
			if i > t.Steps.First && s.chained(i) {
				s.head[i] = s.head[i-1]
				s.last[s.head[i]] = i
			}
		}
	}
	return nil
}

// mostSources keeps the operands of a Move far below ir.MaxOperands.
const mostSources = 1 << 10

// chained reports whether step i is one Move with the step before it.
func (s *State) chained(i int32) bool {
	before, step := &s.p.Steps[i-1], &s.p.Steps[i]
	return fifo.Chained(before, step) && before.Flags&ir.Final == 0 && before.Class == step.Class &&
		i-s.head[i-1] < mostSources
}
