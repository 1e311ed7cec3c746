package passes

import (
	"cmp"
	"slices"
)

// A oneSync decides who signals whom. It runs the groups of all ranks in their
// order, with two clocks for each rank: of which groups of each other rank it
// knows that they are over (done), and of which it sees what they wrote (seen).
// A dependence across ranks that the clocks do not cover becomes a signal right
// behind the earlier group, or any that is behind it already, and a wait before
// the later one; what is needed latest is looked at first, since it covers most.
//
// A clock's entry is 0 where nothing is known, 1 where the rank's launch is
// known to have begun, and 1 + k where k of its groups are, passes one after
// the other.
type oneSync struct {
	*oneSided
	groups []oneGroup
	of     []int32 // of a Move: its group
	size   []int32 // of a rank: how many groups it has

	done, seen [][]int32
	learned    [][]int32 // of a rank: what it knows is over from its next group on
	before     []oneSnap // of a group that sends packets: done when it begins
	after      []oneSnap // of a group that others are signalled behind, or may be
	free       [][]int32
	readers    depList // of a Move: those that read its packets

	signals []oneSignal
	between map[[2]int32][]int32 // from one rank to another: signals, in order
	awaits  [][]oneAwait         // of a group
	begins  [][]int32            // of a group: the ranks whose launches must have begun
	leaves  [][2]int32           // who tells whom at the end of a launch
	failed  bool                 // a part of a group would have to wait or to signal
}

// A oneSnap is a clock as it was, for so many that may yet ask.
type oneSnap struct {
	done, seen []int32
	asks       int32
}

// A oneSignal is raised behind a group.
type oneSignal struct{ from, to, group int32 }

// A oneAwait waits before a group for a signal of some passes ago.
type oneAwait struct{ signal, ago int32 }

// sync inserts all synchronisation, and lets groups go on without a meeting of
// threads between where that needs no more of it.
func (l *oneSided) sync(groups []oneGroup) *oneSync {
	apart := l.syncGroups(groups)
	if joint := apart.join(); joint != nil {
		if together := l.syncGroups(joint); !together.failed && together.cost() <= apart.cost() {
			return together
		}
	}
	return apart
}

func (l *oneSided) syncGroups(groups []oneGroup) *oneSync {
	s := &oneSync{oneSided: l, groups: groups, of: make([]int32, len(l.moves)), size: make([]int32, l.n),
		before: make([]oneSnap, len(groups)), after: make([]oneSnap, len(groups)), between: make(map[[2]int32][]int32),
		awaits: make([][]oneAwait, len(groups)), begins: make([][]int32, len(groups))}
	for g := range groups {
		s.size[groups[g].rank] = groups[g].at + 1
		for _, i := range groups[g].moves {
			s.of[i] = int32(g)
		}
	}
	for range l.n {
		s.done, s.seen, s.learned = append(s.done, make([]int32, l.n)), append(s.seen, make([]int32, l.n)), append(s.learned, make([]int32, l.n))
	}
	s.countAsks()
	for g := range groups {
		if s.first(int32(g)); s.failed {
			return s
		}
	}
	s.leave()
	s.rotate()
	return s
}

// countAsks counts who may ask for clocks in the first pass, and lists the
// readers of packets.
func (s *oneSync) countAsks() {
	s.readers.start = make([]int32, len(s.moves)+1)
	s.eachDep(func(_ int32, d oneDep) {
		switch {
		case d.kind == depPacket:
			s.readers.start[d.on+1]++
		case d.kind == depSees:
			s.after[s.of[d.on]].asks++
		}
	})
	for i := range s.moves {
		s.readers.start[i+1] += s.readers.start[i]
	}
	next := slices.Clone(s.readers.start)
	s.readers.to = make([]oneDep, next[len(s.moves)])
	s.eachDep(func(i int32, d oneDep) {
		if d.kind == depPacket {
			s.readers.to[next[d.on]] = oneDep{on: i}
			next[d.on]++
		}
	})
}

// eachDep calls f with every dependence of Moves i of one rank on those of another.
func (s *oneSync) eachDep(f func(i int32, d oneDep)) {
	for i := range s.moves {
		for _, d := range s.deps.of(int32(i)) {
			if s.moves[d.on].rank != s.moves[i].rank {
				f(int32(i), d)
			}
		}
	}
}

// entry is what the clock of a rank says when k of its groups are over in a pass.
func (s *oneSync) entry(rank int32, pass, k int32) int32 { return pass*s.size[rank] + 1 + k }

// ends is the entry that says that group g of a pass is over.
func (s *oneSync) ends(g, pass int32) int32 {
	return s.entry(s.groups[g].rank, pass, s.groups[g].at+1)
}

// first runs group g in the first pass, and inserts what it must wait for.
func (s *oneSync) first(g int32) {
	b := s.groups[g].rank
	s.begin(g, 0)
	for _, d := range s.unmet(g) {
		if !s.met(d.by, d.oneDep) {
			s.await(g, d.on)
			s.failed = s.failed || s.groups[g].joint
		}
	}
	for _, owner := range s.owners(g) {
		if s.seen[b][owner] == 0 {
			s.begins[g] = append(s.begins[g], owner)
			s.failed = s.failed || s.groups[g].joint
			s.done[b][owner] = max(s.done[b][owner], 1)
			s.seen[b][owner] = 1
		}
	}
	s.send(g)
	for _, i := range s.groups[g].moves {
		for _, d := range s.deps.of(i) {
			if d.kind == depSees && s.moves[d.on].rank != b {
				s.drop(&s.after[s.of[d.on]])
			}
		}
	}
	s.end(g, 0)
	if a := &s.after[g]; a.asks > 0 {
		a.done, a.seen = s.clone(s.done[b]), s.clone(s.seen[b])
	}
}

// begin and end are what group g of a pass knows of itself when it begins and
// when it is over, and send keeps what those learn who read its packets.
func (s *oneSync) begin(g, pass int32) {
	b := s.groups[g].rank
	s.done[b][b] = s.entry(b, pass, s.groups[g].at)
	s.seen[b][b] = s.done[b][b]
}

func (s *oneSync) send(g int32) {
	asks := int32(0)
	for _, i := range s.groups[g].moves {
		asks += s.readers.start[i+1] - s.readers.start[i]
	}
	if asks > 0 {
		s.before[g] = oneSnap{done: s.clone(s.done[s.groups[g].rank]), asks: asks}
	}
}

func (s *oneSync) end(g, pass int32) {
	b := s.groups[g].rank
	for _, i := range s.groups[g].moves {
		for _, d := range s.deps.of(i) {
			if d.kind == depPacket && s.moves[d.on].rank != b {
				snap := &s.before[s.of[d.on]]
				join(s.learned[b], snap.done)
				s.drop(snap)
			}
		}
	}
	if s.groups[g].open {
		return
	}
	join(s.done[b], s.learned[b])
	clear(s.learned[b])
	s.done[b][b] = s.ends(g, pass)
	s.seen[b][b] = s.done[b][b]
}

func join(to, from []int32) {
	for i, x := range from {
		to[i] = max(to[i], x)
	}
}

// drop takes note that one fewer may ask.
func (s *oneSync) drop(snap *oneSnap) {
	if snap.asks--; snap.asks > 0 {
		return
	}
	if snap.done != nil {
		s.free = append(s.free, snap.done)
	}
	if snap.seen != nil {
		s.free = append(s.free, snap.seen)
	}
	*snap = oneSnap{}
}

func (s *oneSync) clone(clock []int32) []int32 {
	if n := len(s.free); n > 0 {
		c := s.free[n-1]
		s.free = s.free[:n-1]
		copy(c, clock)
		return c
	}
	return slices.Clone(clock)
}

// A unmetDep is a dependence of Move by that its rank's clocks do not cover.
type unmetDep struct {
	oneDep
	by int32
}

// unmet lists what group g must yet wait for, the latest first.
func (s *oneSync) unmet(g int32) []unmetDep {
	var list []unmetDep
	for _, i := range s.groups[g].moves {
		for _, d := range s.deps.of(i) {
			if d.kind != depPacket && s.moves[d.on].rank != s.groups[g].rank && !s.met(i, d) {
				list = append(list, unmetDep{d, i})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b unmetDep) int { return cmp.Compare(s.of[b.on], s.of[a.on]) })
	return list
}

// met says whether Move i knows that d is as it must be.
func (s *oneSync) met(i int32, d oneDep) bool {
	b := s.moves[i].rank
	if d.kind == depSees {
		return s.seen[b][s.moves[d.on].rank] >= s.ends(s.of[d.on], 0)
	}
	if s.isOver(i, d.on) {
		return true
	}
	for _, z := range s.readers.to[s.readers.start[d.on]:s.readers.start[d.on+1]] { // they read behind d.on's own reads
		if s.isOver(i, z.on) {
			return true
		}
	}
	return false
}

// isOver says whether Move i knows when it writes that the first pass of Move x
// is over: by its rank's clock, or by the packets that it reads.
func (s *oneSync) isOver(i, x int32) bool {
	rank, ends := s.moves[x].rank, s.ends(s.of[x], 0)
	if s.done[s.moves[i].rank][rank] >= ends {
		return true
	}
	for _, d := range s.deps.of(i) {
		if d.kind == depPacket && s.moves[d.on].rank != s.moves[i].rank && s.before[s.of[d.on]].done[rank] >= ends {
			return true
		}
	}
	return false
}

// await makes group g wait for Move x, by a signal behind it.
func (s *oneSync) await(g, x int32) {
	b, a := s.groups[g].rank, s.moves[x].rank
	k := s.signal(a, b, s.of[x])
	s.awaits[g] = append(s.awaits[g], oneAwait{k, 0})
	s.hear(b, k, 0)
}

// hear lets rank b learn what signal k of a pass tells.
func (s *oneSync) hear(b, k, pass int32) {
	sig := &s.signals[k]
	snap := &s.after[sig.group]
	join(s.done[b], snap.done)
	join(s.seen[b], snap.seen)
	ends := s.ends(sig.group, pass)
	s.done[b][sig.from] = max(s.done[b][sig.from], ends)
	s.seen[b][sig.from] = max(s.seen[b][sig.from], ends)
}

// signal returns the first signal of a pass from rank a to b that is behind
// group g, made if there is none.
func (s *oneSync) signal(a, b, g int32) int32 {
	key := [2]int32{a, b}
	list := s.between[key]
	at := len(list)
	for at > 0 && s.signals[list[at-1]].group >= g {
		at--
	}
	if at < len(list) {
		return list[at]
	}
	s.failed = s.failed || s.groups[g].open
	k := int32(len(s.signals))
	s.signals = append(s.signals, oneSignal{a, b, g})
	s.between[key] = append(list, k)
	return k
}

// owners lists the ranks whose input or output group g accesses, being of another.
func (s *oneSync) owners(g int32) []int32 {
	var list []int32
	for _, i := range s.groups[g].moves {
		s.accesses(i, func(owner int32, _ bool) { list = append(list, owner) })
	}
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Compare(s.behind(a, s.groups[g].rank), s.behind(b, s.groups[g].rank))
	})
	return slices.Compact(list)
}

// accesses calls f with the other ranks whose input or output Move i reads or writes.
func (s *oneSync) accesses(i int32, f func(owner int32, writes bool)) {
	m := &s.moves[i]
	for k, list := range [2][]spot{m.srcs, m.dsts} {
		for _, x := range list {
			switch {
			case !x.user() || x.rank == m.rank:
			case x.rank >= 0:
				f(x.rank, k == 1)
			default:
				for r := range s.n {
					if r != m.rank {
						f(r, k == 1)
					}
				}
			}
		}
	}
}

// leave lets ranks tell each other at the end of a launch of accesses that are
// not known to be over.
func (s *oneSync) leave() {
	told := make(map[[2]int32]bool)
	for i := range s.moves {
		b, ends := s.moves[i].rank, s.ends(s.of[i], 0)
		s.accesses(int32(i), func(owner int32, writes bool) {
			if known := s.seen[owner][b] >= ends || !writes && s.done[owner][b] >= ends; !known {
				told[[2]int32{b, owner}] = true
			}
		})
	}
	for pair := range told {
		s.leaves = append(s.leaves, pair)
	}
	slices.SortFunc(s.leaves, func(x, y [2]int32) int {
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(s.behind(x[1], x[0]), s.behind(y[1], y[0])))
	})
}
