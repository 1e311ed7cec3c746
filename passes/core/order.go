package core

import (
	"cmp"
	"slices"

	"mscclc/ir"
)

// A oneDep says that a Move must follow another, and why.
type oneDep struct {
	on   int32
	kind depKind
	slot bool // it reads scratch or packets that on wrote
}

// A depKind is what one Move must know of another.
type depKind uint8

const (
	depSees   depKind = iota // it reads or overwrites plain data that the other wrote
	depOver                  // it writes what the other has read
	depPacket                // it reads packets of the other, which say so themselves
)

// A depList has the dependences of each Move.
type depList struct {
	start []int32
	to    []oneDep
}

func (d *depList) of(i int32) []oneDep { return d.to[d.start[i]:d.start[i+1]] }

// depend derives the dependences from the order of the Moves: a read follows
// the last write of each cell, a write all reads since the last write, and that
// write too: packets of its reader tell that it is over, but not that it is seen.
func (l *oneSided) depend() {
	known := ir.NewAccesses(int(l.cells()))
	l.deps = depList{start: make([]int32, 1, len(l.moves)+1), to: make([]oneDep, 0, 2*len(l.moves))}
	seen := make([][2][3]int32, len(l.moves)) // of a Move, by slot and kind: 1 + who was last seen to depend on it
	for i := range l.moves {
		m, at := &l.moves[i], int32(i)
		add := func(on int32, kind depKind, slot bool) {
			if on < 0 || on == at {
				return
			}
			last := &seen[on][0][kind]
			if slot {
				last = &seen[on][1][kind]
			}
			if *last == at+1 {
				return
			}
			*last = at + 1
			l.deps.to = append(l.deps.to, oneDep{on, kind, slot})
		}
		for _, s := range m.srcs {
			kind := depSees
			if s.buf == ir.Packets {
				kind = depPacket
			}
			l.eachRun(known, s, m.count, func(first int) { add(known.Writer(first), kind, !s.user()) })
		}
		for _, d := range m.dsts {
			l.eachRun(known, d, m.count, func(first int) {
				add(known.Writer(first), depSees, false)
				known.Readers(first, func(by int32) { add(by, depOver, false) })
			})
			l.each(d, m.count, func(first, end int32) { known.Write(at, int(first), int(end-first)) })
		}
		for _, s := range m.srcs {
			l.eachRun(known, s, m.count, func(first int) {
				if known.Writer(first) != at {
					known.Read(at, first)
				}
			})
		}
		l.deps.start = append(l.deps.start, int32(len(l.deps.to)))
	}
}

// eachRun calls f with the first cell of each run of those of count chunks from x on that the same Moves have accessed.
func (l *oneSided) eachRun(known *ir.Accesses, x spot, count int32, f func(first int)) {
	l.each(x, count, func(first, end int32) {
		known.Cut(int(first), int(end-first))
		for at := int(first); at < int(end); at = known.End(at) {
			f(at)
		}
	})
}

// A oneGroup is Moves of a rank that run together: none needs another, unless
// by packets that go round other ranks.
type oneGroup struct {
	rank  int32
	at    int32 // its number within its rank; parts of one group have one
	joint bool  // it is part of the group before it of its rank
	open  bool  // the next of its rank is part of its group
	moves []int32
}

// order schedules the Moves of all ranks by critical path: by depth, and those
// of one depth of a rank, which are a group, by the longest way to go. Where
// that is equal each rank begins with the peer behind itself, so that not all
// turn to one at once.
func (l *oneSided) order() []oneGroup {
	l.depend()
	n := len(l.moves)
	deep, high := make([]int32, n), make([]int32, n)
	for i := range n {
		for _, d := range l.deps.of(int32(i)) {
			deep[i] = max(deep[i], deep[d.on]+1)
		}
	}
	for i := n - 1; i >= 0; i-- {
		for _, d := range l.deps.of(int32(i)) {
			high[d.on] = max(high[d.on], high[i]+1)
		}
	}
	order := make([]int32, n)
	offset := make([]int32, n)
	for i := range order {
		order[i], offset[i] = int32(i), l.offset(int32(i))
		l.turn(&l.moves[i])
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(deep[i], deep[j]), cmp.Compare(l.moves[i].rank, l.moves[j].rank),
			cmp.Compare(high[j], high[i]), cmp.Compare(offset[i], offset[j]))
	})
	count := 0
	starts := func(k int) bool { // a group
		i, before := order[k], order[max(k-1, 0)]
		return k == 0 || deep[before] != deep[i] || l.moves[before].rank != l.moves[i].rank
	}
	for k := range order {
		if starts(k) {
			count++
		}
	}
	groups := make([]oneGroup, 0, count)
	of := make([]int32, l.n) // groups of a rank so far
	for k, i := range order {
		rank := l.moves[i].rank
		if starts(k) {
			groups = append(groups, oneGroup{rank: rank, at: of[rank], moves: order[k:k]})
			of[rank]++
		}
		g := &groups[len(groups)-1]
		g.moves = g.moves[:len(g.moves)+1]
	}
	return groups
}

// behind is how many ranks rank is behind own, going round.
func (l *oneSided) behind(rank, own int32) int32 { return (rank - own + l.n) % l.n }

// offset is how far behind its own rank the peer is that Move i has to do with:
// whom it writes to, or else whose memory or packets it reads.
func (l *oneSided) offset(i int32) int32 {
	m := &l.moves[i]
	for _, list := range [2][]spot{m.dsts, m.srcs} {
		for _, x := range list {
			if x.rank >= 0 && x.rank != m.rank {
				return l.behind(x.rank, m.rank)
			}
		}
	}
	for _, d := range l.deps.of(i) {
		if d.kind == depPacket {
			return l.behind(l.moves[d.on].rank, m.rank)
		}
	}
	return l.n
}

// turn puts m's destinations in order: its own, and then from the rank behind it on.
func (l *oneSided) turn(m *oneMove) {
	slices.SortStableFunc(m.dsts, func(a, b spot) int { return cmp.Compare(l.behind(a.rank, m.rank), l.behind(b.rank, m.rank)) })
}
