package codegen

import (
	"cmp"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/ir/fifo"
)

// Assemble freezes d, which passes have placed, ordered and synchronised, into
// a program. An instruction that waits for k > 1 flags gets k-1 nops before
// it, which carry one wait each; it carries the last itself. That shifts the
// steps of its block, so a wait names the step that the awaited instruction
// became. The result depends only on what d means, not on the order of its
// slices. An error is a fault of the passes. Final flags are set where one step
// makes each complete sum; a program without them cannot serve avg.
func Assemble(d *ir.InstDAG) (*fifo.Program, error) {
	a, err := assembled(d)
	if err != nil {
		return nil, err
	}
	a.markFinal()
	return a.program(), nil
}

// AssembleUnmarked is Assemble, but sets no Final flags: verify.CheckAndMark does, at less cost.
func AssembleUnmarked(d *ir.InstDAG) (*fifo.Program, error) {
	a, err := assembled(d)
	if err != nil {
		return nil, err
	}
	return a.program(), nil
}

func assembled(d *ir.InstDAG) (*assembler, error) {
	a := &assembler{d: d}
	for _, stage := range []func() error{a.layout, a.sequence, a.number} {
		if err := stage(); err != nil {
			return nil, err
		}
	}
	mid := len(d.Blocks) / 2
	ir.AtOnce(func() { a.emit(0, mid) }, func() { a.emit(mid, len(d.Blocks)) })
	a.closeChains()
	return a, nil
}

type assembler struct {
	d      *ir.InstDAG
	tbs    []ir.TB
	ranks  []ir.Range
	order  []int32 // instructions by block and step
	first  []int32 // of block b: order[first[b]:first[b+1]]
	step   []int32 // by instruction: its index among the steps of its block
	await  []bool  // by instruction: somebody waits for it
	steps  []ir.Step
	memory *ir.Memory // made when first needed
}

func fault(in *ir.Inst, h *ir.Header, format string, args ...any) error {
	var span diag.Span
	if in != nil {
		span = h.Span(in.Pos)
	}
	return diag.List{diag.New(diag.Internal, span, format, args...)}
}

// layout checks that blocks are sorted by rank and gives each rank its range.
func (a *assembler) layout() error {
	d := a.d
	a.tbs = make([]ir.TB, len(d.Blocks))
	a.ranks = make([]ir.Range, d.Coll.Ranks)
	rank := int32(0)
	for i, b := range d.Blocks {
		if b.Rank < rank || int(b.Rank) >= d.Coll.Ranks {
			return fault(nil, &d.Header, "assemble: block %d of rank %d is out of order", i, b.Rank)
		}
		for rank < b.Rank {
			a.ranks[rank].End = int32(i)
			rank++
			a.ranks[rank].First = int32(i)
		}
		a.tbs[i].Block = b
	}
	for ; int(rank) < len(a.ranks); rank++ {
		a.ranks[rank].End = int32(len(d.Blocks))
		if int(rank)+1 < len(a.ranks) {
			a.ranks[rank+1].First = int32(len(d.Blocks))
		}
	}
	return nil
}

// sequence sorts the instructions by block and step. Steps of a block must be
// 0, 1, 2, ... so that this is a counting sort.
func (a *assembler) sequence() error {
	d := a.d
	a.first = make([]int32, len(d.Blocks)+1)
	for i := range d.Insts {
		in := &d.Insts[i]
		if in.Block < 0 || int(in.Block) >= len(d.Blocks) || d.Blocks[in.Block].Rank != in.Rank {
			return fault(in, &d.Header, "assemble: instruction %d of rank %d is in no block of its rank", i, in.Rank)
		}
		a.first[in.Block+1]++
	}
	for b := range d.Blocks {
		a.first[b+1] += a.first[b]
	}
	a.order = make([]int32, len(d.Insts))
	for i := range a.order {
		a.order[i] = -1
	}
	for i := range d.Insts {
		in := &d.Insts[i]
		at := a.first[in.Block] + in.Step
		if in.Step < 0 || at >= a.first[in.Block+1] || a.order[at] >= 0 {
			return fault(in, &d.Header, "assemble: step %d of block %d is missing or taken twice", in.Step, in.Block)
		}
		a.order[at] = int32(i)
	}
	return nil
}

// number gives each instruction its final step, counting nops, and notes which
// instructions are awaited.
func (a *assembler) number() error {
	d := a.d
	a.step = make([]int32, len(d.Insts))
	a.await = make([]bool, len(d.Insts))
	total := int32(0)
	for b := range d.Blocks {
		begin := total
		for _, i := range a.order[a.first[b]:a.first[b+1]] {
			waits := d.Waits.Of(int(i))
			total += max(0, int32(len(waits))-1)
			a.step[i] = total - begin
			total++
			for _, w := range waits {
				if other := &d.Insts[w]; other.Rank != d.Insts[i].Rank || other.Block == d.Insts[i].Block {
					return fault(&d.Insts[i], &d.Header,
						"assemble: instruction %d waits for %d, which is not in another block of its rank", i, w)
				}
				a.await[w] = true
			}
		}
		a.tbs[b].Steps = ir.Range{First: begin, End: total}
	}
	a.steps = make([]ir.Step, total)
	return nil
}

// emit writes the steps of the blocks from first to end.
func (a *assembler) emit(first, end int) {
	d := a.d
	var waits []int32
	for b := first; b < end; b++ {
		steps := a.steps[a.tbs[b].Steps.First:a.tbs[b].Steps.First:a.tbs[b].Steps.End]
		base := a.ranks[d.Blocks[b].Rank].First
		for _, i := range a.order[a.first[b]:a.first[b+1]] {
			in := &d.Insts[i]
			s := ir.Step{Op: in.Op, SrcBuf: in.SrcBuf, DstBuf: in.DstBuf, Src: in.Src, Dst: in.Dst,
				Count: in.Count, Class: in.Class, DepBlock: -1, DepStep: -1, Pos: in.Pos}
			s.ClearUnused()
			if a.await[i] {
				s.Flags = ir.HasDep
			}
			waits = append(waits[:0], d.Waits.Of(int(i))...)
			if len(waits) > 1 {
				slices.SortFunc(waits, func(x, y int32) int {
					return cmp.Or(cmp.Compare(d.Insts[x].Block, d.Insts[y].Block), cmp.Compare(a.step[x], a.step[y]))
				})
			}
			for k, w := range waits {
				if k < len(waits)-1 {
					steps = append(steps, ir.Step{Op: ir.Nop, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf,
						DepBlock: d.Insts[w].Block - base, DepStep: a.step[w], Pos: in.Pos})
				} else {
					s.DepBlock, s.DepStep = d.Insts[w].Block-base, a.step[w]
				}
			}
			steps = append(steps, s)
		}
	}
}

// markFinal flags the steps that make complete sums, where one step makes each.
func (a *assembler) markFinal() {
	final, err := eval.FinalInsts(a.d)
	if err != nil {
		return // avg is not to be had
	}
	for _, i := range final {
		a.steps[a.tbs[a.d.Insts[i].Block].Steps.First+a.step[i]].Flags |= ir.Final
	}
}

// closeChains publishes a step that nobody awaits where a chain would change
// the result: a chain reads its destination once, moves the count of its last
// step for all, and writes once, so the steps must agree in count and none but
// the only one may read what the chain writes.
func (a *assembler) closeChains() {
	for b := range a.tbs {
		steps := a.steps[a.tbs[b].Steps.First:a.tbs[b].Steps.End]
		for i := 1; i < len(steps); i++ {
			s, next := &steps[i-1], &steps[i]
			if fifo.Chained(s, next) && (s.Count != next.Count || a.readsOwn(b, s) || a.readsOwn(b, next)) {
				s.Flags |= ir.HasDep
			}
		}
	}
}

// readsOwn reports whether the source of s, a step of block b, overlaps its destination.
func (a *assembler) readsOwn(b int, s *ir.Step) bool {
	if s.SrcBuf != s.DstBuf && (s.SrcBuf == ir.Scratch || s.DstBuf == ir.Scratch || !a.d.Coll.Inplace) {
		return false
	}
	if a.memory == nil {
		a.memory = a.d.Memory()
	}
	rank := int(a.tbs[b].Rank)
	gap := a.memory.Cell(rank, s.SrcBuf, int(s.Src)) - a.memory.Cell(rank, s.DstBuf, int(s.Dst))
	return max(gap, -gap) < int(s.Count)
}

func (a *assembler) program() *fifo.Program {
	channels := int32(0)
	for i := range a.tbs {
		channels = max(channels, a.tbs[i].Channel+1)
	}
	inplace := a.d.Coll.Inplace
	return &fifo.Program{Program: ir.Program{Header: a.d.Header, Scratch: a.d.Scratch, Even: a.d.Even,
		Rank: a.ranks, Blocks: a.tbs, Steps: a.steps, InPlace: inplace, OutOfPlace: !inplace}, Channels: int(channels)}
}
