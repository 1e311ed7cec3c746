package picture

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/eval"
)

// A tableWrite is a chunk that a step of the table writes.
type tableWrite struct {
	cell    int        // of ir.Memory
	holds   eval.Value // afterwards
	reduces bool
	op, to  int   // the operation, and which of its destinations
	chunk   int32 // of the op's, from 0
}

// A tableRun is an algorithm that ran on symbolic chunks, step by step.
type tableRun struct {
	d      *drawing
	mem    *ir.Memory
	values *eval.Values
	base   []int          // where each scratch buffer begins
	start  []eval.Value   // indexed by cell: before the first step
	cells  []eval.Value   // and after the last
	steps  [][]tableWrite // by step, in the file's order
}

// runTable runs d. An operation is in the first step that comes after those whose values it reads or overwrites. All
// operations of a step read what was there before the step.
func runTable(d *drawing) *tableRun {
	t := &tableRun{d: d, mem: d.memory(), values: eval.NewValues(d.Coll)}
	t.start = make([]eval.Value, t.mem.Len())
	for i := range t.start {
		t.start[i] = eval.None
	}
	for r := range d.Coll.Ranks {
		for i := range d.Coll.InChunks(r) {
			t.start[t.mem.Cell(r, ir.Input, i)] = t.values.Leaf(r, i)
		}
	}
	t.cells = slices.Clone(t.start)
	written, read := make([]int, len(t.cells)), make([]int, len(t.cells)) // the last step that did, counted from 1
	t.base, _ = d.base()
	for i := range d.ops {
		op := &d.ops[i]
		step := t.stepOf(op, written, read)
		if step > len(t.steps) {
			t.steps = append(t.steps, nil)
		}
		for k := range op.count {
			x := t.sum(op, k, func(from int) { read[from] = max(read[from], step) })
			for to := range op.dests {
				w := tableWrite{cell: t.cell(&op.dests[to], k), holds: x, reduces: len(op.sources) > 1, op: i, to: to,
					chunk: int32(k)}
				t.cells[w.cell], written[w.cell] = x, step
				t.steps[step-1] = append(t.steps[step-1], w)
			}
		}
	}
	return t
}

// stepOf returns the first step that op may be in, given the last that wrote each cell and the last that read it.
func (t *tableRun) stepOf(op *drawnOp, written, read []int) int {
	step := 1
	for k := range op.count {
		for i := range op.dests {
			to := t.cell(&op.dests[i], k)
			step = max(step, written[to]+1, read[to])
		}
		for i := range op.sources {
			step = max(step, written[t.cell(&op.sources[i], k)]+1)
		}
	}
	return step
}

// sum returns the sum of chunk k of op's sources. It calls reads with the cell of each.
func (t *tableRun) sum(op *drawnOp, k int, reads func(cell int)) (x eval.Value) {
	for i := range op.sources {
		from := t.cell(&op.sources[i], k)
		reads(from)
		if i == 0 {
			x = t.cells[from]
		} else {
			x = t.values.Sum(x, t.cells[from])
		}
	}
	return x
}

// cell returns the cell of the k-th chunk from r on.
func (t *tableRun) cell(r *ir.Ref, k int) int {
	if r.Buf >= ir.Scratch {
		return t.mem.Cell(int(r.Rank), ir.Scratch, t.base[r.Buf-ir.Scratch]+int(r.Index)+k)
	}
	return t.mem.Cell(int(r.Rank), r.Buf, int(r.Index)+k)
}

// mostParts is how many inputs of a sum are named.
const mostParts = 256

// Text says what x holds: 1:0 is chunk 0 of rank 1's input, and 0–2:0 the sum of chunk 0 of ranks 0, 1 and 2.
func (t *tableRun) Text(x eval.Value) string {
	if x == eval.None {
		return ""
	}
	var parts []ir.Part
	for stack := []eval.Value{x}; len(stack) > 0; {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !top.IsSum() {
			parts = append(parts, t.values.Part(top))
			continue
		}
		if len(parts) == mostParts {
			return fmt.Sprintf("a sum of %d", t.values.Size(x))
		}
		a, b := t.values.Operands(top)
		stack = append(stack, b, a)
	}
	slices.SortFunc(parts, func(a, b ir.Part) int {
		if a.Index != b.Index {
			return int(a.Index - b.Index)
		}
		return int(a.Rank - b.Rank)
	})
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
func (t *tableRun) ranksText(parts []ir.Part) string {
	var names []string
	for i := 0; i < len(parts); {
		n := 1
		for i+n < len(parts) && parts[i+n].Rank == parts[i].Rank+int32(n) {
			n++
		}
		switch {
		case n == t.d.Coll.Ranks && n > 1 && len(parts) == n:
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

// from says where the sources of a write are, but for the chunk that it adds to: the rank where it is another, and the
// chunk where it is not the one of the same buffer and index.
func (t *tableRun) from(w *tableWrite) string {
	op := &t.d.ops[w.op]
	to := &op.dests[w.to]
	var names []string
	for _, s := range op.sources {
		same := s.Buf == to.Buf && s.Index == to.Index
		chunk := fmt.Sprintf("%s[%d]", t.bufName(s.Buf), s.Index+w.chunk)
		switch {
		case t.cell(&s, 0) == t.cell(to, 0): // in place, input may be output
		case same:
			names = append(names, fmt.Sprint(s.Rank))
		case s.Rank == to.Rank:
			names = append(names, chunk)
		default:
			names = append(names, fmt.Sprintf("%d:%s", s.Rank, chunk))
		}
	}
	if len(names) > 2 {
		return fmt.Sprintf("← %d chunks", len(names))
	}
	return "← " + strings.Join(names, ", ")
}

func (t *tableRun) bufName(b ir.Buf) string {
	if b >= ir.Scratch {
		return t.d.scratch[b-ir.Scratch].Name
	}
	return b.String()
}
