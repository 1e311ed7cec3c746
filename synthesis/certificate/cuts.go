package certificate

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"mscclc/ir"
)

// This file checks bounds that cuts prove.

// bound returns the rate that the cuts prove. What is in a cut with a root, and not out of it with some rank, leaves
// it; what gathers enters it in the same way.
//
// For roots of fixed parts one cut is a proof: rate × part <= capacity. For AllReduce, roots may have any parts w and
// links any division b1 + b2 <= b. With weights y of cuts that count what enters, and z of those that count what
// leaves, of which each rank is in cuts of 1 or more in all: Σ w <= Σ y w(S) + Σ z w(S) <= Σ y b1(S) + Σ z b2(S), and
// each link has at most b × max(Σ y where it enters, Σ z where it leaves) there.
func (k *checker) bound(counts []int64) (*big.Rat, error) {
	claimed, err := fraction(k.c.Bound)
	if err != nil || claimed.Sign() == 0 {
		return nil, fmt.Errorf("bound %q is no fraction above 0", k.c.Bound)
	}
	into, out := map[[2]int]*big.Rat{}, map[[2]int]*big.Rat{}
	cover := make([]*big.Rat, len(counts))
	for r := range cover {
		cover[r] = new(big.Rat)
	}
	for i, cut := range k.c.Cuts {
		weight, err := fraction(cut.Weight)
		if err != nil {
			return nil, fmt.Errorf("cut %d: weight %q is no fraction", i, cut.Weight)
		}
		if err := k.cut(&cut, weight, cover, into, out); err != nil {
			return nil, fmt.Errorf("cut %d: %w", i, err)
		}
	}
	least := k.covered(counts, cover)
	if least.Sign() == 0 {
		return nil, fmt.Errorf("the cuts prove nothing: a rank is in none")
	}
	phi, err := k.potentials()
	if err != nil {
		return nil, err
	}
	sum, zero := new(big.Rat), new(big.Rat)
	at := func(side map[[2]int]*big.Rat, arc [2]int) *big.Rat {
		if side[arc] == nil {
			return zero
		}
		return side[arc]
	}
	for arc, b := range k.cap {
		most := new(big.Rat).Add(at(into, arc), new(big.Rat).Sub(phi[arc[0]], phi[arc[1]]))
		if k.kind != ir.AllReduce {
			most.Set(at(into, arc))
		}
		if x := at(out, arc); x.Cmp(most) > 0 {
			most.Set(x)
		}
		if most.Sign() < 0 {
			continue
		}
		sum.Add(sum, new(big.Rat).Mul(most, b))
	}
	if sum.Quo(sum, least).Cmp(claimed) > 0 {
		return nil, fmt.Errorf("the cuts prove %s MB/s, more than the bound that it says", sum.RatString())
	}
	return claimed, nil
}

// potentials returns those of all places.
func (k *checker) potentials() ([]*big.Rat, error) {
	phi := make([]*big.Rat, len(k.c.Places))
	for p := range phi {
		phi[p] = new(big.Rat)
	}
	for _, p := range k.c.Potentials {
		if p.Place < k.gpus || p.Place >= len(phi) || k.kind != ir.AllReduce {
			return nil, fmt.Errorf("a potential is of place %d, which is no switch or NIC, or of %v", p.Place, k.kind)
		}
		text, negative := strings.CutPrefix(p.Value, "-")
		x, err := fraction(text)
		if err != nil {
			return nil, err
		}
		if phi[p.Place] = x; negative {
			x.Neg(x)
		}
	}
	return phi, nil
}

// covered returns what part of all data the cuts count at least.
func (k *checker) covered(counts []int64, cover []*big.Rat) *big.Rat {
	if k.kind == ir.AllReduce {
		return slices.MinFunc(cover, (*big.Rat).Cmp)
	}
	sum, total := new(big.Rat), int64(0)
	for r, c := range counts {
		sum.Add(sum, new(big.Rat).Mul(cover[r], big.NewRat(c, 1)))
		total += c
	}
	return sum.Quo(sum, big.NewRat(total, 1))
}

// cut adds what a cut weighs to the ranks in it and to the links that cross it.
func (k *checker) cut(cut *Cut, weight *big.Rat, cover []*big.Rat, into, out map[[2]int]*big.Rat) error {
	set := map[int]bool{}
	for _, p := range cut.Places {
		if p < 0 || p >= len(k.c.Places) || set[p] {
			return fmt.Errorf("place %d is none, or named twice", p)
		}
		set[p] = true
	}
	outside := 0
	for p, r := range k.rank {
		if set[p] {
			cover[r].Add(cover[r], weight)
		} else {
			outside++
		}
	}
	gathers := k.kind == ir.ReduceScatter || k.kind == ir.ReduceTo
	if outside == 0 || k.kind != ir.AllReduce && cut.Into != gathers {
		return fmt.Errorf("all ranks are in it, or it counts the other direction")
	}
	for arc := range k.cap {
		if set[arc[0]] == set[arc[1]] || set[arc[1]] != cut.Into {
			continue
		}
		side := out
		if cut.Into {
			side = into
		}
		if side[arc] == nil {
			side[arc] = new(big.Rat)
		}
		side[arc].Add(side[arc], weight)
	}
	return nil
}
