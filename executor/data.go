package executor

import (
	"bytes"
	"fmt"
	"math"
)

// A Data is the buffers of one call: inputs of random data, outputs of poison,
// guards before and behind every buffer, and what the inputs were.
type Data struct {
	Geo   Geometry
	DType DType
	RedOp RedOp

	seed    uint64
	poison  []byte // what stands in memory that nobody has written, over and over
	rank    []rankData
	initial [][]byte // each rank's input before the run
}

// rankData are one rank's buffers. Each guarded slice has guard bytes more at
// both ends; in place there is one, of which input and output are parts.
type rankData struct {
	guarded       [][]byte
	input, output []byte
}

// guard is how many bytes stand before and behind a buffer.
const guard = 256

// NewData makes the buffers of a call and fills them; the same seed gives the
// same data.
func NewData(geo Geometry, t DType, op RedOp, seed uint64) *Data {
	d := &Data{Geo: geo, DType: t, RedOp: op, seed: seed, rank: make([]rankData, geo.Coll.Ranks), initial: make([][]byte, geo.Coll.Ranks)}
	size := int64(t.Size())
	d.poison = make([]byte, 4096)
	for i := range d.poison {
		d.poison[i] = byte(mix(^seed - uint64(i)))
	}
	for i := range d.rank {
		r := &d.rank[i]
		in, out, inAt, outAt, mem := geo.Buffers(i)
		if geo.Coll.Inplace {
			all := r.buffer(mem * size)
			r.input, r.output = all[inAt*size:(inAt+in)*size], all[outAt*size:(outAt+out)*size]
		} else {
			r.input, r.output = r.buffer(in*size), r.buffer(out*size)
		}
		d.initial[i] = make([]byte, in*size)
		d.generate(i)
	}
	d.Reset()
	return d
}

// buffer makes a buffer of n bytes between guards.
func (r *rankData) buffer(n int64) []byte {
	all := make([]byte, n+2*guard)
	r.guarded = append(r.guarded, all)
	return all[guard : guard+n : guard+n]
}

// Reset makes the buffers as they were before the first run.
func (d *Data) Reset() {
	for i := range d.rank {
		r := &d.rank[i]
		for _, all := range r.guarded {
			for at := 0; at < len(all); {
				at += copy(all[at:], d.poison)
			}
		}
		copy(r.input, d.initial[i])
	}
}

// Args are the buffers as Run takes them.
func (d *Data) Args() Args {
	a := Args{DType: d.DType, RedOp: d.RedOp, Elems: d.Geo.Elems}
	for i := range d.rank {
		r := &d.rank[i]
		if d.Geo.Coll.Inplace {
			a.Input = append(a.Input, r.guarded[0][guard:len(r.guarded[0])-guard])
		} else {
			a.Input, a.Output = append(a.Input, r.input), append(a.Output, r.output)
		}
	}
	return a
}

// mix is a hash of 64 bits (splitmix64's).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// generate makes a rank's input. Integers are any bits. Of floats, the elements
// at one index of all ranks are either real numbers, whose sum is rounded, or
// small integers, whose sum must be exact; min and max also meet infinities,
// zeros of both signs and NaN.
func (d *Data) generate(rank int) {
	buf, info := d.initial[rank], d.DType.Info()
	for i := range len(buf) / info.Size {
		at := mix(d.seed + uint64(i)) // of all ranks
		own := mix(at ^ uint64(rank)<<32)
		if !info.Float {
			for b := range info.Size {
				buf[i*info.Size+b] = byte(own >> (8 * b))
			}
			continue
		}
		d.DType.PutFloat(buf, i, d.float(rank, at, own))
	}
}

// float is an element of a rank, from a hash that all ranks share and its own.
func (d *Data) float(rank int, at, own uint64) float64 {
	ranks, info := float64(d.Geo.Coll.Ranks), d.DType.Info()
	unit := float64(int64(own>>11))/(1<<52) - 1 // in [-1, 1)
	exact := at%2 == 0
	switch d.RedOp {
	case Min, Max:
		if special := own >> 3 % 256; at%4 == 0 && int(special) < len(specials) {
			return specials[special]
		}
		return unit
	case Prod:
		// The product of all ranks, and of any of them, must stay in range.
		if exact {
			if (uint64(rank)+at>>8)%uint64(ranks) < 3 {
				return math.Copysign(2, unit)
			}
			return math.Copysign(1, unit)
		}
		return math.Copysign(1+unit*min(0.5, 2/ranks), float64(own%3)-0.5)
	}
	if !exact {
		return unit * min(1, 200/ranks)
	}
	whole := math.Ldexp(1, min(info.Mantissa, 24))
	if ranks <= whole {
		return math.Round(unit * math.Floor(whole/ranks))
	}
	if float64((uint64(rank)+at>>8)%uint64(ranks)) < whole {
		return math.Copysign(1, unit)
	}
	return 0
}

var specials = [...]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}

// A Report is what Check found.
type Report struct {
	Checked int64 // elements
	Wrong   int64 // elements of outputs that are not what they should be
	First   *Wrong
	Broken  []string // guards that were written, the first byte of each
	Changed []int    // ranks whose input was modified where it is not output too
}

// A Wrong is an element that is not what it should be.
type Wrong struct {
	Rank      int
	Chunk     int   // of the output
	Element   int64 // of the chunk
	Got, Want string
}

func (w *Wrong) String() string {
	return fmt.Sprintf("rank %d output chunk %d element %d is %s, not %s", w.Rank, w.Chunk, w.Element, w.Got, w.Want)
}

// Err is nil where nothing is wrong.
func (r *Report) Err() error {
	if r.Wrong > 0 {
		return fmt.Errorf("%d of %d elements are wrong: %v", r.Wrong, r.Checked, r.First)
	}
	if len(r.Broken) > 0 {
		return fmt.Errorf("%s (%d such)", r.Broken[0], len(r.Broken))
	}
	if len(r.Changed) > 0 {
		return fmt.Errorf("rank %d: the input was modified (on %d ranks)", r.Changed[0], len(r.Changed))
	}
	return nil
}

// Check compares every output with the collective computed directly, and looks
// at the guards and at inputs that are not outputs.
func (d *Data) Check() Report {
	ranks := make([]int, len(d.rank))
	for i := range ranks {
		ranks[i] = i
	}
	return d.CheckRanks(ranks)
}

// CheckRanks looks at some ranks only.
func (d *Data) CheckRanks(ranks []int) Report {
	var rep Report
	sums := map[int]*expected{}
	for _, i := range ranks {
		d.checkGuards(i, &rep)
		d.checkInput(i, &rep)
		for c := range d.Geo.Coll.OutChunks(i) {
			d.checkChunk(i, c, sums, &rep)
		}
	}
	return rep
}

func (d *Data) checkGuards(rank int, rep *Report) {
	for b, all := range d.rank[rank].guarded {
		for _, from := range [2]int{0, len(all) - guard} {
			for j := from; j < from+guard; j++ {
				if all[j] != d.poison[j%len(d.poison)] {
					rep.Broken = append(rep.Broken, fmt.Sprintf("rank %d: byte %d of buffer %d, of %d, was written", rank, j-guard, b, len(all)-2*guard))
					break
				}
			}
		}
	}
}

// checkInput compares what is input and not output with what it was.
func (d *Data) checkInput(rank int, rep *Report) {
	r, was := &d.rank[rank], d.initial[rank]
	first, end := int64(0), int64(0) // the part of input that is output too
	if d.Geo.Coll.Inplace {
		in, out, inAt, outAt, _ := d.Geo.Buffers(rank)
		size := int64(d.DType.Size())
		first = max(0, min(in, outAt-inAt)) * size
		end = max(0, min(in, outAt+out-inAt)) * size
	}
	for _, part := range [2][2]int64{{0, first}, {end, int64(len(was))}} {
		if part[0] < part[1] && !bytes.Equal(r.input[part[0]:part[1]], was[part[0]:part[1]]) {
			rep.Changed = append(rep.Changed, rank)
			return
		}
	}
}
