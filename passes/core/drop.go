package core

import "slices"

// drop removes destinations that nobody reads, copies of a chunk onto itself, and Moves without destinations.
func drop(l *State) (int, error) {
	dropped := l.dropDead(l.piecesOf(l.operands))
	l.sweep()
	return dropped, nil
}

// sweep removes the Moves that have no destinations.
func (l *State) sweep() {
	l.moves = slices.DeleteFunc(l.moves, func(m oneMove) bool { return len(m.dsts) == 0 })
}

// dropDead removes destinations that nobody reads before they are written again or the program ends. A Move that is
// left without destinations loses its sources. views has the pieces of each view. dropDead returns how many
// destinations it removed.
func (l *State) dropDead(views []pieces) int {
	live := make([][]bool, len(views)) // by view and piece: its content is read later
	for v := range live {
		live[v] = make([]bool, views[v].count())
		views[v].output(l.c.Coll, func(first, end int32) {
			for k := first; k < end; k++ {
				live[v][k] = true
			}
		})
	}
	dead := func(d spot, count int32) bool {
		for v := range live {
			if !views[v].all(d, count, func(k int32) bool { return !live[v][k] }) {
				return false
			}
		}
		return true
	}
	dropped := 0
	for i := len(l.moves) - 1; i >= 0; i-- {
		m := &l.moves[i]
		n := len(m.dsts)
		self := func(d spot) bool { return len(m.srcs) == 1 && l.same(m.srcs[0], d) } // a copy of a chunk onto itself
		m.dsts = slices.DeleteFunc(m.dsts, func(d spot) bool {
			return self(d) || dead(d, m.count)
		})
		dropped += n - len(m.dsts)
		if len(m.dsts) == 0 {
			m.srcs = nil
			continue
		}
		for v := range live {
			for _, d := range m.dsts {
				views[v].each(d, m.count, func(first, end int32) { clear(live[v][first:end]) })
			}
			for _, s := range m.srcs {
				views[v].each(s, m.count, func(first, end int32) {
					for k := first; k < end; k++ {
						live[v][k] = true
					}
				})
			}
		}
	}
	return dropped
}
