package data

import "math"

// mix returns a hash of 64 bits (splitmix64's).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// generate makes all ranks' inputs. Integers are any bits. Of floats, the elements
// at one index of all ranks are either real numbers, whose sum is rounded, or
// small integers, whose sum must be exact; min and max also meet infinities,
// zeros of both signs and NaN.
func (d *Buffers) generate() {
	size := int64(d.DType.Size())
	lengths := make([]int64, len(d.initial))
	for i, buf := range d.initial {
		lengths[i] = int64(len(buf)) / size
	}
	spread(lengths, someElems, func(rank int, first, end int64) {
		d.random(d.initial[rank][first*size:end*size], rank, first)
	})
}

// random makes a rank's input from element first on.
func (d *Buffers) random(buf []byte, rank int, first int64) {
	size, float := int64(d.DType.Size()), newRandomFloat(d)
	var ends *edge
	if d.edges {
		ends = newEdge(d.DType)
	}
	var ints [runElems]uint64
	var floats [runElems]float64
	for ; len(buf) > 0; first += runElems {
		n := min(int64(len(buf))/size, runElems)
		for i := range n {
			at := mix(d.seed + uint64(first+i)) // of all ranks
			own := mix(at ^ uint64(rank)<<32)
			switch {
			case d.DType.Info().Float && d.edges:
				floats[i] = ends.float(at, own)
			case d.DType.Info().Float:
				floats[i] = float.of(rank, at, own)
			case d.edges:
				ints[i] = ends.int(at, own)
			default:
				ints[i] = own
			}
		}
		if d.DType.Info().Float {
			d.DType.putFloats(buf, floats[:n])
		} else {
			d.DType.putInts(buf, ints[:n])
		}
		buf = buf[n*size:]
	}
}

// A randomFloat makes elements of a call, and keeps what is the same for all of them.
type randomFloat struct {
	op    RedOp
	ranks uint64
	some  uint64  // how many ranks have something to add, where not all can
	whole float64 // the largest small integer, whose sum over all ranks is exact, or 0
	real  float64 // the largest real number
	near  float64 // how far factors are from 1
}

func newRandomFloat(d *Buffers) *randomFloat {
	ranks, all := float64(d.Geo.Coll.Ranks), math.Ldexp(1, min(d.DType.Info().Mantissa, 24))
	f := &randomFloat{op: d.RedOp, ranks: uint64(d.Geo.Coll.Ranks), some: uint64(all), whole: math.Floor(all / ranks),
		real: min(1, 200/ranks), near: min(0.5, 2/ranks)}
	if d.rows {
		f.whole = min(f.whole, 8) // else the norm of a row drowns its other elements
	}
	return f
}

// of returns an element of a rank, from a hash that all ranks share and its own.
func (f *randomFloat) of(rank int, at, own uint64) float64 {
	unit := float64(int64(own>>11))/(1<<52) - 1 // in [-1, 1)
	exact := at%2 == 0
	switch {
	case f.op == Min || f.op == Max:
		if special := own >> 3 % 256; at%4 == 0 && int(special) < len(specials) {
			return specials[special]
		}
		return unit
	case f.op == Prod && exact:
		// The product of all ranks, and of any of them, must stay in range.
		if f.turn(rank, at) < 3 {
			return math.Copysign(2, unit)
		}
		return math.Copysign(1, unit)
	case f.op == Prod:
		return math.Copysign(1+unit*f.near, float64(own%3)-0.5)
	case !exact:
		return unit * f.real
	case f.whole > 0:
		return math.Round(unit * f.whole)
	case f.turn(rank, at) < f.some:
		return math.Copysign(1, unit)
	}
	return 0
}

// turn returns a number of a rank, another one at each index.
func (f *randomFloat) turn(rank int, at uint64) uint64 { return (uint64(rank) + at>>8) % f.ranks }

var specials = [...]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}
