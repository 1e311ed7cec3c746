package rounds

import (
	"fmt"
	"math"
)

// far is the distance of what is not reached.
const far = math.MaxInt32

// distances returns, by two ranks, how many steps a chunk needs from the first to the second.
func (m *Machine) distances() [][]int {
	d := make([][]int, m.Ranks)
	for r := range d {
		d[r] = make([]int, m.Ranks)
		for v := range d[r] {
			if v != r {
				d[r][v] = far
			}
		}
		for range m.Ranks {
			for _, a := range m.Arcs {
				d[r][a.To] = min(d[r][a.To], d[r][a.From]+1)
			}
		}
	}
	return d
}

// LeastSteps returns how many steps the farthest chunk needs. It is more than the machine has ranks where a rank is not
// reached.
func (m *Machine) LeastSteps(chunks []Chunk) (most int) {
	d := m.distances()
	for _, c := range chunks {
		for v := range int32(m.Ranks) {
			if c.needs(v) {
				most = max(most, d[c.Root][v])
			}
		}
	}
	return most
}

// LeastRounds returns the fewest rounds in which the chunks pass each cut.
func (m *Machine) LeastRounds(chunks []Chunk) (most int) {
	for set := range 1 << m.Ranks {
		crossing := 0
		for _, c := range chunks {
			for v := range int32(m.Ranks) {
				if set>>c.Root&1 == 1 && set>>v&1 == 0 && c.needs(v) {
					crossing++
					break
				}
			}
		}
		rounds := 0
		for crossing > 0 && m.leaving(set, rounds) < crossing {
			if rounds++; rounds > crossing*int(m.Unit) {
				return far // no link leaves the set
			}
		}
		most = max(most, rounds)
	}
	return most
}

// leaving returns how many chunks leave a set of ranks in some rounds.
func (m *Machine) leaving(set, rounds int) (sum int) {
	for _, a := range m.Arcs {
		if set>>a.From&1 == 1 && set>>a.To&1 == 0 {
			sum += m.carries(a, rounds)
		}
	}
	return sum
}

// Check returns an error if a schedule sends what a rank does not have, sends more than an arc carries, or leaves a
// rank without a chunk that it needs.
func (m *Machine) Check(chunks []Chunk, s *Schedule) error {
	has := make([][]int, len(chunks)) // by chunk and rank: from which step on; far: it has it not
	for c := range chunks {
		has[c] = make([]int, m.Ranks)
		for v := range has[c] {
			has[c][v] = far
		}
		has[c][chunks[c].Root] = 0
	}
	load := map[[2]int]int{} // by arc and step
	for i, send := range s.Sends {
		if send.Step < 1 || send.Step > len(s.Steps) || i > 0 && s.Sends[i-1].Step > send.Step {
			return fmt.Errorf("send %d is in step %d", i, send.Step)
		}
		a, of := m.Arcs[send.Arc], has[send.Chunk]
		if of[a.From] >= send.Step {
			return fmt.Errorf("rank %d sends chunk %d in step %d, before it has it", a.From, send.Chunk, send.Step)
		}
		if of[a.To] != far {
			return fmt.Errorf("rank %d gets chunk %d twice", a.To, send.Chunk)
		}
		of[a.To] = send.Step
		key := [2]int{send.Arc, send.Step}
		if load[key]++; load[key] > m.carries(a, s.Steps[send.Step-1]) {
			return fmt.Errorf("the link from rank %d to rank %d carries %d chunks in step %d", a.From, a.To, load[key], send.Step)
		}
	}
	for c := range chunks {
		for v := range int32(m.Ranks) {
			if chunks[c].needs(v) && has[c][v] == far {
				return fmt.Errorf("rank %d does not get chunk %d", v, c)
			}
		}
	}
	return nil
}
