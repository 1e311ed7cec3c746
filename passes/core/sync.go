package core

import (
	"cmp"
	"slices"

	"mscclc/ir/vclock"
)

// A oneSync decides which block signals which. It runs the groups of all blocks in their order. Each block has two
// clocks: done says which groups of the other blocks it knows to be over, and seen says which groups' writes it sees.
// Memory and launches belong to ranks.
//
// If the clocks do not cover a dependence of one block on another, the earlier block signals and the later one waits.
// The signal is right after the earlier group, unless there is a later one already. The latest dependence is
// looked at first, since its signal covers most of the others.
type oneSync struct {
	*State
	groups []oneGroup
	of     []int32 // by Move: its group
	size   []int32 // by block: how many groups it has
	chain  []int32 // of a block; see newChains
	base   []int32 // by block: the entry of its chain that says that all blocks before it are over

	done, seen []oneClock    // of a block; one and the same where there are no packets
	learned    []oneAcquired // by block: what it knows is over from its next group on
	packets    bool
	before     []oneSnap // by group that sends packets: its done when it begins
	relayed    []oneSnap // by Move that sends packets which it makes of other packets: the same
	after      []oneSnap // by group that has a signal after it, or may get one: its clocks at its end
	rows       *vclock.Pool
	parts      uint64     // the parts of clocks that blocks learn now; see needed
	kept       []*oneSnap // the oldest first; see store
	readers    depList    // by Move: the Moves that read its packets
	asked      []unmetDep // buffer of unmet
	accessed   []int32    // buffer of owners

	// by sending block and receiving block of another node: the last group that a signal of the sender itself has
	// released, as an entry of clocks
	arrived map[[2]int32]int32

	signals []oneSignal
	between map[[2]int32]int32 // by sending and receiving block: 1 + the last signal
	awaits  [][]oneAwait       // by group
	begins  [][]int32          // by group: the ranks whose launches must have begun
	leaves  [][2]int32         // the block that signals at the end of a launch, and the block that waits then
	copies  int32              // of packets, and of scratch
	failed  bool               // a joint group would have to wait, or an open one to signal
}

// A oneSignal is sent after a group, from one block to another. before is the previous signal from the same block to
// the same other, or -1.
type oneSignal struct{ from, to, group, before int32 }

// A oneAwait is a wait before a group, for a signal of ago passes earlier.
type oneAwait struct{ signal, ago int32 }

// syncGroups inserts the signals and waits of a pass.
func syncGroups(l *State) (int, error) {
	if l.sync == nil {
		l.sync = l.newSync(l.apart())
	}
	s := l.sync
	for g := range s.groups {
		if s.first(int32(g)); s.failed {
			break
		}
	}
	return len(s.signals), nil
}

func (l *State) newSync(groups []oneGroup) *oneSync {
	s := &oneSync{State: l, groups: groups, of: make([]int32, len(l.moves)), size: make([]int32, l.blocks()),
		after: make([]oneSnap, len(groups)), between: make(map[[2]int32]int32),
		arrived: make(map[[2]int32]int32),
		copies:  l.copies(), awaits: make([][]oneAwait, len(groups)), begins: make([][]int32, len(groups))}
	for g := range groups {
		s.size[groups[g].block] = groups[g].at + 1
		for _, i := range groups[g].moves {
			s.of[i] = int32(g)
		}
	}
	s.rows, s.parts = vclock.NewPool(s.newChains(), l.n), vclock.All
	s.countAsks()
	s.packets = len(s.readers.to) > 0
	if s.knowNothing(); s.packets {
		s.before, s.relayed = make([]oneSnap, len(groups)), make([]oneSnap, len(l.moves))
	}
	s.learned = make([]oneAcquired, l.blocks())
	for b := range l.blocks() {
		s.learned[b].chain = s.chain[b]
	}
	return s
}

// settled drops what is needed only to decide who signals whom.
func (s *oneSync) settled() {
	s.deps, s.readers = depList{}, depList{}
	s.rows, s.kept, s.between, s.arrived = nil, nil, nil, nil
	s.done, s.seen, s.learned, s.before, s.relayed, s.after = nil, nil, nil, nil, nil, nil
}

// countAsks counts how often each clock may be asked for in the first pass, and lists the readers of packets.
func (s *oneSync) countAsks() {
	s.readers.start = make([]int32, len(s.moves)+1)
	s.eachDep(func(_ int32, d oneDep) {
		switch {
		case d.kind == depPacket:
			s.readers.start[d.on+1]++
		default:
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

// eachDep calls f with every dependence of Moves i of one block on those of another.
func (s *oneSync) eachDep(f func(i int32, d oneDep)) {
	for i := range s.moves {
		for _, d := range s.deps.of(int32(i)) {
			if s.blockOf(d.on) != s.blockOf(int32(i)) {
				f(int32(i), d)
			}
		}
	}
}

// first runs group g in the first pass, and inserts what it must wait for.
func (s *oneSync) first(g int32) {
	b := s.groups[g].block
	for _, d := range s.unmet(g) {
		if !s.met(d.by, d.oneDep) {
			s.await(g, d.on)
			s.failed = s.failed || s.groups[g].joint
		}
	}
	s.begin(g, 0)
	for _, owner := range s.owners(g) {
		if first := s.firstOf(owner); !s.hasBegun(b, owner) && !s.shows(g, owner) {
			s.begins[g] = append(s.begins[g], owner)
			s.failed = s.failed || s.groups[g].joint
			s.note(&s.done[b], first, 1)
			s.note(&s.seen[b], first, 1)
		}
	}
	s.send(g)
	for _, i := range s.groups[g].moves {
		for _, d := range s.deps.of(i) {
			if d.kind != depPacket && s.blockOf(d.on) != b {
				s.drop(&s.after[s.of[d.on]])
			}
		}
	}
	s.end(g, 0)
	s.keep(g)
}

// keep keeps the clocks of group g's block at its end, if another block may ask for them.
func (s *oneSync) keep(g int32) {
	b := s.groups[g].block
	if a := &s.after[g]; a.asks > 0 {
		if a.done = s.done[b].share(); s.packets {
			a.seen = s.seen[b].share()
		}
		s.store(a)
	}
}

// A unmetDep is a dependence of Move by that its block's clocks do not cover.
type unmetDep struct {
	oneDep
	by int32
}

// unmet lists the dependences that group g still has to wait for, the latest first.
func (s *oneSync) unmet(g int32) []unmetDep {
	list := s.asked[:0]
	for _, i := range s.groups[g].moves {
		for _, d := range s.deps.of(i) {
			if d.kind != depPacket && s.blockOf(d.on) != s.groups[g].block && !s.met(i, d) {
				list = append(list, unmetDep{d, i})
			}
		}
	}
	s.asked = list
	slices.SortStableFunc(list, func(a, b unmetDep) int { return cmp.Compare(s.of[b.on], s.of[a.on]) })
	return list
}

// roundReleases makes packets that went round release to a lane what another lane of its rank has read. That is wrong:
// tests set it to see the checker find it.
var roundReleases bool

// met reports whether the block of Move i knows that dependence d is met.
func (s *oneSync) met(i int32, d oneDep) bool {
	b, a, ends := s.blockOf(i), s.blockOf(d.on), s.ends(s.of[d.on], 0)
	switch {
	case d.kind == depSees && s.away(s.rankOf(b), s.rankOf(a)):
		return s.arrived[[2]int32{a, b}] >= ends
	case d.kind == depSees:
		return s.seen[b].of(s.chain[a]) >= ends
	case s.rankOf(a) == s.rankOf(b) && !roundReleases:
		// Packets that went round order threads of one block chunk by chunk, and not those of two of one memory.
		return s.done[b].of(s.chain[a]) >= ends
	}
	return s.round(d.on, func(x int32) bool { return x == i || s.isOver(i, x) })
}

// mostRound bounds how many Moves round looks at.
const mostRound = 32

// round reports whether over holds for Move x, for a Move that reads packets which x makes of what it reads, for a Move
// that reads packets made of those, and so on. In each case x's reads are over.
func (s *oneSync) round(x int32, over func(x int32) bool) bool {
	list := append(make([]int32, 0, mostRound), x)
	for at := 0; at < len(list); at++ {
		x := list[at]
		if over(x) {
			return true
		}
		for _, z := range s.readers.to[s.readers.start[x]:s.readers.start[x+1]] {
			if len(list) < mostRound && !slices.Contains(list, z.on) {
				list = append(list, z.on)
			}
		}
	}
	return false
}

// isOver reports whether the block of Move i knows, when i writes, that Move x of the first pass is over. It knows by
// its clock, or by the packets that i reads.
func (s *oneSync) isOver(i, x int32) bool {
	chain, ends := s.chain[s.blockOf(x)], s.ends(s.of[x], 0)
	if s.done[s.blockOf(i)].of(chain) >= ends {
		return true
	}
	for _, d := range s.deps.of(i) {
		if s.brings(i, d) && s.released(d.on).done.of(chain) >= ends {
			return true
		}
	}
	return false
}

// await makes group g wait for Move x, by a signal after it.
func (s *oneSync) await(g, x int32) {
	b, a := s.groups[g].block, s.blockOf(x)
	k := s.signal(a, b, s.of[x])
	s.awaits[g] = append(s.awaits[g], oneAwait{k, 0})
	s.acquireSignal(b, k, 0)
}

// acquireSignal has block b acquire what signal k of a tile iteration releases.
func (s *oneSync) acquireSignal(b, k, pass int32) {
	sig := &s.signals[k]
	snap := &s.after[sig.group]
	if snap.asks > 0 {
		s.learn(&s.done[b], &snap.done)
		if s.packets {
			s.learn(&s.seen[b], &snap.seen)
		}
	}
	ends := s.ends(sig.group, pass)
	if s.away(s.rankOf(b), s.rankOf(sig.from)) {
		s.arrived[[2]int32{sig.from, b}] = max(s.arrived[[2]int32{sig.from, b}], ends)
	}
	s.note(&s.done[b], sig.from, ends)
	s.note(&s.seen[b], sig.from, ends)
}

// signal returns the first signal from block a to b that comes after group g. It makes one if there is none.
func (s *oneSync) signal(a, b, g int32) int32 {
	if k, ok := s.signalled(a, b, g); ok {
		return k
	}
	s.failed = s.failed || s.groups[g].open
	key := [2]int32{a, b}
	k := int32(len(s.signals))
	s.signals = append(s.signals, oneSignal{a, b, g, s.between[key] - 1})
	s.between[key] = k + 1
	return k
}

// signalled returns that signal if there is one.
func (s *oneSync) signalled(a, b, g int32) (k int32, ok bool) {
	k = -1
	for at := s.between[[2]int32{a, b}] - 1; at >= 0 && s.signals[at].group >= g; at = s.signals[at].before {
		k = at
	}
	return k, k >= 0
}
