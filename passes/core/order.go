package core

import (
	"cmp"
	"slices"
)

// order lists the Moves of all ranks by critical path: by depth, and the Moves of one block and depth by the longest
// chain of Moves after them. If these chains are equal, each rank begins with the peer after itself, so that not all
// ranks write to one at the same time.
func order(l *State) (int, error) {
	n := len(l.moves)
	deep, high := l.depths()
	order := make([]int32, n)
	offset := make([]int32, n)
	for i := range order {
		order[i], offset[i] = int32(i), l.offset(int32(i))
		l.turn(&l.moves[i])
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		x, y := &l.moves[i], &l.moves[j]
		return cmp.Or(cmp.Compare(deep[i], deep[j]), cmp.Compare(x.rank, y.rank), cmp.Compare(x.lane, y.lane),
			cmp.Compare(high[j], high[i]), cmp.Compare(offset[i], offset[j]))
	})
	l.order, l.deep = order, deep
	return n, nil
}

// depths returns, by Move, the length of the longest chain of Moves that it depends on (deep), and of the longest chain
// of Moves that depend on it (high).
func (l *State) depths() (deep, high []int32) {
	n := len(l.moves)
	deep, high = make([]int32, n), make([]int32, n)
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
	return deep, high
}

// distance returns how many ranks lie from own to rank, counted round the ranks.
func (l *State) distance(rank, own int32) int32 { return (rank - own + l.n) % l.n }

// offset returns the distance of the peer of Move i from its own rank. The peer is the rank that i writes to, or else
// the rank whose memory or packets it reads.
func (l *State) offset(i int32) int32 {
	m := &l.moves[i]
	for _, list := range [2][]spot{m.dsts, m.srcs} {
		for _, x := range list {
			if x.rank >= 0 && x.rank != m.rank {
				return l.distance(x.rank, m.rank)
			}
		}
	}
	for _, d := range l.deps.of(i) {
		if d.kind == depPacket {
			return l.distance(l.moves[d.on].rank, m.rank)
		}
	}
	return l.n
}

// turn sorts m's destinations: those of its own rank first, then those of the rank after it, and so on.
func (l *State) turn(m *oneMove) {
	slices.SortStableFunc(m.dsts, func(a, b spot) int {
		return cmp.Compare(l.distance(a.rank, m.rank), l.distance(b.rank, m.rank))
	})
}
