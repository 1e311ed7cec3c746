package play

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/eval"
)

// A Change is a chunk that an operation of a frame writes.
type Change struct {
	Cell    int        // of Run.Memory
	Holds   eval.Value // afterwards
	Reduces bool
	Op, To  int   // the operation, and which of its destinations
	Chunk   int32 // of the operation's, from 0
}

// A Run is an algorithm that ran on symbolic chunks, frame by frame.
type Run struct {
	*Algorithm
	Memory  *ir.Memory
	Values  *eval.Values
	Start   []eval.Value // indexed by cell: before the first frame
	Cells   []eval.Value // and after the last
	Frames  [][]Change   // in the order of the operations
	FrameOf []int32      // of each operation
	base    []int        // where each scratch buffer begins
}

// RunOf runs x. An operation is in the first frame that comes after those whose values it reads or overwrites. All
// operations of a frame read what was there before the frame.
func RunOf(x *Algorithm) *Run {
	t := &Run{Algorithm: x, Memory: x.Memory(), Values: eval.NewValues(x.Coll)}
	t.Start = make([]eval.Value, t.Memory.Len())
	for i := range t.Start {
		t.Start[i] = eval.None
	}
	for r := range x.Coll.Ranks {
		for i := range x.Coll.InChunks(r) {
			t.Start[t.Memory.Cell(r, ir.Input, i)] = t.Values.Leaf(r, i)
		}
	}
	t.Cells = slices.Clone(t.Start)
	written, read := make([]int, len(t.Cells)), make([]int, len(t.Cells)) // the last frame that did, counted from 1
	t.base, _ = x.Bases()
	for i := range x.Ops {
		op := &x.Ops[i]
		frame := t.frameOf(op, written, read)
		if frame > len(t.Frames) {
			t.Frames = append(t.Frames, nil)
		}
		t.FrameOf = append(t.FrameOf, int32(frame-1))
		for k := range op.Count {
			value := t.sum(op, k, func(from int) { read[from] = max(read[from], frame) })
			for to := range op.Dests {
				c := Change{Cell: t.Cell(&op.Dests[to], k), Holds: value, Reduces: len(op.Sources) > 1, Op: i, To: to,
					Chunk: int32(k)}
				t.Cells[c.Cell], written[c.Cell] = value, frame
				t.Frames[frame-1] = append(t.Frames[frame-1], c)
			}
		}
	}
	return t
}

// frameOf returns the first frame that op may be in, given the last that wrote each cell and the last that read it.
func (t *Run) frameOf(op *Operation, written, read []int) int {
	frame := 1
	for k := range op.Count {
		for i := range op.Dests {
			to := t.Cell(&op.Dests[i], k)
			frame = max(frame, written[to]+1, read[to])
		}
		for i := range op.Sources {
			frame = max(frame, written[t.Cell(&op.Sources[i], k)]+1)
		}
	}
	return frame
}

// sum returns the sum of chunk k of op's sources. It calls reads with the cell of each.
func (t *Run) sum(op *Operation, k int, reads func(cell int)) (x eval.Value) {
	for i := range op.Sources {
		from := t.Cell(&op.Sources[i], k)
		reads(from)
		if i == 0 {
			x = t.Cells[from]
		} else {
			x = t.Values.Sum(x, t.Cells[from])
		}
	}
	return x
}

// Cell returns the cell of the k-th chunk from r on.
func (t *Run) Cell(r *ir.Ref, k int) int {
	if r.Buf >= ir.Scratch {
		return t.Memory.Cell(int(r.Rank), ir.Scratch, t.base[r.Buf-ir.Scratch]+int(r.Index)+k)
	}
	return t.Memory.Cell(int(r.Rank), r.Buf, int(r.Index)+k)
}

// mostParts is how many inputs of a sum are named.
const mostParts = 256

// Parts returns the inputs that x is a sum of, by index and rank, and whether these are all.
func (t *Run) Parts(x eval.Value) (parts []ir.Part, all bool) {
	if x == eval.None {
		return nil, true
	}
	for stack := []eval.Value{x}; len(stack) > 0; {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !top.IsSum() {
			parts = append(parts, t.Values.Part(top))
			continue
		}
		if len(parts) == mostParts {
			return parts, false
		}
		a, b := t.Values.Operands(top)
		stack = append(stack, b, a)
	}
	slices.SortFunc(parts, func(a, b ir.Part) int {
		if a.Index != b.Index {
			return int(a.Index - b.Index)
		}
		return int(a.Rank - b.Rank)
	})
	return parts, true
}

// Text says what x holds: 1:0 is chunk 0 of rank 1's input, and 0–2:0 the sum of chunk 0 of ranks 0, 1 and 2.
func (t *Run) Text(x eval.Value) string {
	parts, all := t.Parts(x)
	if !all {
		return fmt.Sprintf("a sum of %d", t.Values.Size(x))
	}
	var sums []string
	for len(parts) > 0 {
		n := 1
		for n < len(parts) && parts[n].Index == parts[0].Index {
			n++
		}
		sums = append(sums, fmt.Sprintf("%s:%d", t.ranksText(parts[:n]), parts[0].Index))
		parts = parts[n:]
	}
	return strings.Join(sums, " + ")
}

// ranksText names the ranks of parts, which are sorted: runs of three and more by their ends.
func (t *Run) ranksText(parts []ir.Part) string {
	var names []string
	for i := 0; i < len(parts); {
		n := 1
		for i+n < len(parts) && parts[i+n].Rank == parts[i].Rank+int32(n) {
			n++
		}
		switch {
		case n == t.Coll.Ranks && n > 1 && len(parts) == n:
			return "all"
		case n > 2:
			names = append(names, fmt.Sprintf("%d–%d", parts[i].Rank, parts[i+n-1].Rank))
		default:
			n = 1
			names = append(names, fmt.Sprint(parts[i].Rank))
		}
		i += n
	}
	return strings.Join(names, "+")
}

// A Place is a chunk that ranks have.
type Place struct {
	Buf   ir.Buf
	Index int
}

// Places lists what ranks have. In place it has the larger of input and output, and of the other what lies beyond that.
func (t *Run) Places() (list []Place) {
	c := t.Coll
	var most, sum [2]int
	for r := range c.Ranks {
		most[ir.Input], most[ir.Output] = max(most[ir.Input], c.InChunks(r)), max(most[ir.Output], c.OutChunks(r))
		sum[ir.Input], sum[ir.Output] = sum[ir.Input]+c.InChunks(r), sum[ir.Output]+c.OutChunks(r)
	}
	order := [2]ir.Buf{ir.Input, ir.Output}
	if c.Inplace && sum[ir.Output] > sum[ir.Input] {
		order = [2]ir.Buf{ir.Output, ir.Input}
	}
	for k, buf := range order {
		for i := range most[buf] {
			if k == 0 || !c.Inplace || t.beyond(order[0], buf, i) {
				list = append(list, Place{buf, i})
			}
		}
	}
	for s := range t.Scratch {
		for i := range t.Scratch[s].Chunks {
			list = append(list, Place{ir.Scratch + ir.Buf(s), i})
		}
	}
	return list
}

// beyond reports whether some rank has chunk i of buf elsewhere than in its buffer first.
func (t *Run) beyond(first, buf ir.Buf, i int) bool {
	for r := range t.Coll.Ranks {
		if i >= t.Has(r, buf) {
			continue
		}
		at, begin := t.Memory.Cell(r, buf, i), t.Memory.Cell(r, first, 0)
		if at < begin || at >= begin+t.Has(r, first) {
			return true
		}
	}
	return false
}

// At returns the cell of a place in rank's memory, or -1.
func (t *Run) At(rank int, c Place) int {
	if c.Index >= t.Has(rank, c.Buf) {
		return -1
	}
	return t.Cell(&ir.Ref{Rank: int32(rank), Buf: c.Buf, Index: int32(c.Index)}, 0)
}
