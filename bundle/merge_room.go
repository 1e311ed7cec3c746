package bundle

import (
	"maps"
	"math"
	"slices"
)

// A merger decides which form runs each size. banned holds, for a program, the least room that no form of it may have.
type merger struct {
	sizes  []TimedSize
	banned map[pair]int64
	taken  [numLaunches][]*Timed // by launch and size; nil is NCCL
}

// pick chooses a form for each size among those that are not banned.
func (m *merger) pick() {
	var near [numLaunches][][]Timed
	for when := range near {
		near[when] = make([][]Timed, len(m.sizes))
		for i := range m.sizes {
			near[when][i] = m.near(when, i)
		}
	}
	kept := cover(slices.Concat(near[:]...))
	for when := range near {
		m.taken[when] = make([]*Timed, len(m.sizes))
		for i, list := range near[when] {
			m.taken[when][i] = least(list, kept, when)
		}
	}
}

// near returns the forms that are about as fast as the fastest, or none where NCCL runs the call.
func (m *merger) near(when, i int) (list []Timed) {
	s, fastest := &m.sizes[i], math.Inf(1)
	for _, f := range s.Forms {
		if m.allows(&f, when, s) {
			fastest = min(fastest, f.Micros[when])
		}
	}
	for _, f := range s.Forms {
		if m.allows(&f, when, s) && f.Micros[when] <= alike*fastest {
			list = append(list, f)
		}
	}
	return list
}

// allows reports whether f may run calls of a size: it was measured, is not banned, and is faster than NCCL.
func (m *merger) allows(f *Timed, when int, s *TimedSize) bool {
	ban, banned := m.banned[f.pair()]
	return f.Micros[when] > 0 && (!banned || f.Room < ban) &&
		(s.NCCL[when] == 0 || f.Micros[when]*gain <= s.NCCL[when])
}

// least returns the form of the kept programs that takes the least memory, and of those the fastest. It is nil where
// there is none.
func least(near []Timed, kept []pair, when int) (best *Timed) {
	for i := range near {
		f := &near[i]
		if !slices.Contains(kept, f.pair()) {
			continue
		}
		if best == nil || f.Room < best.Room || f.Room == best.Room && f.Micros[when] < best.Micros[when] {
			best = f
		}
	}
	return best
}

// rooms returns the bytes that each program takes: those of its largest form.
func (m *merger) rooms() map[pair]int64 {
	rooms := map[pair]int64{}
	for when := range m.taken {
		for _, f := range m.taken[when] {
			if f != nil {
				rooms[f.pair()] = max(rooms[f.pair()], f.Room)
			}
		}
	}
	return rooms
}

func (m *merger) room() (bytes int64) {
	for _, n := range m.rooms() {
		bytes += n
	}
	return bytes
}

// shrink bans the largest form of the program where that costs the least time for the memory that it saves. It returns
// false where nothing is left to ban.
func (m *merger) shrink() bool {
	rooms, before, cost := m.rooms(), m.room(), m.cost()
	var best *merger
	cheapest := math.Inf(1)
	for _, p := range slices.SortedFunc(maps.Keys(rooms), comparePairs) {
		n := &merger{sizes: m.sizes, banned: maps.Clone(m.banned)}
		n.banned[p] = rooms[p]
		n.pick()
		price := (n.cost() - cost) / math.Max(float64(before-n.room()), 1)
		if best == nil || price < cheapest {
			best, cheapest = n, price
		}
	}
	if best == nil {
		return false
	}
	*m = *best
	return true
}

// cost is the sum of the logarithms of all times: each size and launch counts alike.
func (m *merger) cost() (sum float64) {
	for when := range m.taken {
		for i, f := range m.taken[when] {
			micros := m.sizes[i].NCCL[when]
			if f != nil {
				micros = f.Micros[when]
			} else if micros == 0 {
				micros = 10 * m.sizes[i].least(when) // nothing was measured beside it
			}
			if micros > 0 {
				sum += math.Log(micros)
			}
		}
	}
	return sum
}
