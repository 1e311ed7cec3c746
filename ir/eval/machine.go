package eval

import "mscclc/ir"

// A Machine is the memory of all ranks in a symbolic run, and runs one action after the other on it, by runs of chunks.
type Machine struct {
	Values *Values
	Coll   *ir.Collective
	Mem    *ir.Memory

	// Read is called at the first chunk of an action's operands that nothing has
	// written, Class at the first whose class is not the action's. Where Class is
	// nil, classes are not looked at. Both get the action's id.
	Read  func(id int32, rank int, b ir.Buf, index int)
	Class func(id int32, rank int, b ir.Buf, index int)

	// Made, where not nil, is called with what an action that reduces has made. The runs are valid during the call.
	Made func(id int32, results []Run)

	// Folded, where not nil, is called with each operand of an action that reduces, numbered from 0: once for each rank of
	// an operand of all ranks. The runs are valid during the call.
	Folded func(id int32, operand int, runs []Run)

	cells   *Cells
	classes *Classes // of what scratch holds, nil before anything needs it
	first   []Run    // scratch of Exec
	second  []Run
	sums    []Run
	total   Total // of an operation or step of several sources
	pool    messagePool
}

// An Action is what one instruction or step does to its rank's memory.
type Action struct {
	Op             ir.Op
	SrcBuf, DstBuf ir.Buf
	Rank           int32
	Src, Dst       int32
	Count, Class   int32
}

// NewMachine returns the memory of c before anything has run: every rank's
// input holds its leaves, and all else nothing.
func NewMachine(c *ir.Collective, mem *ir.Memory) *Machine {
	m := &Machine{Values: NewValues(c), Coll: c, Mem: mem, cells: NewCells(mem.Len())}
	m.cells.Fill(m.Values, func(rank int) int { return mem.Cell(rank, ir.Input, 0) })
	return m
}

// Exec runs a. It takes the message in where a receives, and returns what a sends, where it does, which is valid until
// the next call. Buffers and indices must be in range.
func (m *Machine) Exec(id int32, a *Action, in []Run) (out []Run) {
	info := a.Op.Info()
	src, dst, n := 0, 0, int(a.Count)
	if n <= 0 {
		return nil
	}
	if info.ReadsSrc {
		src = m.Mem.Cell(int(a.Rank), a.SrcBuf, int(a.Src))
		m.first = m.operand(m.first[:0], id, a, a.SrcBuf, a.Src, src)
		out = m.first
	}
	if info.Writes || info.ReadsDst {
		dst = m.Mem.Cell(int(a.Rank), a.DstBuf, int(a.Dst))
	}
	if info.ReadsDst {
		m.second = m.operand(m.second[:0], id, a, a.DstBuf, a.Dst, dst)
		in = m.second
	}
	switch {
	case info.Receives && info.ReadsSrc || info.ReadsDst:
		if m.Folded != nil {
			m.Folded(id, 0, out)
			m.Folded(id, 1, in)
		}
		m.sums = m.Values.SumRuns(m.sums[:0], out, in)
		out = m.sums
	case info.Receives:
		out = in
	}
	if info.Writes {
		m.cells.Write(dst, n, id, out)
		m.setClass(id, a, dst)
	}
	if info.Reduces && m.Made != nil {
		m.Made(id, out)
	}
	return out
}

// SumRuns appends the sums of a and b, which are equally long, to to.
func (v *Values) SumRuns(to, a, b []Run) []Run {
	x, y := a[0], b[0]
	for {
		n := min(x.Count, y.Count)
		to = joined(to, Run{v.Sum(x.Value, y.Value), n})
		if x = x.from(n); x.Count == 0 {
			if a = a[1:]; len(a) == 0 {
				return to
			}
			x = a[0]
		}
		if y = y.from(n); y.Count == 0 {
			b = b[1:]
			y = b[0]
		}
	}
}

// from returns r without its first n chunks.
func (r Run) from(n int32) Run { return Run{r.Value.Plus(int(n)), r.Count - n} }

// joined appends r to list, as part of the last run where it goes on with that.
func joined(list []Run, r Run) []Run {
	if last := len(list) - 1; last >= 0 && list[last].Value.Plus(int(list[last].Count)) == r.Value {
		list[last].Count += r.Count
		return list
	}
	return append(list, r)
}

// unwritten reports whether a cell holds nothing because nothing has written it.
func unwritten(x Value, writer int32) bool { return x.shape < 0 && writer < 0 }

// operand appends what an operand of a holds, which begins at index of b, in cell, and reports what is wrong with it.
func (m *Machine) operand(to []Run, id int32, a *Action, b ir.Buf, index int32, cell int) []Run {
	to = m.cells.Read(to, cell, int(a.Count))
	if m.Read != nil && Nothing(to) {
		if k := m.cells.Find(cell, int(a.Count), unwritten); k >= 0 { // else it was reported of what wrote it
			m.Read(id, int(a.Rank), b, int(index)+k)
		}
	}
	if m.Class == nil {
		return to
	}
	if k := m.unlike(a, b, index); k < int(a.Count) {
		m.Class(id, int(a.Rank), b, int(index)+k)
	}
	return to
}

// At returns what chunk index of a buffer holds and which action wrote it
// last, or -1.
func (m *Machine) At(rank int, b ir.Buf, index int) (Value, int32) {
	return m.cells.At(m.Mem.Cell(rank, b, index))
}

// unlike returns the first chunk of an operand of a, which begins at index of b, whose class is not the action's, or
// the number of its chunks.
func (m *Machine) unlike(a *Action, b ir.Buf, index int32) int {
	switch {
	case b < ir.Scratch:
		if m.Coll.Class(int(index)) != m.Coll.Class(int(a.Class)) {
			return 0
		}
		return int(a.Count)
	case m.classes == nil:
		m.classes = NewClasses(m.Coll, m.Mem.Len())
	}
	return m.classes.Alike(m.Mem.Cell(int(a.Rank), b, int(index)), int(a.Count), int(a.Class))
}

// setClass notes the classes of what a wrote, which begins in cell.
func (m *Machine) setClass(id int32, a *Action, cell int) {
	switch {
	case m.Class == nil:
	case a.DstBuf >= ir.Scratch:
		if m.classes == nil {
			m.classes = NewClasses(m.Coll, m.Mem.Len())
		}
		m.classes.Set(cell, int(a.Count), int(a.Class))
	case m.unlike(a, a.DstBuf, a.Dst) == 0:
		m.Class(id, int(a.Rank), a.DstBuf, int(a.Dst))
	}
}

// output gives the cell of rank's first chunk of output.
func (m *Machine) output(rank int) int { return m.Mem.Cell(rank, ir.Output, 0) }

// Wrong calls report for every chunk of every output that does not hold what
// the collective wants.
func (m *Machine) Wrong(report func(rank, index int, got Value, want ir.Want, writer int32)) {
	m.cells.Wrong(m.Values, m.output, report)
}
