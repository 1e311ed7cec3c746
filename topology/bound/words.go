package bound

import (
	"fmt"
	"slices"
	"strings"
)

// A side is the ranks on one side of a cut.
type side struct {
	ranks []int // their names, sorted
	nodes []int // the nodes that they are all ranks of, or nil where they are parts of nodes
}

// sides returns both sides of a cut.
func (p *problem) sides(set []bool) (in, out side) {
	members := map[int][2]int{} // by node: its ranks on each side
	for i, v := range p.g.gpu {
		k, s := 0, &in
		if !set[v] {
			k, s = 1, &out
		}
		s.ranks = append(s.ranks, p.name(i))
		node := p.t.Places[p.q.GPUs[i]].Node
		count := members[node]
		count[k]++
		members[node] = count
	}
	slices.Sort(in.ranks)
	slices.Sort(out.ranks)
	for node, count := range members {
		if count[0] > 0 && count[1] > 0 || len(members) == 1 {
			in.nodes, out.nodes = nil, nil
			return in, out
		}
		if count[0] > 0 {
			in.nodes = append(in.nodes, node)
		} else {
			out.nodes = append(out.nodes, node)
		}
	}
	slices.Sort(in.nodes)
	slices.Sort(out.nodes)
	return in, out
}

// words names a cut by its smaller side: rank 3's links, node 1's links, the links between ranks 0-3 and ranks 4-7. It
// says which direction counts where the other one has another bandwidth. Where a symmetry takes each rank to each other
// one, the cut is of each rank or node.
func (p *problem) words(set []bool, sym *symmetry) string {
	in, out := p.sides(set)
	both := p.g.leaving(set) == p.g.leaving(complement(set))
	small, large, into := in, out, false
	if len(out.ranks) < len(in.ranks) {
		small, large, into = out, in, true
	}
	_, two := large.one()
	if name, one := small.one(); one && !(two && both) {
		if len(sym.probes(p.g.gpu)) == 1 {
			kind, _, _ := strings.Cut(name, " ")
			name = "each " + kind
		}
		switch {
		case both:
			return name + "'s links"
		case into:
			return "the links into " + name
		}
		return "the links out of " + name
	}
	if both {
		if in.ranks[0] > out.ranks[0] {
			in, out = out, in
		}
		return fmt.Sprintf("the links between %s and %s", in.text(), out.text())
	}
	return fmt.Sprintf("the links from %s to %s", in.text(), out.text())
}

// one returns the name of a side that is one rank or one node.
func (s side) one() (name string, ok bool) {
	switch {
	case len(s.ranks) == 1:
		return fmt.Sprintf("rank %d", s.ranks[0]), true
	case len(s.nodes) == 1:
		return fmt.Sprintf("node %d", s.nodes[0]), true
	}
	return "", false
}

func (s side) text() string {
	if name, ok := s.one(); ok {
		return name
	}
	if s.nodes != nil {
		return "nodes " + ranges(s.nodes)
	}
	return "ranks " + ranges(s.ranks)
}

// ranges writes sorted numbers: 0-3, 8.
func ranges(list []int) string {
	const most = 4
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if len(parts) == most {
			return strings.Join(parts, ", ") + fmt.Sprintf(" and %d more", len(list)-i)
		}
		if j > i {
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[j]))
		} else {
			parts = append(parts, fmt.Sprint(list[i]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// wordsOf names the cuts that prove a bound together, the heaviest first. Cuts of one rank each are each rank's links
// where they are of all ranks, as those of one orbit are.
func (p *problem) wordsOf(cuts []weighted, sym *symmetry) string {
	const most = 2
	alone := map[int32]bool{} // the orbits of ranks whose links are a cut
	var names []string
	for _, c := range cuts {
		in, out := p.sides(c.set)
		if len(out.ranks) < len(in.ranks) {
			in = out
		}
		if len(in.ranks) == 1 {
			alone[sym.vertices.find(p.vertexOf(in.ranks[0]))] = true
		}
		if name := p.words(c.set, sym); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	of := map[int32]bool{}
	for _, v := range p.g.gpu {
		of[sym.vertices.find(v)] = true
	}
	switch {
	case len(alone) == len(of) && (len(names) > 1 || len(p.g.gpu) > 2):
		return "each rank's links"
	case len(names) > most:
		return fmt.Sprintf("%s and %d other cuts together", names[0], len(names)-1)
	case len(names) > 1:
		return strings.Join(names, " and ") + " together"
	}
	return strings.Join(names, "")
}

func (p *problem) vertexOf(name int) int32 {
	for i, v := range p.g.gpu {
		if p.name(i) == name {
			return v
		}
	}
	return -1
}
