package bundle

import (
	"cmp"
	"math"
	"slices"
)

// A merger decides which form runs each size.
type merger struct {
	*mergeTable
	banned []limit                     // of each pair
	listed []bool                      // pairs that were limited once
	near   [numLaunches][][]*mergeForm // by launch and size: forms about as fast as the fastest
	taken  [numLaunches][]*mergeForm   // by launch and size; nil is NCCL
	tries  int                         // how many choices were compared

	largest []limit // of what is taken, of each pair
	room    int64   // of all that is taken
	cost    float64 // the sum of the logarithms of all times: each size and launch counts alike
}

// A limit bans forms of a given number of replicas or so large shares, or more; 0 bans none.
type limit struct {
	replicas int
	share    int64
}

// newMerger returns the choice without limits.
func newMerger(sizes []TimedSize) *merger {
	m := &merger{mergeTable: newMergeTable(sizes)}
	m.banned, m.listed = make([]limit, len(m.pairs)), make([]bool, len(m.pairs))
	for when := range m.near {
		m.near[when] = make([][]*mergeForm, len(sizes))
		for i := range sizes {
			m.nearAt(when, i)
		}
	}
	m.pick()
	return m
}

// nearAt sets the forms that are about as fast as the fastest, or none where NCCL runs the call.
func (m *merger) nearAt(when, i int) {
	fastest := math.Inf(1)
	for k := range m.forms[i] {
		if f := &m.forms[i][k]; m.allows(f, when) {
			fastest = min(fastest, f.Micros[when])
		}
	}
	var list []*mergeForm
	for k := range m.forms[i] {
		if f := &m.forms[i][k]; m.allows(f, when) && f.Micros[when] <= alike*fastest {
			list = append(list, f)
		}
	}
	m.near[when][i] = list
}

// allows reports whether f may run calls: it was measured, is not banned, and is faster than NCCL.
func (m *merger) allows(f *mergeForm, when int) bool {
	ban := m.banned[f.of]
	return f.may[when] && (ban.replicas == 0 || f.Replicas < ban.replicas) && (ban.share == 0 || f.Share < ban.share)
}

// pick chooses a form for each size among the near ones.
func (m *merger) pick() {
	kept := m.cover()
	m.cost = 0
	for when := range m.near {
		m.taken[when] = make([]*mergeForm, len(m.sizes))
		for i, list := range m.near[when] {
			f := least(list, kept, when)
			m.taken[when][i] = f
			if f != nil {
				m.cost += f.log[when]
			} else {
				m.cost += float64(m.nccl[when][i])
			}
		}
	}
	m.measure()
}

// cover returns few pairs of which each list of near forms has one, unless it is empty: always the one that most of the
// remaining lists have, and of these that of the least memory.
func (m *merger) cover() (kept []bool) {
	kept = make([]bool, len(m.pairs))
	lists := make([][]*mergeForm, 0, numLaunches*len(m.sizes))
	for when := range m.near {
		lists = append(lists, m.near[when]...)
	}
	empty := func(l []*mergeForm) bool { return len(l) == 0 }
	lists = slices.DeleteFunc(lists, empty)
	counts, seen, room := make([]int, len(m.pairs)), make([]int, len(m.pairs)), make([]int64, len(m.pairs))
	for round := 0; len(lists) > 0; round++ {
		clear(counts)
		clear(room)
		clear(seen)
		for n, l := range lists {
			for _, f := range l {
				if seen[f.of] != n+1 {
					counts[f.of]++
				}
				seen[f.of], room[f.of] = n+1, max(room[f.of], f.Room)
			}
		}
		best := -1
		for p := range counts {
			better := best < 0 || counts[p] > counts[best] || counts[p] == counts[best] && room[p] < room[best]
			if counts[p] > 0 && better {
				best = p
			}
		}
		kept[best] = true
		lists = slices.DeleteFunc(lists, func(l []*mergeForm) bool {
			return slices.ContainsFunc(l, func(f *mergeForm) bool { return f.of == best })
		})
	}
	return kept
}

// least returns the form of the kept programs that takes the least memory, and of those the fastest. It is nil where
// there is none.
func least(near []*mergeForm, kept []bool, when int) (best *mergeForm) {
	for _, f := range near {
		if kept[f.of] && (best == nil || f.Room < best.Room || f.Room == best.Room && f.Micros[when] < best.Micros[when]) {
			best = f
		}
	}
	return best
}

// measure computes the most replicas and the largest share of each program that is taken. A program has memory for both
// together. room is the bytes of all programs.
func (m *merger) measure() {
	m.largest, m.room = make([]limit, len(m.pairs)), 0
	unit := make([]float64, len(m.pairs)) // bytes for a byte of a share and a replica
	for when := range m.taken {
		for _, f := range m.taken[when] {
			if f != nil {
				l := &m.largest[f.of]
				*l = limit{max(l.replicas, f.Replicas), max(l.share, f.Share)}
				unit[f.of] = max(unit[f.of], float64(f.Room)/float64(f.Replicas)/float64(f.Share))
			}
		}
	}
	for p, l := range m.largest {
		m.room += int64(math.Ceil(unit[p] * float64(l.replicas) * float64(l.share)))
	}
}

// mostTries is how many choices fit compares beside those that it gets by giving up forms alone.
const mostTries = 3000

// fit gives up the widest forms until all have room, and then looks for a better choice near that one.
func (m *merger) fit(room int64) {
	if m.room <= room {
		return
	}
	m.save(room)
	end := m.tries + mostTries
	for m.tries < end && m.exchange(room, end) {
	}
}

// save bans forms until all have room.
func (m *merger) save(room int64) {
	for m.room > room && m.shrink(room) {
	}
}

// limited returns m with another limit of a pair.
func (m *merger) limited(p int, l limit) *merger {
	m.tries++
	n := &merger{mergeTable: m.mergeTable, banned: slices.Clone(m.banned), listed: slices.Clone(m.listed), tries: m.tries}
	n.banned[p], n.listed[p] = l, true
	for when := range m.near {
		n.near[when] = slices.Clone(m.near[when])
		for _, i := range m.has[p] {
			n.nearAt(when, i)
		}
	}
	n.pick()
	return n
}

// tighter returns m with the most replicas, or the largest share, of each program banned.
func (m *merger) tighter() (list []*merger) {
	for p, l := range m.largest {
		if l.replicas > 0 {
			fewer, shorter := m.banned[p], m.banned[p]
			fewer.replicas, shorter.share = l.replicas, l.share
			list = append(list, m.limited(p, fewer), m.limited(p, shorter))
		}
	}
	return list
}

// looser returns m with the replicas, the shares, or both of each program that is limited allowed again: all of them,
// or the next larger ones.
func (m *merger) looser() (list []*merger) {
	for p, l := range m.banned {
		if !m.listed[p] {
			continue
		}
		next := m.next(p, l)
		for _, n := range []limit{{}, {next.replicas, l.share}, {l.replicas, next.share}, {0, l.share}, {l.replicas, 0}} {
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
	before, cost, cheapest := m.room, m.cost, math.Inf(1)
	var best *merger
	for _, n := range m.tighter() {
		saved := min(before-n.room, before-room)
		price := (n.cost - cost) / math.Max(float64(saved), 1)
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
// change that saves the most time, of those that it comes to within a given number of tries. It returns false where
// none saves any.
func (m *merger) exchange(room int64, end int) bool {
	best, least := (*merger)(nil), m.cost-1e-9
	list := m.looser()
	slices.SortStableFunc(list, func(a, b *merger) int { return cmp.Compare(a.cost, b.cost) })
	for _, n := range list {
		tried := []*merger{n}
		if n.room > room && n.cost < least && m.tries < end {
			n.tries = m.tries
			tried = n.tighter()
			m.tries = n.tries
		}
		for _, k := range tried {
			k.tries = m.tries
			for k.room > room && k.cost < least && k.tries < end && k.shrink(room) {
			}
			if m.tries = k.tries; k.room <= room && k.cost < least {
				best, least = k, k.cost
			}
		}
	}
	if best != nil {
		best.tries = m.tries
		*m = *best
	}
	return best != nil
}
