package rounds

import "slices"

// A Problem is a formula: clauses, and limits of how many literals are true. A literal is a variable, from 1 on, or
// minus it.
type Problem struct {
	Vars    int
	Clauses [][]int
	Limits  []Limit
}

// A Limit lets at most Most[k] literals of Lits be true, where the first k literals of More are.
type Limit struct {
	Lits, More []int
	Most       []int // one more than More has, and growing
}

func (p *Problem) variable() int {
	p.Vars++
	return p.Vars
}

func (p *Problem) clause(lits ...int) { p.Clauses = append(p.Clauses, lits) }

// A formula says that there is a schedule of some steps and rounds.
//
// Variables are has(c,v,t), rank v has chunk c after step t; send(c,a,t), chunk c goes over arc a in step t; and
// longer(t,k), step t has at least k rounds.
type formula struct {
	sat    Problem
	m      *Machine
	chunks []Chunk
	steps  int
	most   int // rounds of a step
	dist   [][]int
	has    [][][]int // by chunk, rank and step, which is 0 before the first; 0 where it has it not
	send   [][][]int // by chunk, arc and step; 0 where it is of no use
	longer [][]int   // by step, and rounds from 2 on
}

// yes is a variable that is true.
const yes = 1

func encode(m *Machine, chunks []Chunk, steps, rounds int) *formula {
	f := &formula{m: m, chunks: chunks, steps: steps, most: rounds - steps + 1, dist: m.distances()}
	f.sat.clause(f.sat.variable())
	for c := range chunks {
		f.holds(c)
	}
	for c := range chunks {
		f.moves(c)
	}
	f.ordered()
	f.lengths(rounds)
	for a := range m.Arcs {
		for t := 1; t <= steps; t++ {
			f.room(a, t)
		}
	}
	return f
}

// holds makes the variables of a chunk: a rank that has it keeps it, and has it in the end if it needs it.
func (f *formula) holds(c int) {
	has := make([][]int, f.m.Ranks)
	for v := range has {
		has[v] = make([]int, f.steps+1)
		d := f.dist[f.chunks[c].Root][v]
		for t := range has[v] {
			switch {
			case d == 0:
				has[v][t] = yes
			case t >= d:
				has[v][t] = f.sat.variable()
				if t > d {
					f.sat.clause(-has[v][t-1], has[v][t])
				}
			}
		}
		if d > 0 && f.chunks[c].needs(int32(v)) {
			f.sat.clause(has[v][f.steps])
		}
	}
	f.has = append(f.has, has)
}

// useful returns after which step at most a rank must have a chunk, so that some rank that needs it can still get it.
func (f *formula) useful(c int, v int32) int {
	least := far
	for to := range int32(f.m.Ranks) {
		if f.chunks[c].needs(to) {
			least = min(least, f.dist[v][to])
		}
	}
	return f.steps - least
}

// moves says how a rank gets a chunk: once, from one that had it before.
func (f *formula) moves(c int) {
	has, send := f.has[c], make([][]int, len(f.m.Arcs))
	into := make([][][]int, f.m.Ranks) // by rank and step: the sends
	for v := range into {
		into[v] = make([][]int, f.steps+1)
	}
	for i, a := range f.m.Arcs {
		send[i] = make([]int, f.steps+1)
		for t := 1; t <= min(f.steps, f.useful(c, a.To)); t++ {
			if has[a.From][t-1] == 0 || a.To == f.chunks[c].Root {
				continue
			}
			s := f.sat.variable()
			send[i][t] = s
			f.sat.clause(-s, has[a.From][t-1])
			f.sat.clause(-s, has[a.To][t])
			if before := has[a.To][t-1]; before != 0 {
				f.sat.clause(-s, -before)
			}
			into[a.To][t] = append(into[a.To][t], s)
		}
	}
	for v := range into {
		for t := 1; t <= f.steps; t++ {
			if int32(v) == f.chunks[c].Root || has[v][t] == 0 {
				continue
			}
			got := append([]int{-has[v][t]}, into[v][t]...)
			if before := has[v][t-1]; before != 0 {
				got = append(got, before)
			}
			f.sat.clause(got...)
			for i, a := range into[v][t] {
				for _, b := range into[v][t][:i] {
					f.sat.clause(-a, -b)
				}
			}
		}
	}
	f.send = append(f.send, send)
}

// ordered breaks a symmetry: chunks that are alike get to the first rank that needs them in their order.
func (f *formula) ordered() {
	for c := 1; c < len(f.chunks); c++ {
		a, b := &f.chunks[c-1], &f.chunks[c]
		if a.Root != b.Root || !slices.Equal(a.To, b.To) {
			continue
		}
		for v := range int32(f.m.Ranks) {
			if !b.needs(v) || f.dist[b.Root][v] > 1 {
				continue
			}
			for t := 1; t <= f.steps; t++ {
				f.sat.clause(-f.has[c][v][t], f.has[c-1][v][t])
			}
			break
		}
	}
}

// lengths makes the rounds of all steps, which are some rounds together.
func (f *formula) lengths(rounds int) {
	f.longer = make([][]int, f.steps+1)
	var all []int
	for t := 1; t <= f.steps; t++ {
		f.longer[t] = make([]int, f.most+1)
		for k := 2; k <= f.most; k++ {
			v := f.sat.variable()
			f.longer[t][k] = v
			all = append(all, v)
			if k > 2 {
				f.sat.clause(-v, f.longer[t][k-1])
			}
		}
	}
	f.sat.Limits = append(f.sat.Limits, Limit{Lits: all, Most: []int{rounds - f.steps}})
}

// room says that an arc carries in a step no more than the step's rounds allow.
func (f *formula) room(arc, t int) {
	var l Limit
	for c := range f.chunks {
		if s := f.send[c][arc][t]; s != 0 {
			l.Lits = append(l.Lits, s)
		}
	}
	for k := 1; k <= f.most; k++ {
		if k > 1 {
			l.More = append(l.More, f.longer[t][k])
		}
		l.Most = append(l.Most, f.m.carries(f.m.Arcs[arc], k))
	}
	if len(l.Lits) > l.Most[0] {
		f.sat.Limits = append(f.sat.Limits, l)
	}
}

// decode reads a schedule from a model, which is indexed by variable. Sends that no rank needs are left out, and a step
// has the rounds that its sends need.
func (f *formula) decode(model []bool) *Schedule {
	s := &Schedule{}
	for c := range f.chunks {
		s.Sends = append(s.Sends, f.needed(c, model)...)
	}
	slices.SortStableFunc(s.Sends, func(a, b Send) int { return a.Step - b.Step })
	s.Steps = slices.Repeat([]int{1}, f.steps)
	load := map[[2]int]int{} // by arc and step
	for _, send := range s.Sends {
		key, rounds := [2]int{send.Arc, send.Step}, &s.Steps[send.Step-1]
		for load[key]++; f.m.carries(f.m.Arcs[send.Arc], *rounds) < load[key]; {
			*rounds++
		}
	}
	return s
}

// needed returns the sends of a chunk that lead to ranks that need it, the last first.
func (f *formula) needed(c int, model []bool) (list []Send) {
	needs := make([]bool, f.m.Ranks)
	for v := range needs {
		needs[v] = f.chunks[c].needs(int32(v))
	}
	for t := f.steps; t > 0; t-- {
		for i, a := range f.m.Arcs {
			if s := f.send[c][i][t]; s != 0 && model[s] && needs[a.To] {
				list = append(list, Send{Chunk: c, Arc: i, Step: t})
				needs[a.From] = true
			}
		}
	}
	return list
}
