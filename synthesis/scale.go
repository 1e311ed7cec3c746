package synthesis

import (
	"context"
	"math/big"
	"slices"
)

// A scaling looks for the least scale at which trees fit. Only scales matter at which the room of some arc grows by a
// tree: whole numbers over capacities.
type scaling struct {
	m    *Machine
	d    demand
	caps []*big.Int // the capacities that there are
}

func newScaling(m *Machine, d demand) *scaling {
	s := &scaling{m: m, d: d}
	var caps []int64
	for _, a := range m.Arcs {
		caps = append(caps, a.Cap)
	}
	slices.Sort(caps)
	for _, c := range slices.Compact(caps) {
		s.caps = append(s.caps, big.NewInt(c))
	}
	return s
}

// after returns the next scale above u at which room grows.
func (s *scaling) after(u *big.Rat) (next *big.Rat) {
	for _, c := range s.caps {
		n := new(big.Int).Mul(u.Num(), c)
		n.Quo(n, u.Denom())
		x := new(big.Rat).SetFrac(n.Add(n, big.NewInt(1)), c)
		if next == nil || x.Cmp(next) < 0 {
			next = x
		}
	}
	return next
}

// least returns the least scale from u on at which trees fit; u is what their rate needs. It is nil where ctx is done,
// or where room grows without an end and trees do not fit.
func (s *scaling) least(ctx context.Context, u *big.Rat) *big.Rat {
	if s.d.fits(s.m.scaled(u)) {
		return u
	}
	low, high := u, new(big.Rat).Add(u, u)
	for doubled := 0; !s.d.fits(s.m.scaled(high)); doubled++ {
		if ctx.Err() != nil || doubled > 20 {
			return nil
		}
		low, high = high, new(big.Rat).Add(high, high)
	}
	for ctx.Err() == nil {
		next := s.after(low)
		if next.Cmp(high) >= 0 {
			return high
		}
		mid := new(big.Rat).Add(low, high)
		mid.Quo(mid, big.NewRat(2, 1))
		if mid = s.within(mid); mid.Cmp(next) < 0 {
			mid = next
		}
		if s.d.fits(s.m.scaled(mid)) {
			high = mid
		} else {
			low = mid
		}
	}
	return nil
}

// within returns the largest scale up to u at which room grows.
func (s *scaling) within(u *big.Rat) (most *big.Rat) {
	for _, c := range s.caps {
		n := new(big.Int).Mul(u.Num(), c)
		x := new(big.Rat).SetFrac(n.Quo(n, u.Denom()), c)
		if most == nil || x.Cmp(most) > 0 {
			most = x
		}
	}
	return most
}
