package certificate

import (
	"fmt"
	"math/big"
)

// This file checks certificates of AllToAll. Their trees have no branches: each is a route from its root to the rank of
// its last hop.

// pair counts a route by its ends.
func (k *checker) pair(t *Tree) error {
	n := len(t.Hops)
	if n == 0 {
		return fmt.Errorf("it leads nowhere")
	}
	k.routes[[2]int{t.Root, t.Hops[n-1].To}] += t.Count
	return nil
}

// pairs checks that each rank has equally many routes to each other one.
func (k *checker) pairs() error {
	n := len(k.c.Ranks)
	for from := range n {
		for to := range n {
			if got := k.routes[[2]int{from, to}]; from != to && (got == 0 || got != k.routes[[2]int{0, 1}]) {
				return fmt.Errorf("%d routes lead from rank %d to %d, and %d from rank 0 to 1: there are equally many of each pair",
					got, from, to, k.routes[[2]int{0, 1}])
			}
		}
	}
	return nil
}

// Distances are sums of at most 2^20 lengths, so that they do not overflow.
const mostLength, mostPlaces = 1 << 42, 1 << 20

// exchangeBound returns the rate that the lengths prove. What goes from a rank to another takes up, of the links on its
// way, its rate times their lengths, which is the distance of the two at least. All links have Σ capacity × length. So
// the rate of each pair is at most that, over the sum of all pairs' distances.
func (k *checker) exchangeBound([]int64) (*big.Rat, error) {
	claimed, err := fraction(k.c.Bound)
	if err != nil || claimed.Sign() == 0 {
		return nil, fmt.Errorf("bound %q is no fraction above 0", k.c.Bound)
	}
	length, room := map[[2]int]int64{}, new(big.Rat)
	for _, l := range k.c.Lengths {
		arc := [2]int{l.From, l.To}
		if _, twice := length[arc]; twice || k.cap[arc] == nil || l.Value < 1 || l.Value > mostLength {
			return nil, fmt.Errorf("a length of %d from place %d to %d: no link leads there, or it has two", l.Value, l.From, l.To)
		}
		length[arc] = l.Value
		room.Add(room, new(big.Rat).Mul(k.cap[arc], big.NewRat(l.Value, 1)))
	}
	sum := new(big.Int)
	for _, from := range k.c.Ranks {
		far, err := k.distances(from, length)
		if err != nil {
			return nil, err
		}
		for _, to := range k.c.Ranks {
			sum.Add(sum, big.NewInt(far[to]))
		}
	}
	if sum.Sign() == 0 {
		return nil, fmt.Errorf("the lengths prove nothing: all distances are 0")
	}
	proven := room.Quo(room, new(big.Rat).SetInt(sum))
	if proven.Mul(proven, big.NewRat(int64(len(k.c.Ranks)), 1)); proven.Cmp(claimed) > 0 {
		return nil, fmt.Errorf("the lengths prove %s MB/s, more than the bound that it says", proven.RatString())
	}
	return claimed, nil
}

// distances returns how far all places are from one, by going over the links that lead on from what came nearer, until
// nothing does. What is not reached is at 0, which proves less.
func (k *checker) distances(from int, length map[[2]int]int64) ([]int64, error) {
	if len(k.c.Places) > mostPlaces {
		return nil, fmt.Errorf("it has %d places, and at most %d are checked", len(k.c.Places), mostPlaces)
	}
	if k.next == nil {
		k.next = make([][]int, len(k.c.Places))
		for arc := range k.cap {
			k.next[arc[0]] = append(k.next[arc[0]], arc[1])
		}
	}
	far, seen, queued := make([]int64, len(k.next)), make([]bool, len(k.next)), make([]bool, len(k.next))
	seen[from] = true
	for queue := []int{from}; len(queue) > 0; {
		at := queue[0]
		queue, queued[at] = queue[1:], false
		for _, to := range k.next[at] {
			d := far[at] + length[[2]int{at, to}]
			if seen[to] && d >= far[to] {
				continue
			}
			far[to], seen[to] = d, true
			if !queued[to] {
				queue, queued[to] = append(queue, to), true
			}
		}
	}
	return far, nil
}
