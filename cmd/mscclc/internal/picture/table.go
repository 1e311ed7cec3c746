package picture

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/play"
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

// A drawnTable draws an algorithm as papers do: a panel for each step, in which rows are ranks and columns are chunks.
type drawnTable struct {
	*play.Run
	out     *bufio.Writer
	columns []play.Place
	ranks   int // that are drawn
	shown   int // steps that are drawn
	width   int // of a cell
	notes   []string
}

// DrawTable draws d, the algorithm of a file of a name, as SVG. It returns what is drawn, and fails if d is too large.
func DrawTable(w io.Writer, name string, d *play.Algorithm) (drawn string, err error) {
	if err := checkSize(d, name); err != nil {
		return "", err
	}
	t := &drawnTable{Run: play.RunOf(d), out: bufio.NewWriter(w)}
	t.choose()
	t.measure()
	t.Draw()
	drawn = fmt.Sprintf("a drawing of %s, with %s and %s of each", diag.Counted(t.shown, "step"), diag.Counted(t.ranks, "rank"),
		diag.Counted(len(t.columns), "chunk"))
	return drawn, t.out.Flush()
}

// choose takes what is drawn, and notes what is left out.
func (t *drawnTable) choose() {
	ranks := t.Coll.Ranks
	all := t.Places()
	t.ranks, t.columns = min(ranks, tableRanks), all[:min(len(all), tableChunks)]
	t.shown = min(len(t.Frames), tableSteps, tableCells/max(1, t.ranks*len(t.columns))-1)
	t.notes = append(t.notes, "Rows are ranks, columns are chunks. A cell says what its chunk holds: "+
		"0+1:2 is the sum of chunk 2 of the inputs of ranks 0 and 1, all:2 of all ranks.",
		"Below it is where a step took the data: ← 3 is the same chunk of rank 3.")
	if t.Coll.Inplace {
		t.notes = append(t.notes, "The call is in place: input and output are one memory, and are drawn once.")
	}
	t.notes = append(t.notes, t.Notes...)
	var out []string
	for _, x := range []struct {
		what       string
		drawn, all int
	}{{"ranks", t.ranks, ranks}, {"chunks of a rank", len(t.columns), len(all)}, {"steps", t.shown, len(t.Frames)}} {
		if x.drawn < x.all {
			out = append(out, fmt.Sprintf("the last %d of %d %s", x.all-x.drawn, x.all, x.what))
		}
	}
	if len(out) > 0 {
		t.notes = append([]string{"Left out: " + strings.Join(out, "; ") + "."}, t.notes...)
	}
}

// from says where the sources of a write are, but for the chunk that it adds to: the rank where it is another, and the
// chunk where it is not the one of the same buffer and index.
func (t *drawnTable) from(w *play.Change) string {
	op := &t.Ops[w.Op]
	to := &op.Dests[w.To]
	var names []string
	for _, s := range op.Sources {
		same := s.Buf == to.Buf && s.Index == to.Index
		chunk := fmt.Sprintf("%s[%d]", t.BufName(s.Buf), s.Index+w.Chunk)
		switch {
		case t.Cell(&s, 0) == t.Cell(to, 0): // in place, input may be output
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

// measure makes cells as wide as what is drawn in them needs.
func (t *drawnTable) measure() {
	drawn := map[int]bool{}
	most := 0.
	fit := func(s string, letter float64) { most = max(most, float64(utf8.RuneCountInString(s))*letter+8) }
	for r := range t.ranks {
		for _, c := range t.columns {
			if at := t.At(r, c); at >= 0 {
				drawn[at] = true
				fit(t.Text(t.Start[at]), letterWidth)
			}
		}
	}
	for _, step := range t.Frames[:t.shown] {
		for i := range step {
			if drawn[step[i].Cell] {
				fit(t.Text(step[i].Holds), letterWidth)
				fit(t.from(&step[i]), smallLetter)
			}
		}
	}
	of := map[ir.Buf]int{} // the columns of a buffer, which have room for its name together
	for _, c := range t.columns {
		of[c.Buf]++
	}
	for _, c := range t.columns {
		fit(t.bufferName(c.Buf), letterWidth/float64(of[c.Buf]))
	}
	t.width = min(max(leastCell, int(most)), mostCell, mostWide/max(1, len(t.columns)))
}
