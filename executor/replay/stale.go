package replay

import (
	"mscclc/executor"
	"mscclc/ir"
)

// callerPoison is what a rank's caller leaves in memory that is its own again.
const callerPoison = 0xca11_e2ca_11e2_ca11

// stale runs the program once more, in the order that this device keeps, and has one of two accesses see of the chunk
// what it may see where nothing makes visible what the other stores; and says what comes of it.
func (r *oneReplay) stale(out *Result, m moment) error {
	if r.w.Buf > ir.Scratch {
		return nil // packets carry what they are read for
	}
	earlier, later := r.actionOf(r.w.With, m.pass), r.actionOf(r.w.Step, m.pass+m.apart)
	hold := executor.Hold{Action: later, Until: earlier}
	if err := r.run(hold); err != nil {
		return err
	}
	var a, b *access
	for _, x := range r.accesses() {
		switch x.action {
		case earlier:
			a = &x
		case later:
			b = &x
		}
	}
	if a == nil || b == nil || a.end == 0 || b.end == 0 {
		return nil
	}
	sees := executor.Stale{Action: earlier, Value: b.after}
	switch name, with := r.name(r.w.Step), r.name(r.w.With); {
	case a.writes && b.reads:
		sees = executor.Stale{Action: later, Value: a.before}
		out.say("another, in which the store of %s has not come when %s reads:", with, name)
	case a.writes:
		sees = executor.Stale{Action: later, Value: a.after, Last: true}
		out.say("another, in which the store of %s comes after that of %s:", with, name)
	default:
		out.say("another, in which %s sees what %s stores:", with, name)
	}
	return r.report(out, &sees, hold)
}

// report runs with what is stale, and says what the two accesses did and what ends wrong.
func (r *oneReplay) report(out *Result, sees *executor.Stale, hold ...executor.Hold) error {
	if err := r.runStale(sees, hold...); err != nil {
		return err
	}
	for _, x := range r.accesses() {
		if x.action == sees.Action && !sees.Last && x.end > 0 {
			x.before = sees.Value
		}
		if x.end > 0 && (r.is(&x, r.w.Step) || r.is(&x, r.w.With)) {
			out.say("  %s", r.describe(&x))
		}
	}
	switch rep := r.data.Check(); {
	case r.stuck:
		out.say("  and it hangs")
	case rep.Wrong > 0:
		out.say("  %d of %d elements are wrong: %v", rep.Wrong, rep.Checked, rep.First)
	default:
		out.say("  and no output depends on it")
	}
	return nil
}

// is reports whether an access is of a step.
func (r *oneReplay) is(x *access, step int32) bool { return step >= 0 && x.step == step }

// gone shows what comes of an access of memory of a rank whose launch has not begun for the accessing step, as far as
// that sees, or has ended for that rank.
func (r *oneReplay) gone(out *Result, begins bool) error {
	r.inPasses(1)
	if err := r.run(); err != nil {
		return err
	}
	for _, x := range r.accesses() {
		if !r.is(&x, r.w.Step) || x.end == 0 {
			continue
		}
		name := r.name(x.step)
		switch {
		case !x.writes:
			out.say("a run in which %s sees what the caller of rank %d has in that memory outside of its launch:",
				name, r.w.Rank)
			return r.report(out, &executor.Stale{Action: x.action, Value: callerPoison})
		case begins:
			out.say("a run in which what the caller of rank %d stored before its launch comes after the store of %s:",
				r.w.Rank, name)
			return r.report(out, &executor.Stale{Action: x.action, Value: x.before, Last: true})
		}
		out.say("a run in which the store of %s has not come when the launch of rank %d has ended, and its caller looks:",
			name, r.w.Rank)
		return r.report(out, &executor.Stale{Action: executor.StaleCaller, Value: x.before})
	}
	return nil
}
