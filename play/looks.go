package play

import (
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
	"mscclc/simulate"
	"mscclc/topology"
)

// A Look is how timelines show a step: by whether it copies or reduces, and by where its data goes.
type Look uint8

// The looks. The copy and the reduction of one medium stand side by side: a look is 2 x medium, and 1 more where it
// reduces.
const (
	CopyInside Look = iota
	ReduceInside
	CopyNear
	ReduceNear
	CopyFar
	ReduceFar
	CopyBoth
	ReduceBoth
	Signals
	Waits
	NumLooks
)

// A medium is what the data of a step go over.
type medium uint8

const (
	inside medium = iota // a GPU's own memory
	near                 // the links of a node
	far                  // the network between nodes
	both                 // to some ranks near, to others far
)

// Looks are the looks of the steps of a program.
type Looks struct {
	Of    []Look // indexed by step, as Program.Steps is
	Names [NumLooks]string
}

// LooksOn returns the looks of p on t, whose paths say what leaves a node. node is the node of each rank, as
// simulate.Call has it. It fails where p has no room on t.
func LooksOn(p *either.Program, t *topology.Topology, node []int32) (*Looks, error) {
	seats, err := simulate.Seats(&p.Header, t, node)
	if err != nil {
		return nil, err
	}
	var used [far + 1][]string // the classes of links that each medium has
	l := newLooks(p, func(a, b int32) medium {
		ids, all := t.Ways([][2]int32{{seats[a], seats[b]}})
		var over medium
		var names []string
		for _, link := range all[ids[0]] {
			class := &t.Classes[t.Links[link].Class]
			switch m := mediumOf(class.Network); {
			case m > over:
				over, names = m, []string{class.Name}
			case m == over:
				names = append(names, class.Name)
			}
		}
		for _, n := range names {
			if !slices.Contains(used[over], n) {
				used[over] = append(used[over], n)
			}
		}
		return over
	})
	l.name(strings.Join(used[near], ", "), used[far])
	return l, nil
}

func mediumOf(network bool) medium {
	if network {
		return far
	}
	return near
}

// LooksOf returns the looks of p where no topology is known. node is the node of each rank; where it is nil, nodes are
// those that p states, or else there is one.
func LooksOf(p *either.Program, node []int) *Looks {
	per := int32(p.RanksPerNode)
	l := newLooks(p, func(a, b int32) medium {
		if node != nil {
			return mediumOf(node[a] != node[b])
		}
		return mediumOf(per > 0 && a/per != b/per)
	})
	l.name("the node's links", nil)
	return l
}

// Name names the looks by the links of a node and those of the network.
func (l *Looks) name(node string, network []string) {
	far := "the network"
	if len(network) > 0 {
		far += " (" + strings.Join(network, ", ") + ")"
	}
	over := [both + 1]string{"in the GPU", "over " + node, "over " + far, "over " + node + " and " + far}
	for m, where := range over {
		l.Names[2*m], l.Names[2*m+1] = "copy "+where, "reduce "+where
	}
	l.Names[Signals], l.Names[Waits] = "signal", "wait"
}

func newLooks(p *either.Program, between func(a, b int32) medium) *Looks {
	l := &Looks{Of: make([]Look, len(p.Steps))}
	for b := range p.Blocks {
		tb := &p.Blocks[b]
		for i := tb.Steps.First; i < tb.Steps.End; i++ {
			l.Of[i] = lookOf(p, tb, &p.Steps[i], between)
		}
	}
	return l
}

// lookOf returns the look of a step of tb.
func lookOf(p *either.Program, tb *ir.TB, s *ir.Step, between func(a, b int32) medium) Look {
	info := s.Op.Info()
	switch {
	case s.Op == ir.Signal:
		return Signals
	case s.Op == ir.Await || s.Op == ir.Nop:
		return Waits
	}
	over, reduces := inside, info.Reduces
	reach := func(rank int32) {
		if rank != tb.Rank {
			to := between(tb.Rank, rank)
			if over != inside && over != to {
				to = both
			}
			over = to
		}
	}
	if info.Sends {
		reach(tb.SendPeer)
	}
	if info.Receives {
		reach(tb.RecvPeer)
	}
	if info.OneSided {
		sources := p.OneSided.Sources(s)
		reduces = len(sources) > 1
		for _, x := range slices.Concat(sources, p.OneSided.Dests(s)) {
			if x.Rank != ir.AllRanks {
				reach(x.Rank)
				continue
			}
			for r := range p.Rank {
				reach(int32(r))
			}
		}
		reduces = reduces || slices.ContainsFunc(sources, func(x onesided.Operand) bool { return x.Rank == ir.AllRanks })
	}
	look := Look(2 * over)
	if reduces {
		look++
	}
	return look
}
