package executor

// race runs the program twice: with the later access held until the earlier has
// ended, and the other way round. What is held is let go when nothing else can go
// on; where the second run does not have the other order, no run has.
func (r *replay) race() (Replayed, error) {
	var out Replayed
	earlier, later := r.action(r.w.With, r.w.WithGroup), r.action(r.w.Step, r.w.Group)
	out.say("one run:")
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
	case a && !r.p.Protocol.Releases() && r.writes(r.w.With, r.w.WithGroup):
		out.Shown = true
		out.say("messages keep this order in every run; but those of %v make nothing visible except what they carry, so that on a GPU the later access may not see the earlier", r.p.Protocol)
	default:
		out.say("the two accesses were not seen in both orders")
	}
	return out, nil
}

// action is the number of a message of a step in the table of actions.
func (r *replay) action(step, message int32) int { return int(r.first[step] + message) }

// order runs with one access held until another has ended, tells what both did,
// and says whether they came in this order.
func (r *replay) order(out *Replayed, before, held int) (bool, error) {
	if err := r.run(Hold{Action: held, Until: before}); err != nil {
		return false, err
	}
	for _, x := range r.accesses() {
		if n := r.action(x.step, x.message); n == before || n == held {
			out.say("  %s", r.tell(&x))
		}
	}
	a, b := &r.watch.Actions[before], &r.watch.Actions[held]
	return a.End > 0 && b.End > a.End, nil
}

// writes says whether a message of a step writes the witness's chunk.
func (r *replay) writes(step, message int32) bool {
	_, writes := r.touches(step, message)
	return writes
}
