package play

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/lang"
)

// fault shows why the program is rejected.
func (b *builder) fault() {
	if len(b.found) == 0 {
		return
	}
	d := b.found[0]
	var w *verify.Counterexample
	if list := b.report.Counterexamples; len(list) > 0 && b.judged != nil {
		w = &list[0]
		if i := slices.IndexFunc(b.found, w.Problem.Same); i >= 0 {
			d = b.found[i]
		}
	}
	f := &Fault{Kind: "other", Code: string(d.Code), Text: d.Text, Hint: d.Hint, At: spanOf(d.Span), Steps: []FaultStep{},
		Waits: []Wait{}, History: []Event{}, Blocks: []Block{}, Frame: len(b.scene.Frames)}
	b.scene.Fault = f
	switch d.Code {
	case diag.Deadlock, diag.Race, diag.WrongResult, diag.Uninitialized:
		f.Kind = string(d.Code)
	}
	if w != nil {
		if b.run != nil && b.steps == nil {
			b.steps = operationsOf(b.judged, b.alg)
		}
		b.lit(f, w)
	}
	if d.Code == diag.WrongResult {
		b.wrongResult(f)
	}
}

// A lighter collects the steps that are lit.
type lighter struct {
	*builder
	f  *Fault
	at map[int32]int // by step of the program: in Fault.Steps
}

// lit shows the steps of a counterexample.
func (b *builder) lit(f *Fault, w *verify.Counterexample) {
	l := &lighter{b, f, map[int32]int{}}
	switch w.Problem.Code {
	case diag.Deadlock:
		for i, wait := range w.Waits {
			out := Wait{Step: l.step(wait.Step, "waits"), Cause: l.cause(wait.Cause), On: l.step(wait.On, ""),
				At: l.step(wait.At, "waits")}
			if i < len(w.Problem.Notes) {
				out.Text = w.Problem.Notes[i].Text
			}
			f.Waits = append(f.Waits, out)
		}
	case diag.Race:
		role := func(step int32) string {
			if w.Reader == step {
				return "reads"
			}
			return "writes"
		}
		l.step(w.Step, role(w.Step))
		l.step(w.With, role(w.With))
		if n := len(w.Problem.Notes); n > 0 {
			f.Missing = w.Problem.Notes[n-1].Text
		}
		l.chunk(w)
	case diag.WrongResult:
		l.step(w.Step, "wrote")
		l.chunk(w)
	case diag.Uninitialized:
		l.step(w.Step, "reads")
		l.chunk(w)
	}
	l.blocks()
	l.frame()
}

func (l *lighter) cause(c ir.Cause) string {
	switch {
	case c == ir.ForMessage && l.judged.OneSided != nil:
		return "packets"
	case c == ir.ForMessage:
		return "message"
	case c == ir.ForSlot:
		return "slot"
	case l.judged.OneSided != nil:
		return "flag"
	}
	return "step"
}

// step lights step i of the program, and returns its number in the fault; -1 of -1. A step that is lit again keeps its
// first role, unless it had none.
func (l *lighter) step(i int32, role string) int {
	if i < 0 {
		return -1
	}
	if at, known := l.at[i]; known {
		if l.f.Steps[at].Role == "" {
			l.f.Steps[at].Role = role
		}
		return at
	}
	p := l.judged
	rank, block, step := p.Place(i)
	s := FaultStep{Step{rank, block, step, p.StepName(i), text.StepText(p, int32(rank), &p.Steps[i]), -1, []int{}, -1,
		spanOf(p.Span(p.Steps[i].Pos))}, role}
	if l.steps != nil && int(i) < len(l.steps) {
		if s.Op = firstOf(l.steps[i]); s.Op >= 0 {
			s.Frame = l.scene.Ops[s.Op].Frame
		}
	}
	l.at[i] = len(l.f.Steps)
	l.f.Steps = append(l.f.Steps, s)
	return l.at[i]
}

// chunk shows the chunk of a counterexample.
func (l *lighter) chunk(w *verify.Counterexample) {
	if l.run == nil {
		return
	}
	buf := w.Buf
	if buf == ir.Packets {
		buf = ir.Scratch + 1
	}
	r := ir.Ref{Rank: int32(w.Rank), Buf: buf, Index: int32(w.Index)}
	if int(buf) < len(l.scene.Buffers) && w.Index < l.alg.Has(w.Rank, buf) {
		l.f.Chunk = l.refOf(&r)
	}
}

// refOf returns a chunk with its column.
func (b *builder) refOf(r *ir.Ref) *Ref {
	cell := b.run.Cell(r, 0)
	for k, place := range b.run.Places() {
		if b.run.At(int(r.Rank), place) == cell {
			return &Ref{int(r.Rank), int(r.Buf), int(r.Index), k}
		}
	}
	return nil
}

// mostBlockSteps is how many steps of a thread block a fault shows.
const mostBlockSteps = 64

// blocks shows the thread blocks of the steps that are lit.
func (l *lighter) blocks() {
	p := l.judged
	ran := make([]bool, len(p.Steps))
	for _, i := range l.order {
		ran[i] = true
	}
	stuck := len(l.order) < len(p.Steps)
	var lit []int32 // blocks
	for i := range l.at {
		rank, block, _ := p.Place(i)
		lit = append(lit, p.Rank[rank].First+int32(block))
	}
	slices.Sort(lit)
	for _, b := range slices.Compact(lit) {
		t := &p.Blocks[b]
		first := t.Steps.First
		for i := first; i < t.Steps.End; i++ { // from a little before the first that is lit
			if _, isLit := l.at[i]; isLit {
				first = max(first, i-mostBlockSteps/4)
				break
			}
		}
		out := Block{Rank: int(t.Rank), Block: int(b - p.Rank[t.Rank].First), Name: p.BlockName(b), Steps: []BlockStep{}}
		stands := false
		for i := first; i < min(t.Steps.End, first+mostBlockSteps); i++ {
			_, isLit := l.at[i]
			s := BlockStep{int(i - t.Steps.First), text.StepText(p, t.Rank, &p.Steps[i]), "", isLit,
				spanOf(p.Span(p.Steps[i].Pos))}
			switch {
			case !stuck:
			case ran[i]:
				s.State = "ran"
			case !stands:
				s.State, stands = "stands", true
			default:
				s.State = "waits behind"
			}
			out.Steps = append(out.Steps, s)
		}
		l.f.Blocks = append(l.f.Blocks, out)
	}
}

// frame finds the slider's position that shows the fault: after the last of its operations.
func (l *lighter) frame() {
	last := -1
	for i := range l.f.Steps {
		last = max(last, l.f.Steps[i].Frame)
	}
	if l.f.Kind == string(diag.Race) && last >= 0 {
		l.f.Frame = last + 1
	}
}

// wrongResult follows the first wrong chunk of an output back to where it comes from.
func (b *builder) wrongResult(f *Fault) {
	if b.run == nil || len(b.scene.Wrong) == 0 {
		return
	}
	first := b.scene.Wrong[0]
	chunk := ir.Ref{Rank: int32(first.Rank), Buf: ir.Output, Index: int32(first.Index)}
	h := HistoryOf(b.alg, chunk)
	f.Chunk, f.Holds, f.Must, f.Cut = b.refOf(&chunk), h.Holds, h.Must, h.Cut
	ops := make([]int32, len(h.Ops))
	for i := range h.Ops {
		ops[i] = h.Ops[i].Op
	}
	var where [][]diag.Note
	if b.tree != nil && b.scene.Kind == "chunks" {
		where = lang.Where(b.tree, b.opt, ops)
	}
	for k, step := range h.Ops {
		op := &b.alg.Ops[step.Op]
		e := Event{Op: int(step.Op), Frame: b.scene.Ops[step.Op].Frame, At: spanOf(b.alg.Span(op.Pos)),
			Writes: b.alg.RefName(&op.Dests[0], op.Count), Reads: []string{}, Where: []string{}, Holds: step.Holds,
			Overwritten: step.Overwritten}
		for i := range op.Sources {
			e.Reads = append(e.Reads, b.alg.RefName(&op.Sources[i], op.Count))
		}
		if where != nil {
			for _, n := range where[k] {
				e.Where = append(e.Where, WhereText(n))
			}
		}
		f.History = append(f.History, e)
	}
}
