package data

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"

	"mscclc/ir"
)

// patternElems is the period of a Pattern: a prime, so that no two offsets that a
// program could mix up, sums of few powers of two, are equal in it.
const patternElems = 262139

// A Pattern is data for runs of any size that is made and judged fast: each rank's
// input repeats patternElems random elements of its own, as New makes them. So
// the collective's results repeat too, and are computed once.
type Pattern struct {
	DType DType
	RedOp RedOp
	Ranks int

	elems  int      // of a period
	input  [][]byte // by rank, doubled, so that any run of a period is one slice
	sum    func() *expected
	twice  []byte // the sums' most likely bits, doubled
	poison []byte
}

// NewPattern makes the data of all ranks, for inputs of any length; the same seed gives the same data.
func NewPattern(ranks int, t DType, op RedOp, seed uint64) *Pattern {
	return NewPatternFor(patternElems, ranks, t, op, seed)
}

// NewPatternFor makes the data of NewPattern as far as inputs of up to most elements have it.
func NewPatternFor(most int64, ranks int, t DType, op RedOp, seed uint64) *Pattern {
	period := min(max(most, 1), patternElems)
	coll := &ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: 1, Inplace: true}
	d := &Buffers{Geo: NewGeometry(coll, period, t.Size()), DType: t, RedOp: op, seed: seed, poison: newPoison(seed),
		initial: make([][]byte, ranks)}
	for r := range d.initial {
		d.initial[r] = make([]byte, period*int64(t.Size()), 2*period*int64(t.Size()))
	}
	d.generate()
	p := &Pattern{DType: t, RedOp: op, Ranks: ranks, elems: int(period), poison: d.poison}
	for _, in := range d.initial {
		p.input = append(p.input, append(in, in...))
	}
	p.sum = sync.OnceValue(func() *expected {
		parts := make([]ir.Part, ranks)
		for r := range parts {
			parts[r].Rank = int32(r)
		}
		exp := d.expect(parts, period)
		p.twice = make([]byte, p.elems*t.Size())
		if exp.ints != nil {
			t.putInts(p.twice, exp.ints)
		} else {
			t.putFloats(p.twice, exp.value)
		}
		p.twice = append(p.twice, p.twice...)
		return exp
	})
	return p
}

// Poison fills buf with what stands in memory that nobody has written.
func (p *Pattern) Poison(buf []byte) {
	for at := 0; at < len(buf); {
		at += copy(buf[at:], p.poison)
	}
}

// Poisoned reports whether buf still is as Poison leaves it.
func (p *Pattern) Poisoned(buf []byte) bool {
	for at := 0; at < len(buf); at += len(p.poison) {
		n := min(len(p.poison), len(buf)-at)
		if !bytes.Equal(buf[at:at+n], p.poison[:n]) {
			return false
		}
	}
	return true
}

// Fill fills buf with a rank's input from element at on.
func (p *Pattern) Fill(buf []byte, rank int, at int64) {
	p.runs(buf, at, func(run []byte, phase int) { copy(run, p.input[rank][phase:]) })
}

// runs cuts buf, which begins with element at, into runs of at most a period, and
// says where in the period each begins, in bytes.
func (p *Pattern) runs(buf []byte, at int64, each func(run []byte, phase int)) {
	size := p.DType.Size()
	for len(buf) > 0 {
		n := min(len(buf), p.elems*size)
		each(buf[:n], int(at%int64(p.elems))*size)
		buf, at = buf[n:], at+int64(n/size)
	}
}

// CheckCopy compares got with a rank's input from element at on.
func (p *Pattern) CheckCopy(got []byte, rank int, at int64) (wrong int64) {
	return p.check(got, at, p.input[rank], nil)
}

// CheckSum compares got with the reduction of all ranks' inputs from element at
// on: integers bit for bit, floats within the bound of the reduction's own error.
func (p *Pattern) CheckSum(got []byte, at int64) (wrong int64) {
	exp := p.sum()
	return p.check(got, at, p.twice, exp)
}

// check compares got with likely, run by run on all processors; where bits differ
// and exp has values, these decide.
func (p *Pattern) check(got []byte, at int64, likely []byte, exp *expected) int64 {
	const step = 1 << 14 // elements that one goroutine compares at once
	size := p.DType.Size()
	elems := int64(len(got) / size)
	var next, wrong atomic.Int64
	var wg sync.WaitGroup
	for range min(int64(runtime.GOMAXPROCS(0)), (elems+step-1)/step) {
		wg.Go(func() {
			for {
				first := next.Add(step) - step
				if first >= elems {
					return
				}
				last := min(first+step, elems)
				p.runs(got[first*int64(size):last*int64(size)], at+first, func(run []byte, phase int) {
					if !bytes.Equal(run, likely[phase:phase+len(run)]) {
						wrong.Add(p.compare(run, likely[phase:], phase/size, exp))
					}
				})
			}
		})
	}
	wg.Wait()
	return wrong.Load()
}

// compare counts the elements of run that are wrong; the first is element first of
// the period.
func (p *Pattern) compare(run, likely []byte, first int, exp *expected) (wrong int64) {
	size := p.DType.Size()
	for i := range len(run) / size {
		if bytes.Equal(run[i*size:(i+1)*size], likely[i*size:(i+1)*size]) {
			continue
		}
		if exp == nil || exp.ints != nil {
			wrong++
			continue
		}
		k := (first + i) % p.elems
		if !near(p.DType.Float(run, i), exp.value[k], exp.bound[k]) {
			wrong++
		}
	}
	return wrong
}

// CheckParts compares got with the reduction of some inputs, each from an element of its own on.
func (p *Pattern) CheckParts(got []byte, parts []Source) (wrong int64) {
	f, size := newFold(p.DType, p.RedOp, len(parts)), p.DType.Size()
	operands, likely := make([][]byte, len(parts)), make([]byte, runElems*size)
	exp := expected{ints: make([]uint64, runElems)}
	if p.DType.Info().Float {
		exp = expected{value: make([]float64, runElems), bound: make([]float64, runElems)}
	}
	for at := int64(0); len(got) > 0; {
		n := min(len(got)/size, runElems, p.elems)
		for i, s := range parts {
			operands[i] = p.input[s.Rank][int((s.At+at)%int64(p.elems))*size:]
		}
		want, run := exp.part(0, int64(n)), got[:n*size]
		f.run(operands, 0, want)
		if want.ints != nil {
			p.DType.putInts(likely, want.ints)
		} else {
			p.DType.putFloats(likely, want.value)
		}
		if !bytes.Equal(run, likely[:n*size]) {
			wrong += p.compare(run, likely, 0, &want)
		}
		got, at = got[n*size:], at+int64(n)
	}
	return wrong
}

// A Share is a run of elements of a rank's output, and what it must be: the
// reduction of all ranks' inputs from element At on, or the input of rank From, or the reduction of Parts.
type Share struct {
	First, Elems int64
	Sum          bool
	From         int
	At           int64
	Parts        []Source // or nil
}

// A Source is the input of a rank from an element on.
type Source struct {
	Rank int
	At   int64
}

// Shares returns what a rank's output must hold at the end of a call, piece by piece, of a custom collective chunk by
// chunk. It leaves out what may hold anything. Where nobody knows what a program computes, ok is false.
func (g Geometry) Shares(rank int) (list []Share, ok bool) {
	c := *g.Coll
	switch c.Kind {
	case ir.Opaque:
		return nil, false
	case ir.Custom:
		return g.customShares(rank), true
	}
	c.Chunks = 1 // chunks of a piece lie one after the other
	for i := range c.OutChunks(rank) {
		w := c.Want(rank, i)
		if !w.Any {
			list = append(list, Share{First: int64(i) * g.Elems, Elems: g.Elems, Sum: w.Sum, From: int(w.Part.Rank),
				At: int64(w.Part.Index) * g.Elems})
		}
	}
	return list, true
}

// customShares is Shares of a custom collective.
func (g Geometry) customShares(rank int) (list []Share) {
	for i := range g.Coll.OutChunks(rank) {
		w, elems := g.Coll.Want(rank, i), g.Length(g.Coll.Class(i))
		if w.Any || elems == 0 {
			continue
		}
		s := Share{First: g.Offset(i), Elems: elems, From: int(w.Part.Rank), At: g.Offset(int(w.Part.Index))}
		for _, part := range w.List {
			s.Parts = append(s.Parts, Source{int(part.Rank), g.Offset(int(part.Index))})
		}
		list = append(list, s)
	}
	return list
}

// Period returns the bytes after which a rank's input repeats.
func (p *Pattern) Period() int64 { return int64(p.elems) * int64(p.DType.Size()) }
