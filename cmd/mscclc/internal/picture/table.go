package picture

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// A table's measures, in pixels; and how many ranks, chunks of a rank, steps and cells are drawn at most.
const (
	cellHeight  = 30
	letterWidth = 7.0 // of what a chunk holds
	leastCell   = 34
	mostCell    = 160
	smallLetter = 6.3 // of what is below
	tableWidth  = 1300
	mostWide    = 2400 // the cells of a rank
	panelGap    = 26
	headHeight  = 50 // of a panel: its name, the buffers and the chunks
	rankWidth   = 46
	tableRanks  = 16
	tableChunks = 32
	tableSteps  = 64
	tableCells  = 8192 // in all panels
)

// A tableColumn is a chunk that a rank has.
type tableColumn struct {
	buf   ir.Buf
	index int
}

// A drawnTable draws an algorithm as papers do: a panel for each step, in which rows are ranks and columns are chunks.
type drawnTable struct {
	*tableRun
	out     *bufio.Writer
	columns []tableColumn
	ranks   int // that are drawn
	shown   int // steps that are drawn
	width   int // of a cell
	notes   []string
}

// DrawTable draws d, the algorithm of a file of a name, as SVG. It returns what is drawn, and fails if d is too large.
func DrawTable(w io.Writer, name string, d *drawing) (drawn string, err error) {
	if err := d.check(name); err != nil {
		return "", err
	}
	t := &drawnTable{tableRun: runTable(d), out: bufio.NewWriter(w)}
	t.choose()
	t.measure()
	t.Draw()
	drawn = fmt.Sprintf("a drawing of %s, with %s and %s of each", diag.Counted(t.shown, "step"), diag.Counted(t.ranks, "rank"),
		diag.Counted(len(t.columns), "chunk"))
	return drawn, t.out.Flush()
}

// choose takes what is drawn, and notes what is left out.
func (t *drawnTable) choose() {
	ranks := t.d.Coll.Ranks
	all := t.chunks()
	t.ranks, t.columns = min(ranks, tableRanks), all[:min(len(all), tableChunks)]
	t.shown = min(len(t.steps), tableSteps, tableCells/max(1, t.ranks*len(t.columns))-1)
	t.notes = append(t.notes, "Rows are ranks, columns are chunks. A cell says what its chunk holds: "+
		"0+1:2 is the sum of chunk 2 of the inputs of ranks 0 and 1, all:2 of all ranks.",
		"Below it is where a step took the data: ← 3 is the same chunk of rank 3.")
	if t.d.Coll.Inplace {
		t.notes = append(t.notes, "The call is in place: input and output are one memory, and are drawn once.")
	}
	t.notes = append(t.notes, t.d.notes...)
	var out []string
	for _, x := range []struct {
		what       string
		drawn, all int
	}{{"ranks", t.ranks, ranks}, {"chunks of a rank", len(t.columns), len(all)}, {"steps", t.shown, len(t.steps)}} {
		if x.drawn < x.all {
			out = append(out, fmt.Sprintf("the last %d of %d %s", x.all-x.drawn, x.all, x.what))
		}
	}
	if len(out) > 0 {
		t.notes = append([]string{"Left out: " + strings.Join(out, "; ") + "."}, t.notes...)
	}
}

// chunks lists what ranks have. In place it has the larger of input and output, and of the other what lies beyond that.
func (t *drawnTable) chunks() (list []tableColumn) {
	c := t.d.Coll
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
				list = append(list, tableColumn{buf, i})
			}
		}
	}
	for s := range t.d.scratch {
		for i := range t.d.scratch[s].Chunks {
			list = append(list, tableColumn{ir.Scratch + ir.Buf(s), i})
		}
	}
	return list
}

// has returns how many chunks rank has in buf.
func (t *drawnTable) has(rank int, buf ir.Buf) int {
	switch buf {
	case ir.Input:
		return t.d.Coll.InChunks(rank)
	case ir.Output:
		return t.d.Coll.OutChunks(rank)
	}
	return t.d.scratch[buf-ir.Scratch].Chunks
}

// beyond reports whether some rank has chunk i of buf elsewhere than in its buffer first.
func (t *drawnTable) beyond(first, buf ir.Buf, i int) bool {
	for r := range t.d.Coll.Ranks {
		if i >= t.has(r, buf) {
			continue
		}
		at, begin := t.mem.Cell(r, buf, i), t.mem.Cell(r, first, 0)
		if at < begin || at >= begin+t.has(r, first) {
			return true
		}
	}
	return false
}

// at returns the cell of a column in rank's memory, or -1.
func (t *drawnTable) at(rank int, c tableColumn) int {
	if c.index >= t.has(rank, c.buf) {
		return -1
	}
	return t.cell(&ir.Ref{Rank: int32(rank), Buf: c.buf, Index: int32(c.index)}, 0)
}

// measure makes cells as wide as what is drawn in them needs.
func (t *drawnTable) measure() {
	drawn := map[int]bool{}
	most := 0.
	fit := func(s string, letter float64) { most = max(most, float64(utf8.RuneCountInString(s))*letter+8) }
	for r := range t.ranks {
		for _, c := range t.columns {
			if at := t.at(r, c); at >= 0 {
				drawn[at] = true
				fit(t.Text(t.start[at]), letterWidth)
			}
		}
	}
	for _, step := range t.steps[:t.shown] {
		for i := range step {
			if drawn[step[i].cell] {
				fit(t.Text(step[i].holds), letterWidth)
				fit(t.from(&step[i]), smallLetter)
			}
		}
	}
	of := map[ir.Buf]int{} // the columns of a buffer, which have room for its name together
	for _, c := range t.columns {
		of[c.buf]++
	}
	for _, c := range t.columns {
		fit(t.bufferName(c.buf), letterWidth/float64(of[c.buf]))
	}
	t.width = min(max(leastCell, int(most)), mostCell, mostWide/max(1, len(t.columns)))
}
