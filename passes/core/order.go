package core

import (
	"cmp"
	"slices"
)

// order lists the Moves of all ranks by critical path: by depth, and those
// of one depth of a block by the longest way to go. Where
// that is equal each rank begins with the peer behind itself, so that not all
// turn to one at once.
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

// depths returns, of each Move, on how many others it depends that follow each other, and how many so depend on it.
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

// behind is how many ranks rank is behind own, going round.
func (l *State) behind(rank, own int32) int32 { return (rank - own + l.n) % l.n }

// offset is how far behind its own rank the peer is that Move i has to do with:
// whom it writes to, or else whose memory or packets it reads.
func (l *State) offset(i int32) int32 {
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
func (l *State) turn(m *oneMove) {
	slices.SortStableFunc(m.dsts, func(a, b spot) int {
		return cmp.Compare(l.behind(a.rank, m.rank), l.behind(b.rank, m.rank))
	})
}
