package explore

// This file asks a verdict of Reduced for what a counterexample of a fault claims.

// Races says whether two messages of two steps race.
func (v *Verdict) Races(step, group, with, withGroup int32) bool {
	is := func(e, step, group int32) bool {
		a := &v.program.actions[e]
		return a.step == step && a.group == group
	}
	for pair := range v.raced {
		e, f := pair[0], pair[1]
		if is(e, step, group) && is(f, with, withGroup) || is(f, step, group) && is(e, with, withGroup) {
			return true
		}
	}
	return false
}

// Ends says whether a step ends, with the slots that there are.
func (v *Verdict) Ends(step int32) bool {
	x := v.program
	for b := range x.Blocks {
		for e := x.first[b] + v.pos[b]; e < x.first[b+1]; e++ {
			if x.actions[e].step == step {
				return false
			}
		}
	}
	return true
}

// ReadsNothing says whether a step reads what nothing wrote, in some schedule.
func (v *Verdict) ReadsNothing(step int32) bool { return v.readers[step] }

// Wrong says whether a chunk of rank's output is wrong at the end of some
// schedule.
func (v *Verdict) Wrong(rank, index int) bool {
	for _, o := range v.program.want {
		if int(o.rank) == rank && int(o.index) == index {
			return v.cells[o.cell]
		}
	}
	return false
}
