package replay

import (
	"fmt"
	"slices"

	"mscclc/ir"
)

// deadlock runs the program, which must hang, and the blocks stand where the
// counterexample says, for what it says. Connections have the counterexample's slots where a
// wait is for one; else the blocks come to the same waits with any number, and
// have enough of them that no other block needs to wait for one.
func (r *replay) deadlock() (Result, error) {
	var out Result
	slots := "with any number of slots a connection"
	if slices.ContainsFunc(r.w.Waits, func(w ir.Wait) bool { return w.Cause == ir.ForSlot }) {
		r.args.Slots = min(r.w.Slots, r.args.Slots)
		slots = fmt.Sprintf("slots a connection: %d, chunks a message: %d", r.args.Slots, r.group)
	}
	if err := r.run(); err != nil {
		return out, err
	}
	if !r.stuck {
		out.say("it does not hang")
		return out, nil
	}
	h := newHang(r)
	out.Shown = true
	out.say("it hangs: %d of %d blocks cannot go on; %s", len(h.standing), len(r.p.Blocks), slots)
	listed := map[int32]bool{}
	for i := range r.w.Waits {
		w := &r.w.Waits[i]
		listed[r.wires.Block[w.Step]] = true
		text, ok := h.confirm(w)
		out.Shown = out.Shown && ok
		if i < listedBlocks {
			out.say("  %s", text)
		}
	}
	rest := 0
	for _, b := range h.standing {
		switch {
		case listed[b]:
		case len(listed)+rest < listedBlocks:
			out.say("  %s", h.describe(b))
			fallthrough
		default:
			rest++
		}
	}
	if more := len(listed) + rest - listedBlocks; more > 0 {
		out.say("  and so on, %d blocks more", more)
	}
	return out, nil
}

// listedBlocks bounds the blocks of a hang that are listed.
const listedBlocks = 16

// never reports whether no step ends a wait: where it is reached, it hangs.
func never(w *ir.Wait) bool { return w.Cause == ir.ForStep && w.On < 0 }

// A hang is what a run that hangs has come to.
type hang struct {
	*replay
	sent, received []int   // messages of each connection
	at             []int32 // by block: the step that it stands at, or -1
	standing       []int32 // the blocks that have not ended
}

func newHang(r *replay) *hang {
	h := &hang{replay: r, sent: make([]int, len(r.img.Conns)), received: make([]int, len(r.img.Conns)),
		at: make([]int32, len(r.p.Blocks))}
	for b := range r.p.Blocks {
		h.at[b] = -1
		block := &r.img.Blocks[b]
		for n := r.watch.First[b]; n < r.watch.First[b+1]; n++ {
			a := &r.watch.Actions[n]
			step := r.step(b, a)
			if a.End == 0 {
				h.at[b] = step
				h.standing = append(h.standing, int32(b))
				break
			}
			if info := r.p.Steps[step].Op.Info(); info.Sends {
				h.sent[block.Send]++
			}
			if info := r.p.Steps[step].Op.Info(); info.Receives {
				h.received[block.Recv]++
			}
		}
	}
	return h
}

// ended reports whether all of a step is done.
func (h *hang) ended(step int32) bool { return h.watch.Actions[h.last(step)].End > 0 }

// lacks reports whether what a wait is for is lacking.
func (h *hang) lacks(step int32, cause ir.Cause) bool {
	s := &h.p.Steps[step]
	block := &h.img.Blocks[h.wires.Block[step]]
	switch cause {
	case ir.ForStep:
		on := h.wires.Awaited(h.p.Fifo, int32(block.Rank), step)
		return s.DepBlock >= 0 && (on < 0 || !h.ended(on))
	case ir.ForMessage:
		return s.Op.Info().Receives && h.sent[block.Recv] == h.received[block.Recv]
	}
	return s.Op.Info().Sends && h.sent[block.Send]-h.received[block.Send] == h.args.Slots
}

// confirm says what a wait of the counterexample is like in the run, and whether it is
// as the counterexample says.
func (h *hang) confirm(w *ir.Wait) (string, bool) {
	b := h.wires.Block[w.Step]
	if never(w) && h.at[b] >= 0 && h.first[h.at[b]] < h.first[w.Step] {
		return h.describe(b) + "; later " + h.waiting(w.Step, w.Cause) + ", which no step ends", true
	}
	if h.at[b] < 0 || h.first[h.at[b]] != h.first[w.Step] || !h.lacks(w.Step, w.Cause) || w.On >= 0 && h.ended(w.On) {
		return h.name(w.Step) + " does not stand there", false
	}
	text := h.waiting(w.Step, w.Cause)
	if w.At < 0 {
		return text, true
	}
	if of := h.wires.Block[w.At]; h.at[of] < 0 || h.first[h.at[of]] != h.first[w.At] {
		return text + ", and " + h.name(w.At) + " does not stand there", false
	}
	return text, true
}

// describe says what a block that stands waits for.
func (h *hang) describe(b int32) string {
	for _, cause := range [...]ir.Cause{ir.ForStep, ir.ForMessage, ir.ForSlot} {
		if h.lacks(h.at[b], cause) {
			return h.waiting(h.at[b], cause)
		}
	}
	return h.name(h.at[b]) + " stands"
}

// waiting says what a step waits for.
func (h *hang) waiting(step int32, cause ir.Cause) string {
	s := &h.p.Steps[step]
	block := &h.img.Blocks[h.wires.Block[step]]
	text := h.name(step) + " waits for "
	switch cause {
	case ir.ForStep:
		return text + fmt.Sprintf("step %d of block %d", s.DepStep, s.DepBlock)
	case ir.ForMessage:
		return text + fmt.Sprintf("message %d of connection %s", h.received[block.Recv]+1, h.img.Conns[block.Recv])
	}
	return text + fmt.Sprintf("a free slot of connection %s, whose receiver has taken %d of %d messages",
		h.img.Conns[block.Send], h.received[block.Send], h.sent[block.Send])
}
