package topology

import "slices"

// This file looks for rings through all GPUs that links join directly.

// How large a machine is that rings are looked for on, how many rings there are at most, and how many steps the search
// takes, which is less than a second. It counts steps and not time, so that it finds the same rings on any machine.
const (
	MostRingRanks = 16
	mostRings     = 4
	mostCycles    = 4000
	mostRingSteps = 1 << 20
)

// HasDirect reports whether a link joins two GPUs directly.
func (t *Topology) HasDirect() bool {
	return slices.ContainsFunc(t.Links, func(l Link) bool { return max(l.From, l.To) < int32(t.Ranks()) })
}

// Rings returns rings through all GPUs over direct links, each from GPU 0 on, that carry the most together where each
// is used in both directions for as much data. A ring may be there twice. There are none where no ring was found.
func (t *Topology) Rings() [][]int32 {
	n := t.Ranks()
	if n < 3 || n > MostRingRanks || !t.HasDirect() {
		return nil
	}
	s := &ringSearch{n: n, caps: make([]float64, n*n), room: make([]int, n*n)}
	for l, k := range t.Links {
		if max(k.From, k.To) < int32(n) && k.From != k.To {
			s.caps[int(k.From)*n+int(k.To)] += t.Bandwidth(int32(l))
		}
	}
	for u := range n {
		for v := range u { // data goes both ways
			least := min(s.caps[u*n+v], s.caps[v*n+u])
			s.caps[u*n+v], s.caps[v*n+u] = least, least
		}
	}
	return s.most()
}

// A ringSearch looks for cycles of an undirected graph, and for those that share its edges best.
type ringSearch struct {
	n      int
	caps   []float64 // by two vertices
	room   []int     // by two vertices: how many cycles may have the edge
	cycles [][]int32
	steps  int

	taken, best [][]int32
}

// most tries all times in which an edge carries a whole number of rings.
func (s *ringSearch) most() (rings [][]int32) {
	var times []float64
	for _, c := range s.caps {
		for k := 1; k <= mostRings && c > 0; k++ {
			times = append(times, float64(k)/c)
		}
	}
	slices.Sort(times)
	rate := 0.0
	for _, time := range slices.Compact(times) {
		if mostRings/time <= rate*(1+1e-9) {
			break
		}
		for e, c := range s.caps {
			s.room[e] = int(c*time*(1+1e-9) + 1e-9)
		}
		s.cycles, s.taken, s.best, s.steps = nil, nil, nil, 0
		s.extend([]int32{0}, 1)
		s.steps = 0
		s.share(0)
		if r := float64(len(s.best)) / time; r > rate*(1+1e-9) {
			rate, rings = r, s.best
		}
	}
	return rings
}

// extend finds cycles of edges with room that begin with a path, each in one direction.
func (s *ringSearch) extend(path []int32, used uint) {
	last := int(path[len(path)-1])
	if len(path) == s.n {
		if s.room[last*s.n] > 0 && path[1] < path[s.n-1] {
			s.cycles = append(s.cycles, slices.Clone(path))
		}
		return
	}
	for v := range s.n {
		if used>>v&1 == 1 || s.room[last*s.n+v] == 0 {
			continue
		}
		if s.steps++; s.steps > mostRingSteps/4 || len(s.cycles) == mostCycles {
			return
		}
		s.extend(append(path, int32(v)), used|1<<v)
	}
}

// share finds the largest set of cycles from the first on that has room.
func (s *ringSearch) share(first int) {
	if len(s.taken) > len(s.best) {
		s.best = slices.Clone(s.taken)
	}
	for i := first; i < len(s.cycles) && len(s.best) < mostRings; i++ {
		if s.steps++; s.steps > mostRingSteps/16 {
			return
		}
		if s.fits(s.cycles[i]) {
			s.add(s.cycles[i], -1)
			s.taken = append(s.taken, s.cycles[i])
			s.share(i)
			s.taken = s.taken[:len(s.taken)-1]
			s.add(s.cycles[i], 1)
		}
	}
}

func (s *ringSearch) fits(cycle []int32) bool {
	for i, u := range cycle {
		if s.room[int(u)*s.n+int(cycle[(i+1)%s.n])] == 0 {
			return false
		}
	}
	return true
}

// add changes the room of a cycle's edges.
func (s *ringSearch) add(cycle []int32, by int) {
	for i, u := range cycle {
		v := cycle[(i+1)%s.n]
		s.room[int(u)*s.n+int(v)] += by
		s.room[int(v)*s.n+int(u)] += by
	}
}
