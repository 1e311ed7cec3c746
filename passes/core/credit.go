package core

import (
	"cmp"
	"slices"
)

// This file sees to it that scratch and packets are not written before what
// they held depth passes ago has been read. Passes go on as the first left the
// clocks: nothing else need order them, as if all were of one launch.

// A reuse is a Move that writes scratch or packets which Move read, of another
// block, reads in the same pass.
type reuse struct{ writer, read int32 }

// credit inserts credits: waits for a signal of depth passes ago.
func credit(l *State) (int, error) {
	s := l.sync
	var list []reuse
	latest := make(map[[2]int32]int32) // by reader's and writer's block: the reader's last group
	s.eachDep(func(i int32, d oneDep) {
		if d.slot && (d.kind == depPacket || !s.onePass) {
			list = append(list, reuse{d.on, i})
			key := [2]int32{s.blockOf(i), s.blockOf(d.on)}
			latest[key] = max(latest[key], s.of[i])
		}
	})
	slots := len(list)
	for pass := int32(1); pass < s.copies && len(list) > 0; pass++ {
		s.next(pass, func(int32) {}, func(int32) {})
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
		s.credit(list, latest)
	}
	return len(list), nil
}

// shake has writers of packets wait until the launch of who reads them is known to have begun: what it read in the one
// before it has read.
func (s *oneSync) shake(list []reuse) {
	byBlock := make([][]int32, s.blocks())
	for g := range s.groups {
		byBlock[s.groups[g].block] = append(byBlock[s.groups[g].block], int32(g))
	}
	told := make(map[[2]int32]bool) // a writer's block and a reader's rank
	slices.SortStableFunc(list, func(u, v reuse) int { return cmp.Compare(s.of[u.writer], s.of[v.writer]) })
	for _, u := range list {
		b, owner := s.blockOf(u.writer), s.moves[u.read].rank
		if !told[[2]int32{b, owner}] {
			told[[2]int32{b, owner}] = true
			s.beginBefore(byBlock[b], s.of[u.writer], owner)
		}
	}
}

// beginBefore has the groups of a block know by group g that owner's launch has begun.
func (s *oneSync) beginBefore(groups []int32, g, owner int32) {
	last := groups[0] // the last that is not a part of another
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
	slices.SortFunc(s.begins[last], func(x, y int32) int { return cmp.Compare(s.behind(x, own), s.behind(y, own)) })
}

// credit goes through the first pass once more, and keeps what signals behind readers would tell there. Then it goes on
// to the pass that uses the copies of the first again, and has its writers wait for those that tell them what they do
// not know, the latest first, since it tells most.
func (s *oneSync) credit(list []reuse, latest map[[2]int32]int32) {
	behind := func(u reuse) (a, b, g int32) { // where a signal would be for u, from block a to b
		a, b = s.blockOf(u.read), s.blockOf(u.writer)
		g = latest[[2]int32{a, b}]
		if k, ok := s.signalled(a, b, g); ok {
			g = s.signals[k].group
		}
		return a, b, g
	}
	of := make(map[int32][]reuse) // by the writer's group
	told := make(map[int32]oneClock)
	for _, u := range list {
		_, _, g := behind(u)
		told[g] = oneClock{}
		of[s.of[u.writer]] = append(of[s.of[u.writer]], u)
	}
	done, seen := s.done, s.seen
	s.knowNothing()
	s.next(0, func(int32) {}, func(g int32) {
		if _, ok := told[g]; ok {
			told[g] = s.done[s.groups[g].block].share()
		}
	})
	for b := range s.blocks() {
		s.forget(&s.done[b])
		s.forget(&s.seen[b])
	}
	s.done, s.seen = done, seen
	s.next(s.copies, func(g int32) {
		waits := of[g]
		slices.SortStableFunc(waits, func(u, v reuse) int {
			_, _, x := behind(u)
			_, _, y := behind(v)
			return cmp.Compare(y, x)
		})
		for _, u := range waits {
			if s.round(u.read, func(x int32) bool { return s.isOver(u.writer, x) }) {
				continue
			}
			a, b, x := behind(u)
			k := s.signal(a, b, x)
			s.awaits[g] = append(s.awaits[g], oneAwait{k, s.copies})
			s.failed = s.failed || s.groups[g].joint
			heard := told[x]
			s.learn(&s.done[b], &heard)
			s.note(&s.done[b], a, s.ends(x, 0))
		}
	}, func(int32) {})
}

// known says whether u's writer knows at the end of the pass that its reader is over.
func (s *oneSync) known(u reuse) bool {
	knows := &s.done[s.blockOf(u.writer)]
	return s.round(u.read, func(x int32) bool { return knows.of(s.chain[s.blockOf(x)]) >= s.ends(s.of[x], 0) })
}

// next runs one more pass, and calls check with every group when it has waited,
// and over when it has ended.
func (s *oneSync) next(pass int32, check, over func(g int32)) {
	for g := range s.after {
		s.after[g] = oneSnap{}
	}
	s.kept = nil
	for _, list := range s.awaits {
		for _, w := range list {
			if w.ago == 0 {
				s.after[s.signals[w.signal].group].asks++
			}
		}
	}
	for k := range s.groups {
		g := int32(k)
		b := s.groups[g].block
		for _, w := range s.awaits[g] {
			if w.ago == 0 {
				s.hear(b, w.signal, pass)
				s.drop(&s.after[s.signals[w.signal].group])
			}
		}
		s.begin(g, pass)
		check(g)
		s.send(g)
		s.end(g, pass)
		over(g)
		s.keep(g)
	}
}
