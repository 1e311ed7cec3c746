package passes

import "slices"

// This file is what ranks know of each other while oneSync runs their groups.

// entry is what the clock of a rank says when k of its groups are over in a pass.
func (s *oneSync) entry(rank int32, pass, k int32) int32 { return pass*s.size[rank] + 1 + k }

// ends is the entry that says that group g of a pass is over.
func (s *oneSync) ends(g, pass int32) int32 {
	return s.entry(s.groups[g].rank, pass, s.groups[g].at+1)
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
		n := s.readers.start[i+1] - s.readers.start[i]
		if n > 0 && s.relay(i, n) {
			continue
		}
		asks += n
	}
	if asks > 0 {
		s.before[g] = oneSnap{done: s.clone(s.done[s.groups[g].rank]), asks: asks}
	}
}

// relay keeps what the packets of Move i tell to asks readers, if it makes them of
// others' packets: what these tell, besides what its group knows. It says whether
// that is so.
func (s *oneSync) relay(i, asks int32) bool {
	snap := &s.relayed[i]
	for _, d := range s.deps.of(i) {
		if s.brings(i, d) {
			if snap.done == nil {
				*snap = oneSnap{done: s.clone(s.done[s.moves[i].rank]), asks: asks}
			}
			join(snap.done, s.tells(d.on).done)
		}
	}
	return snap.done != nil
}

// brings says whether d is of packets that Move i reads, of another rank.
func (s *oneSync) brings(i int32, d oneDep) bool {
	return d.kind == depPacket && s.moves[d.on].rank != s.moves[i].rank
}

// tells is what the packets of Move i tell.
func (s *oneSync) tells(i int32) *oneSnap {
	if s.relayed[i].done != nil {
		return &s.relayed[i]
	}
	return &s.before[s.of[i]]
}

func (s *oneSync) end(g, pass int32) {
	b := s.groups[g].rank
	for _, i := range s.groups[g].moves {
		for _, d := range s.deps.of(i) {
			if s.brings(i, d) {
				snap := s.tells(d.on)
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
