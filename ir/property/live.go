package property

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file checks what a run of the schedule shows: Ordered and Live.

// checkOrdered: the steps of each block are 0, 1, 2 and so on, and no order of
// steps, dependences and matches goes round in a cycle.
func checkOrdered(d *ir.InstDAG, opt *Options) diag.List {
	var p ir.Problems
	rows, dense := blockRows(d)
	if !dense {
		checkDense(d, &rows, &p)
		return p.Done()
	}
	for i := range d.Insts {
		in := &d.Insts[i]
		for _, j := range d.Deps.Of(i) {
			if before := &d.Insts[j]; before.Block == in.Block && before.Step >= in.Step {
				p.Add(d.Problem(int32(i), diag.Deadlock, "%s is step %d, and depends on %s of the same block, step %d",
					d.Label(int32(i)), in.Step, d.Label(j), before.Step))
			}
		}
	}
	if len(p.List) == 0 {
		checkRun(d, &rows, ir.Unbounded, opt.MessageCount, &p)
	}
	return p.Done()
}

func checkDense(d *ir.InstDAG, rows *ir.Edges, p *ir.Problems) {
	for b := range d.Blocks {
		for k, i := range rows.Of(b) {
			if step := int(d.Insts[i].Step); step != k {
				p.Add(d.Problem(i, diag.Malformed, "%s has step %d of block %d, where step %d should be", d.Label(i), step, b, k))
				break // the rest follows
			}
		}
	}
}

// checkLive: the program ends with the slots that its connections have.
func checkLive(d *ir.InstDAG, opt *Options) diag.List {
	var p ir.Problems
	rows, dense := blockRows(d)
	if !dense {
		checkDense(d, &rows, &p)
		return p.Done()
	}
	checkRun(d, &rows, opt.Slots, opt.MessageCount, &p)
	return p.Done()
}

func checkRun(d *ir.InstDAG, rows *ir.Edges, slots, chunks int, p *ir.Problems) {
	s := schedule(d, rows, slots, chunks, &d.Deps, &d.Waits)
	if _, stuck := s.Run(); len(stuck) > 0 {
		p.Add(deadlock(d, stuck, func(step int32) int32 { return rows.To[step] }))
	}
}

// schedule makes the schedule of d's blocks, which wait for what waits says:
// its steps are numbered as they stand in rows, and a connection bears the
// number of the block that sends.
func schedule(d *ir.InstDAG, rows *ir.Edges, slots, chunks int, waits ...*ir.Edges) *ir.Schedule {
	n := len(d.Insts)
	at := make([]int32, n)
	for step, i := range rows.To {
		at[i] = int32(step)
	}
	s := &ir.Schedule{Start: rows.Start, Send: make([]int32, n), Recv: make([]int32, n), Messages: make([]int32, n),
		Conns: len(d.Blocks), Slots: slots}
	s.Waits.Start = make([]int32, 1, n+1)
	for step, i := range rows.To {
		in := &d.Insts[i]
		s.Send[step], s.Recv[step], s.Messages[step] = -1, -1, int32((int(in.Count)+chunks-1)/chunks)
		if in.Op.Info().Sends {
			s.Send[step] = in.Block
		}
		if in.Op.Info().Receives {
			s.Recv[step] = d.Insts[in.RecvMate].Block
		}
		for _, edges := range waits {
			for _, j := range edges.Of(int(i)) {
				if d.Insts[j].Block != in.Block {
					s.Waits.To = append(s.Waits.To, at[j])
				}
			}
		}
		s.Waits.Start = append(s.Waits.Start, int32(len(s.Waits.To)))
	}
	return s
}

// deadlock describes a cycle of waits among instructions.
func deadlock(d *ir.InstDAG, stuck []ir.Wait, inst func(step int32) int32) diag.Diagnostic {
	first := inst(stuck[0].Step)
	g := d.Problem(first, diag.Deadlock, "%s waits for itself, by way of %d waits", d.Label(first), len(stuck))
	if stuck[len(stuck)-1].At < 0 {
		g.Text = diag.New("", diag.Span{}, "%s waits for what never comes", d.Label(first)).Text
	}
	for _, w := range stuck[:min(len(stuck), counterexampleLength)] {
		i := inst(w.Step)
		text := d.Label(i) + " waits for " + w.Cause.String()
		if w.On >= 0 {
			text += " " + d.Label(inst(w.On))
		}
		if w.At >= 0 && w.At != w.On {
			text += ", whose block stands at " + d.Label(inst(w.At))
		}
		g = g.WithNote(d.Span(d.Insts[i].Pos), "%s", text)
	}
	if n := len(stuck) - counterexampleLength; n > 0 {
		g = g.WithNote(diag.Span{}, "and so on through %d more", n)
	}
	return g
}

// counterexampleLength bounds the lines of a counterexample.
const counterexampleLength = 16
