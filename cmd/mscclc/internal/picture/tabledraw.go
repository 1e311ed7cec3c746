package picture

import (
	"fmt"
	"html"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/play"
)

// This file draws a table as SVG.

// The colours of cells: of those that a step wrote, by whether it copies or reduces, and of the others.
const (
	copiedColour  = "#cfe8f9"
	reducedColour = "#ffcf70"
	keptColour    = "#ffffff"
	emptyColour   = "#f0f0f0"
)

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
	c := t.Coll
	svgText(t.out, margin, 20, ` font-size="14"`,
		fmt.Sprintf("%s: %v of %s in %s", t.Name, c.Kind, diag.Counted(c.Ranks, "rank"), diag.Counted(len(t.Frames), "step")))
	y := 24
	for _, s := range t.notes {
		y += lineHeight
		svgText(t.out, margin, y, "", s)
	}
	t.legend(margin, y+lineHeight+4)
	cells := t.Start
	for step := range t.shown + 1 {
		var writes []play.Change
		name := "start"
		if step > 0 {
			writes = t.Frames[step-1]
			name = fmt.Sprintf("step %d", step)
		}
		wrote := map[int]*play.Change{}
		for i := range writes {
			w := &writes[i]
			cells[w.Cell], wrote[w.Cell] = w.Holds, w
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
func (t *drawnTable) panel(x, y int, name string, cells []eval.Value, wrote map[int]*play.Change) {
	svgText(t.out, x, y+12, ` font-size="12" font-weight="bold"`, name)
	for k, c := range t.columns {
		left := x + rankWidth + k*t.width
		if k == 0 || t.columns[k-1].Buf != c.Buf {
			svgText(t.out, left+4, y+28, ` font-style="italic"`, t.bufferName(c.Buf))
		}
		svgText(t.out, left+t.width/2, y+44, middleOf+` fill="#555"`, fmt.Sprint(c.Index))
	}
	for r := range t.ranks {
		top := y + headHeight + r*cellHeight
		svgText(t.out, x+rankWidth-5, top+19, rightOf, fmt.Sprintf("rank %d", r))
		for k, c := range t.columns {
			if at := t.At(r, c); at >= 0 {
				t.box(x+rankWidth+k*t.width, top, cells[at], wrote[at])
			}
		}
	}
	for k, c := range t.columns { // a line before each buffer
		if k == 0 || t.columns[k-1].Buf != c.Buf {
			left := x + rankWidth + k*t.width
			fmt.Fprintf(t.out, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#333" stroke-width="2"/>`+"\n",
				left, y+18, left, y+headHeight+t.ranks*cellHeight)
		}
	}
}

// bufferName names a buffer; in place the larger one stands for both.
func (t *drawnTable) bufferName(b ir.Buf) string {
	if t.Coll.Inplace && b == t.columns[0].Buf {
		return "input and output"
	}
	return t.BufName(b)
}

// box draws a chunk, and where its data comes from if this step wrote it.
func (t *drawnTable) box(x, y int, holds eval.Value, w *play.Change) {
	colour, text, from := keptColour, t.Text(holds), ""
	switch {
	case w != nil && w.Reduces:
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
