package fifo

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/property"
)

// This file spreads connections over channels where one channel is too small
// for a target. How many peers a rank may have on a channel is known when
// channels are chosen. How many steps a block has is known when flags are, as
// these cost nops; where a block has too many, Run goes back to place with a
// bound on the transfers of a connection.

// A room is what a part may use of a target. A zero is no limit.
type room struct {
	channels int32
	peers    int32 // of a rank on a channel, one way
	load     int32 // transfers of a connection
}

// A side is all ends of a rank on one channel in one direction.
func (e end) side() end {
	e.peer = -1
	return e
}

// holds reports whether channel ch has room for a flow.
func (c *colouring) holds(insts []int32, ch int32) bool {
	if c.near == nil && c.room.load == 0 {
		return true
	}
	clear(c.adds)
	for k := range insts {
		for _, want := range c.demands(insts, k, ch) {
			e := want.end
			has := c.ends.at(e)
			if c.near != nil && has == nil && c.adds[e] == 0 {
				side := e.side()
				if c.adds[side]++; c.peers[side]+c.adds[side] > c.room.peers {
					return false
				}
			}
			if has == nil {
				has = &noClaim
			}
			if c.adds[e]++; c.room.load > 0 && has.load+c.adds[e] > c.room.load {
				return false
			}
		}
	}
	return true
}

// findFull sets near where some rank has more peers one way than a channel has
// room for. What is equally far apart then goes to one channel, if it can: so
// every rank has about as many peers on each, and both ends that it has with
// a peer, which can share a block.
func (c *colouring) findFull() {
	most := c.room.peers
	if most == 0 || c.d.Coll.Ranks-1 <= int(most) {
		return
	}
	peers := make(map[end]int32)
	var distances []int32
	over := false
	for i := range c.d.Insts {
		in := &c.d.Insts[i]
		if in.SendPeer < 0 {
			continue
		}
		a, b := end{rank: in.Rank, peer: in.SendPeer, send: true}, end{rank: in.SendPeer, peer: in.Rank}
		if peers[a]++; peers[a] > 1 {
			continue
		}
		peers[a.side()]++
		peers[b.side()]++
		over = over || max(peers[a.side()], peers[b.side()]) > most
		distances = append(distances, c.distance(in))
	}
	if !over {
		return
	}
	slices.Sort(distances)
	distances = slices.Compact(distances)
	c.near = make(map[int32]int32, len(distances))
	for k, n := range distances {
		c.near[n] = int32(k) / max(most/2, 1) // a rank has two peers at a distance
	}
}

// distance returns how far apart, round all ranks, the two of a transfer are.
func (c *colouring) distance(in *ir.Inst) int32 {
	n := max(in.SendPeer-in.Rank, in.Rank-in.SendPeer)
	return min(n, int32(c.d.Coll.Ranks)-n)
}

// A spread is how a program is placed again when its blocks have too many
// steps: the transfers of each connection go over several channels.
type spread struct {
	before   *ir.InstDAG       // what place was given
	have     property.Property // and what held
	channels int               // that connections are to have at least; 0 at first
	heaviest int32             // transfers of a connection at first
	load     int32             // transfers that a connection may have on a channel; 0 is no limit
	most     int               // steps of a block that takes no more local operations; 0 is no limit
	steps    int               // of the longest block at first
	tries    int
}

// keep notes what to come back to.
func (s *state) keep(have property.Property) {
	if s.opt.Limits.Steps > 0 && s.spread.before == nil {
		s.spread.before, s.spread.have = copied(s.InstDAG), have
	}
}

func copied(d *ir.InstDAG) *ir.InstDAG {
	c := *d
	c.Insts, c.Scratch = slices.Clone(d.Insts), slices.Clone(d.Scratch)
	return &c
}

// again reports whether blocks have too many steps that more channels may make
// fewer; the program is then as place was given it. It gives up when the first
// try has made the longest block no shorter, and after eight.
func (s *state) again() bool {
	p, limit := &s.spread, s.opt.Limits.Steps
	if p.before == nil {
		return false
	}
	steps := slices.Max(append(property.BlockSteps(s.InstDAG), 0))
	if steps <= limit || p.tries == 8 || p.tries > 0 && steps >= p.steps {
		return false
	}
	if p.tries++; p.tries == 1 {
		p.steps, p.channels, p.most = steps, 1, limit
	} else {
		p.most -= steps - limit // the nops of transfers were not known
	}
	p.channels = max(p.channels+1, (steps*p.channels+limit-1)/limit)
	// A part of the transfers, with some room for flows, which are not cut; and no more than what makes too long a block.
	part := (int(p.heaviest) + p.channels - 1) / p.channels
	p.load = int32(min(part+part/16+1, (int(p.heaviest)*limit+p.steps-1)/p.steps))
	*s.InstDAG = *copied(p.before)
	return true
}
