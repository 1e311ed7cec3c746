package channels

import (
	"mscclc/ir"
	"mscclc/ir/onesided"
)

// A stepOrder is what happens before what in a launch: nodes are steps, and after them the ends of the groups of steps
// that run together.
type stepOrder struct {
	group   []int32     // by step: the node that is the end of its group
	steps   [][2]int32  // of a group, whose node is its number after all steps: its steps, from and to
	first   []bool      // by group: no other of its block is before it
	knownIn [][]knownAt // by step: the groups at whose ends it is known to have been
	seen    []int32     // by node: the last search that came to it
	count   int32
	work    int64
}

// A knownAt is where a step is known, and whether what it wrote is visible there.
type knownAt struct {
	node  int32
	shows bool
}

// ordered reports whether happens-before has the order at shared ends that the run had, and reports where it has not.
func (s *sharer) ordered() bool {
	first := make([]int32, len(s.blocks)+1)
	for b, k := range s.blocks {
		first[b+1] = first[b] + int32(len(k.steps))
	}
	o := s.order(first)
	for _, x := range s.list {
		for which, list := range [][]sharedUse{x.signals, x.awaits} {
			for i := 1; i < len(list); i++ {
				a, b := &list[i-1], &list[i]
				if a.block == b.block || o.follows(first[a.block]+a.step, first[b.block]+b.step, which > 0) {
					continue
				}
				why := ""
				if o.work > maxShareWork {
					why = ", as far as it was followed"
				}
				s.report(x, a, b, why)
				return false
			}
		}
	}
	return true
}

// order makes the graph. Signals of shared ends are taken in the order of the run.
func (s *sharer) order(first []int32) *stepOrder {
	n := first[len(s.blocks)]
	o := &stepOrder{group: make([]int32, n), knownIn: make([][]knownAt, n)}
	signals, senders := map[onesided.Operand][]sharedUse{}, map[[2]int32]int32{}
	key := func(x onesided.Operand) onesided.Operand { return onesided.Operand{Rank: x.Rank, Index: x.Index} }
	for b, k := range s.blocks {
		for i := range k.steps {
			st, at := &k.steps[i], first[b]+int32(i)
			if st.flags&ir.Joint == 0 || i == 0 {
				o.steps, o.first = append(o.steps, [2]int32{at, at}), append(o.first, i == 0)
			}
			g := len(o.steps) - 1
			o.steps[g][1] = at + 1
			o.group[at] = n + int32(g)
			for j, x := range st.dsts {
				switch {
				case x.Buf == ir.Packets:
					for m := range st.count {
						senders[[2]int32{x.Rank, x.Index + m}] = at
					}
				case x.Buf == ir.Flags && s.shared[key(x)] == nil:
					signals[key(x)] = append(signals[key(x)], sharedUse{int32(b), int32(i), int32(j)})
				}
			}
		}
	}
	o.seen = make([]int32, int(n)+len(o.steps))
	add := func(from, to int32, shows bool) {
		o.knownIn[from] = append(o.knownIn[from], knownAt{o.group[to], shows})
	}
	relaxed := func(x, y *unrolledStep) bool { return (x.flags|y.flags)&ir.Relaxed != 0 }
	for b, k := range s.blocks {
		for i := range k.steps {
			st, at := &k.steps[i], first[b]+int32(i)
			for _, x := range st.srcs {
				switch {
				case st.lies:
				case x.Buf == ir.Packets:
					for m := range st.count {
						add(senders[[2]int32{x.Rank, x.Index + m}], at, false)
					}
				case x.Buf == ir.Flags && s.shared[key(x)] == nil && x.Nth >= 1 && int(x.Nth) <= len(signals[key(x)]):
					y := signals[key(x)][x.Nth-1]
					add(first[y.block]+y.step, at, !relaxed(st, &s.blocks[y.block].steps[y.step]))
				}
			}
		}
	}
	for _, x := range s.list {
		for i, a := range x.awaits {
			if j := int32(i) - x.before; j >= 0 && int(j) < len(x.signals) {
				y := x.signals[j]
				add(first[y.block]+y.step, first[a.block]+a.step,
					!relaxed(&s.blocks[a.block].steps[a.step], &s.blocks[y.block].steps[y.step]))
			}
		}
	}
	return o
}

// follows reports whether step b comes after step a, and sees what that did where that is asked.
func (o *stepOrder) follows(a, b int32, shows bool) bool {
	o.count++
	n := int32(len(o.group))
	open := []int32{a}
	o.seen[a] = o.count
	for len(open) > 0 && o.work <= maxShareWork {
		x := open[len(open)-1]
		open = open[:len(open)-1]
		visit := func(y int32) {
			o.work++
			if o.seen[y] != o.count {
				o.seen[y] = o.count
				open = append(open, y)
			}
		}
		if x == b {
			return true
		}
		if x >= n {
			if g := x - n + 1; int(g) < len(o.first) && !o.first[g] {
				for y := o.steps[g][0]; y < o.steps[g][1]; y++ {
					visit(y)
				}
				visit(n + g)
			}
			continue
		}
		visit(o.group[x])
		for _, t := range o.knownIn[x] {
			if t.shows || !shows {
				visit(t.node)
			}
		}
	}
	return false
}
