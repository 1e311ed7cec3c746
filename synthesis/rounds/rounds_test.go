package rounds

import (
	"context"
	"errors"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"mscclc/ir/irtest"
)

// dgx1 returns a DGX-1V, as SCCL has it: two links between some GPUs, and one between others.
func dgx1() *Machine {
	m := &Machine{Ranks: 8, Unit: 1}
	for _, p := range [][3]int32{{0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 5, 2}, {2, 3, 2}, {4, 7, 2}, {5, 6, 2}, {6, 7, 2},
		{0, 1, 1}, {0, 2, 1}, {1, 3, 1}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {5, 7, 1}} {
		m.Arcs = append(m.Arcs, Arc{p[0], p[1], int64(p[2])}, Arc{p[1], p[0], int64(p[2])})
	}
	return m
}

// gather returns the chunks of an AllGather.
func gather(ranks, each int) (list []Chunk) {
	for r := range ranks {
		for range each {
			list = append(list, Chunk{Root: int32(r)})
		}
	}
	return list
}

// solvers returns Gophersat, and CaDiCaL where it is installed.
func solvers() []Solver {
	list := []Solver{Gophersat{}}
	if path, err := exec.LookPath("cadical"); err == nil {
		list = append(list, CaDiCaL{path})
	}
	return list
}

// TestSCCL holds that the AllGathers of a DGX-1 that SCCL publishes are found, and that none has fewer rounds.
func TestSCCL(t *testing.T) {
	for _, s := range solvers() {
		for _, c := range []struct{ chunks, steps, rounds int }{
			{1, 2, 2}, {2, 2, 3}, {2, 3, 3}, {3, 2, 5}, {3, 3, 4}, {4, 3, 5}, {6, 3, 7},
		} {
			found, err := Least(t.Context(), dgx1(), gather(8, c.chunks), c.steps, s)
			if err != nil {
				t.Fatalf("%s: %v: %v", s.Name(), c, err)
			}
			if found.Steps.Rounds() != c.rounds || !found.Proven || len(found.Steps) != c.steps {
				t.Errorf("%s: %v: %d rounds in %d steps, proven %v (%s)", s.Name(), c, found.Steps.Rounds(), len(found.Steps),
					found.Proven, found.Why)
			}
		}
		if _, err := Least(t.Context(), dgx1(), gather(8, 1), 1, s); !errors.Is(err, ErrTooFew) {
			t.Errorf("%s: an AllGather in a step: %v", s.Name(), err)
		}
	}
}

// tiny returns a machine of few ranks that a ring joins, with other links, and some chunks.
func tiny(r *rand.Rand) (*Machine, []Chunk) {
	m := &Machine{Ranks: 3 + r.IntN(2), Unit: 1 + r.Int64N(2)}
	for u := range int32(m.Ranks) {
		for v := range int32(m.Ranks) {
			if v == (u+1)%int32(m.Ranks) || u != v && r.IntN(3) == 0 {
				m.Arcs = append(m.Arcs, Arc{u, v, m.Unit + r.Int64N(2)})
			}
		}
	}
	if r.IntN(2) == 0 {
		return m, gather(m.Ranks, 1)
	}
	var list []Chunk
	for range 2 + r.IntN(3) {
		c := Chunk{Root: r.Int32N(int32(m.Ranks))}
		if r.IntN(2) == 0 {
			c.To = []int32{(c.Root + 1 + r.Int32N(int32(m.Ranks)-1)) % int32(m.Ranks)}
		}
		list = append(list, c)
	}
	return m, list
}

// TestBruteForce compares the fewest rounds with those of a search through all states.
func TestBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 1))
	for range irtest.Count(t, 60) {
		m, chunks := tiny(r)
		steps := m.LeastSteps(chunks) + r.IntN(2)
		want := 0
		for rounds := steps; want == 0; rounds++ {
			if newBrute(m, chunks).any(steps, rounds) {
				want = rounds
			}
		}
		for _, s := range solvers() {
			found, err := Least(t.Context(), m, chunks, steps, s)
			if err != nil {
				t.Fatal(err)
			}
			if found.Steps.Rounds() != want || !found.Proven {
				t.Errorf("%s: %+v, %+v in %d steps: %d rounds (%s), want %d", s.Name(), m, chunks, steps, found.Steps.Rounds(),
					found.Why, want)
			}
		}
	}
}

// A never is a solver that is never done.
type never struct{}

func (never) Name() string { return "never" }
func (never) Solve(ctx context.Context, _ *Problem) ([]bool, error) {
	<-ctx.Done()
	return nil, errLimit
}

// A late never finds that there is no schedule, and finds those of more rounds.
type late struct{ fewest int }

func (late) Name() string { return "late" }
func (l *late) Solve(ctx context.Context, p *Problem) ([]bool, error) {
	if l.fewest--; l.fewest > 0 {
		return nil, errLimit
	}
	return Gophersat{}.Solve(ctx, p)
}

// TestTime: where time is over there is an error, and a schedule of more rounds than may be needed is not called least.
func TestTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Least(ctx, dgx1(), gather(8, 1), 2, never{}); !errors.Is(err, ErrTime) {
		t.Errorf("%v", err)
	}
	found, err := Least(t.Context(), dgx1(), gather(8, 3), 2, &late{2})
	if err != nil || found.Proven || found.Steps.Rounds() < 5 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestGophersatStops: Gophersat ends where time is over, and serves the next call.
func TestGophersatStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := encode(dgx1(), gather(8, 6), 3, 7)
	if _, err := (Gophersat{}).Solve(ctx, &f.sat); !errors.Is(err, errLimit) {
		t.Errorf("%v", err)
	}
	if _, err := Least(t.Context(), dgx1(), gather(8, 2), 2, Gophersat{}); err != nil {
		t.Error(err)
	}
	broken := &Problem{Vars: 1, Limits: []Limit{{Lits: []int{1}, More: []int{1}, Most: []int{1}}}}
	if _, err := (Gophersat{}).Solve(t.Context(), broken); err == nil {
		t.Error("a fault within the solver is no error")
	}
}

// TestAnswers: what a solver prints is read, and nothing else is an answer.
func TestAnswers(t *testing.T) {
	p := &Problem{Vars: 3}
	if model, err := p.answer([]byte("s SATISFIABLE\nv 1 -2\nv 3 0\n")); err != nil || !model[1] || model[2] || !model[3] {
		t.Errorf("%v, %v", model, err)
	}
	if _, err := p.answer([]byte("s UNSATISFIABLE\n")); !errors.Is(err, errUnsat) {
		t.Error(err)
	}
	if _, err := p.answer([]byte("c killed\n")); err == nil || errors.Is(err, errUnsat) {
		t.Error(err)
	}
}

// TestCheck: schedules with a fault are rejected.
func TestCheck(t *testing.T) {
	m := &Machine{Ranks: 3, Unit: 1, Arcs: []Arc{{0, 1, 1}, {1, 2, 1}}}
	chunks := []Chunk{{Root: 0}, {Root: 0, To: []int32{1}}}
	right := []Send{{0, 0, 1}, {0, 1, 2}, {1, 0, 2}}
	for name, sends := range map[string][]Send{
		"":       right,
		"early":  {{0, 0, 1}, {0, 1, 1}, {1, 0, 2}},
		"full":   {{0, 0, 1}, {1, 0, 1}, {0, 1, 2}},
		"lacks":  right[:2],
		"twice":  append(right[:3:3], Send{1, 0, 2}),
		"beyond": {{0, 0, 1}, {0, 1, 2}, {1, 0, 3}},
	} {
		if err := m.Check(chunks, &Schedule{Steps: []int{1, 1}, Sends: sends}); (err == nil) != (name == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
