package main

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"time"

	"mscclc/executor"
	"mscclc/ir"
)

// A drawing's measures, in pixels; and how many spans and lanes are drawn at most, and steps side by side.
const (
	laneHeight = 14
	laneGap    = 3
	rankGap    = 10
	nameWidth  = 150
	leastWidth = 1200
	mostWidth  = 12_000
	stepWidth  = 14
	axisHeight = 76
	mostDrawn  = 20_000
	mostLanes  = 256
	mostInLane = 80
)

// stepColours are those of operations; others are grey.
var stepColours = map[ir.Op]string{
	ir.Send: "#4c78a8", ir.Recv: "#72b7b2", ir.RecvCopySend: "#54a24b", ir.RecvReduceCopy: "#e45756", ir.RecvReduceCopySend: "#f58518",
	ir.RecvReduceSend: "#eeca3b", ir.Copy: "#b279a2", ir.Reduce: "#ff9da6", ir.Move: "#4c78a8", ir.Signal: "#f58518", ir.Await: "#d8d8d8",
}

// A lane is a column of a block.
type lane struct {
	rank, block int
	column      int32
}

// waitColour is that of what a step waits.
const waitColour = "#eeeeee"

// legible is the first passes of t, as many as can be told apart side by side, and how many steps a lane has in these.
func legible(p *ir.Program, t *executor.Trace) (first *executor.Trace, side int) {
	steps := map[lane]int{}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Pass == 0 {
			rank, block, _ := p.Place(s.Step)
			l := lane{rank, block, s.Column}
			steps[l]++
			side = max(side, steps[l])
		}
	}
	first = &executor.Trace{Of: t.Of, Passes: min(t.Passes, int64(max(1, mostInLane/max(side, 1))))}
	for _, s := range t.Spans {
		if s.Pass < first.Passes {
			first.Spans = append(first.Spans, s)
		}
	}
	return first, side * int(first.Passes)
}

// drawTrace draws t as SVG, of whose steps so many lie side by side, and returns how many are drawn: a lane for each column of a block, a box for each
// step, pale as long as it waits.
func drawTrace(w io.Writer, title string, p *ir.Program, t *executor.Trace, side int) (steps int, err error) {
	if t.Passes < t.Of {
		title += fmt.Sprintf("; the first %s of %d", count(int(t.Passes), "pass"), t.Of)
	}
	drawWidth := min(max(side*stepWidth, leastWidth), mostWidth)
	lanes, end := lanesOf(p, t)
	drawn := lanes[:min(len(lanes), mostLanes)]
	at := map[lane]int{}
	y := axisHeight
	for i, l := range drawn {
		if i > 0 && drawn[i-1].rank != l.rank {
			y += rankGap
		}
		at[l] = y
		y += laneHeight + laneGap
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", nameWidth+drawWidth+60, y+2*rankGap)
	fmt.Fprintln(out, `<rect width="100%" height="100%" fill="white"/>`)
	x := func(d time.Duration) float64 { return nameWidth + float64(d)/float64(max(end, 1))*float64(drawWidth) }
	fmt.Fprintf(out, `<text x="%d" y="17" font-size="13">%s</text>`+"\n", nameWidth, html.EscapeString(title))
	for d := time.Duration(0); d <= end; d += tick(end * leastWidth / time.Duration(drawWidth)) {
		fmt.Fprintf(out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#eee"/><text x="%.1f" y="%d" text-anchor="middle">%.4g us</text>`+"\n", x(d), axisHeight-6, x(d), y, x(d), axisHeight-12, micros(d))
	}
	legend(out, p)
	for _, l := range drawn {
		name := fmt.Sprintf("rank %d block %d", l.rank, l.block)
		if p.OneSided != nil {
			name += fmt.Sprintf(" / %d", l.column)
		}
		fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", nameWidth-6, at[l]+laneHeight-3, name)
	}
	left := mostDrawn
	for i := range t.Spans {
		s := &t.Spans[i]
		rank, block, _ := p.Place(s.Step)
		top, ok := at[lane{rank, block, s.Column}]
		if !ok || left == 0 {
			continue
		}
		left--
		step := &p.Steps[s.Step]
		colour := stepColours[step.Op]
		if colour == "" {
			colour = "#bbb"
		}
		began := s.Begin + s.Waited
		if s.Waited > 0 {
			fmt.Fprintf(out, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>`+"\n", x(s.Begin), top, x(began)-x(s.Begin), laneHeight, waitColour)
		}
		fmt.Fprintf(out, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s" stroke="white" stroke-width="0.3"><title>%s, pass %d: %.4g to %.4g us</title></rect>`+"\n",
			x(began), top, max(x(s.Begin+s.Length)-x(began), 0.4), laneHeight, colour, html.EscapeString(p.StepText(int32(rank), step)), s.Pass, micros(began), micros(s.Begin+s.Length))
	}
	if n := len(lanes) - len(drawn); n > 0 || left == 0 {
		fmt.Fprintf(out, `<text x="%d" y="%d">the first %d lanes of %d, and %d steps of %d</text>`+"\n", nameWidth, y+rankGap-4, len(drawn), len(lanes), mostDrawn-left, len(t.Spans))
	}
	fmt.Fprintln(out, "</svg>")
	return mostDrawn - left, out.Flush()
}

// legend says which colour is which operation, of those that p has.
func legend(out io.Writer, p *ir.Program) {
	var has [ir.NumOps]bool
	for i := range p.Steps {
		has[p.Steps[i].Op] = true
	}
	x := nameWidth
	box := func(colour, name string) {
		fmt.Fprintf(out, `<rect x="%d" y="28" width="10" height="10" fill="%s"/><text x="%d" y="37">%s</text>`+"\n", x, colour, x+14, name)
		x += 60
	}
	for op := range ir.NumOps {
		if colour := stepColours[op]; has[op] && colour != "" {
			box(colour, op.String())
		}
	}
	box(waitColour, "waiting")
}

// tick is the time between two marks of an axis: 1, 2 or 5 of a power of ten, and at most twelve of them.
func tick(end time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if unit*n*12 >= end {
				return unit * n
			}
		}
	}
}

// lanesOf are the lanes of a trace, in order, and its end.
func lanesOf(p *ir.Program, t *executor.Trace) (lanes []lane, end time.Duration) {
	seen := map[lane]bool{}
	for i := range t.Spans {
		s := &t.Spans[i]
		rank, block, _ := p.Place(s.Step)
		if l := (lane{rank, block, s.Column}); !seen[l] {
			seen[l] = true
			lanes = append(lanes, l)
		}
		end = max(end, s.Begin+s.Length)
	}
	slices.SortFunc(lanes, func(a, b lane) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.block, b.block), cmp.Compare(a.column, b.column))
	})
	return lanes, end
}
