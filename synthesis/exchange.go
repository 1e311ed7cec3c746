package synthesis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// This file writes programs of AllToAll, whose trees are routes.

const exchangeText = `# Each route is from a rank, over others that keep its chunks in relay, to a rank.
def route(from, to, first, count, over) {
    let part = chunk(from, input, to * CHUNKS + first, count)
    for hop in over { part = part.copy(hop[0], relay, hop[1]) }
    part.copy(to, output, from * CHUNKS + first)
}
`

const straightText = `# What goes straight from a rank to others.
def straight(from, list) {
    for to in list { chunk(from, input, to * CHUNKS, CHUNKS).copy(to, output, from * CHUNKS) }
}
`

// end is the rank that a route leads to.
func (t *Tree) end() int32 { return t.Hops[len(t.Hops)-1].To }

// paths returns the trees with those together that go over the same ranks, whatever the links, the longest first.
func paths(trees []Tree) (list []Tree) {
	number := map[string]int{}
	for _, t := range trees {
		name := t.hops()
		i, ok := number[name]
		if !ok {
			i = len(list)
			number[name] = i
			list = append(list, Tree{Root: t.Root, Hops: t.Hops})
		}
		list[i].Count += t.Count
	}
	slices.SortStableFunc(list, func(a, b Tree) int { return cmp.Compare(len(b.Hops), len(a.Hops)) })
	return list
}

// exchange writes the program of an AllToAll: first the routes of data that is spread over several, and then what goes
// straight.
func (p *Plan) exchange(b *strings.Builder) {
	list := paths(p.Spread)
	var chunks int64
	for _, t := range list {
		if t.Root == 0 && t.end() == 1 {
			chunks += t.Count
		}
	}
	straight := make([][]string, p.Ranks) // by rank: whom all goes straight to, itself first
	for r := range straight {
		straight[r] = []string{fmt.Sprint(r)}
	}
	list = slices.DeleteFunc(list, func(t Tree) bool {
		all := len(t.Hops) == 1 && t.Count == chunks
		if all {
			straight[t.Root] = append(straight[t.Root], fmt.Sprint(t.end()))
		}
		return all
	})
	lines, room := routeLines(list, p.Ranks)
	fmt.Fprintf(b, "algorithm %s()\ncollective alltoall(%d, chunks = %d)\n", p.Name, p.Ranks, chunks)
	text := straightText
	if len(lines) > 0 {
		fmt.Fprintf(b, "scratch relay[%d]\n", room)
		text = exchangeText + straightText
	}
	fmt.Fprintf(b, "\n%s", strings.ReplaceAll(text, "CHUNKS", fmt.Sprint(chunks)))
	for _, line := range lines {
		fmt.Fprintln(b, line)
	}
	for r, to := range straight {
		fmt.Fprintf(b, "straight(%d, [%s])\n", r, strings.Join(to, ", "))
	}
}

// routeLines returns a line for each route, and how much room ranks need at most for what they pass on.
func routeLines(list []Tree, ranks int) (lines []string, room int64) {
	first, used := map[[2]int32]int64{}, make([]int64, ranks)
	for _, t := range list {
		var over []string
		for _, h := range t.Hops[:len(t.Hops)-1] {
			over = append(over, fmt.Sprintf("[%d, %d]", h.To, used[h.To]))
			used[h.To] += t.Count
		}
		pair := [2]int32{t.Root, t.end()}
		lines = append(lines, fmt.Sprintf("route(%d, %d, %d, %d, [%s])", t.Root, t.end(), first[pair], t.Count,
			strings.Join(over, ", ")))
		first[pair] += t.Count
	}
	return lines, slices.Max(used)
}
