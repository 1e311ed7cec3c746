package play

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
)

// A meaning is what operations on chunks leave in the memory of all ranks, by runs of chunks.
type meaning struct {
	x      *Algorithm
	mem    *ir.Memory
	values *eval.Values
	cells  *eval.Cells
	base   []int
}

// meaningOf runs x on symbolic chunks. Each sees an operation before it is done; it may be nil.
func meaningOf(x *Algorithm, each func(m *meaning, op int32)) *meaning {
	m := &meaning{x: x, mem: x.Memory(), values: eval.NewValues(x.Coll)}
	m.base, _ = x.Bases()
	m.cells = eval.NewCells(m.mem.Len())
	m.cells.Fill(m.values, func(rank int) int { return m.mem.Cell(rank, ir.Input, 0) })
	var total eval.Total
	for i := range x.Ops {
		op := &x.Ops[i]
		if each != nil {
			each(m, int32(i))
		}
		total.Reset()
		for k := range op.Sources {
			total.Add(m.values, m.cells.Read(nil, m.cell(&op.Sources[k]), op.Count))
		}
		for k := range op.Dests {
			m.cells.Write(m.cell(&op.Dests[k]), op.Count, int32(i), total.Runs())
		}
	}
	return m
}

// cell returns the cell of the first chunk of r.
func (m *meaning) cell(r *ir.Ref) int {
	if r.Buf >= ir.Scratch {
		return m.mem.Cell(int(r.Rank), ir.Scratch, m.base[r.Buf-ir.Scratch]+int(r.Index))
	}
	return m.mem.Cell(int(r.Rank), r.Buf, int(r.Index))
}

// A History is how a chunk came to hold what it holds at the end.
type History struct {
	Holds string
	Must  string      // of an output: what it must hold
	Ops   []HistoryOp // those that wrote it, and what leads to the last of them, in their order
	Cut   bool        // there are more, before these
}

// A HistoryOp is an operation of a history.
type HistoryOp struct {
	Op          int32
	Holds       string // what it leaves
	Overwritten bool   // it wrote the chunk, and what it left is not in the end
}

// mostHistory bounds a history.
const mostHistory = 200

// HistoryOf returns the history of a chunk.
func HistoryOf(x *Algorithm, chunk ir.Ref) *History {
	from := make([][]int32, len(x.Ops)) // the operations that wrote what each reads
	var wrote []int32                   // those that wrote the chunk
	var target int
	m := meaningOf(x, func(m *meaning, i int32) {
		op := &x.Ops[i]
		target = m.cell(&chunk)
		for k := range op.Sources {
			first := m.cell(&op.Sources[k])
			for c := range op.Count {
				if _, by := m.cells.At(first + c); by >= 0 && !slices.Contains(from[i], by) {
					from[i] = append(from[i], by)
				}
			}
		}
		for k := range op.Dests {
			if at := m.cell(&op.Dests[k]); at <= target && target < at+op.Count {
				wrote = append(wrote, i)
				break
			}
		}
	})
	target = m.cell(&chunk)
	value, last := m.cells.At(target)
	h := &History{Holds: m.values.Describe(value)}
	if chunk.Buf == ir.Output {
		h.Must = m.values.DescribeWant(x.Coll.Want(int(chunk.Rank), int(chunk.Index)))
	}
	leads := leadsTo(from, last)
	ops := slices.Concat(wrote, leads)
	slices.Sort(ops)
	ops = slices.Compact(ops)
	if h.Cut = len(ops) > mostHistory; h.Cut {
		ops = ops[len(ops)-mostHistory:]
	}
	left := leftBy(x, ops)
	for _, i := range ops {
		h.Ops = append(h.Ops, HistoryOp{i, left[i], !slices.Contains(leads, i)})
	}
	return h
}

// leadsTo returns operation last, or none where that is -1, and all that wrote what it needs.
func leadsTo(from [][]int32, last int32) (list []int32) {
	if last < 0 {
		return nil
	}
	seen := map[int32]bool{last: true}
	list = []int32{last}
	for i := 0; i < len(list); i++ {
		for _, by := range from[list[i]] {
			if !seen[by] {
				seen[by] = true
				list = append(list, by)
			}
		}
	}
	return list
}

// leftBy returns what each of ops, which ascend, leaves.
func leftBy(x *Algorithm, ops []int32) map[int32]string {
	left := map[int32]string{}
	look := func(m *meaning, i int32) { // what the operation before left
		if _, asked := slices.BinarySearch(ops, i-1); asked {
			value, _ := m.cells.At(m.cell(&x.Ops[i-1].Dests[0]))
			left[i-1] = m.values.Describe(value)
		}
	}
	look(meaningOf(x, look), int32(len(x.Ops)))
	return left
}

// chunkName is a chunk as people name it.
var chunkName = regexp.MustCompile(`^(\d{1,9}):([A-Za-z_][A-Za-z0-9_]*)\[(\d{1,9})\]$`)

// IsChunk reports whether a text names a chunk: 2:output[1] is chunk 1 of rank 2's output.
func IsChunk(text string) bool { return chunkName.MatchString(text) }

// Find returns the chunk that a text names, for which IsChunk holds. Where there is none, what says what is not there,
// and where that is a buffer, names has those that are.
func (x *Algorithm) Find(text string) (r ir.Ref, what string, names []string) {
	part := chunkName.FindStringSubmatch(text)
	rank, _ := strconv.Atoi(part[1]) // of at most nine digits
	index, _ := strconv.Atoi(part[3])
	if rank >= x.Coll.Ranks {
		return r, fmt.Sprintf("there is no rank %d: the algorithm has %d", rank, x.Coll.Ranks), nil
	}
	names = []string{"input", "output"}
	for _, s := range x.Scratch {
		names = append(names, s.Name)
	}
	i := slices.Index(names, part[2])
	if i < 0 {
		return r, part[2], names
	}
	if n := x.Has(rank, ir.Buf(i)); index >= n {
		return r, fmt.Sprintf("%s of rank %d has %s, so no chunk %d", part[2], rank, diag.Counted(n, "chunk"), index), nil
	}
	return ir.Ref{Rank: int32(rank), Buf: ir.Buf(i), Index: int32(index)}, "", nil
}

// RefName names count chunks from r on as Find takes them.
func (x *Algorithm) RefName(r *ir.Ref, count int) string {
	if count == 1 {
		return fmt.Sprintf("%d:%s[%d]", r.Rank, x.BufName(r.Buf), r.Index)
	}
	return fmt.Sprintf("%d:%s[%d..%d]", r.Rank, x.BufName(r.Buf), r.Index, int(r.Index)+count)
}

// WhereText is a note of a loop or a call that an operation was made in, with the call's position.
func WhereText(n diag.Note) string {
	if n.Span.Line > 0 {
		return n.Text + ", " + n.Span.Pos.String()
	}
	return n.Text
}
