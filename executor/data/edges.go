package data

import "math"

// NewEdges is New with elements from the edges of the type: its largest and smallest numbers, zeros of both signs and,
// of floats, denormal numbers, infinities and NaN. At one index in four, all ranks have the same.
func NewEdges(geo Geometry, t DType, op RedOp, seed uint64) *Buffers {
	return newBuffers(allRanks(geo.Coll.Ranks), &Buffers{Geo: geo, DType: t, RedOp: op, seed: seed, edges: true}, t)
}

// An edge makes elements from the edges of a type.
type edge struct {
	floats []float64 // numbers first, then what is none
	ints   []uint64
}

// noNumbers is how many of edge.floats are no numbers.
const noNumbers = 3

func newEdge(t DType) *edge {
	info := t.Info()
	if !info.Float {
		bits := 8 * info.Size
		top := uint64(1) << (bits - 1)
		return &edge{ints: []uint64{0, 1, 2, 5, wrap(t, ^uint64(0)), wrap(t, top), wrap(t, top-1), wrap(t, top+1)}}
	}
	most, least := largest(t), math.Ldexp(1, info.MinExp)
	normal := math.Ldexp(1, info.MinExp+info.Mantissa-1)
	return &edge{floats: []float64{most, -most, most / 2, -most / 2, most / 4, normal, -normal, normal / 2, least, -least,
		0, math.Copysign(0, -1), 1, -1, 1.5, math.NaN(), math.Inf(1), math.Inf(-1)}}
}

// int returns an element of an integer type, from a hash that all ranks share and a rank's own.
func (e *edge) int(at, own uint64) uint64 {
	if at%4 == 0 {
		own = at
	}
	return e.ints[own>>8%uint64(len(e.ints))]
}

// float returns an element of a float type. Numbers alone are at seven indices in eight.
func (e *edge) float(at, own uint64) float64 {
	if at%4 == 0 {
		own = at
	}
	n := len(e.floats)
	if at>>2%8 > 0 {
		n -= noNumbers
	}
	return e.floats[own>>8%uint64(n)]
}
