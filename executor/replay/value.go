package replay

import (
	"encoding/binary"
	"fmt"

	"mscclc/executor"
	"mscclc/ir"
	"mscclc/ir/eval"
)

// judged shows a problem of what a chunk holds: in any run, which does for a
// program without races; and where that does not show it, in the order in which
// the program was judged.
func (r *replay) judged(show func(*Result)) (Result, error) {
	var out Result
	if err := r.run(); err != nil {
		return out, err
	}
	if show(&out); out.Shown {
		return out, nil
	}
	out = Result{}
	out.say("with each action held until the one before it in the proven order has ended:")
	if err := r.run(r.judgedOrder()...); err != nil {
		return out, err
	}
	show(&out)
	return out, nil
}

// judgedOrder holds each action until the one before it in the order in which
// the program was judged has ended.
func (r *replay) judgedOrder() []executor.Hold {
	var order []int32
	if r.one != nil {
		order, _ = r.one.links.Schedule(r.one.p).Run()
	} else {
		order, _ = r.schedule().Run()
	}
	var holds []executor.Hold
	for i := 1; i < len(order); i++ {
		holds = append(holds, executor.Hold{Action: int(order[i]), Until: int(order[i-1])})
	}
	return holds
}

// schedule returns what decides about the order of the actions, each a step of its
// own.
func (r *replay) schedule() *ir.Schedule {
	n := len(r.watch.Actions)
	s := &ir.Schedule{Start: []int32{0}, Send: make([]int32, n), Recv: make([]int32, n), Messages: make([]int32, n),
		Conns: len(r.img.Conns), Slots: ir.Unbounded}
	s.Waits.Start = []int32{0}
	for b := range r.p.Blocks {
		block := &r.img.Blocks[b]
		for k := r.watch.First[b]; k < r.watch.First[b+1]; k++ {
			a := &r.watch.Actions[k]
			step := r.step(b, a)
			info := r.p.Steps[step].Op.Info()
			s.Send[k], s.Recv[k], s.Messages[k] = -1, -1, 1
			if info.Sends {
				s.Send[k] = block.Send
			}
			if info.Receives {
				s.Recv[k] = block.Recv
			}
			if on := r.wires.Awaited(r.p.Fifo, int32(block.Rank), step); on >= 0 && a.Message == 0 {
				s.Waits.To = append(s.Waits.To, r.last(on))
			}
			s.Waits.Start = append(s.Waits.Start, int32(len(s.Waits.To)))
		}
		s.Start = append(s.Start, int32(r.watch.First[b+1]))
	}
	return s
}

// last returns the last action of a step.
func (r *replay) last(step int32) int32 { return r.first[step] + r.messages(step) - 1 }

// same reports whether an access is of a step, or of the chain that the step is in.
func (r *replay) same(x *access, step int32) bool {
	return step >= 0 && r.first[x.step] == r.first[step]
}

// uninitialized shows that the counterexample's step read its chunk before anything
// wrote it.
func (r *replay) uninitialized(out *Result) {
	written := false
	for _, x := range r.accesses() {
		reader := r.same(&x, r.w.Step) && x.reads && x.end > 0
		if reader || x.writes {
			out.say("%s", r.describe(&x))
		}
		if reader && !written {
			out.Shown = true
		}
		written = written || x.writes && x.end > 0
	}
	if !out.Shown {
		out.say("%s was not seen to read %s before anything wrote it", r.name(r.w.Step), r.chunk())
	}
}

// wrong shows that the counterexample's chunk ends with what it should not, and that
// the counterexample's step wrote it last.
func (r *replay) wrong(out *Result) {
	var last *access
	for _, x := range r.accesses() {
		if x.writes && x.end > 0 {
			last = &x
		}
	}
	c := r.p.Coll
	want := c.Want(r.w.Rank, r.w.Index)
	at := int64(r.w.Index) * chunkElems
	got := r.data.Output(r.w.Rank)[at*8 : (at+chunkElems)*8]
	rep := r.data.CheckChunk(r.w.Rank, r.w.Index)
	switch {
	case last != nil:
		out.say("%s, and nobody did after it", r.describe(last))
	default:
		out.say("nothing wrote %s", r.ranked())
	}
	values := eval.NewValues(c)
	values.Source = r.p.Source
	out.say("%s ends as %s, and should be %s, %#x", r.ranked(), r.value(binary.LittleEndian.Uint64(got)),
		values.DescribeWant(want), r.data.FirstInt(want))
	out.Shown = rep.Wrong > 0 && (last == nil && r.w.Step < 0 || last != nil && r.same(last, r.w.Step))
}

// ranked names the chunk with its rank.
func (r *replay) ranked() string {
	if r.one != nil {
		return r.chunk()
	}
	return fmt.Sprintf("rank %d %s", r.w.Rank, r.chunk())
}
