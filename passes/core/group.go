package core

// A oneGroup is Moves of a block that run together. None depends on another, except by packets that go round other
// ranks.
type oneGroup struct {
	block int32
	at    int32 // its number within its block; the parts of one group have the same
	joint bool  // it is one group with the one before it in its block
	open  bool  // it is one group with the one after it in its block
	moves []int32
}

// group makes one group of Moves that have one block and one depth, and follow each other in the list.
func group(l *State) (int, error) {
	l.groups = l.grouped(func(i, before int32) bool {
		return l.deep[i] == l.deep[before] && l.blockOf(i) == l.blockOf(before)
	})
	return len(l.order) - len(l.groups), nil
}

// apart returns the groups before join. Without pass group each Move has its own.
func (l *State) apart() []oneGroup {
	if l.groups == nil {
		l.groups = l.grouped(func(_, _ int32) bool { return false })
	}
	return l.groups
}

// grouped cuts the list into groups. A Move is in the group of the Move before it if together says so.
func (l *State) grouped(together func(i, before int32) bool) []oneGroup {
	starts := func(k int) bool { return k == 0 || !together(l.order[k], l.order[k-1]) }
	count := 0
	for k := range l.order {
		if starts(k) {
			count++
		}
	}
	groups := make([]oneGroup, 0, count)
	of := make([]int32, l.blocks()) // groups of a block so far
	for k, i := range l.order {
		block := l.blockOf(i)
		if starts(k) {
			groups = append(groups, oneGroup{block: block, at: of[block], moves: l.order[k:k]})
			of[block]++
		}
		g := &groups[len(groups)-1]
		g.moves = g.moves[:len(g.moves)+1]
	}
	return groups
}
