package core

import (
	"cmp"
	"slices"

	"mscclc/ir/vclock"
)

// A oneSync decides who signals whom. It runs the groups of all blocks in their
// order, with two clocks for each block: of which groups of each other block it
// knows that they are over (done), and of which it sees what they wrote (seen).
// Memory and launches are of ranks. A dependence across blocks that the clocks do not cover becomes a signal right
// behind the earlier group, or any that is behind it already, and a wait before
// the later one; what is needed latest is looked at first, since it covers most.
type oneSync struct {
	*State
	groups []oneGroup
	of     []int32 // of a Move: its group
	size   []int32 // of a block: how many groups it has
	chain  []int32 // of a block; see newChains
	base   []int32 // of a block: the entry of its chain that says that all blocks before it are over

	done, seen []oneClock  // of a block; one and the same where there are no packets
	learned    []oneLesson // of a block: what it knows is over from its next group on
	packets    bool
	before     []oneSnap // of a group that sends packets: done when it begins
	relayed    []oneSnap // of a Move that sends packets which it makes of others: done then too
	after      []oneSnap // of a group that others are signalled behind, or may be
	rows       *vclock.Pool
	parts      uint64     // of clocks, which blocks learn now; see needed
	kept       []*oneSnap // the oldest first; see store
	readers    depList    // of a Move: those that read its packets
	asked      []unmetDep // of the group that is looked at, and whose memory it accesses
	accessed   []int32

	// from one block to another of another node: which groups, as entries of clocks, its own signals have told of
	arrived map[[2]int32]int32

	signals []oneSignal
	between map[[2]int32]int32 // from one block to another: 1 + the last signal
	awaits  [][]oneAwait       // of a group
	begins  [][]int32          // of a group: the ranks whose launches must have begun
	leaves  [][2]int32         // which block tells which at the end of a launch
	copies  int32              // of packets, and of scratch
	failed  bool               // a part of a group would have to wait or to signal
}

// A oneSignal is raised behind a group, from one block to another. The one before it of these two is before, or -1.
type oneSignal struct{ from, to, group, before int32 }

// A oneAwait waits before a group for a signal of some passes ago.
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
	s.learned = make([]oneLesson, l.blocks())
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

// countAsks counts who may ask for clocks in the first pass, and lists the
// readers of packets.
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
		if first := s.firstOf(owner); !s.hasBegun(b, owner) {
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

// keep keeps what group g knows at its end, if somebody may ask.
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

// unmet lists what group g must yet wait for, the latest first.
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

// roundTells has packets that went round tell one lane that another of its rank has read, which is wrong. Tests set it.
var roundTells bool

// met says whether Move i knows that d is as it must be.
func (s *oneSync) met(i int32, d oneDep) bool {
	b, a, ends := s.blockOf(i), s.blockOf(d.on), s.ends(s.of[d.on], 0)
	switch {
	case d.kind == depSees && s.away(s.rankOf(b), s.rankOf(a)):
		return s.arrived[[2]int32{a, b}] >= ends
	case d.kind == depSees:
		return s.seen[b].of(s.chain[a]) >= ends
	case s.rankOf(a) == s.rankOf(b) && !roundTells:
		// Packets that went round order threads of one block chunk by chunk, and not those of two of one memory.
		return s.done[b].of(s.chain[a]) >= ends
	}
	return s.round(d.on, func(x int32) bool { return x == i || s.isOver(i, x) })
}

// mostRound bounds who is asked whether a read is over.
const mostRound = 32

// round says whether over holds of Move x, of one that reads packets which x makes
// of what it reads, or of one that has them from that, and so on: then x's reads are over.
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

// isOver says whether Move i knows when it writes that the first pass of Move x
// is over: by its block's clock, or by the packets that it reads.
func (s *oneSync) isOver(i, x int32) bool {
	chain, ends := s.chain[s.blockOf(x)], s.ends(s.of[x], 0)
	if s.done[s.blockOf(i)].of(chain) >= ends {
		return true
	}
	for _, d := range s.deps.of(i) {
		if s.brings(i, d) && s.tells(d.on).done.of(chain) >= ends {
			return true
		}
	}
	return false
}

// await makes group g wait for Move x, by a signal behind it.
func (s *oneSync) await(g, x int32) {
	b, a := s.groups[g].block, s.blockOf(x)
	k := s.signal(a, b, s.of[x])
	s.awaits[g] = append(s.awaits[g], oneAwait{k, 0})
	s.hear(b, k, 0)
}

// hear lets block b learn what signal k of a pass tells.
func (s *oneSync) hear(b, k, pass int32) {
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

// signal returns the first signal of a pass from block a to b that is behind
// group g, made if there is none.
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

// signalled is signal where there is one.
func (s *oneSync) signalled(a, b, g int32) (k int32, ok bool) {
	k = -1
	for at := s.between[[2]int32{a, b}] - 1; at >= 0 && s.signals[at].group >= g; at = s.signals[at].before {
		k = at
	}
	return k, k >= 0
}
