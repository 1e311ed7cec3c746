package core

import (
	"cmp"
	"slices"

	"mscclc/ir/vclock"
)

// This file keeps copies of scratch and packets from being written before their last content was read, some passes
// earlier. A later pass begins with the clocks that the pass before it left. It assumes no other order between passes,
// as if all were of one launch.

// A reuse is a Move that writes scratch or packets, and a Move of another block that reads them in the same pass.
type reuse struct{ writer, read int32 }

// credit inserts credits: waits for a signal of as many passes earlier as there are copies.
func credit(l *State) (int, error) {
	s := l.sync
	var list []reuse
	latest := make(map[[2]int32]int32) // by the block of the reader and that of the writer: the last group that reads
	s.eachDep(func(i int32, d oneDep) {
		if d.slot && (d.kind == depPacket || !s.onePass) {
			list = append(list, reuse{d.on, i})
			key := [2]int32{s.blockOf(i), s.blockOf(d.on)}
			latest[key] = max(latest[key], s.of[i])
		}
	})
	slots := len(list)
	for pass := int32(1); pass < s.copies && len(list) > 0; pass++ {
		s.next(pass, s.neededBy(list, s.copies-pass), func(int32) {}, func(int32) {})
		list = slices.DeleteFunc(list, func(u reuse) bool { return s.known(u) })
	}
	switch {
	case len(list) == 0:
	case s.onePass:
		s.shake(list)
		if len(list) == slots {
			s.copies = 1
		}
	default:
		s.credit(s.owe(list, latest))
	}
	return len(list), nil
}

// shake has a writer of packets wait until it knows that the reader's launch has begun. The reader has then read all
// packets of the launch before.
func (s *oneSync) shake(list []reuse) {
	byBlock := make([][]int32, s.blocks())
	for g := range s.groups {
		byBlock[s.groups[g].block] = append(byBlock[s.groups[g].block], int32(g))
	}
	begun := make(map[[2]int32]bool) // by the block of the writer and the rank of the reader
	slices.SortStableFunc(list, func(u, v reuse) int { return cmp.Compare(s.of[u.writer], s.of[v.writer]) })
	for _, u := range list {
		b, owner := s.blockOf(u.writer), s.moves[u.read].rank
		if !begun[[2]int32{b, owner}] {
			begun[[2]int32{b, owner}] = true
			s.beginBefore(byBlock[b], s.of[u.writer], owner)
		}
	}
}

// beginBefore has a block wait, at group g or before, until owner's launch has begun. groups are the block's.
func (s *oneSync) beginBefore(groups []int32, g, owner int32) {
	last := groups[0] // the last group up to g that may wait
	for _, h := range groups {
		if h > g {
			break
		}
		from := func(w oneAwait) bool { return s.rankOf(s.signals[w.signal].from) == owner }
		if slices.Contains(s.begins[h], owner) || slices.ContainsFunc(s.awaits[h], from) {
			return
		}
		if !s.groups[h].joint {
			last = h
		}
	}
	for _, h := range groups {
		s.begins[h] = slices.DeleteFunc(s.begins[h], func(r int32) bool { return r == owner })
	}
	s.begins[last] = append(s.begins[last], owner)
	own := s.rankOf(s.groups[last].block)
	slices.SortFunc(s.begins[last], func(x, y int32) int { return cmp.Compare(s.distance(x, own), s.distance(y, own)) })
}

// An owed is a reuse whose writer does not know that the reader is over. A signal from block from to block to, after
// group at, would release it.
type owed struct {
	reuse
	from, to, at int32
}

// owe lists what is owed, sorted by the writer's group. Within a group the latest signal comes first, since it releases
// most. latest is the last group that reads, by the block of the reader and that of the writer.
func (s *oneSync) owe(list []reuse, latest map[[2]int32]int32) []owed {
	owe := make([]owed, len(list))
	for k, u := range list {
		x := owed{reuse: u, from: s.blockOf(u.read), to: s.blockOf(u.writer)}
		x.at = latest[[2]int32{x.from, x.to}]
		if signal, ok := s.signalled(x.from, x.to, x.at); ok {
			x.at = s.signals[signal].group
		}
		owe[k] = x
	}
	slices.SortStableFunc(owe, func(x, y owed) int {
		return cmp.Or(cmp.Compare(s.of[x.writer], s.of[y.writer]), cmp.Compare(y.at, x.at))
	})
	return owe
}

// credit runs the first pass once more, and keeps what signals after the readers would release there. Then it runs the
// pass that uses the copies of the first pass again. A writer that does not know there that its reader is over waits
// for such a signal.
func (s *oneSync) credit(owe []owed) {
	released, asks := make([]oneClock, len(s.groups)), make([]int32, len(s.groups)) // by group
	for k := range owe {
		asks[owe[k].at]++
	}
	acquires, learns := s.lastNeeds(owe)
	over := make([]uint64, len(s.groups)) // by group: the parts of its clock that others learn
	for k := range owe {
		over[owe[k].at] |= s.toLearn(owe[k:], learns)
	}
	done, seen := s.done, s.seen
	s.knowNothing()
	first, _, _ := s.needed(nil, over, nil)
	s.next(0, first, func(int32) {}, func(g int32) {
		if over[g] != 0 {
			released[g] = s.done[s.groups[g].block].share()
		}
	})
	for b := range s.blocks() {
		s.forget(&s.done[b])
		s.forget(&s.seen[b])
	}
	s.done, s.seen = done, seen
	s.next(s.copies, acquires, func(g int32) {
		for ; len(owe) > 0 && s.of[owe[0].writer] == g; owe = owe[1:] {
			u := &owe[0]
			if !s.round(u.read, func(x int32) bool { return s.isOver(u.writer, x) }) {
				k := s.signal(u.from, u.to, u.at)
				s.awaits[g] = append(s.awaits[g], oneAwait{k, s.copies})
				s.failed = s.failed || s.groups[g].joint
				s.parts = s.toLearn(owe, learns)
				s.learn(&s.done[u.to], &released[u.at])
				s.note(&s.done[u.to], u.from, s.ends(u.at, 0))
				s.parts = vclock.All
			}
			if asks[u.at]--; asks[u.at] == 0 {
				s.forget(&released[u.at])
			}
		}
	}, func(int32) {})
}

// known reports whether u's writer knows at the end of the pass that its reader is over.
func (s *oneSync) known(u reuse) bool {
	knows := &s.done[s.blockOf(u.writer)]
	return s.round(u.read, func(x int32) bool { return knows.of(s.chain[s.blockOf(x)]) >= s.ends(s.of[x], 0) })
}

// next runs one more pass. It calls check with each group after the group's waits, and over at the group's end.
// acquires, indexed by group, says which parts of clocks the group's waits teach its block; nil is all parts.
func (s *oneSync) next(pass int32, acquires []uint64, check, over func(g int32)) {
	for g := range s.after {
		s.after[g] = oneSnap{}
	}
	s.kept = s.kept[:0]
	for g, list := range s.awaits {
		for _, w := range list {
			if w.ago == 0 && (acquires == nil || acquires[g] != 0) {
				s.after[s.signals[w.signal].group].asks++
			}
		}
	}
	for k := range s.groups {
		g := int32(k)
		b := s.groups[g].block
		for _, w := range s.awaits[g] {
			if w.ago == 0 && (acquires == nil || acquires[g] != 0) {
				if acquires != nil {
					s.parts = acquires[g]
				}
				s.acquireSignal(b, w.signal, pass)
				s.drop(&s.after[s.signals[w.signal].group])
			}
		}
		s.parts = vclock.All
		s.begin(g, pass)
		check(g)
		s.send(g)
		s.end(g, pass)
		over(g)
		s.keep(g)
	}
}
