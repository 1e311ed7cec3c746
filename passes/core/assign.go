package core

import (
	"cmp"
	"slices"
)

// MostLanes is the most lanes of a rank, and MostCopies the most copies of scratch. UsualCopies is the number of copies
// if the options name none.
const MostLanes, MostCopies, UsualCopies = 64, 8, 3

// assign gives each Move a lane of its rank. A rank has at most opt.Lanes of them. A lane is a block of the rank, which
// goes through the tiles at its own pace: while one lane waits for the network, another moves the next tile.
//
// Moves of one depth share a lane, since a lane that mixes depths stalls at the first. If a rank may have more lanes
// than depths, Moves that write to other nodes get lanes of their own. Then the lanes that move most are split by peer,
// so that one half sends while the other signals, down to one Move a lane. If a rank may have fewer lanes than depths,
// neighbouring depths share lanes of about equal weight.
//
// Moves to which the author gave one label share a lane, which has no other Moves. If there are more labels than lanes,
// some labels share a lane.
//
// If launches have one pass, ranks keep one lane: MSCCL++ has no tiles to overlap.
func assign(l *State) (int, error) {
	most := min(l.opt.Lanes, MostLanes)
	if most <= 1 || l.onePass {
		return 0, nil
	}
	a := l.newAssigner()
	byRank := make([][]int32, l.n)
	for i := range int32(len(l.moves)) {
		byRank[l.moves[i].rank] = append(byRank[l.moves[i].rank], i)
	}
	other := 0
	for _, moves := range byRank {
		lanes := a.byLabel(moves, most)
		l.lanes = max(l.lanes, int32(len(lanes)))
		for k, lane := range lanes {
			for _, i := range lane {
				l.moves[i].lane = int32(k)
			}
			if k > 0 {
				other += len(lane)
			}
		}
	}
	return other, nil
}

// An assigner holds, by Move, what decides which Moves share a lane.
type assigner struct {
	*State
	deep   []int32 // its depth: the longest chain of Moves before it
	class  []int32 // 2 * depth, + 1 if it writes to no other node; those that do are slow, and go first
	offset []int32 // how far its peer is from its rank
}

func (l *State) newAssigner() *assigner {
	n := len(l.moves)
	a := &assigner{State: l, class: make([]int32, n), offset: make([]int32, n)}
	a.deep, _ = l.depths()
	for i := range int32(n) {
		a.offset[i] = l.offset(i)
		if a.class[i] = 2 * a.deep[i]; !l.far(i) {
			a.class[i]++
		}
	}
	return a
}

// byLabel parts the Moves of a rank into at most most lanes: by the author's labels, and those without by depth.
func (a *assigner) byLabel(moves []int32, most int) [][]int32 {
	label := func(i int32) int32 { return a.moves[i].label }
	slices.SortStableFunc(moves, func(i, j int32) int { return cmp.Compare(label(i), label(j)) })
	first := 0
	for first < len(moves) && label(moves[first]) == 0 {
		first++
	}
	asked := parted(moves[first:], func(i, before int32) bool { return label(i) != label(before) })
	for room := most - min(first, 1); len(asked) > room; {
		last := len(asked) - 1
		asked[last%room] = append(asked[last%room], asked[last]...)
		asked = asked[:last]
	}
	if first == 0 {
		return asked
	}
	others := most - len(asked)
	return append(a.halved(a.byDepth(moves[:first], others), others), asked...)
}

// byDepth parts Moves of a rank into at most most lanes: by depth, and by whether they write to other nodes.
func (a *assigner) byDepth(moves []int32, most int) [][]int32 {
	deep, class := a.deep, a.class
	slices.SortStableFunc(moves, func(i, j int32) int {
		return cmp.Or(cmp.Compare(class[i], class[j]), cmp.Compare(a.offset[i], a.offset[j]))
	})
	for _, starts := range []func(i, before int32) bool{
		func(i, before int32) bool { return class[i] != class[before] },
		func(i, before int32) bool { return deep[i] != deep[before] },
	} {
		if lanes := parted(moves, starts); len(lanes) <= most {
			return lanes
		}
	}
	total, sum := int64(0), make(map[int32]int64) // sum is by depth: the weight of all Moves of lesser depths
	for k, i := range moves {
		if k > 0 && deep[i] != deep[moves[k-1]] {
			sum[deep[i]] = total
		}
		total += a.weight(i)
	}
	share := func(i int32) int64 { return sum[deep[i]] * int64(most) / total }
	return parted(moves, func(i, before int32) bool { return share(i) != share(before) })
}

// parted cuts a list before each Move that starts a part.
func parted(moves []int32, starts func(i, before int32) bool) (parts [][]int32) {
	first, count := 0, min(len(moves), 1)
	for k := 1; k < len(moves); k++ {
		if starts(moves[k], moves[k-1]) {
			count++
		}
	}
	parts = make([][]int32, 0, count)
	for k := 1; k <= len(moves); k++ {
		if k == len(moves) || starts(moves[k], moves[k-1]) {
			parts = append(parts, moves[first:k:k])
			first = k
		}
	}
	return parts
}

// halved halves the lane that moves most until there are most lanes, or each has one Move. Moves of a lane are sorted
// by depth, and then by how far their peers are.
func (l *State) halved(lanes [][]int32, most int) [][]int32 {
	weight := func(lane []int32) (sum int64) {
		if len(lane) == 1 {
			return 0
		}
		for _, i := range lane {
			sum += l.weight(i)
		}
		return sum
	}
	lanes = slices.Grow(lanes, max(0, most-len(lanes)))
	for len(lanes) < most {
		k := 0
		for j := range lanes {
			if weight(lanes[j]) > weight(lanes[k]) {
				k = j
			}
		}
		if len(lanes) == 0 || len(lanes[k]) == 1 {
			break
		}
		half := len(lanes[k]) / 2
		lanes = slices.Insert(lanes, k+1, lanes[k][half:])
		lanes[k] = lanes[k][:half:half]
	}
	return lanes
}

// weight returns how many chunks Move i reads and writes.
func (l *State) weight(i int32) int64 {
	m := &l.moves[i]
	return int64(m.count) * int64(len(m.srcs)+len(m.dsts))
}

// mixed reports whether Moves x and i must stay two because of lanes: only one of them writes to another node, or the
// author gave them different labels.
func (l *State) mixed(x, i int32) bool {
	return l.opt.Lanes > 1 && !l.onePass && (l.far(x) != l.far(i) || l.moves[x].label != l.moves[i].label)
}

// far reports whether Move i writes memory of another node.
func (l *State) far(i int32) bool {
	m := &l.moves[i]
	return slices.ContainsFunc(m.dsts, func(x spot) bool { return x.rank >= 0 && l.nodeOf(x.rank) != l.nodeOf(m.rank) })
}

// nodeOf returns the node of a rank, by the options, or else by the program.
func (l *State) nodeOf(rank int32) int32 {
	switch {
	case l.opt.Nodes != nil:
		return l.opt.Nodes[rank]
	case l.c.RanksPerNode > 0:
		return rank / int32(l.c.RanksPerNode)
	}
	return 0
}
