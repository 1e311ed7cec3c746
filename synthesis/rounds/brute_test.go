package rounds

import "fmt"

// A brute looks through all that can be sent, step by step.
type brute struct {
	m      *Machine
	chunks []Chunk
	known  map[string]bool
}

func newBrute(m *Machine, chunks []Chunk) *brute { return &brute{m, chunks, map[string]bool{}} }

// any reports whether there is a schedule of a given number of steps and rounds.
func (b *brute) any(steps, rounds int) bool {
	has := make([]int, len(b.chunks)) // by chunk: the set of ranks that have it
	for c := range has {
		has[c] = 1 << b.chunks[c].Root
	}
	return b.from(has, steps, rounds)
}

func (b *brute) from(has []int, steps, rounds int) bool {
	if steps == 0 {
		return b.done(has)
	}
	key := fmt.Sprint(has, steps, rounds)
	if answer, ok := b.known[key]; ok {
		return answer
	}
	answer := false
	for r := 1; r <= rounds-steps+1 && !answer; r++ {
		answer = b.step(has, append([]int{}, has...), make([]int, len(b.m.Arcs)), 0, steps, rounds, r)
	}
	b.known[key] = answer
	return answer
}

// step chooses from which arc, if from any, the place-th pair of a chunk and a rank gets it in a step of r rounds.
func (b *brute) step(has, next, load []int, place, steps, rounds, r int) bool {
	if place == len(b.chunks)*b.m.Ranks {
		return b.from(next, steps-1, rounds-r)
	}
	c, v := place/b.m.Ranks, place%b.m.Ranks
	if has[c]>>v&1 == 0 {
		for i, a := range b.m.Arcs {
			if int(a.To) != v || has[c]>>a.From&1 == 0 || load[i] == b.m.carries(a, r) {
				continue
			}
			load[i]++
			next[c] |= 1 << v
			if b.step(has, next, load, place+1, steps, rounds, r) {
				return true
			}
			load[i]--
			next[c] &^= 1 << v
		}
	}
	return b.step(has, next, load, place+1, steps, rounds, r)
}

func (b *brute) done(has []int) bool {
	for c := range b.chunks {
		for v := range int32(b.m.Ranks) {
			if b.chunks[c].needs(v) && has[c]>>v&1 == 0 {
				return false
			}
		}
	}
	return true
}
