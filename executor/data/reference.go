// This file computes a collective directly, with none of the executor's parts:
// integers exactly, floats in double precision with a bound for what rounding
// may have done to each element (fold.go).

package data

import (
	"bytes"
	"fmt"
	"math"
	"sync"

	"mscclc/ir"
)

// expected is what the elements of a reduced chunk must be: ints, or values
// from which a result may differ by at most bound.
type expected struct {
	ints         []uint64
	value, bound []float64
}

// part are elements [first, end) of expected ones.
func (e *expected) part(first, end int64) expected {
	if e.ints != nil {
		return expected{ints: e.ints[first:end]}
	}
	return expected{value: e.value[first:end], bound: e.bound[first:end]}
}

// chunk returns what a rank's input chunk held before the run.
func (d *Buffers) chunk(p ir.Part, elems int64) []byte {
	at, size := d.Geo.Offset(int(p.Index)), int64(d.DType.Size())
	return d.initial[p.Rank][at*size : (at+elems)*size]
}

// stretch is elements [first, end) of what an input chunk of any rank held before the run.
func (d *Buffers) stretch(p ir.Part, first, end int64) []byte {
	at, size := d.Geo.Offset(int(p.Index)), int64(d.DType.Size())
	if in := d.initial[p.Rank]; in != nil {
		return in[(at+first)*size : (at+end)*size]
	}
	buf := make([]byte, (end-first)*size)
	d.random(buf, int(p.Rank), at+first)
	return buf
}

// expect reduces parts, element by element.
func (d *Buffers) expect(parts []ir.Part, elems int64) *expected {
	exp := &expected{}
	if d.DType.Info().Float {
		exp.value, exp.bound = make([]float64, elems), make([]float64, elems)
	} else {
		exp.ints = make([]uint64, elems)
	}
	f, operands := newFold(d.DType, d.RedOp, len(parts)), d.operands(parts, elems)
	spread([]int64{elems}, someElems, func(_ int, first, end int64) {
		for ; first < end; first += runElems {
			f.run(operands, first, exp.part(first, min(first+runElems, end)))
		}
	})
	return exp
}

func (d *Buffers) operands(parts []ir.Part, elems int64) [][]byte {
	operands := make([][]byte, len(parts))
	for i, p := range parts {
		operands[i] = d.chunk(p, elems)
	}
	return operands
}

// FirstInt returns the first element of a chunk that holds what is wanted; the call's elements are integers.
func (d *Buffers) FirstInt(want ir.Want) uint64 {
	parts, _ := d.parts(want)
	return d.expect(parts, 1).ints[0]
}

// A claim is what some chunks of outputs must all be: the reduction of some parts, or a copy of one.
type claim struct {
	parts  []ir.Part
	copied bool
	elems  int64
	of     []claimant
}

// A claimant is an output chunk. Those that are looked at are in order of place, which is a rank's, and index.
type claimant struct{ place, rank, index int }

func (x claimant) before(y claimant) bool {
	return x.place < y.place || x.place == y.place && x.index < y.index
}

// parts returns the parts that make what is wanted; copied says that it is a copy of the only one.
func (d *Buffers) parts(want ir.Want) (list []ir.Part, copied bool) {
	switch {
	case want.Sum:
		for r := range d.Geo.Coll.Ranks {
			list = append(list, ir.Part{Rank: int32(r), Index: want.Part.Index})
		}
		return list, false
	case want.List != nil:
		return want.List, false
	}
	return []ir.Part{want.Part}, true
}

// claim returns the claim of a chunk, which wants something.
func (d *Buffers) claim(x claimant, want ir.Want) claim {
	c := claim{elems: d.Geo.Length(d.Geo.Coll.Class(x.index)), of: []claimant{x}}
	c.parts, c.copied = d.parts(want)
	return c
}

// claims returns the claims of some ranks' outputs. What many must have is computed once.
func (d *Buffers) claims(ranks []int) (list []claim) {
	sums := map[int32]int{}
	for place, rank := range ranks {
		for index := range d.Geo.Coll.OutChunks(rank) {
			x, want := claimant{place, rank, index}, d.Geo.Coll.Want(rank, index)
			if want.Any {
				continue
			}
			if want.Sum {
				if at, ok := sums[want.Part.Index]; ok {
					list[at].of = append(list[at].of, x)
					continue
				}
				sums[want.Part.Index] = len(list)
			}
			list = append(list, d.claim(x, want))
		}
	}
	return list
}

// A findings gathers what is wrong, of which it keeps what comes first.
type findings struct {
	mu  sync.Mutex
	rep *Report
	at  claimant // First's
}

// add reports a chunk that has wrong elements, with the text of the first of them. of is Wrong.Of.
func (f *findings) add(of string, at claimant, wrong, element int64, say func() (got, want string)) {
	if wrong == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rep.Wrong += wrong
	if f.rep.First == nil || at.before(f.at) || at == f.at && element < f.rep.First.Element {
		got, want := say()
		f.at, f.rep.First = at, &Wrong{Of: of, Rank: at.rank, Chunk: at.index, Element: element, Got: got, Want: want}
	}
}

// check compares outputs with what is claimed of them.
func (d *Buffers) check(list []claim, rep *Report) {
	found := &findings{rep: rep}
	lengths := make([]int64, len(list))
	for i := range list {
		lengths[i] = list[i].elems
		rep.Checked += list[i].elems * int64(len(list[i].of))
	}
	spread(lengths, someElems, func(i int, first, end int64) {
		for ; first < end; first += someElems { // no more is made of other processes' inputs at once
			last := min(first+someElems, end)
			operands := make([][]byte, len(list[i].parts))
			for k, p := range list[i].parts {
				operands[k] = d.stretch(p, first, last)
			}
			if list[i].copied {
				d.checkCopy(&list[i], operands[0], first, last, found)
			} else {
				d.checkFold(&list[i], operands, first, last, found)
			}
		}
	})
}

// CheckChunk compares one chunk of a rank's output with what the collective wants there.
func (d *Buffers) CheckChunk(rank, index int) (rep Report) {
	if want := d.Geo.Coll.Want(rank, index); !want.Any {
		d.check([]claim{d.claim(claimant{rank: rank, index: index}, want)}, &rep)
	}
	return rep
}

// output is elements [first, end) of an output chunk.
func (d *Buffers) output(x claimant, first, end int64) []byte {
	at, size := d.Geo.Offset(x.index), int64(d.DType.Size())
	return d.rank[x.rank].output[(at+first)*size : (at+end)*size]
}

// checkCopy compares elements [first, end) of chunks with what was copied.
func (d *Buffers) checkCopy(x *claim, was []byte, first, end int64, found *findings) {
	size := d.DType.Size()
	for _, at := range x.of {
		got := d.output(at, first, end)
		if bytes.Equal(got, was) {
			continue
		}
		wrong, least := int64(0), -1
		for i := range len(got) / size {
			if !bytes.Equal(got[i*size:(i+1)*size], was[i*size:(i+1)*size]) {
				if wrong++; least < 0 {
					least = i
				}
			}
		}
		found.add("", at, wrong, first+int64(least), func() (string, string) {
			return fmt.Sprintf("%x", got[least*size:(least+1)*size]), fmt.Sprintf("%x", was[least*size:(least+1)*size])
		})
	}
}

// checkFold compares elements [first, end) run by run, every one with all the chunks that must be the reduction of
// operands.
func (d *Buffers) checkFold(x *claim, operands [][]byte, first, end int64, found *findings) {
	f, exp := newFold(d.DType, d.RedOp, len(operands)), newRun(d.DType)
	var room [8 * runElems]byte
	for begin := first; first < end; first += runElems {
		last := min(first+runElems, end)
		want, likely := exp.part(0, last-first), room[:0]
		if f.run(operands, first-begin, want); want.ints != nil {
			likely = room[:(last-first)*int64(d.DType.Size())]
			d.DType.putInts(likely, want.ints)
		}
		for _, at := range x.of {
			got := d.output(at, first, last)
			if bytes.Equal(got, likely) {
				continue
			}
			wrong, least := d.compare(got, &want)
			found.add("", at, wrong, first+int64(least), func() (string, string) { return d.differ(got, &want, least) })
		}
	}
}

// newRun has room for what a run of elements must be.
func newRun(t DType) *expected {
	if t.Info().Float {
		return &expected{value: make([]float64, runElems), bound: make([]float64, runElems)}
	}
	return &expected{ints: make([]uint64, runElems)}
}

// compare counts which elements of a run are wrong, and says which is the first.
func (d *Buffers) compare(got []byte, exp *expected) (wrong int64, first int) {
	differs := func(i int) {
		if wrong++; wrong == 1 {
			first = i
		}
	}
	if exp.ints != nil {
		var is [runElems]uint64
		d.DType.ints(is[:len(exp.ints)], got)
		for i, want := range exp.ints {
			if is[i] != want {
				differs(i)
			}
		}
		return wrong, first
	}
	var is [runElems]float64
	d.DType.floats(is[:len(exp.value)], got)
	for i, want := range exp.value {
		if g := is[i]; g != want && !near(g, want, exp.bound[i]) {
			differs(i)
		}
	}
	return wrong, first
}

// near reports whether got may be the result where want is, within a bound. A NaN on one side only
// compares false.
func near(got, want, bound float64) bool {
	return got == want || math.Abs(got-want) <= bound || got != got && want != want || math.IsInf(bound, 1)
}

// differ shows an element of a run that is wrong.
func (d *Buffers) differ(got []byte, exp *expected, i int) (is, want string) {
	if exp.ints != nil {
		return fmt.Sprintf("%#x", d.DType.Int(got, i)), fmt.Sprintf("%#x", exp.ints[i])
	}
	return fmt.Sprint(d.DType.Float(got, i)), fmt.Sprintf("%v ± %g", exp.value[i], exp.bound[i])
}
