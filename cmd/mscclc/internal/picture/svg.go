// Package picture draws programs: timelines of runs and tables of chunks as SVG, dependences as DOT of Graphviz, and
// traces for Perfetto. looks.go gives each step a colour: by its operation, or by the path of its data.
package picture

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"mscclc/executor"
	"mscclc/ir/either"
	"mscclc/ir/text"
	"mscclc/play"
	"mscclc/simulate"
)

// A timeline's measures, in pixels; and how many spans and rows are drawn at most, and steps side by side.
const (
	rowHeight    = 14
	rowGap       = 3
	rankGap      = 10
	nameWidth    = 150
	leastWidth   = 1200
	mostWidth    = 12_000
	stepWidth    = 14
	lineHeight   = 16
	signalHeight = 6
	mostDrawn    = 20_000
	mostRows     = 256
	mostInRow    = 80
)

// A row is a replica of a block.
type row struct {
	rank, block int
	column      int32
}

// A timeline is what is drawn of a simulated call: a row for each replica of a block, a box for each step.
type timeline struct {
	p       *either.Program
	looks   *play.Looks
	Spans   []executor.Span // that are drawn
	Passes  int64           // tile iterations that are drawn, from the first
	rows    []row           // that are drawn
	top     map[row]int     // where each lies, in pixels from the first
	height  int             // of all rows
	width   int             // of the rows, in pixels
	end     time.Duration   // of the last span that is drawn
	remarks []string        // what the reader must know, a line each
}

// NewTimeline chooses what is drawn of r: the first tile iterations, as many as differ visibly side by side, and of
// these the first rows and steps. It says at the top what is left out. Columns is how many a row stands for, or 0.
func NewTimeline(p *either.Program, r *simulate.Result, looks *play.Looks, columns int) *timeline {
	d := &timeline{p: p, looks: looks, top: map[row]int{}}
	steps, side := map[row]int{}, 0
	for i := range r.Trace.Spans {
		if s := &r.Trace.Spans[i]; s.Pass == 0 {
			l := d.row(s)
			if steps[l]++; steps[l] == 1 {
				d.rows = append(d.rows, l)
			}
			side = max(side, steps[l])
		}
	}
	d.Passes = min(r.Trace.Passes, int64(max(1, mostInRow/max(side, 1))))
	d.width = min(max(side*int(d.Passes)*stepWidth, leastWidth), mostWidth)
	slices.SortFunc(d.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.block, b.block), cmp.Compare(a.column, b.column))
	})
	all := len(d.rows)
	d.rows = d.rows[:min(all, mostRows)]
	d.stack()
	beyond := d.choose(r.Trace.Spans)
	d.remark(r, columns, all, beyond)
	return d
}

func (d *timeline) row(s *executor.Span) row {
	rank, block, _ := d.p.Place(s.Step)
	return row{rank, block, s.Replica}
}

// stack puts the rows one below the other.
func (d *timeline) stack() {
	for i, l := range d.rows {
		if i > 0 && d.rows[i-1].rank != l.rank {
			d.height += rankGap
		}
		d.top[l] = d.height
		d.height += rowHeight + rowGap
	}
}

// choose takes the spans that are drawn, and returns how many of the drawn rows and tile iterations are too many.
func (d *timeline) choose(spans []executor.Span) (beyond int) {
	for i := range spans {
		s := &spans[i]
		if _, ok := d.top[d.row(s)]; !ok || s.Pass >= d.Passes {
			continue
		}
		if len(d.Spans) == mostDrawn {
			beyond++
			continue
		}
		d.Spans = append(d.Spans, *s)
		d.end = max(d.end, s.Begin+s.Length)
	}
	return beyond
}

// remark says what span of the call is shown, what a row is, and what is left out.
func (d *timeline) remark(r *simulate.Result, columns, rows, beyond int) {
	note := fmt.Sprintf("Time 0 is when the thread blocks begin, %.2f us after the call begins. "+
		"The last step shown ends at %.2f us.", r.Launch, micros(d.end))
	if len(d.Spans) == 0 {
		note = "No step takes time: a call of this size moves nothing."
	}
	if columns > 1 {
		note += fmt.Sprintf(" A row stands for %d replicas, which do the same at the same time.", columns)
	}
	d.remarks = append(d.remarks, note)
	var out []string
	if d.Passes < r.Passes {
		out = append(out, fmt.Sprintf("tile iterations %d to %d of %d", d.Passes+1, r.Passes, r.Passes))
	}
	if n := len(d.rows); n < rows {
		out = append(out, fmt.Sprintf("rows %d to %d of %d", n+1, rows, rows))
	}
	if beyond > 0 {
		out = append(out, fmt.Sprintf("the last %d of %d steps of the rows shown", beyond, beyond+len(d.Spans)))
	}
	if len(out) > 0 {
		d.remarks = append(d.remarks, "Left out: "+strings.Join(out, "; ")+".")
	}
}

// How a text lies at its x, and how a drawing begins.
const (
	rightOf   = ` text-anchor="end"`
	middleOf  = ` text-anchor="middle"`
	svgOpens  = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`
	svgPaints = `<rect width="100%" height="100%" fill="white"/>`
)

// svgHead begins a drawing of a given size in pixels. Its ground is white, so that dark pages show it too.
func svgHead(out io.Writer, width, height int) {
	fmt.Fprintf(out, svgOpens+"\n", width, height)
	fmt.Fprintln(out, svgPaints)
}

// svgText writes a text, with attributes that begin with a space each.
func svgText(out io.Writer, x, y int, attributes, text string) {
	fmt.Fprintf(out, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, attributes, html.EscapeString(text))
}

// x returns where a time is drawn, in pixels.
func (d *timeline) x(t time.Duration) float64 {
	return nameWidth + float64(t)/float64(max(d.end, 1))*float64(d.width)
}

// Write draws d as SVG: the title, the remarks, the legend and the axis, and below these the rows.
func (d *timeline) Write(w io.Writer, title string) error {
	out := bufio.NewWriter(w)
	axis := (3+len(d.remarks))*lineHeight + 10
	svgHead(out, nameWidth+d.width+60, axis+10+d.height+rankGap)
	y := lineHeight + 2
	svgText(out, nameWidth, y, ` font-size="13"`, title)
	for _, s := range d.remarks {
		y += lineHeight
		svgText(out, nameWidth, y, "", s)
	}
	d.legend(out, y+lineHeight)
	d.axis(out, axis)
	for _, l := range d.rows {
		name := fmt.Sprintf("rank %d %s", l.rank, play.BlockName(d.p, l.rank, l.block))
		if l.column > 0 {
			name += fmt.Sprintf(" replica %d", l.column)
		}
		svgText(out, nameWidth-6, axis+10+d.top[l]+rowHeight-3, rightOf, name)
	}
	for i := range d.Spans {
		d.box(out, &d.Spans[i], axis+10+d.top[d.row(&d.Spans[i])])
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// legend says which colour is which look, of those that are drawn.
func (d *timeline) legend(out io.Writer, y int) {
	var has [play.NumLooks]bool
	for i := range d.Spans {
		has[d.looks.Of[d.Spans[i].Step]] = true
		has[play.Waits] = has[play.Waits] || d.Spans[i].Waited > 0
	}
	x := nameWidth
	for look, drawn := range has {
		if !drawn {
			continue
		}
		top, height := lookHeight(play.Look(look), y-9, 10)
		fmt.Fprintf(out, `<rect x="%d" y="%d" width="10" height="%d" fill="%s"/>`+"\n", x, top, height, lookColours[look])
		svgText(out, x+14, y, "", d.looks.Names[look])
		x += 34 + 13*len(d.looks.Names[look])/2
	}
}

// lookHeight returns where a box of a look lies in a row: signals are thin, since they move no data.
func lookHeight(look play.Look, top, height int) (int, int) {
	if look == play.Signals {
		return top + (height-signalHeight)/2, signalHeight
	}
	return top, height
}

// axis draws the axis of time, and a line down from each mark.
func (d *timeline) axis(out io.Writer, y int) {
	for t := time.Duration(0); t <= d.end; t += tick(d.end * leastWidth / time.Duration(d.width)) {
		x := d.x(t)
		fmt.Fprintf(out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/>`+"\n", x, y+4, x, y+10+d.height)
		svgText(out, int(x), y, middleOf, fmt.Sprintf("%.4g us", micros(t)))
	}
}

// box draws a step, pale as long as it waits.
func (d *timeline) box(out io.Writer, s *executor.Span, top int) {
	rank, _, _ := d.p.Place(s.Step)
	look, began := d.looks.Of[s.Step], s.Begin+s.Waited
	if s.Waited > 0 {
		fmt.Fprintf(out, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>`+"\n",
			d.x(s.Begin), top, d.x(began)-d.x(s.Begin), rowHeight, lookColours[play.Waits])
	}
	top, height := lookHeight(look, top, rowHeight)
	fmt.Fprintf(out, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s" stroke="white" stroke-width="0.3">`,
		d.x(began), top, max(d.x(s.Begin+s.Length)-d.x(began), 0.4), height, lookColours[look])
	text := d.looks.Names[look] + ": " + text.StepText(d.p, int32(rank), &d.p.Steps[s.Step])
	fmt.Fprintf(out, "<title>%s, tile iteration %d, %.4g to %.4g us</title></rect>\n",
		html.EscapeString(text), s.Pass, micros(began), micros(s.Begin+s.Length))
}

// tick returns the time between two marks of an axis: 1, 2 or 5 of a power of ten, and at most twelve of them.
func tick(end time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if unit*n*12 >= end {
				return unit * n
			}
		}
	}
}
