package core

import (
	"mscclc/ir/vclock"
)

// This file is what blocks know of each other while oneSync runs their groups.

// A oneClock is what a block knows of itself and, by a row, of all chains of blocks; see oneSync.entry.
type oneClock struct {
	row        *vclock.Row
	chain, own int32
}

func (c *oneClock) of(chain int32) int32 {
	entry := c.row.At(chain)
	if chain == c.chain { // blocks behind it in its chain may have told more
		entry = max(entry, c.own)
	}
	return entry
}

// share is another clock that knows what c does.
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

// forget lets go of c's row.
func (s *oneSync) forget(c *oneClock) {
	s.rows.Drop(c.row)
	c.row = nil
}

// note lets c know an entry of another block.
func (s *oneSync) note(c *oneClock, block, entry int32) {
	if s.parts&s.rows.Part(s.chain[block]) != 0 {
		c.row = s.rows.Largest(c.row, nil, s.chain[block], entry)
	}
}

// learn lets c know what from does.
func (s *oneSync) learn(c, from *oneClock) {
	c.row = s.rows.LargestOf(c.row, from.row, from.chain, from.own, s.parts)
}

// A oneSnap is a clock as it was, for so many that may yet ask.
type oneSnap struct {
	done, seen oneClock
	asks       int32
}

// mostEntries bounds the memory of rows, in words: 256 MiB. Tests set it to less.
var mostEntries int64 = 1 << 26

// store keeps snap until nobody may ask any more. Where all have too many entries, the oldest lose theirs: who asks
// them then learns only that their group is over, and may wait for more than it must.
func (s *oneSync) store(snap *oneSnap) {
	s.kept = append(s.kept, snap)
	for s.rows.Entries > mostEntries && len(s.kept) > 0 {
		s.forget(&s.kept[0].done)
		s.forget(&s.kept[0].seen)
		s.kept = s.kept[1:]
	}
}

// drop takes note that one fewer may ask.
func (s *oneSync) drop(snap *oneSnap) {
	if snap.asks--; snap.asks <= 0 {
		s.forget(&snap.done)
		s.forget(&snap.seen)
		*snap = oneSnap{}
	}
}

// A oneLesson is what a block knows from its next group on, and whether that
// includes all that it knew by a row.
type oneLesson struct {
	oneClock
	includes bool
	row      *vclock.Row
}

// entry is what clocks say of the chain of a block when k of its groups are over in a pass: of the first pass, as
// nobody asks what is over in others. It is 1 + base where the launch of the block's rank is known to have begun, and
// what is no more than base says nothing of the block.
func (s *oneSync) entry(block int32, pass, k int32) int32 {
	if pass > 0 {
		k = s.size[block]
	}
	return s.base[block] + 1 + k
}

// ends is the entry that says that group g of a pass is over.
func (s *oneSync) ends(g, pass int32) int32 {
	return s.entry(s.groups[g].block, pass, s.groups[g].at+1)
}

// begin and end are what group g of a pass knows of itself when it begins and
// when it is over, and send keeps what those learn who read its packets.
func (s *oneSync) begin(g, pass int32) {
	b := s.groups[g].block
	s.done[b].own = s.entry(b, pass, s.groups[g].at)
	s.seen[b].own = s.done[b].own
}

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

// relay keeps what the packets of Move i tell to asks readers, if it makes them of
// others' packets: what these tell, besides what its group knows. It says whether
// that is so.
func (s *oneSync) relay(i, asks int32) bool {
	snap := &s.relayed[i]
	for _, d := range s.deps.of(i) {
		if s.brings(i, d) {
			if snap.asks == 0 {
				*snap = oneSnap{done: s.done[s.blockOf(i)].share(), asks: asks}
			}
			s.learn(&snap.done, &s.tells(d.on).done)
		}
	}
	if snap.asks > 0 {
		s.store(snap)
	}
	return snap.asks > 0
}

// brings says whether d is of packets that Move i reads, of another rank.
func (s *oneSync) brings(i int32, d oneDep) bool {
	return d.kind == depPacket && s.moves[d.on].rank != s.moves[i].rank
}

// tells is what the packets of Move i tell.
func (s *oneSync) tells(i int32) *oneSnap {
	if s.relayed[i].asks > 0 {
		return &s.relayed[i]
	}
	return &s.before[s.of[i]]
}

func (s *oneSync) end(g, pass int32) {
	b := s.groups[g].block
	for _, i := range s.groups[g].moves {
		s.lesson(b, i)
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

// lesson is what block b learns by Move i, who then has asked.
func (s *oneSync) lesson(b, i int32) {
	if !s.packets {
		return
	}
	learned, relayed := &s.learned[b], &s.relayed[i]
	if relayed.asks > 0 { // all that it reads, and what b knew when it began
		if learned.oneClock.row == nil && relayed.done.row != nil {
			learned.includes, learned.row = true, s.done[b].row
		}
		s.learn(&learned.oneClock, &relayed.done)
	}
	for _, d := range s.deps.of(i) {
		if s.brings(i, d) {
			snap := s.tells(d.on)
			if relayed.asks == 0 {
				s.learn(&learned.oneClock, &snap.done)
			}
			s.drop(snap)
		}
	}
}
