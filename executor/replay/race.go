package replay

import "mscclc/executor"

// race runs the program twice: with the later access held until the earlier has
// ended, and the other way round. What is held is let go when nothing else can go
// on; where the second run does not have the other order, no run has.
func (r *replay) race() (Result, error) {
	var out Result
	earlier, later := r.action(r.w.With, r.w.WithGroup), r.action(r.w.Step, r.w.Group)
	out.say("one run, in which no connection is ever full:")
	a, err := r.order(&out, earlier, later)
	if err != nil {
		return out, err
	}
	held := r.name(r.w.With)
	out.say("another, with %s held back:", held)
	b, err := r.order(&out, later, earlier)
	if err != nil {
		return out, err
	}
	switch {
	case a && b:
		out.Shown = true
	case a && !r.p.Protocol.Releases() && r.writes(r.w.With, r.w.WithGroup) && !r.byFlags():
		out.Shown = true
		out.say("messages keep this order in every run; but those of %v make nothing visible except what they carry, so that on a GPU the later access may not see the earlier", r.p.Protocol)
	case a && !r.p.Protocol.Releases() && r.comesRound() && !r.byFlags():
		out.Shown = true
		out.say("here a message is there as a whole; but its packets of %v come one by one, so that on a device with more threads the later access may come before the earlier", r.p.Protocol)
	default:
		out.say("the two accesses were not seen in both orders")
	}
	return out, nil
}

// action returns the number of a message of a step in the table of actions.
func (r *replay) action(step, message int32) int { return int(r.first[step] + message) }

// order runs with one access held until another has ended, says what both did,
// and says whether they came in this order.
func (r *replay) order(out *Result, before, held int) (bool, error) {
	if err := r.run(executor.Hold{Action: held, Until: before}); err != nil {
		return false, err
	}
	for _, x := range r.accesses() {
		if x.action == before || x.action == held {
			out.say("  %s", r.describe(&x))
		}
	}
	a, b := &r.watch.Actions[before], &r.watch.Actions[held]
	return a.End > 0 && b.End > a.End, nil
}

// byFlags reports whether flags and the order of steps put the later access after
// the earlier one, without any message.
func (r *replay) byFlags() bool {
	// indexed by block: the first step that is after the earlier access
	first := map[int32]int32{r.wires.Block[r.w.With]: r.w.With}
	own := r.p.Rank[r.w.Rank]
	for grown := true; grown; {
		grown = false
		for i := r.p.Blocks[own.First].Steps.First; i < r.p.Blocks[own.End-1].Steps.End; i++ {
			on := r.wires.Awaited(r.p.Fifo, int32(r.w.Rank), i)
			if on < 0 {
				continue
			}
			b := r.wires.Block[i]
			from, known := first[r.wires.Block[on]]
			if at, has := first[b]; known && on >= from && (!has || i < at) {
				first[b], grown = i, true
			}
		}
	}
	at, has := first[r.wires.Block[r.w.Step]]
	return has && r.w.Step >= at
}

// comesRound reports whether the later access is of the message that the earlier
// sends, once it has come round, and of other chunks of it.
func (r *replay) comesRound() bool {
	i := r.w.Step
	for i >= 0 && i != r.w.With {
		i = r.wires.Mate[i]
	}
	if i < 0 || r.w.Group != r.w.WithGroup {
		return false
	}
	s, t := &r.p.Steps[r.w.With], &r.p.Steps[r.w.Step]
	return s.Op.Info().ReadsSrc && t.Op.Info().Writes &&
		r.mem.Cell(r.w.Rank, s.SrcBuf, int(s.Src)) != r.mem.Cell(r.w.Rank, t.DstBuf, int(t.Dst))
}

// writes reports whether a message of a step writes the counterexample's chunk.
func (r *replay) writes(step, message int32) bool {
	_, writes := r.touches(step, message)
	return writes
}
