package synthesis

import (
	"context"
	"errors"
	"math"

	"mscclc/ir"
	"mscclc/synthesis/rounds"
	"mscclc/topology"
	"mscclc/topology/bound"
)

// This file makes trees of k-synchronous schedules: of few steps and rounds.

// ErrIndirect is where a machine has no schedules of rounds: it has more GPUs than rounds.MostRanks, or they are not
// joined by links from GPU to GPU.
var ErrIndirect = errors.New("schedules of rounds are for up to 8 GPUs that are joined by direct links")

// A Synchronous says what schedule a program is of.
type Synchronous struct {
	Chunks int          // of each root, or pair of AllToAll
	Steps  rounds.Steps // an AllReduce has those of its ReduceScatter first
	Proven bool         // no schedule of as many chunks and steps has fewer rounds; of AllReduce, each half has none
	Why    string

	least bool // with more steps there are no fewer rounds
}

// synchronous finds a schedule of r.Chunks chunks of each root in r.Steps steps, each half of an AllReduce.
func (s *search) synchronous() error {
	m := s.joined()
	if m == nil {
		return ErrIndirect
	}
	back := &rounds.Machine{Ranks: m.Ranks, Unit: m.Unit}
	for _, a := range m.Arcs {
		back.Arcs = append(back.Arcs, rounds.Arc{From: a.To, To: a.From, Cap: a.Cap})
	}
	s.rounds = &Synchronous{Chunks: s.r.Chunks, Proven: true, least: true}
	gather, spread := &Forest{}, &Forest{}
	if k := s.r.Kind; k == ir.ReduceScatter || k == ir.ReduceTo || k == ir.AllReduce {
		if err := s.schedule(back, gather); err != nil {
			return err
		}
		s.gather = gather
	}
	if k := s.r.Kind; k != ir.ReduceScatter && k != ir.ReduceTo {
		if err := s.schedule(m, spread); err != nil {
			return err
		}
		s.spread = spread
	}
	s.scale = s.m.busiest(spread, gather, nil)
	return nil
}

// schedule finds the schedule of a half, and adds it to s.rounds.
func (s *search) schedule(m *rounds.Machine, into *Forest) error {
	chunks := s.chunks()
	found, err := rounds.Least(s.ctx, m, chunks, s.r.Steps, s.r.solver())
	if err != nil {
		return err
	}
	y := s.rounds
	y.Steps = append(y.Steps, found.Steps...)
	if y.Why == "" || y.Proven && !found.Proven {
		y.Why = found.Why
	}
	y.Proven = y.Proven && found.Proven
	y.least = y.least && found.Steps.Rounds() <= max(found.Bound, len(found.Steps))
	trees := make([]Tree, len(chunks))
	for i, c := range chunks {
		trees[i] = Tree{Root: c.Root, Count: 1}
	}
	for _, send := range found.Sends {
		a, t := m.Arcs[send.Arc], &trees[send.Chunk]
		t.Hops = append(t.Hops, Hop{a.From, a.To, []piece{{1, []int32{a.From, a.To}}}})
	}
	into.Trees = trees
	return nil
}

// chunks returns the chunks of a request, those of a root one after the other.
func (s *search) chunks() (list []rounds.Chunk) {
	for r, count := range s.counts(int64(s.r.Chunks)) {
		for to := range int32(s.m.Ranks) {
			for range count {
				switch {
				case s.r.Kind != ir.AllToAll && to == 0:
					list = append(list, rounds.Chunk{Root: int32(r)})
				case s.r.Kind == ir.AllToAll && to != int32(r):
					list = append(list, rounds.Chunk{Root: int32(r), To: []int32{to}})
				}
			}
		}
	}
	return list
}

// joined returns the machine of the links between ranks, the narrowest of which carries a chunk in a round, or nil
// where there are no schedules.
func (s *search) joined() *rounds.Machine {
	if s.m.Ranks > rounds.MostRanks {
		return nil
	}
	m := &rounds.Machine{Ranks: s.m.Ranks}
	for _, a := range s.m.Arcs {
		if max(a.From, a.To) < int32(s.m.Ranks) {
			m.Arcs = append(m.Arcs, rounds.Arc(a))
			if m.Unit == 0 || a.Cap < m.Unit {
				m.Unit = a.Cap
			}
		}
	}
	if m.LeastSteps(s.chunks()) > m.Ranks {
		return nil
	}
	return m
}

// solver returns the solver of a request.
func (r *Request) solver() rounds.Solver {
	if r.Solver != nil {
		return r.Solver
	}
	return rounds.BestSolver()
}

// mostSteps is how many steps a schedule has at most beyond those that the farthest chunk needs.
const mostSteps = 2

// chunksTried are the numbers of chunks that Front tries.
var chunksTried = []int{1, 2, 3, 4, 6}

// Front finds schedules for a request, of several numbers of chunks: of the fewest steps, and of more steps until
// these have no fewer rounds. It fails with ErrIndirect where the machine has none. Where time is over, it returns what
// it has found, with an error that is rounds.ErrTime.
func Front(ctx context.Context, t *topology.Topology, r Request) (list []*Result, err error) {
	if r.Direct = HasDirect(t); r.Direct {
		if _, err := bound.GraphOf(direct(t), r.question(r.Kind)); err != nil {
			return nil, ErrIndirect
		}
	}
	r.Steps = 1
	for _, r.Chunks = range chunksTried {
		most := r.Steps + mostSteps
		for last := math.MaxInt; r.Steps <= most; r.Steps++ {
			found, one := Find(ctx, t, r)
			if errors.Is(one, rounds.ErrTooFew) {
				most++ // no chunk is sent yet
				continue
			}
			if errors.Is(one, rounds.ErrTime) || ctx.Err() != nil {
				err = rounds.ErrTime
				continue
			}
			if one != nil {
				return list, one
			}
			if found.Rounds.Steps.Rounds() < last {
				list = append(list, found)
			}
			if last = found.Rounds.Steps.Rounds(); found.Rounds.least {
				break
			}
		}
		r.Steps = most - mostSteps
	}
	return list, err
}
