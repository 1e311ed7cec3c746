package rounds

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// MostRanks is how many GPUs a machine has at most.
const MostRanks = 8

// A Machine is GPUs and directed links between them.
type Machine struct {
	Ranks int
	Arcs  []Arc
	Unit  int64 // the capacity that carries a chunk in a round
}

// An Arc is a link, which carries Cap·R/Unit chunks in a step of R rounds, rounded down.
type Arc struct {
	From, To int32
	Cap      int64
}

// carries returns how many chunks an arc carries in a step of some rounds.
func (m *Machine) carries(a Arc, rounds int) int { return int(a.Cap * int64(rounds) / m.Unit) }

// A Chunk begins at rank Root. Ranks To, or all if To is nil, need it.
type Chunk struct {
	Root int32
	To   []int32
}

// needs reports whether a rank needs the chunk.
func (c *Chunk) needs(rank int32) bool {
	if c.To == nil {
		return rank != c.Root
	}
	for _, t := range c.To {
		if t == rank {
			return true
		}
	}
	return false
}

// A Send is a chunk that goes over an arc in a step, the first of which is 1.
type Send struct {
	Chunk, Arc, Step int
}

// A Schedule is sends in steps.
type Schedule struct {
	Steps  Steps
	Sends  []Send // in the order of steps
	Proven bool   // no schedule of the same chunks and steps has fewer rounds
	Bound  int    // no schedule of the same chunks has fewer rounds than that, in any steps
	Why    string // what proves it, or why it is not known
}

// Steps has the number of rounds of each step.
type Steps []int

// Rounds returns how many rounds all steps have.
func (s Steps) Rounds() (sum int) {
	for _, n := range s {
		sum += n
	}
	return sum
}

// ErrTooFew is where some chunk needs more steps.
var ErrTooFew = errors.New("a rank is more steps away")

// ErrTime is where no schedule was found in time.
var ErrTime = errors.New("no schedule of rounds was found in time")

// mostMore is how many rounds above the bound are tried.
const mostMore = 64

// Least finds a schedule of a given number of steps that has the fewest rounds, as far as ctx has time. Each number of
// rounds gets at most half of the time that is left, so that a hard one does not keep a larger one from being found.
func Least(ctx context.Context, m *Machine, chunks []Chunk, steps int, solver Solver) (*Schedule, error) {
	if m.Ranks > MostRanks {
		return nil, fmt.Errorf("schedules of rounds are for up to %d GPUs, not %d", MostRanks, m.Ranks)
	}
	if m.LeastSteps(chunks) > steps {
		return nil, ErrTooFew
	}
	least := m.LeastRounds(chunks)
	first := max(steps, least)
	why := fmt.Sprintf("links out of some ranks need %d", least)
	if steps > least {
		why = "a step has a round or more"
	}
	refuted, late := first-1, "" // no schedule has so few rounds, and why that is not known of more
	for rounds := first; rounds < first+mostMore && ctx.Err() == nil; rounds++ {
		f := encode(m, chunks, steps, rounds)
		model, err := solver.Solve(half(ctx), &f.sat)
		switch {
		case errors.Is(err, errUnsat): // of fewer rounds neither
			refuted, why, late = rounds, fmt.Sprintf("%s found that there is none of %d", solver.Name(), rounds), ""
		case err != nil && late == "":
			late = fmt.Sprintf("it is not known whether there is one of %d: %v", rounds, err)
		case err == nil:
			s := f.decode(model)
			if err := m.Check(chunks, s); err != nil {
				return nil, fmt.Errorf("%s has a wrong solution: %w", solver.Name(), err)
			}
			s.Bound, s.Proven, s.Why = least, s.Steps.Rounds() == refuted+1, why
			if !s.Proven {
				s.Why = late
			}
			return s, nil
		}
	}
	return nil, ErrTime
}

// half returns a context that ends after half of the time that is left.
func half(ctx context.Context) context.Context {
	end, ok := ctx.Deadline()
	if !ok {
		return ctx
	}
	c, cancel := context.WithTimeout(ctx, time.Until(end)/2)
	context.AfterFunc(c, cancel)
	return c
}
