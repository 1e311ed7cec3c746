package executor

import (
	"fmt"
	"time"

	"mscclc/ir"
)

// A Trace records when the steps of a run began and ended. Whoever puts one into a
// call's Args finds it filled in when Run returns, whether or not the run came to
// its end.
type Trace struct {
	Spans []Span // by block, column, pass and step in their order

	// Passes are recorded, from the first, of the Of that the launch had.
	Passes, Of int64
}

// A Span is one step in one pass of one column, or of a two-sided program one
// message of a step. Times count from the first begin on the same device.
type Span struct {
	Step          int32 // of Program.Steps
	Column        int32
	Pass          int64
	Message       int32
	Begin, Length time.Duration
}

// traceSpans is how many spans a trace has, about; maxTraceSpans what one pass
// alone may have.
const (
	traceSpans    = 1 << 18
	maxTraceSpans = 1 << 22
)

// Room is how many records a device needs for a launch of part with the numbers p,
// which must hold all else by then; it fills in for how many passes.
func (t *Trace) Room(p *OneParams, part *OnePart) (rows int, err error) {
	each := uint64(len(part.Steps)) * uint64(p.Columns)
	if each > maxTraceSpans {
		return 0, fmt.Errorf("%d steps in %d columns are more than a trace holds: %w", len(part.Steps), p.Columns, ErrNotSupported)
	}
	p.TracePasses = min(p.Passes, max(1, traceSpans/max(each, 1)))
	t.Passes, t.Of = int64(p.TracePasses), int64(p.Passes)
	return int(each * p.TracePasses), nil
}

// Take adds what a device has recorded of part in the rows that Room asked for.
func (t *Trace) Take(img *OneImage, part *OnePart, p *OneParams, rows []OneRecord) {
	first := len(t.Spans)
	for i := range part.Blocks {
		b := &part.Blocks[i]
		step := img.Blocks[b.Number].FirstStep
		for c := range p.Columns {
			for pass := range p.TracePasses {
				at := (uint64(c)*p.TracePasses+pass)*uint64(p.StepCount) + uint64(b.FirstStep)
				for k, r := range rows[at : at+uint64(b.Steps)] {
					if r.End != 0 {
						t.Spans = append(t.Spans, Span{Step: int32(step) + int32(k), Column: int32(c), Pass: int64(pass),
							Begin: time.Duration(r.Begin), Length: time.Duration(r.End - r.Begin)})
					}
				}
			}
		}
	}
	fromFirst(t.Spans[first:])
}

// takeActions makes the trace of what w saw. The steps of a chain are one action.
func (t *Trace) takeActions(img *Image, w *Watch) {
	for b := range img.Blocks {
		for i := w.First[b]; i < w.First[b+1]; i++ {
			a, r := &w.Actions[i], w.Times[i]
			if r.End == 0 {
				continue
			}
			first := img.Blocks[b].FirstStep + a.Step
			for s := first; s < first+img.Steps[first].Chain; s++ {
				if ir.Op(img.Steps[s].Op) == ir.Nop && a.Message > 0 {
					continue
				}
				t.Spans = append(t.Spans, Span{Step: int32(s), Pass: int64(a.Tile), Message: int32(a.Message),
					Begin: time.Duration(r.Begin), Length: time.Duration(r.End - r.Begin)})
			}
		}
	}
	fromFirst(t.Spans)
}

// fromFirst has the times of one device count from its first.
func fromFirst(spans []Span) {
	if len(spans) == 0 {
		return
	}
	first := spans[0].Begin
	for i := range spans {
		first = min(first, spans[i].Begin)
	}
	for i := range spans {
		spans[i].Begin -= first
	}
}

// watchTimes has the launch of a two-sided program watched for t, which may be nil.
func (l *Loaded) watchTimes(launch *Launch, t *Trace) error {
	if launch.Trace = t; t == nil {
		return nil
	}
	if launch.Watch == nil {
		launch.Watch = &Watch{}
		if err := launch.Watch.lay(l.img, &launch.Params); err != nil {
			return err
		}
	}
	n := len(launch.Watch.Actions)
	if n > maxTraceSpans {
		return fmt.Errorf("%d messages and steps are more than a trace holds, run fewer bytes: %w", n, ErrNotSupported)
	}
	launch.Watch.Times = make([]OneRecord, n)
	t.Of = tiles(&launch.Params)
	t.Passes = t.Of
	return nil
}
