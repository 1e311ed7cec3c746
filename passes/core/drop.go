package core

import (
	"slices"

	"mscclc/ir"
)

// drop removes what nobody reads, and copies of a chunk onto itself.
func drop(l *State) (int, error) {
	dropped := l.dropDead()
	l.sweep()
	return dropped, nil
}

// sweep removes the Moves that are no more.
func (l *State) sweep() {
	l.moves = slices.DeleteFunc(l.moves, func(m oneMove) bool { return len(m.dsts) == 0 })
}

// dropDead removes destinations that nobody reads before they are written
// again or the program ends, and the operands of Moves without any, and returns how many destinations that were.
func (l *State) dropDead() int {
	live := make([]bool, l.cells())
	for r := range int(l.n) {
		for k := range l.c.Coll.OutChunks(r) {
			live[l.mem.Cell(r, ir.Output, k)] = true
		}
	}
	dropped := 0
	for i := len(l.moves) - 1; i >= 0; i-- {
		m := &l.moves[i]
		n := len(m.dsts)
		self := func(d spot) bool { // a copy of a chunk onto itself
			return len(m.srcs) == 1 && m.srcs[0].rank == d.rank && d.rank != ir.AllRanks &&
				l.cell(d, d.rank) == l.cell(m.srcs[0], d.rank)
		}
		m.dsts = slices.DeleteFunc(m.dsts, func(d spot) bool {
			return self(d) || l.all(d, m.count, func(c int32) bool { return !live[c] })
		})
		dropped += n - len(m.dsts)
		if len(m.dsts) == 0 {
			m.srcs = nil
			continue
		}
		for _, d := range m.dsts {
			l.each(d, m.count, func(first, end int32) { clear(live[first:end]) })
		}
		for _, s := range m.srcs {
			l.each(s, m.count, func(first, end int32) {
				for c := first; c < end; c++ {
					live[c] = true
				}
			})
		}
	}
	return dropped
}
