package eval

import (
	"slices"

	"mscclc/ir"
)

// Cells are memory in a symbolic run: what each cell holds, and which action wrote it last. Both are kept by runs.
type Cells struct {
	held    *ir.Runs
	value   []Value // of the first cell of a run
	written *ir.Runs
	writer  []int32 // of the first cell of a run that one action wrote, or -1
}

// NewCells returns n cells that nothing has written.
func NewCells(n int) *Cells {
	c := &Cells{held: ir.NewRuns(n), value: make([]Value, max(n, 1)), written: ir.NewRuns(n),
		writer: make([]int32, max(n, 1))}
	c.value[0], c.writer[0] = None, -1
	return c
}

// Len returns the number of cells.
func (c *Cells) Len() int { return len(c.value) }

// Fill lets the cells of all ranks' inputs, each of which begins at input(rank), hold what they hold in the beginning.
func (c *Cells) Fill(v *Values, input func(rank int) int) {
	for r := range v.coll.Ranks {
		if n := v.coll.InChunks(r); n > 0 {
			c.Write(input(r), n, -1, []Run{{v.Leaf(r, 0), int32(n)}})
		}
	}
}

// Read appends what n cells from cell on hold. Runs that go on with each other become one, also for who reads them
// next.
func (c *Cells) Read(to []Run, cell, n int) []Run {
	for at, end := cell, cell+n; at < end; {
		first, next := c.held.First(at), c.held.End(at)
		for next < end && c.value[next] == c.value[first].Plus(next-first) {
			c.held.Merge(next)
			next = c.held.End(next)
		}
		to = append(to, Run{c.value[first].Plus(at - first), int32(min(next, end) - at)})
		at = next
	}
	return to
}

// Write lets n cells from cell on, at least one, hold the runs of list, by an action.
func (c *Cells) Write(cell, n int, action int32, list []Run) {
	if first := c.held.Cut(cell + n); first >= 0 {
		c.value[cell+n] = c.value[first].Plus(cell + n - first)
	}
	c.held.Cut(cell)
	if n > 1 {
		c.held.Join(cell, cell+n)
	}
	c.value[cell] = list[0].Value
	for at, k := cell+int(list[0].Count), 1; k < len(list); k++ {
		c.held.Cut(at)
		c.value[at] = list[k].Value
		at += int(list[k].Count)
	}
	if first := c.written.Cut(cell + n); first >= 0 {
		c.writer[cell+n] = c.writer[first]
	}
	c.written.Cut(cell)
	if n > 1 {
		c.written.Join(cell, cell+n)
	}
	c.writer[cell] = action
}

// At returns what a cell holds and which action wrote it last, or -1.
func (c *Cells) At(cell int) (Value, int32) {
	first := c.held.First(cell)
	return c.value[first].Plus(cell - first), c.writer[c.written.First(cell)]
}

// Find returns the first of n cells from cell on, counted from there, of whose value and writer wrong says true, or -1.
// Of cells that are alike it asks once.
func (c *Cells) Find(cell, n int, wrong func(x Value, writer int32) bool) int {
	for at := cell; at < cell+n; at = min(c.held.End(at), c.written.End(at)) {
		if wrong(c.At(at)) {
			return at - cell
		}
	}
	return -1
}

// Later returns whether an action after another wrote one of n cells from cell on last.
func (c *Cells) Later(cell, n int, action int32) bool {
	for at := cell; at < cell+n; at = c.written.End(at) {
		if c.writer[c.written.First(at)] > action {
			return true
		}
	}
	return false
}

// outputs calls judge for every run of chunks of every output: what chunk index of rank holds, and what is wanted of it
// and of the count-1 after it (see Collective.Wants). Output gives the cell of a rank's first.
func (c *Cells) outputs(v *Values, output func(rank int) int,
	judge func(rank, index, count int, got Value, want ir.Want)) {
	var held []Run
	for r := range v.coll.Ranks {
		for i, out := 0, v.coll.OutChunks(r); i < out; {
			want, n := v.coll.Wants(r, i)
			held = c.Read(held[:0], output(r)+i, n)
			for _, run := range held {
				judge(r, i, int(run.Count), run.Value, want)
				want.Part.Index += run.Count
				i += int(run.Count)
			}
		}
	}
}

// Wrong calls report for every chunk of every output that does not hold what the collective wants; output gives the
// cell of the first of a rank's.
func (c *Cells) Wrong(v *Values, output func(rank int) int,
	report func(rank, index int, got Value, want ir.Want, writer int32)) {
	c.outputs(v, output, func(r, index, n int, x Value, w ir.Want) {
		if v.Matches(x, w) {
			return
		}
		for i := index; i < index+n; i++ {
			got, writer := c.At(output(r) + i)
			report(r, i, got, v.coll.Want(r, i), writer)
		}
	})
}

// Nothing reports whether some of list holds nothing.
func Nothing(list []Run) bool {
	return slices.ContainsFunc(list, func(r Run) bool { return r.Value.shape < 0 })
}
