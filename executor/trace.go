package executor

import (
	"fmt"
	"time"

	"mscclc/executor/abi"
	"mscclc/executor/launch"
)

// Trace, Span and Message are those of package launch.
type (
	Trace   = launch.Trace
	Span    = launch.Span
	Message = launch.Message
)

// traceSpans is how many spans a trace has, about; maxTraceSpans what one pass
// alone may have.
const (
	traceSpans    = 1 << 18
	maxTraceSpans = 1 << 22
)

// RecordRoom returns how many records a device needs for a launch of part with the numbers p,
// which must hold all else by then; it fills in t for how many passes.
func RecordRoom(t *Trace, p *abi.OneParams, part *abi.OnePart) (rows int, err error) {
	each := uint64(len(part.Steps)) * uint64(p.Replicas)
	if each > maxTraceSpans {
		return 0, fmt.Errorf("%d steps in %d replicas are more than a trace holds: %w", len(part.Steps), p.Replicas,
			ErrNotSupported)
	}
	p.TracePasses = min(p.Passes, max(1, traceSpans/max(each, 1)))
	t.Passes, t.Of = int64(p.TracePasses), int64(p.Passes)
	return int(each * p.TracePasses), nil
}

// TakeRows adds to t what a device has recorded of part in the rows that RecordRoom asked for.
func TakeRows(t *Trace, img *abi.OneImage, part *abi.OnePart, p *abi.OneParams, rows []abi.OneRecord) {
	first := len(t.Spans)
	for i := range part.Blocks {
		b := &part.Blocks[i]
		step := img.Blocks[b.Number].FirstStep
		for c := range p.Replicas {
			for pass := range p.TracePasses {
				at := (uint64(c)*p.TracePasses+pass)*uint64(p.StepCount) + uint64(b.FirstStep)
				for k, r := range rows[at : at+uint64(b.Steps)] {
					if r.End != 0 {
						t.Spans = append(t.Spans, Span{Step: int32(step) + int32(k), Replica: int32(c), Pass: int64(pass),
							Begin: time.Duration(r.Begin), Length: time.Duration(r.End - r.Begin)})
					}
				}
			}
		}
	}
	fromFirst(t.Spans[first:])
}

// Records are what some blocks of a launch of a two-sided program record: a row for each of their actions.
type Records struct {
	Rows  []abi.OneRecord
	First []uint64 // by block: where its rows begin; and the end of all

	blocks  []uint32
	actions []abi.Action
}

// NewRecords makes room for what blocks record in a launch with the numbers p, in as many passes as a trace holds of
// the whole program.
func NewRecords(t *Trace, img *abi.Image, p *abi.Params, blocks []uint32) (*Records, error) {
	t.Of = p.Tiles()
	each, _ := img.Actions(p, img.Numbers(), min(1, t.Of))
	if len(each) > maxTraceSpans {
		return nil, fmt.Errorf("%d messages and steps are more than a trace holds: %w", len(each), ErrNotSupported)
	}
	t.Passes = min(t.Of, max(1, traceSpans/int64(max(len(each), 1))))
	r := &Records{blocks: blocks}
	r.actions, r.First = img.Actions(p, blocks, t.Passes)
	r.Rows = make([]abi.OneRecord, len(r.actions))
	return r, nil
}

// TakeRecords adds to t what a device has recorded. The steps of a chain are one action.
func TakeRecords(t *Trace, img *abi.Image, r *Records) {
	from := len(t.Spans)
	for i, b := range r.blocks {
		for k := r.First[i]; k < r.First[i+1]; k++ {
			a, row := &r.actions[k], r.Rows[k]
			if row.End == 0 {
				continue
			}
			first := img.Blocks[b].FirstStep + a.Step
			for s := first; s < first+img.Steps[first].Chain; s++ {
				t.Spans = append(t.Spans, Span{Step: int32(s), Pass: int64(a.Tile), Message: int32(a.Message),
					Begin: time.Duration(row.Begin), Length: time.Duration(row.End - row.Begin)})
			}
		}
	}
	fromFirst(t.Spans[from:])
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
