package bitwise

import (
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/fifo"
)

// A held is what a chunk holds in an orderRun, and the step that made it there
// or on the rank that it was received from; of a leaf, -1.
type held struct {
	expr
	step int32
}

// An orderRun is a run of a program on expressions.
type orderRun struct {
	p     *either.Program
	w     *eval.Wiring
	mem   *ir.Memory
	exprs *exprs

	cell    []held
	message []int32           // of a step that sends: where in slab its message lies
	slab    []held            // the messages on their way
	free    map[int32][]int32 // by length, where unused room for messages is
}

func newOrderRun(p *either.Program) *orderRun {
	r := &orderRun{p: p, mem: p.Memory(), exprs: newExprs(p.Coll), message: make([]int32, len(p.Steps)),
		free: map[int32][]int32{}}
	r.cell = make([]held, r.mem.Len())
	for i := range r.cell {
		r.cell[i] = held{noExpr, -1}
	}
	for rank := range p.Coll.Ranks {
		for i := range p.Coll.InChunks(rank) {
			r.cell[r.mem.Cell(rank, ir.Input, i)] = held{r.exprs.leaf(rank, i), -1}
		}
	}
	return r
}

// at returns what an output chunk holds.
func (r *orderRun) at(place ir.Part) held {
	return r.cell[r.mem.Cell(int(place.Rank), ir.Output, int(place.Index))]
}

// exec runs all steps, in an order in which they may end.
func (r *orderRun) exec() {
	if r.p.OneSided != nil {
		r.moves()
		return
	}
	r.w = eval.Wire(r.p.Fifo)
	order, _ := r.w.Schedule(r.p.Fifo, ir.Unbounded, 1).Run()
	for _, i := range order {
		if r.p.Steps[i].Op != ir.Nop {
			r.step(i)
		}
	}
}

func (r *orderRun) step(i int32) {
	s, rank := &r.p.Steps[i], int(r.p.Blocks[r.w.Block[i]].Rank)
	info := s.Op.Info()
	var src, dst, in, out []held
	if info.ReadsSrc {
		src = r.cell[r.mem.Cell(rank, s.SrcBuf, int(s.Src)):]
	}
	if info.ReadsDst || info.Writes {
		dst = r.cell[r.mem.Cell(rank, s.DstBuf, int(s.Dst)):]
	}
	if info.Sends {
		r.message[i] = r.borrow(s.Count)
		out = r.slab[r.message[i]:]
	}
	if info.Receives {
		in = r.slab[r.message[r.w.Mate[i]]:]
	}
	open := info.ReadsDst && r.fuses(i, rank)
	for k := range int(s.Count) {
		var x held
		switch {
		case info.Reduces && info.Receives:
			x = held{r.exprs.sum(src[k].expr, in[k].expr, false), i}
		case info.Reduces:
			x = held{r.exprs.sum(dst[k].expr, src[k].expr, open), i}
		case info.Receives:
			x = in[k]
		default:
			x = src[k]
		}
		if info.Writes {
			dst[k] = x
		}
		if info.Sends {
			out[k] = x
		}
	}
	if info.Receives {
		r.free[s.Count] = append(r.free[s.Count], r.message[r.w.Mate[i]])
	}
}

// borrow returns where a message of n chunks may lie.
func (r *orderRun) borrow(n int32) int32 {
	if list := r.free[n]; len(list) > 0 {
		r.free[n] = list[:len(list)-1]
		return list[len(list)-1]
	}
	at := int32(len(r.slab))
	r.slab = append(r.slab, make([]held, n)...)
	return at
}

// fuses reports whether the executor does the reduction i together with the step
// after it, and so rounds no f16, bf16 or fp8 between the two. It ends chains
// at steps that divide, and where classes or memory forbid more than the
// runtimes look at.
func (r *orderRun) fuses(i int32, rank int) bool {
	if i+1 >= r.p.Blocks[r.w.Block[i]].Steps.End {
		return false
	}
	a, b := &r.p.Steps[i], &r.p.Steps[i+1]
	if !fifo.Chained(a, b) || a.Flags&ir.Final != 0 || a.Count != b.Count || a.Class != b.Class {
		return false
	}
	src, dst := r.mem.Cell(rank, b.SrcBuf, int(b.Src)), r.mem.Cell(rank, b.DstBuf, int(b.Dst))
	return max(src-dst, dst-src) >= int(b.Count)
}
