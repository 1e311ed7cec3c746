package verifycmd

import (
	"slices"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// A Report is what verify --json says of one file; mscclc help json describes it.
type Report struct {
	cli.Report
	Proof   *proofInfo     `json:"proof,omitempty" doc:"what it was proven with, where it is ok"`
	Counts  *countsReport  `json:"counts,omitempty" doc:"of --ranks; program and proof are of the last that was proven"`
	Bitwise *bitwiseReport `json:"bitwise,omitempty" doc:"of --bitwise"`
	Orders  []orderReport  `json:"orders,omitempty" doc:"of --bits order: one for each program that sums"`
	Replays []replayReport `json:"replays,omitempty" doc:"of --replay"`
	Bundle  *bundleReport  `json:"bundle,omitempty" doc:"of a bundle that is ok"`
}

// A proofInfo is what a program was proven with.
type proofInfo struct {
	Slots         int     `json:"slots"`
	MessageChunks int     `json:"message_chunks"`
	MaxBytes      int64   `json:"max_bytes,omitempty" doc:"sizes are below it; absent: every size"`
	Nodes         []int32 `json:"nodes,omitempty" doc:"of each rank, from 0; absent: one node"`
	Result        bool    `json:"result" doc:"false where the file does not say what must hold at the end"`
}

// A CounterexampleInfo is a verify.Counterexample for a reader that does not have the program.
type CounterexampleInfo struct {
	Step          *StepInfo  `json:"step,omitempty" doc:"the waiting step, the later access, the writer of the wrong chunk, or the reader"`
	With          *StepInfo  `json:"with,omitempty" doc:"the step that is waited for, or the earlier access"`
	Message       *int32     `json:"message,omitempty" doc:"of step, from 0: the message that the access lies in"`
	WithMessage   *int32     `json:"with_message,omitempty" doc:"of with"`
	Chunk         *chunkInfo `json:"chunk,omitempty"`
	Waits         []waitInfo `json:"waits,omitempty" doc:"the cycle of a deadlock"`
	Slots         int        `json:"slots"`
	MessageChunks int        `json:"message_chunks"`
}

// A StepInfo is a step for a reader that does not have the program.
type StepInfo struct {
	Rank  int32  `json:"rank"`
	Block int32  `json:"block"`
	Step  int32  `json:"step"`
	Op    string `json:"op"`
	Pos   string `json:"pos,omitempty"`
}

type chunkInfo struct {
	Rank   int    `json:"rank"`
	Buffer string `json:"buffer"`
	Index  int    `json:"index"`
}

type waitInfo struct {
	Step  *StepInfo `json:"step"`
	Cause string    `json:"cause" doc:"step, message or slot"`
	On    *StepInfo `json:"on,omitempty" doc:"what would end the wait"`
	At    *StepInfo `json:"at,omitempty" doc:"where the block of that step stands"`
}

// reportOn makes the report of d, of p where there is a program. Replays are
// made here too, since there is no terminal to show them on.
func (d *verdict) reportOn(p *either.Program, f *verifyFlags) {
	r := &d.report
	r.Report = cli.NewReport(d.file, slices.Concat(d.found, d.warned), p)
	for i := range d.orders {
		if o := &d.orders[i]; o.orders.Sums+o.orders.Others > 0 {
			r.Orders = append(r.Orders, o.report())
		}
	}
	if p == nil {
		return
	}
	if !d.rejected() {
		r.Counts = d.counts
		nodes, _ := f.Nodes.Of(p.Coll.Ranks) // it has been proven with them
		r.Proof = &proofInfo{d.judged.Slots, d.judged.MessageChunks, p.Sizes.Max, nodes, p.Coll.Kind != ir.Opaque}
	}
	if d.order != nil {
		r.Bitwise = newBitwise(p, *d.order)
	}
	for i := range r.Problems {
		if w := counterexampleOf(d.judged.Counterexamples, &r.Problems[i]); w != nil {
			r.Problems[i].Counterexample = newCounterexample(p, w)
		}
	}
}

// replayed adds the replays of d's counterexamples to its report.
func (d *verdict) replayed() error {
	if d.program == nil || !d.rejected() {
		return nil
	}
	var err error
	if d.report.Replays, err = replays(d.program, d.judged); err != nil {
		return err
	}
	return unshown(d.program, d.report.Replays)
}

// counterexampleOf finds the counterexample of a problem: the diagnostic that it came from
// says the same of the same step.
func counterexampleOf(list []verify.Counterexample, p *diag.Problem) *verify.Counterexample {
	same := func(n int, known *int) bool { return n < 0 && known == nil || known != nil && n == *known }
	for i := range list {
		d := &list[i].Problem
		if d.Code == p.Code && d.Text == p.Message && same(d.Rank, p.Rank) && same(d.Block, p.Block) && same(d.Step, p.Step) {
			return &list[i]
		}
	}
	return nil
}

func newCounterexample(p *either.Program, w *verify.Counterexample) *CounterexampleInfo {
	info := &CounterexampleInfo{Step: newStep(p, w.Step), With: newStep(p, w.With), Slots: w.Slots,
		MessageChunks: w.MessageChunks}
	if w.Problem.Code != diag.Deadlock {
		info.Chunk = &chunkInfo{w.Rank, w.Buf.String(), w.Index}
	}
	if w.Problem.Code == diag.Race {
		info.Message, info.WithMessage = &w.Group, &w.WithGroup
	}
	for _, wait := range w.Waits {
		info.Waits = append(info.Waits, waitInfo{newStep(p, wait.Step), [...]string{"step", "message", "slot"}[wait.Cause],
			newStep(p, wait.On), newStep(p, wait.At)})
	}
	return info
}

// newStep names step i of p, or nothing for -1.
func newStep(p *either.Program, i int32) *StepInfo {
	if i < 0 {
		return nil
	}
	rank, block, step := p.Place(i)
	info := &StepInfo{int32(rank), int32(block), int32(step), p.Steps[i].Op.String(), ""}
	if span := p.Span(p.Steps[i].Pos); span.Line > 0 {
		info.Pos = span.Pos.String()
	}
	return info
}
