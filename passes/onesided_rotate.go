package passes

import "slices"

// This file sees to it that scratch and packets are not written before what
// they held depth passes ago has been read. Passes go on as the first left the
// clocks: nothing else need order them, as if all were of one launch.

// A reuse is a Move that writes scratch or packets which Move read, of another
// rank, reads in the same pass.
type reuse struct{ writer, read int32 }

// rotate inserts credits: waits for a signal of depth passes ago.
func (s *oneSync) rotate() {
	var list []reuse
	latest := make(map[[2]int32]int32) // by reader's and writer's rank: the reader's last group
	s.eachDep(func(i int32, d oneDep) {
		if d.slot {
			list = append(list, reuse{d.on, i})
			key := [2]int32{s.moves[i].rank, s.moves[d.on].rank}
			latest[key] = max(latest[key], s.of[i])
		}
	})
	for pass := int32(1); pass < depth && len(list) > 0; pass++ {
		s.next(pass, func(int32) {})
		list = slices.DeleteFunc(list, func(u reuse) bool { return s.known(u) })
	}
	if len(list) == 0 {
		return
	}
	of := make(map[int32][]reuse) // by the writer's group
	for _, u := range list {
		of[s.of[u.writer]] = append(of[s.of[u.writer]], u)
	}
	s.next(depth, func(g int32) {
		for _, u := range of[g] {
			if s.isOver(u.writer, u.read) {
				continue
			}
			a, b := s.moves[u.read].rank, s.groups[g].rank
			k := s.signal(a, b, latest[[2]int32{a, b}])
			s.awaits[g] = append(s.awaits[g], oneAwait{k, depth})
			s.failed = s.failed || s.groups[g].joint
			s.done[b][a] = max(s.done[b][a], s.ends(s.signals[k].group, 0))
		}
	})
}

// known says whether u's writer knows at the end of the pass that its reader is over.
func (s *oneSync) known(u reuse) bool {
	return s.done[s.moves[u.writer].rank][s.moves[u.read].rank] >= s.ends(s.of[u.read], 0)
}

// next runs one more pass, and calls check with every group when it has waited.
func (s *oneSync) next(pass int32, check func(g int32)) {
	for g := range s.after {
		s.after[g] = oneSnap{}
	}
	for _, list := range s.awaits {
		for _, w := range list {
			if w.ago == 0 {
				s.after[s.signals[w.signal].group].asks++
			}
		}
	}
	for k := range s.groups {
		g := int32(k)
		b := s.groups[g].rank
		s.begin(g, pass)
		for _, w := range s.awaits[g] {
			if w.ago == 0 {
				s.hear(b, w.signal, pass)
				s.drop(&s.after[s.signals[w.signal].group])
			}
		}
		check(g)
		s.send(g)
		s.end(g, pass)
		if a := &s.after[g]; a.asks > 0 {
			a.done, a.seen = s.clone(s.done[b]), s.clone(s.seen[b])
		}
	}
}
