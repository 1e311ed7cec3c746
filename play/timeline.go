package play

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"mscclc/executor/launch"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/text"
	"mscclc/simulate"
	"mscclc/simulate/devices"
)

// mostSpans is how many spans a timeline has at most, and mostBusy how many links.
const mostSpans, mostBusy = 6000, 32

// simulate says when the steps of a call ran, and what the call costs.
func (b *builder) simulate() {
	if !b.proven || b.topology == nil || b.seats == nil {
		return
	}
	if len(b.program.Steps) > mostSimulated {
		b.note("The program is too large to be simulated here. %s does it.", b.command("simulate"))
		return
	}
	costs, err := devices.CostsOf(b.topology.Device)
	if err != nil {
		costs = devices.StandIn(b.topology.Device)
	}
	call := simulate.Call{Bytes: b.Bytes, DType: b.DType}
	if b.program.OneSided != nil {
		call.Replicas = b.widest(call, costs)
	}
	call.Trace = true
	r, err := simulate.Run(b.program, b.topology, costs, call)
	if err != nil {
		b.note("The call cannot be simulated: %v.", err)
		return
	}
	looks, err := LooksOn(b.program, b.topology, nil)
	if err != nil {
		return // which Seats has found
	}
	if outside := text.Outside(b.program.Sizes, b.Bytes); outside != "" {
		b.note("%s.", strings.ToUpper(outside[:1])+outside[1:])
	}
	b.scene.Figures = b.figures(r, costs)
	if b.run != nil {
		b.steps = operationsOf(b.program, b.alg)
	}
	t := newTimeline("simulation", b.program, r.Trace, looks, b.steps)
	t.Launch, t.Of, t.Replicas = r.Launch, int(r.Passes), call.Replicas
	t.Title = fmt.Sprintf("%s of %s on %s", text.Title(b.program), diag.SizeText(b.Bytes), b.topology.Name)
	for l, share := range r.Busy {
		if share > 0 {
			t.Links = append(t.Links, Busy{l, share * r.Micros, share})
		}
	}
	slices.SortStableFunc(t.Links, func(x, y Busy) int { return cmp.Compare(y.Us, x.Us) })
	t.Links = t.Links[:min(len(t.Links), mostBusy)]
	b.scene.Timeline = t
	if t.all > len(t.Spans) {
		b.note("The timeline shows the first %d of %d steps.", len(t.Spans), t.all)
	}
	if b.run != nil {
		b.times(t)
	}
}

// widest returns how many replicas are fastest, as mscclc simulate finds it.
func (b *builder) widest(call simulate.Call, costs *devices.Costs) int {
	call.Rough = true
	return simulate.Widest(b.topology.Device, call.Bytes, b.program.Coll.Ranks, func(n int) (float64, error) {
		call.Replicas = n
		r, err := simulate.Run(b.program, b.topology, costs, call)
		if err != nil {
			return 0, err
		}
		return r.Micros, nil
	})
}

// newTimeline makes the timeline of a trace of p: whole tile iterations, as many as there is room for, or of one that
// is too long the spans that begin first. operations are those of the steps, or nil.
func newTimeline(source string, p *either.Program, trace *launch.Trace, looks *Looks, operations [][]int32) *Timeline {
	t := &Timeline{Source: source, Of: int(trace.Of), Rows: []Row{}, Looks: looks.Names[:], Spans: []TimeSpan{},
		Steps: []Step{}, Links: []Busy{}}
	of := make([]int, trace.Passes+1) // spans of iterations before each
	for i := range trace.Spans {
		of[trace.Spans[i].Pass+1]++
	}
	for k := 1; k < len(of); k++ {
		if of[k] += of[k-1]; of[k] <= mostSpans || k == 1 {
			t.Iterations = k
		}
	}
	var shown []*launch.Span
	for i := range trace.Spans {
		if s := &trace.Spans[i]; s.Pass < int64(t.Iterations) {
			shown = append(shown, s)
			t.End = max(t.End, micros(s.Begin+s.Length))
		}
	}
	if t.all = len(shown); t.all > mostSpans {
		slices.SortStableFunc(shown, func(x, y *launch.Span) int { return cmp.Compare(x.Begin, y.Begin) })
		shown = shown[:mostSpans]
	}
	rows, steps := map[[2]int32]int{}, map[int32]int{}
	for _, s := range shown {
		rank, block, step := p.Place(s.Step)
		key := [2]int32{p.Rank[rank].First + int32(block), s.Replica}
		row, known := rows[key]
		if !known {
			row = len(t.Rows)
			rows[key] = row
			t.Rows = append(t.Rows, Row{rank, block, fmt.Sprintf("rank %d %s", rank, BlockName(p, rank, block))})
		}
		at, known := steps[s.Step]
		if !known {
			at = len(t.Steps)
			steps[s.Step] = at
			t.Steps = append(t.Steps, Step{rank, block, step, p.StepName(s.Step),
				text.StepText(p, int32(rank), &p.Steps[s.Step]), -1, []int{}, -1, spanOf(p.Span(p.Steps[s.Step].Pos))})
			if operations != nil {
				t.Steps[at].Op = firstOf(operations[s.Step])
				for _, op := range operations[s.Step] {
					t.Steps[at].Ops = append(t.Steps[at].Ops, int(op))
				}
			}
		}
		t.Spans = append(t.Spans, TimeSpan{row, at, int(looks.Of[s.Step]), int(s.Pass), micros(s.Begin), micros(s.Waited),
			micros(s.Length)})
	}
	slices.SortStableFunc(t.Spans, func(x, y TimeSpan) int { return cmp.Compare(x.Begin, y.Begin) })
	t.sortRows()
	return t
}

// sortRows puts rows in the order of ranks and blocks.
func (t *Timeline) sortRows() {
	order := make([]int, len(t.Rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := &t.Rows[x], &t.Rows[y]
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Block, b.Block))
	})
	rows, at := make([]Row, len(order)), make([]int, len(order))
	for i, old := range order {
		rows[i], at[old] = t.Rows[old], i
	}
	t.Rows = rows
	for i := range t.Spans {
		t.Spans[i].Row = at[t.Spans[i].Row]
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// BlockName returns what timelines call a block of a rank: a lane where the one-sided lowering made several. Those of
// execution plans and of the channel level are the author's thread blocks.
func BlockName(p *either.Program, rank, block int) string {
	word := "block"
	if p.OneSided != nil && !p.OneSided.OnePass && len(p.TBsOf(rank)) > 1 {
		word = "lane"
	}
	return fmt.Sprintf("%s %d", word, block)
}

// times says when the operations of each frame ran, in the first tile iteration.
func (b *builder) times(t *Timeline) {
	for i := range t.Steps {
		if op := t.Steps[i].Op; op >= 0 {
			t.Steps[i].Frame = b.scene.Ops[op].Frame
		}
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Iteration > 0 {
			continue
		}
		begin, end := s.Begin+s.Waited, s.Begin+s.Length
		for _, op := range t.Steps[s.Step].Ops {
			f := &b.scene.Frames[b.scene.Ops[op].Frame]
			if f.Begin == nil || *f.Begin > begin {
				f.Begin = &begin
			}
			if f.End == nil || *f.End < end {
				f.End = &end
			}
		}
	}
}
