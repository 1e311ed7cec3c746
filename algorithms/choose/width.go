package choose

import (
	"fmt"

	"mscclc/ir/either"
	"mscclc/selection"
	"mscclc/simulate"
)

// gain is how much faster replicas must be to be worth having twice as many.
const gain = simulate.Gain

// tried returns the replicas that the selector's programs are tried in.
func (s *Selector) tried() []int { return simulate.Replicas(s.Topology.Device) }

// fastest returns a form in the replicas that suit it best, and what is simulated of it.
func (s *Selector) fastest(f Form, bytes int64) (Form, outcome, error) {
	f.Replicas = 0
	if f.Several() {
		t, err := s.lanedWidest(f, bytes)
		if err != nil {
			return f, outcome{}, err
		}
		f = t.Form
	} else if !s.OwnWidth && f.Sided != selection.TwoSided && !s.ofPlan(f) {
		f.Replicas = simulate.Widest(s.Topology.Device, bytes, s.Call.Ranks, func(n int) (float64, error) {
			wide := f
			wide.Replicas = n
			return s.time(wide, bytes, true)
		})
	}
	o, err := s.outcome(f, bytes, s.By, false)
	return f, o, err
}

// widest simulates a form roughly, in as many replicas as are worth it, from likely ones on up and down; first is which
// of those that are tried these probably are.
func (s *Selector) widest(f Form, bytes int64, first int) (timed, error) {
	if f.Several() {
		return s.lanedWidest(f, bytes)
	}
	tried := s.triedFor(f)
	first = min(first, len(tried)-1)
	if !s.OwnWidth && f.Sided != selection.TwoSided && !s.ofPlan(f) {
		f.Replicas = tried[first]
	}
	t, err := s.time(f, bytes, true)
	best := timed{f, t}
	if err != nil || f.Replicas == 0 {
		return best, err
	}
	for i := first + 1; i < len(tried) && simulate.Worth(tried[i], bytes); i++ {
		f.Replicas = tried[i]
		if t, err = s.time(f, bytes, true); err != nil || t*gain > best.micros {
			break
		}
		best = timed{f, t}
	}
	least := best.micros
	for i := first - 1; i >= 0 && best.Replicas == tried[i+1] && err == nil; i-- {
		f.Replicas = tried[i]
		if t, err = s.time(f, bytes, true); err != nil || t > least*gain {
			break
		}
		best, least = timed{f, t}, min(least, t)
	}
	return best, err
}

// StagedBounds has a Selector choose among staged programs, as bundles have them, whose launches are within bounds.
type StagedBounds struct {
	CTAs    int   // the most of a launch
	Tile    int64 // of programs in one lane; 0 is the executor's
	Scratch int64 // the most bytes of a rank's scratch that a program in several lanes has
}

// bounded returns an error if a launch of p, in f's replicas, is beyond the bounds of the selector.
func (s *Selector) bounded(p *either.Program, f Form) error {
	if s.Staged == nil {
		return nil
	}
	if n := p.CTAs(max(f.Replicas, 1), false); n > s.Staged.CTAs {
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
