package fifo

// This file keeps what the ends of connections are bound to while flows are coloured.

// An end is one end of a connection within a part: rank's side towards peer.
type end struct {
	rank, part, channel, peer int32
	send                      bool
}

// A claim says what an end's thread block must have: the peer of its other
// direction (-1: nothing asks for one), and the author's number (-1: none).
type claim struct {
	pair int32
	tb   int32
	pos  int32

	load  int32 // transfers that the end has
	block int32 // of the end, -1 before it has one
}

var noClaim = claim{pair: -1, tb: -1, pos: -1, block: -1}

// An endTable keeps what the ends of connections are bound to. Most ends that are asked for are that of the same rank,
// in the same direction, that was asked for last: no map is asked for these.
type endTable struct {
	of   map[end]*claim
	last [][2]lastEnd // of a rank, by direction
}

type lastEnd struct {
	end
	claim *claim
}

func newEndTable(ranks int) *endTable {
	return &endTable{make(map[end]*claim), make([][2]lastEnd, ranks)}
}

// at returns what an end is bound to, or nil.
func (t *endTable) at(e end) *claim {
	last := &t.last[e.rank][0]
	if e.send {
		last = &t.last[e.rank][1]
	}
	if last.claim == nil || last.end != e {
		c := t.of[e]
		if c == nil {
			return nil
		}
		*last = lastEnd{e, c}
	}
	return last.claim
}

// made returns what an end is bound to, which is nothing where it is new.
func (t *endTable) made(e end) (c *claim, isNew bool) {
	if c = t.at(e); c != nil {
		return c, false
	}
	c = new(claim)
	*c = noClaim
	t.of[e] = c
	return c, true
}
