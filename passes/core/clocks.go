package core

import (
	"mscclc/ir/vclock"
)

// This file has the clocks by which oneSync follows what blocks know of each other.

// A oneClock says what a block knows: own is its entry for its own chain of blocks, and row has an entry for each
// chain. oneSync.entry says what entries mean.
type oneClock struct {
	row        *vclock.Row
	chain, own int32
}

func (c *oneClock) of(chain int32) int32 {
	entry := c.row.At(chain)
	if chain == c.chain { // later blocks of the chain may have released more
		entry = max(entry, c.own)
	}
	return entry
}

// share returns a clock that knows what c knows, and shares its row.
func (c *oneClock) share() oneClock {
	c.row.Share()
	return *c
}

// knowNothing makes new clocks.
func (s *oneSync) knowNothing() {
	s.done = make([]oneClock, s.blocks())
	if s.seen = s.done; s.packets {
		s.seen = make([]oneClock, s.blocks())
	}
	for b := range s.blocks() {
		s.done[b].chain, s.seen[b].chain = s.chain[b], s.chain[b]
	}
}

// forget gives up c's row.
func (s *oneSync) forget(c *oneClock) {
	s.rows.Drop(c.row)
	c.row = nil
}

// note has c learn an entry of another block.
func (s *oneSync) note(c *oneClock, block, entry int32) {
	if s.parts&s.rows.Part(s.chain[block]) != 0 {
		c.row = s.rows.Largest(c.row, nil, s.chain[block], entry)
	}
}

// learn has c learn what from knows.
func (s *oneSync) learn(c, from *oneClock) {
	c.row = s.rows.LargestOf(c.row, from.row, from.chain, from.own, s.parts)
}

// A oneSnap is a copy of a block's clocks at one moment. It may be asked for asks times more.
type oneSnap struct {
	done, seen oneClock
	asks       int32
}

// mostEntries bounds the memory of rows, in words: 256 MiB. Tests set it to less.
var mostEntries int64 = 1 << 26

// store keeps snap until its last ask. If all snaps together have too many entries, the oldest lose theirs. A block
// that asks such a snap learns only that its group is over, and may then wait more often than it must.
func (s *oneSync) store(snap *oneSnap) {
	s.kept = append(s.kept, snap)
	for s.rows.Entries > mostEntries && len(s.kept) > 0 {
		s.forget(&s.kept[0].done)
		s.forget(&s.kept[0].seen)
		s.kept = s.kept[1:]
	}
}

// drop counts one ask as done, and forgets snap after the last.
func (s *oneSync) drop(snap *oneSnap) {
	if snap.asks--; snap.asks <= 0 {
		s.forget(&snap.done)
		s.forget(&snap.seen)
		*snap = oneSnap{}
	}
}

// A oneAcquired is what a block knows from its next group on. includes says that it has all that row has.
type oneAcquired struct {
	oneClock
	includes bool
	row      *vclock.Row
}

// entry returns the entry of a block's chain when k groups of the block are over in a pass. Entries count groups of the
// first pass only, since nothing is asked about later ones. An entry of base + 1 says that the launch of the block's
// rank has begun. An entry up to base says nothing of the block.
func (s *oneSync) entry(block int32, pass, k int32) int32 {
	if pass > 0 {
		k = s.size[block]
	}
	return s.base[block] + 1 + k
}

// ends returns the entry that says that group g of a pass is over.
func (s *oneSync) ends(g, pass int32) int32 {
	return s.entry(s.groups[g].block, pass, s.groups[g].at+1)
}

// begin sets what the block of group g knows of itself when g begins in a pass.
func (s *oneSync) begin(g, pass int32) {
	b := s.groups[g].block
	s.done[b].own = s.entry(b, pass, s.groups[g].at)
	s.seen[b].own = s.done[b].own
}

// send keeps what the readers of group g's packets learn by them.
func (s *oneSync) send(g int32) {
	asks := int32(0)
	for _, i := range s.groups[g].moves {
		n := s.readers.start[i+1] - s.readers.start[i]
		if n > 0 && s.relay(i, n) {
			continue
		}
		asks += n
	}
	if asks > 0 {
		s.before[g] = oneSnap{done: s.done[s.groups[g].block].share(), asks: asks}
		s.store(&s.before[g])
	}
}

// relay keeps what the packets of Move i release to their asks readers, if i makes them of other packets: what its
// group knows, and what the other packets release. It reports whether i does so.
func (s *oneSync) relay(i, asks int32) bool {
	snap := &s.relayed[i]
	for _, d := range s.deps.of(i) {
		if s.brings(i, d) {
			if snap.asks == 0 {
				*snap = oneSnap{done: s.done[s.blockOf(i)].share(), asks: asks}
			}
			s.learn(&snap.done, &s.released(d.on).done)
		}
	}
	if snap.asks > 0 {
		s.store(snap)
	}
	return snap.asks > 0
}

// brings reports whether d is a dependence of Move i on packets of another rank.
func (s *oneSync) brings(i int32, d oneDep) bool {
	return d.kind == depPacket && s.moves[d.on].rank != s.moves[i].rank
}

// released returns what the packets of Move i release.
func (s *oneSync) released(i int32) *oneSnap {
	if s.relayed[i].asks > 0 {
		return &s.relayed[i]
	}
	return &s.before[s.of[i]]
}

// end has the block of group g know at the end of g what it learned by packets, and that g is over.
func (s *oneSync) end(g, pass int32) {
	b := s.groups[g].block
	for _, i := range s.groups[g].moves {
		s.acquirePackets(b, i)
	}
	if s.groups[g].open {
		return
	}
	done, learned := &s.done[b], &s.learned[b]
	if learned.includes && learned.row == done.row {
		done.row, learned.oneClock.row = learned.oneClock.row, done.row
	} else {
		s.learn(done, &learned.oneClock)
	}
	s.forget(&learned.oneClock)
	learned.includes, learned.row = false, nil
	done.own = s.ends(g, pass)
	s.seen[b].own = done.own
}

// acquirePackets has block b acquire, from its next group on, what the packets that Move i reads release.
func (s *oneSync) acquirePackets(b, i int32) {
	if !s.packets {
		return
	}
	learned, relayed := &s.learned[b], &s.relayed[i]
	if relayed.asks > 0 { // which has what those packets release, and what b knew when i began
		if learned.oneClock.row == nil && relayed.done.row != nil {
			learned.includes, learned.row = true, s.done[b].row
		}
		s.learn(&learned.oneClock, &relayed.done)
	}
	for _, d := range s.deps.of(i) {
		if s.brings(i, d) {
			snap := s.released(d.on)
			if relayed.asks == 0 {
				s.learn(&learned.oneClock, &snap.done)
			}
			s.drop(snap)
		}
	}
}
