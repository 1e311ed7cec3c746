package core

import (
	"fmt"
	"slices"

	"mscclc/ir"
)

// A knownGraph says what is known when: an edge leads from what is over to where that is known. Along edges that show,
// what was written is seen too. A unit is a group of a block with all that is joint with it.
type knownGraph struct {
	*State
	edges   [][]knownEdge
	units   [][]unit // of a block
	unitOf  []*unit  // of a Move
	reads   []int32  // by Move: the node of the end of its reads
	tells   []int32  // by Move: what its packets release
	writes  []int32  // by Move: what it knows when it writes
	begun   []int32  // by rank: its launch has begun
	ended   []int32  // by rank: its launch is about to end
	visited map[visit][]bool
}

type knownEdge struct {
	to    int32
	shows bool
}

type visit struct {
	from  int32
	shown bool
}

// A unit is the moves of a block between two block barriers.
type unit struct{ begin, end int32 }

func (g *knownGraph) node() int32 {
	g.edges = append(g.edges, nil)
	return int32(len(g.edges) - 1)
}

func (g *knownGraph) edge(from, to int32, shows bool) {
	g.edges[from] = append(g.edges[from], knownEdge{to, shows})
}

// newKnown makes the graph of the groups of s, and of the signals and waits that are there, by the rules of
// onesided.Program.
func newKnown(s *State) *knownGraph {
	g := &knownGraph{State: s, visited: map[visit][]bool{}}
	g.units, g.unitOf = make([][]unit, s.blocks()), make([]*unit, len(s.moves))
	for range s.moves {
		g.reads, g.tells, g.writes = append(g.reads, g.node()), append(g.tells, g.node()), append(g.writes, g.node())
	}
	for range s.n {
		g.begun, g.ended = append(g.begun, g.node()), append(g.ended, g.node())
	}
	groups := s.sync.groups
	for k := range groups {
		b := groups[k].block
		for int(groups[k].at) >= len(g.units[b]) {
			g.units[b] = append(g.units[b], unit{g.node(), g.node()})
		}
	}
	for b, units := range g.units {
		r := s.rankOf(int32(b))
		last := g.begun[r]
		for k := range units {
			g.edge(last, units[k].begin, true)
			g.edge(units[k].begin, units[k].end, true)
			last = units[k].end
		}
		g.edge(last, g.ended[r], true)
	}
	of := func(group int32) *unit { return &g.units[groups[group].block][groups[group].at] }
	for k := range groups {
		u := of(int32(k))
		for _, i := range groups[k].moves {
			g.unitOf[i] = u
		}
		for _, a := range s.sync.awaits[k] {
			if a.ago == 0 {
				g.edge(of(s.sync.signals[a.signal].group).end, u.begin, true)
			}
		}
		for _, r := range s.sync.begins[k] {
			g.edge(g.begun[r], u.begin, true)
		}
	}
	for _, pair := range s.sync.leaves {
		g.edge(g.last(pair[0]), g.ended[s.rankOf(pair[1])], true)
	}
	for i := range s.moves {
		g.packets(int32(i))
	}
	return g
}

// last returns where the last unit of a block ends.
func (g *knownGraph) last(block int32) int32 {
	if n := len(g.units[block]); n > 0 {
		return g.units[block][n-1].end
	}
	return g.begun[g.rankOf(block)]
}

// packets adds what Move i releases and acquires by packets.
func (g *knownGraph) packets(i int32) {
	g.edge(g.unitOf[i].begin, g.tells[i], false)
	g.edge(g.unitOf[i].begin, g.writes[i], false)
	g.edge(g.reads[i], g.tells[i], false)
	g.edge(g.reads[i], g.unitOf[i].end, false)
	for _, d := range g.deps.of(i) {
		if d.kind == depPacket {
			for _, to := range []int32{g.tells[i], g.writes[i], g.unitOf[i].end} {
				g.edge(g.tells[d.on], to, false)
			}
		}
	}
}

// leads reports whether to knows of from, and, where shown, sees it.
func (g *knownGraph) leads(from, to int32, shown bool) bool {
	key := visit{from, shown}
	seen, ok := g.visited[key]
	if !ok {
		seen = make([]bool, len(g.edges))
		seen[from] = true
		for todo := []int32{from}; len(todo) > 0; {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for _, e := range g.edges[at] {
				if !seen[e.to] && (e.shows || !shown) {
					seen[e.to] = true
					todo = append(todo, e.to)
				}
			}
		}
		g.visited[key] = seen
	}
	return seen[to]
}

// checkSynced: what a Move depends on is over, and seen, when it begins, or overwritten chunk by chunk after the
// packets that say so. The launches of whose memory it accesses have begun;
// of memory that it only writes, packets may show that.
func checkSynced(s *State) error {
	g := newKnown(s)
	for i := range s.moves {
		m, at := &s.moves[i], int32(i)
		for _, d := range s.deps.of(at) {
			begins, ends := g.unitOf[i].begin, g.unitOf[d.on].end
			ok := d.kind == depPacket || g.leads(ends, begins, d.kind == depSees)
			if d.kind == depOver && (s.blockOf(at) == s.blockOf(d.on) || m.rank != s.moves[d.on].rank) {
				ok = ok || g.leads(g.reads[d.on], g.writes[i], false)
			}
			if !ok {
				return fmt.Errorf("m%d of rank %d does not know that m%d of rank %d is over, which it must (%s)",
					i, m.rank, d.on, s.moves[d.on].rank, depNames[d.kind])
			}
		}
		for _, owner := range othersOf(s, m) {
			reads := slices.ContainsFunc(m.srcs, func(x spot) bool {
				return s.lasts(x) && (x.rank == owner || x.rank == ir.AllRanks)
			})
			if !g.leads(g.begun[owner], g.unitOf[i].begin, true) && (reads || !g.leads(g.begun[owner], g.writes[i], false)) {
				return fmt.Errorf("m%d of rank %d does not know that the launch of rank %d has begun", i, m.rank, owner)
			}
		}
	}
	return nil
}

// checkLeft: at the end of a rank's launch what others read of its buffers is over, and what they wrote is seen.
func checkLeft(s *State) error {
	g := newKnown(s)
	for i := range s.moves {
		m := &s.moves[i]
		for _, owner := range othersOf(s, m) {
			writes := slices.ContainsFunc(m.dsts, func(x spot) bool {
				return s.lasts(x) && (x.rank == owner || x.rank == ir.AllRanks)
			})
			if !g.leads(g.unitOf[i].end, g.ended[owner], writes) && (writes || !g.leads(g.reads[i], g.ended[owner], false)) {
				return fmt.Errorf("rank %d ends its launch, and does not know that m%d of rank %d is over", owner, i, m.rank)
			}
		}
	}
	return nil
}

// othersOf lists the other ranks whose buffers m accesses, as far as these are of launches.
func othersOf(s *State, m *oneMove) (ranks []int32) {
	for _, x := range slices.Concat(m.srcs, m.dsts) {
		for r := range s.n {
			if s.lasts(x) && r != m.rank && (x.rank == r || x.rank == ir.AllRanks) && !slices.Contains(ranks, r) {
				ranks = append(ranks, r)
			}
		}
	}
	return ranks
}

// checkOrdered: the list has each Move once, after what it depends on. Groups are of one block, and numbered.
func checkOrdered(s *State) error {
	at := make([]int, len(s.moves)) // from 1
	list := listed(s)
	for k, m := range list {
		if at[m.index] > 0 {
			return fmt.Errorf("%s is listed twice", m.name)
		}
		at[m.index] = k + 1
		for _, d := range s.deps.of(m.index) {
			if at[d.on] == 0 {
				return fmt.Errorf("%s depends on m%d, which is not before it", m.name, d.on)
			}
		}
	}
	if len(list) != len(s.moves) {
		return fmt.Errorf("%d of %d moves are listed", len(list), len(s.moves))
	}
	last := slices.Repeat([]int32{-1}, int(s.blocks()))
	groups := s.latest()
	for g := range groups {
		group := &groups[g]
		if after := last[group.block]; group.at != after+1 && (!group.joint || group.at != after) {
			return fmt.Errorf("group %d is number %d of block %d, after %d", g, group.at, group.block, after)
		}
		last[group.block] = group.at
		for _, i := range group.moves {
			if s.blockOf(i) != group.block {
				return fmt.Errorf("m%d of block %d is in group %d of block %d", i, s.blockOf(i), g, group.block)
			}
			for _, d := range s.deps.of(i) {
				if slices.Contains(group.moves, d.on) {
					return fmt.Errorf("m%d depends on m%d of its own group", i, d.on)
				}
			}
		}
	}
	return nil
}
