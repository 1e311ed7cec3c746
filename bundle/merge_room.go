package bundle

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A merger decides which form runs each size.
type merger struct {
	sizes  []TimedSize
	banned map[pair]limit
	taken  [numLaunches][]*Timed // by launch and size; nil is NCCL
	tries  int                   // how many choices were compared
}

// A limit bans forms of so many replicas or so large shares, or more; 0 bans none.
type limit struct {
	columns int
	share   int64
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
	ban := m.banned[f.pair()]
	fits := (ban.columns == 0 || f.Columns < ban.columns) && (ban.share == 0 || f.Share < ban.share)
	return fits && f.Micros[when] > 0 && (s.NCCL[when] == 0 || f.Micros[when]*gain <= s.NCCL[when])
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

// sizesOf returns the most replicas and the largest share of each program that is taken. A program has memory for both
// together. room is the bytes of all programs.
func (m *merger) sizesOf() (largest map[pair]limit, room int64) {
	largest = map[pair]limit{}
	unit := map[pair]float64{} // bytes for a byte of a share and a replica
	for when := range m.taken {
		for _, f := range m.taken[when] {
			if f != nil {
				p := f.pair()
				largest[p] = limit{max(largest[p].columns, f.Columns), max(largest[p].share, f.Share)}
				unit[p] = max(unit[p], float64(f.Room)/float64(f.Columns)/float64(f.Share))
			}
		}
	}
	for p, l := range largest {
		room += int64(math.Ceil(unit[p] * float64(l.columns) * float64(l.share)))
	}
	return largest, room
}

func (m *merger) room() int64 {
	_, room := m.sizesOf()
	return room
}

// mostTries is how many choices fit compares beside those that it gets by giving up forms alone.
const mostTries = 3000

// fit gives up the widest forms until all have room, and then looks for a better choice near that one.
func (m *merger) fit(room int64) {
	if m.room() <= room {
		return
	}
	m.save(room)
	end := m.tries + mostTries
	for m.tries < end && m.exchange(room, end) {
	}
}

// save bans forms until all have room.
func (m *merger) save(room int64) {
	for m.room() > room && m.shrink(room) {
	}
}

// limited returns m with another limit of a program.
func (m *merger) limited(p pair, l limit) *merger {
	m.tries++
	n := &merger{sizes: m.sizes, banned: maps.Clone(m.banned), tries: m.tries}
	n.banned[p] = l
	n.pick()
	return n
}

// tighter returns m with the most replicas, or the largest share, of each program banned.
func (m *merger) tighter() (list []*merger) {
	largest, _ := m.sizesOf()
	for _, p := range slices.SortedFunc(maps.Keys(largest), comparePairs) {
		fewer, shorter := m.banned[p], m.banned[p]
		fewer.columns, shorter.share = largest[p].columns, largest[p].share
		list = append(list, m.limited(p, fewer), m.limited(p, shorter))
	}
	return list
}

// looser returns m with the replicas, the shares, or both of each program that is limited allowed again: all of them,
// or the next larger ones.
func (m *merger) looser() (list []*merger) {
	for _, p := range slices.SortedFunc(maps.Keys(m.banned), comparePairs) {
		l := m.banned[p]
		next := l
		for i := range m.sizes {
			for _, f := range m.sizes[i].Forms {
				if f.pair() == p && f.Columns > l.columns && (next.columns == l.columns || f.Columns < next.columns) {
					next.columns = f.Columns
				}
				if f.pair() == p && f.Share > l.share && (next.share == l.share || f.Share < next.share) {
					next.share = f.Share
				}
			}
		}
		for _, n := range []limit{{}, {next.columns, l.share}, {l.columns, next.share}, {0, l.share}, {l.columns, 0}} {
			if n != l {
				list = append(list, m.limited(p, n))
			}
		}
	}
	return list
}

// shrink bans the most replicas, or the largest share, of the program where that costs the least time for the memory
// that it saves, of what is still to be saved. It returns false where nothing is left to ban.
func (m *merger) shrink(room int64) bool {
	before, cost, cheapest := m.room(), m.cost(), math.Inf(1)
	var best *merger
	for _, n := range m.tighter() {
		saved := min(before-n.room(), before-room)
		price := (n.cost() - cost) / math.Max(float64(saved), 1)
		if best == nil || price < cheapest {
			best, cheapest = n, price
		}
	}
	if best == nil {
		return false
	}
	best.tries = m.tries
	*m = *best
	return true
}

// exchange allows forms of one program again, and bans those of others where that is needed for the room. It takes the
// change that saves the most time, of those that it comes to before so many tries. It returns false where none saves
// any.
func (m *merger) exchange(room int64, end int) bool {
	best, least := (*merger)(nil), m.cost()-1e-9
	list := m.looser()
	slices.SortStableFunc(list, func(a, b *merger) int { return cmp.Compare(a.cost(), b.cost()) })
	for _, n := range list {
		tried := []*merger{n}
		if n.room() > room && n.cost() < least && m.tries < end {
			n.tries = m.tries
			tried = n.tighter()
			m.tries = n.tries
		}
		for _, k := range tried {
			k.tries = m.tries
			for k.room() > room && k.cost() < least && k.tries < end && k.shrink(room) {
			}
			if m.tries = k.tries; k.room() <= room && k.cost() < least {
				best, least = k, k.cost()
			}
		}
	}
	if best != nil {
		best.tries = m.tries
		*m = *best
	}
	return best != nil
}

// cost returns the sum of the logarithms of all times: each size and launch counts alike.
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
