package choose

import (
	"fmt"
	"math"

	"mscclc/executor"
	"mscclc/executor/plan"
	"mscclc/ir"
)

// triedColumns are the replicas of one-sided programs that are tried: any GPU that is known has room for as many at
// once.
var triedColumns = []int{1, 2, 4, 8, 16, 32, 64, 128}

// columnsOf returns those of triedColumns that a device has: the CPU makes memory for few.
func columnsOf(device string) []int {
	if device != "cpu" {
		return triedColumns
	}
	n := 0
	for n < len(triedColumns) && triedColumns[n] <= executor.DefaultMaxColumns {
		n++
	}
	return triedColumns[:n]
}

// gain is how much faster replicas must be to be worth having twice as many.
const gain = 1.01

// worse is how many times as long as the best a width takes beyond which none is better.
const worse = 1.1

// Widest returns how many replicas of a device a call of so many bytes among ranks is the fastest in, by the micros
// that each takes; of as fast ones the fewest. It is 0 where none can be had. It looks from likely ones on up and down,
// as far as that gets not much worse.
func Widest(device string, bytes int64, ranks int, micros func(columns int) (float64, error)) (columns int) {
	tried := columnsOf(device)
	took := make([]float64, len(tried))
	least := math.Inf(1)
	look := func(i int) bool {
		t, err := micros(tried[i])
		if err != nil {
			t = math.Inf(1)
		}
		took[i], least = t, min(least, t)
		return t <= worse*least
	}
	first := likely(tried, bytes, ranks)
	from, to := first, first+1
	look(first)
	for to < len(tried) && worth(tried[to], bytes) && look(to) {
		to++
	}
	for from > 0 && look(from-1) {
		from--
	}
	for i, t := range took[from:to] {
		if !math.IsInf(t, 1) && t <= gain*least {
			return tried[from+i]
		}
	}
	return 0
}

// tried returns the replicas that the selector's programs are tried in.
func (s *Selector) tried() []int { return columnsOf(s.Topology.Device) }

// fastest returns a form in the replicas that suit it best, and what is simulated of it.
func (s *Selector) fastest(f Form, bytes int64) (Form, outcome, error) {
	f.Columns = 0
	if f.laned() {
		t, err := s.lanedWidest(f, bytes)
		if err != nil {
			return f, outcome{}, err
		}
		f = t.Form
	} else if !s.OwnWidth && f.Sided != twoSided && !s.ofPlan(f) {
		f.Columns = Widest(s.Topology.Device, bytes, s.Call.Ranks, func(n int) (float64, error) {
			wide := f
			wide.Columns = n
			return s.time(wide, bytes, true)
		})
	}
	o, err := s.outcome(f, bytes, s.By, false)
	return f, o, err
}

// widest simulates a form roughly, in as many replicas as are worth it, from likely ones on up and down; first is which
// of those that are tried these probably are.
func (s *Selector) widest(f Form, bytes int64, first int) (timed, error) {
	if f.laned() {
		return s.lanedWidest(f, bytes)
	}
	tried := s.triedFor(f)
	first = min(first, len(tried)-1)
	if !s.OwnWidth && f.Sided != twoSided && !s.ofPlan(f) {
		f.Columns = tried[first]
	}
	t, err := s.time(f, bytes, true)
	best := timed{f, t}
	if err != nil || f.Columns == 0 {
		return best, err
	}
	for i := first + 1; i < len(tried) && worth(tried[i], bytes); i++ {
		f.Columns = tried[i]
		if t, err = s.time(f, bytes, true); err != nil || t*gain > best.micros {
			break
		}
		best = timed{f, t}
	}
	least := best.micros
	for i := first - 1; i >= 0 && best.Columns == tried[i+1] && err == nil; i-- {
		f.Columns = tried[i]
		if t, err = s.time(f, bytes, true); err != nil || t > least*gain {
			break
		}
		best, least = timed{f, t}, min(least, t)
	}
	return best, err
}

// worth reports whether calls of so many bytes are worth so many replicas: each has some work for its threads, which is
// what the simulation does not count.
func worth(columns int, bytes int64) bool { return columns <= 4 || int64(columns)*512 <= bytes }

// likely returns which of some replicas the executor would take.
func likely(tried []int, bytes int64, ranks int) int {
	chunk := bytes / int64(max(ranks, 1))
	i := 0
	for i+1 < len(tried) && chunk >= int64(tried[i+1])*plan.ColumnBytes {
		i++
	}
	return i
}

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
