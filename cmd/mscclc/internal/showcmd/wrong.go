package showcmd

import (
	"fmt"
	"io"
	"text/tabwriter"

	"mscclc/ir"
	"mscclc/ir/eval"
)

// A meaning is what operations on chunks leave in the memory of all ranks.
type meaning struct {
	c      *ir.ChunkDAG
	mem    *ir.Memory
	values *eval.Values
	cells  *eval.Cells
	base   []int
}

// meaningOf runs c on symbolic chunks. Each sees an operation before it is done, with what it makes; it may be nil.
func meaningOf(c *ir.ChunkDAG, each func(m *meaning, op int32)) *meaning {
	m := &meaning{c: c, mem: ir.NewMemory(c.Coll, c.ScratchChunks()), values: eval.NewValues(c.Coll),
		base: c.ScratchBase()}
	m.cells = eval.NewCells(m.mem.Len())
	m.cells.Fill(m.values, func(rank int) int { return m.mem.Cell(rank, ir.Input, 0) })
	var total eval.Total
	for i := range c.Ops {
		op := &c.Ops[i]
		if each != nil {
			each(m, int32(i))
		}
		total.Reset()
		for _, src := range c.Sources(op) {
			total.Add(m.values, m.cells.Read(nil, m.cell(&src), int(op.Count)))
		}
		m.cells.Write(m.cell(&op.Dst), int(op.Count), int32(i), total.Runs())
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

// mostDetails is how many wrong chunks are described one by one.
const mostDetails = 64

// writeWrong writes a table of the outputs of c, rank by chunk, and says of those that are wrong what they hold.
func writeWrong(w io.Writer, c *ir.ChunkDAG) error {
	m := meaningOf(c, nil)
	m.values.Limit = 1 << 34
	type chunk struct{ rank, index int }
	marks, details, wrong := map[chunk]string{}, []string{}, 0
	m.cells.Wrong(m.values, func(rank int) int { return m.mem.Cell(rank, ir.Output, 0) },
		func(rank, index int, got eval.Value, want ir.Want, by int32) {
			wrong++
			marks[chunk{rank, index}] = m.mark(got, want)
			if len(details) >= mostDetails {
				return
			}
			text := fmt.Sprintf("output[%d] of rank %d must hold %s, but %s", index, rank, m.values.DescribeWant(want),
				m.values.Differs(got, want))
			if by >= 0 {
				text += fmt.Sprintf("; operation %d wrote it, %v", by+1, c.Span(c.Ops[by].Pos).Pos)
			}
			details = append(details, text)
		})
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	chunks := 0
	for r := range c.Coll.Ranks {
		chunks = max(chunks, c.Coll.OutChunks(r))
	}
	fmt.Fprint(t, "output")
	for i := range chunks {
		fmt.Fprintf(t, "\t%d", i)
	}
	for r := range c.Coll.Ranks {
		fmt.Fprintf(t, "\nrank %d", r)
		for i := range c.Coll.OutChunks(r) {
			mark := marks[chunk{r, i}]
			if mark == "" {
				mark = "."
			}
			fmt.Fprintf(t, "\t%s", mark)
		}
	}
	fmt.Fprintln(t)
	t.Flush() // whose error the next write has too
	fmt.Fprintf(w, "\n%d wrong: - lacks inputs, + has some twice, x holds others, 0 holds nothing; . is right\n", wrong)
	for _, text := range details {
		fmt.Fprintln(w, text)
	}
	if n := wrong - len(details); n > 0 {
		fmt.Fprintf(w, "and %d more\n", n)
	}
	return nil
}

// mark returns how a chunk is wrong.
func (m *meaning) mark(got eval.Value, want ir.Want) string {
	if got == eval.None {
		return "0"
	}
	switch lacks, twice, sum := m.values.Unequal(got, want); {
	case !sum:
		return "x"
	case lacks != nil && twice == nil:
		return "-"
	case twice != nil && lacks == nil:
		return "+"
	}
	return "x"
}
