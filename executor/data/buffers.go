package data

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
)

// Buffers are the memory of one call on all ranks: inputs of random elements, outputs filled with poison, and guard
// bytes before and after each buffer. It also keeps what the inputs were.
type Buffers struct {
	Geo   Geometry
	DType DType
	RedOp RedOp

	seed    uint64
	edges   bool   // elements are from the edges of the type
	rows    bool   // sums are rows that an epilogue finishes: floats are small
	poison  []byte // what stands in memory that nobody has written, over and over
	rank    []rankData
	initial [][]byte // each rank's input before the run
}

// rankData are one rank's buffers. Each guarded slice has guard bytes more at
// both ends; in place there is one, of which input and output are parts.
type rankData struct {
	guarded       [][]byte
	input, output []byte
	at            int64 // where in the first of guarded the input begins
}

// guard is how many bytes stand before and after a buffer.
const guard = 256

// New makes the buffers of a call and fills them. The same seed gives the same elements.
func New(geo Geometry, t DType, op RedOp, seed uint64) *Buffers {
	return NewFor(allRanks(geo.Coll.Ranks), geo, t, op, seed)
}

// allRanks returns the numbers of all n ranks.
func allRanks(n int) []int {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}

// NewFor makes the buffers of some ranks. Only these may be asked for and checked. What a check needs of other ranks'
// inputs it makes anew.
func NewFor(ranks []int, geo Geometry, t DType, op RedOp, seed uint64) *Buffers {
	return newBuffers(ranks, &Buffers{Geo: geo, DType: t, RedOp: op, seed: seed}, t)
}

// newBuffers makes the memory of d, of which the fields before it are set. outputs have elements of type out.
func newBuffers(ranks []int, d *Buffers, out DType) *Buffers {
	geo, size, outSize := d.Geo, int64(d.DType.Size()), int64(out.Size())
	d.rank, d.initial = make([]rankData, geo.Coll.Ranks), make([][]byte, geo.Coll.Ranks)
	d.poison = newPoison(d.seed)
	for i := range d.rank {
		in, out, inAt, outAt, mem := geo.Buffers(i)
		if !slices.Contains(ranks, i) {
			continue
		}
		d.initial[i] = make([]byte, in*size)
		r := &d.rank[i]
		if geo.Coll.Inplace {
			all := r.buffer(mem * size)
			r.input, r.output = all[inAt*size:(inAt+in)*size], all[outAt*size:(outAt+out)*size]
		} else {
			r.input, r.output = r.buffer(in*size), r.buffer(out*outSize)
		}
		r.at = guard + inAt*size
	}
	d.generate()
	d.Reset()
	return d
}

// newPoison returns what stands in memory that nobody has written.
func newPoison(seed uint64) []byte {
	poison := make([]byte, 4096)
	for i := range poison {
		poison[i] = byte(mix(^seed - uint64(i)))
	}
	return poison
}

// buffer makes a buffer of n bytes between guards.
func (r *rankData) buffer(n int64) []byte {
	all := make([]byte, n+2*guard)
	r.guarded = append(r.guarded, all)
	return all[guard : guard+n : guard+n]
}

// Reset makes the buffers as they were before the first run.
func (d *Buffers) Reset() {
	type buffer struct {
		all, input []byte
		at         int64
	}
	var buffers []buffer
	var lengths []int64
	for i := range d.rank {
		for k, all := range d.rank[i].guarded {
			b := buffer{all: all}
			if k == 0 {
				b.input, b.at = d.initial[i], d.rank[i].at
			}
			buffers, lengths = append(buffers, b), append(lengths, int64(len(all)))
		}
	}
	spread(lengths, someBytes, func(i int, first, end int64) {
		b := &buffers[i]
		from := max(first, min(end, b.at))
		to := max(from, min(end, b.at+int64(len(b.input))))
		d.spoil(b.all[:from], first)
		d.spoil(b.all[:end], to)
		if from < to {
			copy(b.all[from:to], b.input[from-b.at:])
		}
	})
}

// spoil fills a buffer with poison from byte `at` on.
func (d *Buffers) spoil(buf []byte, at int64) {
	for period := int64(len(d.poison)); at < int64(len(buf)); {
		at += int64(copy(buf[at:], d.poison[at%period:]))
	}
}

// Memory returns the buffers as a call takes them, indexed by rank. In place, input has each rank's one memory and
// output is nil.
func (d *Buffers) Memory() (input, output [][]byte) {
	for i := range d.rank {
		r := &d.rank[i]
		if d.Geo.Coll.Inplace && len(r.guarded) == 0 {
			input = append(input, nil)
		} else if d.Geo.Coll.Inplace {
			input = append(input, r.guarded[0][guard:len(r.guarded[0])-guard])
		} else {
			input, output = append(input, r.input), append(output, r.output)
		}
	}
	return input, output
}

// Initial returns a rank's input as it was before the first run. The caller must not change it.
func (d *Buffers) Initial(rank int) []byte { return d.initial[rank] }

// Output returns a rank's output, which is part of what Memory returns.
func (d *Buffers) Output(rank int) []byte { return d.rank[rank].output }

// IsPoison reports whether v is what 8 bytes hold that nobody has written.
func (d *Buffers) IsPoison(v uint64) bool {
	for at := 0; at < len(d.poison); at += 8 {
		if v == binary.LittleEndian.Uint64(d.poison[at:]) {
			return true
		}
	}
	return false
}

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
	Of        string // what else than an output of the call: an operand of an epilogue, by its chunks of output
	Rank      int
	Chunk     int   // of the output
	Element   int64 // of the chunk
	Got, Want string
}

func (w *Wrong) String() string {
	return fmt.Sprintf("rank %d %s chunk %d element %d is %s, not %s", w.Rank, cmp.Or(w.Of, "output"), w.Chunk, w.Element,
		w.Got, w.Want)
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
func (d *Buffers) Check() Report {
	return d.CheckRanks(allRanks(len(d.rank)))
}

// CheckRanks looks at some ranks only.
func (d *Buffers) CheckRanks(ranks []int) Report {
	var rep Report
	for _, i := range ranks {
		d.checkGuards(i, &rep)
	}
	d.checkInputs(ranks, &rep)
	d.check(d.claims(ranks), &rep)
	return rep
}

func (d *Buffers) checkGuards(rank int, rep *Report) {
	for b, all := range d.rank[rank].guarded {
		for _, from := range [2]int{0, len(all) - guard} {
			for j := from; j < from+guard; j++ {
				if all[j] != d.poison[j%len(d.poison)] {
					rep.Broken = append(rep.Broken, fmt.Sprintf("rank %d: byte %d of buffer %d, of %d, was written", rank, j-guard,
						b, len(all)-2*guard))
					break
				}
			}
		}
	}
}

// checkInputs compares what is input and not output with what it was.
func (d *Buffers) checkInputs(ranks []int, rep *Report) {
	lengths, changed := make([]int64, len(ranks)), make([]atomic.Bool, len(ranks))
	for i, rank := range ranks {
		lengths[i] = int64(len(d.initial[rank]))
	}
	spread(lengths, someBytes, func(i int, first, end int64) {
		r, was := &d.rank[ranks[i]], d.initial[ranks[i]]
		begin, over := d.both(ranks[i])
		for _, part := range [2][2]int64{{first, min(end, begin)}, {max(first, over), end}} {
			if part[0] < part[1] && !bytes.Equal(r.input[part[0]:part[1]], was[part[0]:part[1]]) {
				changed[i].Store(true)
			}
		}
	})
	for i, rank := range ranks {
		if changed[i].Load() {
			rep.Changed = append(rep.Changed, rank)
		}
	}
}

// both returns the part of a rank's input that is output too, in bytes.
func (d *Buffers) both(rank int) (first, end int64) {
	if !d.Geo.Coll.Inplace {
		return 0, 0
	}
	in, out, inAt, outAt, _ := d.Geo.Buffers(rank)
	size := int64(d.DType.Size())
	return max(0, min(in, outAt-inAt)) * size, max(0, min(in, outAt+out-inAt)) * size
}
