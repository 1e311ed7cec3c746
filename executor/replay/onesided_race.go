package replay

import (
	"slices"

	"mscclc/executor"
	"mscclc/ir"
)

// A moment is which passes two accesses are of: the earlier, how many passes on the later, and of how many passes of
// the launch. Steps that are only in a launch's first pass or last order more there than in others; these passes are
// without some.
type moment struct {
	pass, apart, of int
	without         ir.StepFlags
}

// moments returns the moments in which a race may show: two accesses of one pass, or, of scratch and packets, the later
// of the pass that uses the copy again.
func (r *oneReplay) moments() []moment {
	depth := int(r.p.Depth)
	const marks = ir.Enter | ir.Leave
	list := []moment{{0, 0, 1, 0}, {1, 0, 3, marks}}
	if r.w.Buf == ir.Scratch || r.w.Buf == ir.Packets {
		list = append(list, moment{1, depth, depth + 3, marks})
	}
	return list
}

// race runs the program with the later access held until the earlier has ended, and the other way round.
func (r *oneReplay) race() (Result, error) {
	var out Result
	for _, m := range r.moments() {
		out = Result{}
		r.inPasses(m.of)
		r.also = r.packetsLast(m)
		if r.onePass && m.of > 1 {
			out.say("launches are shown as passes of one, pass 1 being the first:")
		}
		r.pass = m.pass
		earlier, later := r.actionOf(r.w.With, m.pass), r.actionOf(r.w.Step, m.pass+m.apart)
		out.say("one run:")
		a, err := r.order(&out, earlier, later)
		if err != nil {
			return out, err
		}
		out.say("another, with %s held back:", r.name(r.w.With))
		b, err := r.order(&out, later, earlier)
		if err != nil {
			return out, err
		}
		if end := r.end(earlier); m.apart > 0 && r.end(later) > 0 && (end == 0 || end > r.end(later)) {
			if a, b = true, true; end == 0 {
				out.say("  what it was to see is gone: it waits for ever")
			} else {
				out.say("  what it was to see is gone")
			}
		}
		switch {
		case a && b:
			out.Shown = true
			return out, nil
		case a && m.apart == 0 && r.together():
			out.Shown = true
			out.say("the two are joint, and this device has one thread for them; on one with more, threads go ahead of each other")
			return out, r.stale(&out, m)
		case a && !r.reaches(r.starts(r.w.With), r.w.Step, false, m):
			out.Shown = true
			out.say("%s, so that on a GPU it may be the other way", r.keeps())
			return out, r.stale(&out, m)
		}
	}
	out.say("the two accesses were not seen in both orders: here a step is done at once, and the race may be within it")
	return out, nil
}

// packetsLast holds, where two passes race, who sends packets until those that lay there are read, but for the two
// accesses: else passes before might hang of the same race.
func (r *oneReplay) packetsLast(m moment) (list []executor.Hold) {
	depth := int(r.p.Depth)
	for i := range int32(len(r.p.Steps)) {
		s := &r.p.Steps[i]
		for _, x := range r.p.Sources(s) {
			for k := int32(0); m.apart > 0 && x.Buf == ir.Packets && k < s.Count; k++ {
				w := r.links.Writer[r.links.Packet(x.Rank, x.Index)+k]
				for pass := 0; w >= 0 && pass+depth < m.of; pass++ {
					if w != r.w.Step || i != r.w.With || pass != m.pass {
						list = append(list, executor.Hold{Action: r.actionOf(w, pass+depth), Until: r.actionOf(i, pass)})
					}
				}
			}
		}
	}
	return list
}

// together reports whether the two accesses are of one group of Moves.
func (r *oneReplay) together() bool {
	i, j := min(r.w.With, r.w.Step), max(r.w.With, r.w.Step)
	same := r.links.Block[i] == r.links.Block[j]
	for k := i + 1; k <= j; k++ {
		same = same && r.p.Steps[k].Flags&ir.Joint != 0
	}
	return same
}

// keeps says what keeps an order on this device that the program does not ask for.
func (r *oneReplay) keeps() string {
	flag := func(f ir.StepFlags) bool {
		return slices.ContainsFunc(r.p.Steps, func(s ir.Step) bool { return !s.Op.Moves() && s.Flags&f != 0 })
	}
	switch {
	case r.w.Unmet || flag(ir.Joint) && !flag(ir.Relaxed):
		return "a block barrier stands here in every run, although the program asks for none"
	case flag(ir.Relaxed):
		return "relaxed signals keep this order here, in every run; but they make nothing visible"
	}
	return "packets keep this order here, in every run; but they order nothing, and make nothing visible, but what they carry"
}

// group returns where the steps that run together with a step begin and end.
func (r *oneReplay) group(step int32) (first, end int32) {
	joint := func(i int32) bool { return r.p.Steps[i].Flags&ir.Joint != 0 }
	for first = step; joint(first); first-- {
	}
	last := r.p.Blocks[r.links.Block[step]].Steps.End
	for end = step + 1; end < last && joint(end); end++ {
	}
	return first, end
}

// starts returns, for step's block, the number of steps up to the end of its group: all later steps come after it.
func (r *oneReplay) starts(step int32) map[int32]int {
	_, end := r.group(step)
	return map[int32]int{r.links.Block[step]: int(end - r.p.Blocks[r.links.Block[step]].Steps.First)}
}

// reaches reports whether flags and the order of steps put a step, or where over its end, of the later pass of m,
// after what is known of some blocks: of each, how many steps it has done since the earlier pass began.
func (r *oneReplay) reaches(from map[int32]int, step int32, over bool, m moment) bool {
	number := func(i int32, pass int) int {
		steps := r.p.Blocks[r.links.Block[i]].Steps
		return int(i-steps.First) + pass*int(steps.End-steps.First)
	}
	for grown := true; grown; {
		grown = false
		for i := range int32(len(r.p.Steps)) {
			s := &r.p.Steps[i]
			if s.Op != ir.Await || s.Flags&(m.without|ir.Relaxed) != 0 {
				continue
			}
			for _, x := range r.p.Sources(s) {
				by, ago := r.links.Awaited(r.links.Flag(x.Rank, x.Index), x.Nth)
				if by >= 0 && r.p.Steps[by].Flags&ir.Relaxed != 0 {
					continue
				}
				for pass := int(ago); by >= 0 && pass <= m.apart; pass++ {
					known, has := from[r.links.Block[by]]
					released, _ := r.group(by)
					if !has || number(released, pass-int(ago)) < known {
						continue
					}
					_, end := r.group(i)
					if at, has := from[r.links.Block[i]]; !has || number(end-1, pass)+1 < at {
						from[r.links.Block[i]], grown = number(end-1, pass)+1, true
					}
				}
			}
		}
	}
	at, has := from[r.links.Block[step]]
	reached := number(step, m.apart)
	if over {
		reached++
	}
	return has && reached >= at
}

// outside shows that the counterexample's step accesses memory of a rank before any block of that has begun, or after
// all of them have ended: in a launch of one pass, or in the first or the last of two.
func (r *oneReplay) outside() (out Result, err error) {
	own := r.p.Rank[r.w.Rank]
	if own.First == own.End {
		out.Shown = true
		out.say("rank %d has no block, so that it ends at once; %s is not awaited by it", r.w.Rank, r.name(r.w.Step))
		return out, nil
	}
	for passes := 1; passes <= 2 && !(r.onePass && passes > 1); passes++ {
		r.inPasses(passes)
		if err = r.early(&out); err == nil && !out.Shown {
			err = r.late(&out)
		}
		if err != nil || out.Shown {
			return out, err
		}
	}
	begins := map[int32]int{}
	for b := own.First; b < own.End; b++ {
		begins[b] = 0
	}
	ends := !r.awaitsEnd()
	if out.Shown = ends || !r.reaches(begins, r.w.Step, false, moment{without: ir.Leave}); out.Shown {
		out.say("%s falls into the launch of rank %d: %s", r.name(r.w.Step), r.w.Rank, r.keeps())
		return out, r.gone(&out, !ends)
	}
	out.say("%s was seen neither before rank %d began nor after it ended", r.name(r.w.Step), r.w.Rank)
	return out, nil
}

// early holds the counterexample's rank until the access has ended.
func (r *oneReplay) early(out *Result) error {
	own, access := r.p.Rank[r.w.Rank], r.actionOf(r.w.Step, 0)
	var hold []executor.Hold
	_, first := r.img.One.Actions(uint64(r.passes))
	for b := own.First; b < own.End; b++ {
		if first[b] < first[b+1] {
			hold = append(hold, executor.Hold{Action: int(first[b]), Until: access})
		}
	}
	if err := r.run(hold...); err != nil {
		return err
	}
	end := r.end(access)
	if out.Shown = end > 0 && r.all(func(begin, _ uint64) bool { return begin == 0 || begin > end }); out.Shown {
		out.say("%s ended at %d, and no step of rank %d had begun", r.name(r.w.Step), end, r.w.Rank)
	}
	return nil
}

// late holds the access until the counterexample's rank has ended.
func (r *oneReplay) late(out *Result) error {
	own, access := r.p.Rank[r.w.Rank], r.actionOf(r.w.Step, r.passes-1)
	_, first := r.img.One.Actions(uint64(r.passes))
	for b := own.First; b < own.End && !out.Shown; b++ {
		if first[b] == first[b+1] || r.p.Loose(b) {
			continue
		}
		if err := r.run(executor.Hold{Action: access, Until: int(first[b+1]) - 1}); err != nil {
			return err
		}
		begin := r.watch.Actions[access].Begin
		if out.Shown = begin > 0 && r.all(func(_, end uint64) bool { return end > 0 && end < begin }); out.Shown {
			out.say("%s began at %d, and all steps of rank %d had ended", r.name(r.w.Step), begin, r.w.Rank)
		}
	}
	return nil
}

// awaitsEnd reports whether some block of the counterexample's rank awaits flags that say that the counterexample's
// step is over.
func (r *oneReplay) awaitsEnd() bool {
	for b := r.p.Rank[r.w.Rank].First; b < r.p.Rank[r.w.Rank].End; b++ {
		if steps := r.p.Blocks[b].Steps; steps.First < steps.End && !r.p.Loose(b) &&
			r.reaches(r.starts(r.w.Step), steps.End-1, true, moment{without: ir.Enter}) {
			return true
		}
	}
	return false
}

func (r *oneReplay) end(action int) uint64 { return r.watch.Actions[action].End }

// all reports whether something holds for when each action of the counterexample's rank began and ended, 0 for never,
// but for loose ones.
func (r *oneReplay) all(holds func(begin, end uint64) bool) bool {
	own := r.p.Rank[r.w.Rank]
	for b := own.First; b < own.End; b++ {
		for n := r.watch.First[b]; n < r.watch.First[b+1] && !r.p.Loose(b); n++ {
			if a := &r.watch.Actions[n]; !holds(a.Begin, a.End) {
				return false
			}
		}
	}
	return true
}
