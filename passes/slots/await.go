package slots

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// await lists the waits of the program. Those of a nop are waits of the step after it.
func await(s *State) error {
	for b := range s.p.Blocks {
		t := &s.p.Blocks[b]
		nop := t.Steps.First // the first of the nops before a step, or the step
		for i := t.Steps.First; i < t.Steps.End; i++ {
			if s.p.Steps[i].Op == ir.Nop {
				continue
			}
			for k := nop; k <= i; k++ {
				if err := s.awaited(t, k, i); err != nil {
					return err
				}
			}
			nop = i + 1
		}
	}
	return nil
}

// awaited adds the wait of step k of block t, where it has one, as one of step i.
func (s *State) awaited(t *ir.TB, k, i int32) error {
	step := &s.p.Steps[k]
	if step.DepBlock < 0 {
		return nil
	}
	on := s.w.Awaited(s.p, t.Rank, k)
	if on < 0 {
		return s.problem(k, diag.Deadlock, "waits for step %d of block %d, and no step of it from there on says that it ended",
			step.DepStep, step.DepBlock)
	}
	if s.w.Block[on] != s.w.Block[i] || on >= i { // else program order has it
		s.waits = append(s.waits, wait{step: s.head[i], on: on})
	}
	return nil
}
