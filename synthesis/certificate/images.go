package certificate

import (
	"fmt"
	"math/big"

	"mscclc/ir"
)

// This file checks certificates whose trees are images of those that are listed.
//
// Generators commute, and the order of each is how often it takes all places back to where they were. The images of a
// tree are those by each product of powers below these orders: as many as the product of all orders. Such products are
// a group, so that what a listed tree loads an arc with is spread evenly over the orbit of the arc.

// How many trees a certificate has at most, and how many images a listed tree has.
const mostTrees, mostImages = 1 << 40, 1 << 20

// generators checks that generators make a group that takes ranks to ranks, and GPUs to GPUs.
func (k *checker) generators() error {
	k.images = 1
	if len(k.c.Generators) > 0 && k.kind == ir.AllToAll {
		return fmt.Errorf("%v has no generators", k.kind)
	}
	for i, one := range k.c.Generators {
		n, err := order(one, len(k.c.Places))
		if err != nil {
			return fmt.Errorf("generator %d: %w", i, err)
		}
		if k.images *= n; k.images > mostImages {
			return fmt.Errorf("generators make more than %d images", mostImages)
		}
		for p, to := range one {
			_, from := k.rank[p]
			if _, rank := k.rank[to]; rank != from || (p < k.gpus) != (to < k.gpus) {
				return fmt.Errorf("generator %d takes place %d to %d, which is of another kind", i, p, to)
			}
			for j, other := range k.c.Generators[:i] {
				if one[other[p]] != other[to] {
					return fmt.Errorf("generators %d and %d do not commute at place %d", j, i, p)
				}
			}
		}
	}
	return nil
}

// order returns how often a generator takes all places back to where they were.
func order(one []int, places int) (int64, error) {
	if len(one) != places {
		return 0, fmt.Errorf("it has %d places, and the machine %d", len(one), places)
	}
	seen, order := make([]bool, places), int64(1)
	for p := range one {
		length := int64(0)
		for at := p; !seen[at]; length++ {
			seen[at] = true
			if at = one[at]; at < 0 || at >= places || seen[at] && at != p {
				return 0, fmt.Errorf("it takes two places to %d, or there is no such place", at)
			}
		}
		if length > 1 {
			if order = lcm(order, length); order > mostImages {
				return 0, fmt.Errorf("its order is more than %d", mostImages)
			}
		}
	}
	return order, nil
}

func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// orbit returns the images of an arc, or of a place where both ends are that place.
func (k *checker) orbit(arc [2]int) [][2]int {
	list, seen := [][2]int{arc}, map[[2]int]bool{arc: true}
	for i := 0; i < len(list); i++ {
		for _, one := range k.c.Generators {
			if to := [2]int{one[list[i][0]], one[list[i][1]]}; !seen[to] {
				seen[to] = true
				list = append(list, to)
			}
		}
	}
	return list
}

// ofImages returns how many trees begin at each rank, with all images, of how many do so that are listed.
func (k *checker) ofImages(listed []int64) []int64 {
	counts := make([]int64, len(listed))
	for r, n := range listed {
		if n == 0 {
			continue
		}
		orbit := k.orbit([2]int{k.c.Ranks[r], k.c.Ranks[r]})
		for _, to := range orbit {
			counts[k.rank[to[0]]] += n * (k.images / int64(len(orbit)))
		}
	}
	return counts
}

// loads checks that there is a link with enough room wherever trees and their images go.
func (k *checker) loads(scale *big.Rat) error {
	done := map[[2]int]bool{}
	for arc := range k.load {
		if done[arc] {
			continue
		}
		orbit, listed := k.orbit(arc), new(big.Int)
		for _, a := range orbit {
			done[a] = true
			listed.Add(listed, big.NewInt(k.load[a]))
		}
		each := new(big.Rat).SetInt(listed.Mul(listed, big.NewInt(k.images/int64(len(orbit)))))
		for _, a := range orbit {
			if k.cap[a] == nil {
				return fmt.Errorf("no link leads from place %d to %d, where images of trees go", a[0], a[1])
			}
			if room := new(big.Rat).Mul(scale, k.cap[a]); room.Cmp(each) < 0 {
				return fmt.Errorf("%s trees go from place %d to %d, which has room for %s", each.RatString(), a[0], a[1],
					room.FloatString(3))
			}
		}
	}
	return nil
}

// Images returns where each image of a listed tree has the ranks of that tree, indexed by image and by rank: the tree
// itself first. It is for certificates that Check accepts.
func (c *Certificate) Images() [][]int {
	rank, first := map[int]int{}, make([]int, len(c.Ranks))
	for r, p := range c.Ranks {
		rank[p], first[r] = r, r
	}
	list := [][]int{first}
	for _, one := range c.Generators {
		n, err := order(one, len(c.Places))
		if err != nil {
			return nil
		}
		size := len(list)
		for range int(n-1) * size {
			next := make([]int, len(first))
			for r, at := range list[len(list)-size] {
				next[r] = rank[one[c.Ranks[at]]]
			}
			list = append(list, next)
		}
	}
	return list
}
