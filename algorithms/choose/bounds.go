package choose

import (
	"fmt"

	"mscclc/ir"
)

// StagedBounds has a Selector choose among staged programs, as bundles have them, whose launches are within bounds.
type StagedBounds struct {
	CTAs    int   // the most of a launch
	Tile    int64 // of programs in one lane; 0 is the executor's
	Scratch int64 // the most bytes of a rank's scratch that a program in several lanes has
}

// bounded returns an error if a launch of p, in f's replicas, is beyond the bounds of the selector.
func (s *Selector) bounded(p *ir.Program, f Form) error {
	if s.Staged == nil {
		return nil
	}
	if n := p.CTAs(max(f.Columns, 1), false); n > s.Staged.CTAs {
		return fmt.Errorf("a launch of %v has %d CTAs, and at most %d are allowed", f, n, s.Staged.CTAs)
	}
	return nil
}

// triedFor returns the replicas that a form is tried in: those of tried that are within the bounds of the selector, and
// the fewest in any case.
func (s *Selector) triedFor(f Form) []int {
	tried := s.tried()
	if s.Staged == nil {
		return tried
	}
	n := 1
	if p, err := s.form(f); err == nil {
		for n < len(tried) && p.CTAs(tried[n], false) <= s.Staged.CTAs {
			n++
		}
	}
	return tried[:n]
}

// mostScratch returns the most bytes of scratch that a rank may have for a form in several lanes.
func (s *Selector) mostScratch() int64 {
	if s.Staged != nil {
		return min(lanedMemory, s.Staged.Scratch)
	}
	return lanedMemory
}
