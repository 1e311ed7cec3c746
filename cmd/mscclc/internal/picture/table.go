package picture

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
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

// The colours of cells: of those that a step wrote, by whether it copies or reduces, and of the others.
const (
	copiedColour  = "#cfe8f9"
	reducedColour = "#ffcf70"
	keptColour    = "#ffffff"
	emptyColour   = "#f0f0f0"
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

// beyond says whether some rank has chunk i of buf elsewhere than in its buffer first.
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

// at is the cell of a column in rank's memory, or -1.
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

// cut shortens s to what a cell has room for.
func (t *drawnTable) cut(s string, letter float64) string {
	room := int(float64(t.width-6) / letter)
	if r := []rune(s); len(r) > room {
		return string(r[:room-1]) + "…"
	}
	return s
}

// Draw draws the table.
func (t *drawnTable) Draw() {
	wide, high := rankWidth+len(t.columns)*t.width, headHeight+t.ranks*cellHeight
	across := min(max(1, (tableWidth+panelGap)/(wide+panelGap)), t.shown+1)
	down := (t.shown + across) / across
	top := 24 + (len(t.notes)+1)*lineHeight + 16
	const margin = 16
	svgHead(t.out, max(2*margin+across*(wide+panelGap)-panelGap, 860), top+down*(high+panelGap))
	c := t.d.Coll
	svgText(t.out, margin, 20, ` font-size="14"`,
		fmt.Sprintf("%s: %v of %s in %s", t.d.Name, c.Kind, diag.Counted(c.Ranks, "rank"), diag.Counted(len(t.steps), "step")))
	y := 24
	for _, s := range t.notes {
		y += lineHeight
		svgText(t.out, margin, y, "", s)
	}
	t.legend(margin, y+lineHeight+4)
	cells := t.start
	for step := range t.shown + 1 {
		var writes []tableWrite
		name := "start"
		if step > 0 {
			writes = t.steps[step-1]
			name = fmt.Sprintf("step %d", step)
		}
		wrote := map[int]*tableWrite{}
		for i := range writes {
			w := &writes[i]
			cells[w.cell], wrote[w.cell] = w.holds, w
		}
		t.panel(margin+step%across*(wide+panelGap), top+step/across*(high+panelGap), name, cells, wrote)
	}
	fmt.Fprintln(t.out, "</svg>")
}

func (t *drawnTable) legend(x, y int) {
	for _, l := range [][2]string{{copiedColour, "copied in this step"}, {reducedColour, "reduced in this step"},
		{keptColour, "as before"}, {emptyColour, "holds nothing"}} {
		fmt.Fprintf(t.out, `<rect x="%d" y="%d" width="14" height="11" fill="%s" stroke="#888"/>`+"\n", x, y-9, l[0])
		svgText(t.out, x+19, y, "", l[1])
		x += 160
	}
}

// panel draws the memory after a step.
func (t *drawnTable) panel(x, y int, name string, cells []eval.Value, wrote map[int]*tableWrite) {
	svgText(t.out, x, y+12, ` font-size="12" font-weight="bold"`, name)
	for k, c := range t.columns {
		left := x + rankWidth + k*t.width
		if k == 0 || t.columns[k-1].buf != c.buf {
			svgText(t.out, left+4, y+28, ` font-style="italic"`, t.bufferName(c.buf))
		}
		svgText(t.out, left+t.width/2, y+44, middleOf+` fill="#555"`, fmt.Sprint(c.index))
	}
	for r := range t.ranks {
		top := y + headHeight + r*cellHeight
		svgText(t.out, x+rankWidth-5, top+19, rightOf, fmt.Sprintf("rank %d", r))
		for k, c := range t.columns {
			if at := t.at(r, c); at >= 0 {
				t.box(x+rankWidth+k*t.width, top, cells[at], wrote[at])
			}
		}
	}
	for k, c := range t.columns { // a line before each buffer
		if k == 0 || t.columns[k-1].buf != c.buf {
			left := x + rankWidth + k*t.width
			fmt.Fprintf(t.out, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#333" stroke-width="2"/>`+"\n",
				left, y+18, left, y+headHeight+t.ranks*cellHeight)
		}
	}
}

// bufferName names a buffer; in place the larger one stands for both.
func (t *drawnTable) bufferName(b ir.Buf) string {
	if t.d.Coll.Inplace && b == t.columns[0].buf {
		return "input and output"
	}
	return t.bufName(b)
}

// box draws a chunk, and where its data comes from if this step wrote it.
func (t *drawnTable) box(x, y int, holds eval.Value, w *tableWrite) {
	colour, text, from := keptColour, t.Text(holds), ""
	switch {
	case w != nil && w.reduces:
		colour, from = reducedColour, t.from(w)
	case w != nil:
		colour, from = copiedColour, t.from(w)
	case holds == eval.None:
		colour = emptyColour
	}
	fmt.Fprintf(t.out, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" stroke="#888">`,
		x, y, t.width, cellHeight, colour)
	if text != "" {
		fmt.Fprintf(t.out, "<title>%s</title>", html.EscapeString(strings.TrimSpace(text+" "+from)))
	}
	fmt.Fprintln(t.out, "</rect>")
	line := y + 19
	if from != "" {
		line = y + 13
		svgText(t.out, x+t.width/2, y+25, middleOf+` font-size="10" fill="#333"`, t.cut(from, smallLetter))
	}
	if text != "" {
		svgText(t.out, x+t.width/2, line, middleOf, t.cut(text, letterWidth))
	}
}
