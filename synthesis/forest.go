package synthesis

import (
	"context"
	"errors"
	"math/big"
)

// A Machine is what trees are packed into: the first Ranks vertices are GPUs, others are switches and NICs.
type Machine struct {
	Vertices int
	Ranks    int
	Arcs     []Arc
}

// An Arc is a direction of a link, with its units a second.
type Arc struct {
	From, To int32
	Cap      int64
}

// A Forest is trees that spread what ranks have to all others.
type Forest struct {
	Trees []Tree
	Scale *big.Rat // how many trees go over a capacity of 1: arc a has Scale × its capacity, rounded down, at most
}

// ErrNoFit is where trees do not fit.
var ErrNoFit = errors.New("no trees fit")

// Pack finds trees, of which counts[r] begin at rank r, such that the least Scale has them fit. rate is a bound of what
// one unit of counts reaches.
func Pack(ctx context.Context, m *Machine, counts []int64, rate *big.Rat) (*Forest, error) {
	d := newDemand(counts)
	s := newScaling(m, d)
	u := s.least(ctx, new(big.Rat).Inv(rate))
	for tries := 0; u != nil && ctx.Err() == nil && tries < mostTries; tries++ {
		if net := m.scaled(u); d.withoutSwitches(ctx, net) {
			trees, err := d.pack(ctx, net)
			if err != nil {
				return nil, err
			}
			return &Forest{trees, u}, nil
		}
		u = s.least(ctx, s.after(u)) // switches with more room in than out may need more
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, ErrNoFit
}

// mostTries is how many scales are tried at which trees fit.
const mostTries = 100

// scaled returns the network of a scale.
func (m *Machine) scaled(u *big.Rat) *network {
	net := newNetwork(m.Vertices, m.Ranks)
	for _, a := range m.Arcs {
		c := new(big.Int).Mul(u.Num(), big.NewInt(a.Cap))
		net.add(c.Quo(c, u.Denom()).Int64(), []int32{a.From, a.To})
	}
	return net
}

// counts returns how many trees begin at each rank.
func (f *Forest) counts(ranks int) []int64 {
	list := make([]int64, ranks)
	for _, t := range f.Trees {
		list[t.Root] += t.Count
	}
	return list
}
