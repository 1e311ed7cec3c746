package lang

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file holds the chunks while the program runs and makes operations.

// An expansion is the memory of all ranks on symbolic chunks, and the
// operations made so far. A chunk's value is a number: 0 where nothing was
// written, poison where something failed, 1 + k for the k-th chunk of all
// inputs, and from then on the reductions in the order in which they were
// made. Nothing carries a list of contributions: result.go flattens the final
// values once.
type expansion struct {
	coll    *ir.Collective
	scratch []ir.ScratchDecl
	bufs    int     // input, output and the scratch buffers
	place   []place // of each rank, bufs of them
	write   []span32
	cells   []cell
	leaf    []int32 // the value of each rank's first input chunk
	nodes   []node  // of value firstNode + i
	first   int32

	ops   slab[ir.ChunkOp]
	srcs  slab[ir.Ref]
	from  []int32 // where the operands of the operation being made lie
	spent int64   // operands beyond the first, and copies
	spans []diag.Span

	declaration diag.Span // the line that says the collective
	declared    int32     // its number in spans
	ways        int32
	hints       []ir.Hint
	hintAt      map[ir.Hint]int32
	strays      bool // something wrote to input that is not also output
}

// A place is where a buffer of a rank lies among the cells.
type place struct{ cell, chunks int32 }

// span32 is the part of a rank's input that is also output.
type span32 struct{ from, to int32 }

// A cell is one chunk-sized place of memory: what it holds, and the number of
// the operation that wrote it.
type cell struct{ value, writer int32 }

const poison = -1

// A node is a reduction of two values.
type node struct{ a, b int32 }

// begin lays out memory for coll and fills the inputs.
func (p *expansion) begin(coll *ir.Collective, scratch []ir.ScratchDecl) {
	p.coll, p.scratch, p.bufs, p.ways = coll, scratch, 2+len(scratch), 1
	p.hints = []ir.Hint{ir.NoHint}
	p.spans = append(p.spans, p.declaration)
	p.declared = int32(len(p.spans) - 1)
	p.place = make([]place, coll.Ranks*p.bufs)
	p.write = make([]span32, coll.Ranks)
	p.leaf = make([]int32, coll.Ranks+1)
	perRank := int32(0)
	for i := range scratch {
		perRank += int32(scratch[i].Chunks)
	}
	all := make([]int32, coll.Ranks)
	for r := range all {
		all[r] = perRank
	}
	mem := ir.NewMemory(coll, all)
	p.cells = make([]cell, mem.Len())
	next := int32(1)
	for r := range coll.Ranks {
		in, out := coll.InChunks(r), coll.OutChunks(r)
		places := p.place[r*p.bufs : (r+1)*p.bufs]
		places[0] = place{int32(mem.Cell(r, ir.Input, 0)), int32(in)}
		places[1] = place{int32(mem.Cell(r, ir.Output, 0)), int32(out)}
		at := int32(mem.Cell(r, ir.Scratch, 0))
		for i := range scratch {
			places[2+i] = place{at, int32(scratch[i].Chunks)}
			at += int32(scratch[i].Chunks)
		}
		if coll.Inplace {
			lo := max(0, places[1].cell-places[0].cell)
			hi := min(int32(in), places[1].cell+int32(out)-places[0].cell)
			p.write[r] = span32{min(lo, hi), hi}
		}
		p.leaf[r] = next
		for i := range in {
			p.cells[places[0].cell+int32(i)].value = next + int32(i)
		}
		next += int32(in)
	}
	p.leaf[coll.Ranks] = next
	p.first = next
}

// at returns the place of a buffer.
func (p *expansion) at(rank int32, b ir.Buf) place { return p.place[int(rank)*p.bufs+int(b)] }

// A slab is a long list that grows without moving what is in it.
type slab[T any] struct {
	full [][]T
	last []T
	n    int // elements of all
}

// slabLen is the length of all but the first slab, which is for small files.
const slabLen = 1 << 14

// next adds an element.
func (s *slab[T]) next() *T {
	if len(s.last) == cap(s.last) {
		s.grow()
	}
	s.last = s.last[:len(s.last)+1]
	s.n++
	return &s.last[len(s.last)-1]
}

func (s *slab[T]) grow() {
	n := slabLen
	if s.last == nil {
		n = 64
	} else {
		s.full = append(s.full, s.last)
	}
	s.last = make([]T, 0, n)
}

// get returns element i.
func (s *slab[T]) get(i int) *T {
	for _, f := range s.full {
		if i < len(f) {
			return &f[i]
		}
		i -= len(f)
	}
	return &s.last[i]
}

// all returns the elements as one slice.
func (s *slab[T]) all() []T {
	list := make([]T, 0, s.n)
	for _, f := range s.full {
		list = append(list, f...)
	}
	return append(list, s.last...)
}
