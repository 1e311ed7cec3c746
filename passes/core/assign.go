package core

import (
	"cmp"
	"slices"
)

// MostLanes is how many lanes a rank has at most, and MostCopies how many copies of scratch. UsualCopies is how many
// these are unless the options say.
const MostLanes, MostCopies, UsualCopies = 64, 8, 3

// assign gives each Move a lane of its rank, of which there are opt.Lanes at most. A lane is a block of the rank, which
// goes through the tiles at its own pace: while one waits for the network, another moves the next tile.
//
// Moves of one depth share a lane, since one that mixes depths stalls at the first. Where a rank may have more lanes
// than depths, those that write to other nodes have lanes of their own, and then the lanes that move most are split by
// peer, so that one half sends while the other signals, down to one lane a Move. Where it may have fewer, neighbouring
// depths share lanes of about equal weight.
//
// Moves that the author gives one label share a lane too, apart from all others. Where labels are more than lanes, some
// share one.
//
// Launches of one pass keep one lane: MSCCL++ has no tiles to overlap.
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

// An assigner knows of each Move what decides which others share its lane.
type assigner struct {
	*State
	deep   []int32 // on how many others it depends that follow each other
	class  []int32 // that, and whether it writes to other nodes; what is slow goes first
	offset []int32 // how far its peer is
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

// byLabel parts the Moves of a rank by what the author asks for, and the others by depth, in at most so many lanes.
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

// byDepth parts the Moves of a rank by depth, and by whether they write to other nodes, in at most so many lanes.
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
	total, sum := int64(0), make(map[int32]int64) // of Moves of lesser depths
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

// halved halves the lanes that move most until there are so many, or each has one Move. Moves of a lane are sorted by
// depth, and then by how far their peers are.
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

// weight is how many chunks Move i reads and writes.
func (l *State) weight(i int32) int64 {
	m := &l.moves[i]
	return int64(m.count) * int64(len(m.srcs)+len(m.dsts))
}

// mixed says whether Moves x and i, made one, would write both to ranks of another node and to others, or be of two
// lanes that the author asks for. Lanes keep these apart.
func (l *State) mixed(x, i int32) bool {
	return l.opt.Lanes > 1 && !l.onePass && (l.far(x) != l.far(i) || l.moves[x].label != l.moves[i].label)
}

// far says whether Move i writes memory of another node.
func (l *State) far(i int32) bool {
	m := &l.moves[i]
	return slices.ContainsFunc(m.dsts, func(x spot) bool { return x.rank >= 0 && l.nodeOf(x.rank) != l.nodeOf(m.rank) })
}

// nodeOf is the node of a rank: as Options say, or else the program.
func (l *State) nodeOf(rank int32) int32 {
	switch {
	case l.opt.Nodes != nil:
		return l.opt.Nodes[rank]
	case l.c.RanksPerNode > 0:
		return rank / int32(l.c.RanksPerNode)
	}
	return 0
}
