package synthesis

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/ir"
)

// A Plan is what a program is written of: trees that spread, and trees that gather sums. Count trees of a root carry as
// many chunks.
type Plan struct {
	Name   string
	Kind   ir.Kind
	Ranks  int
	Root   int      // of a rooted collective
	Header []string // lines of the comment at the top
	Spread []Tree   // from roots to all
	Gather []Tree   // trees of the machine with all links reversed: hops go from the root too, and data the other way
	Lanes  bool     // each tree has a lane of each rank, where a program has several: it has no Shifts
	Shifts *Shifts  // where Spread and Gather list the trees of rank 0 only, of which those of other ranks are images
}

// Trees returns the trees that the plan lists.
func (p *Plan) Trees() []Tree { return slices.Concat(p.Spread, p.Gather) }

// Images returns how many images each listed tree has, with itself.
func (p *Plan) Images() int {
	if p.Shifts == nil {
		return 1
	}
	return p.Ranks
}

// Text returns the .mscl program of a plan.
func (p *Plan) Text() string {
	var b strings.Builder
	for _, line := range p.Header {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	if p.Kind == ir.AllToAll {
		p.exchange(&b)
		return b.String()
	}
	if p.Shifts != nil {
		p.symmetric(&b)
		return b.String()
	}
	first, chunks := p.firsts()
	fmt.Fprintf(&b, "algorithm %s()\n%s\n\n", p.Name, p.collective(chunks))
	b.WriteString("# Each list of hops is a rank and whom it sends to, or in a sum whose it adds; the first rank is the tree's root.\n")
	if len(p.Gather) > 0 {
		b.WriteString(p.filled(gatherText, chunks, ""))
	}
	if len(p.Spread) > 0 {
		b.WriteString(p.filled(p.spreadText(), chunks, fmt.Sprintf("%d + ", chunks)))
	}
	write(&b, "gather", p.Gather, slices.Clone(first))
	write(&b, "spread", p.Spread, slices.Clone(first))
	switch p.Kind {
	case ir.AllGather:
		fmt.Fprintf(&b, "for r in 0..%d { chunk(r, input, 0, %d).copy(r, output, r * %[2]d) }\n", p.Ranks, chunks)
	case ir.Broadcast:
		fmt.Fprintf(&b, "chunk(%d, input, 0, %d).copy(%[1]d, output)\n", p.Root, chunks)
	}
	return b.String()
}

// filled writes a function of the program. The lanes of trees that spread sums are others than of those that gather
// them, by their numbers.
func (p *Plan) filled(text string, chunks int64, after string) string {
	lane, offset := "", p.offset(chunks)
	if p.Lanes {
		if p.Kind != ir.AllReduce {
			after = ""
		}
		lane = ", lane = " + after + offset + "first"
	}
	return strings.NewReplacer("OFFSET", offset, "LANE", lane).Replace(text)
}

// firsts returns the first chunk of each root, and how many chunks the collective has. Chunks of AllReduce are numbered
// through all roots; those of others are a root's own.
func (p *Plan) firsts() (first []int64, chunks int64) {
	trees := p.Spread
	if len(trees) == 0 {
		trees = p.Gather
	}
	counts := make([]int64, p.Ranks)
	for _, t := range trees {
		counts[t.Root] += t.Count
	}
	first = make([]int64, p.Ranks)
	if p.Kind != ir.AllReduce {
		return first, slices.Max(counts)
	}
	for r, c := range counts {
		first[r] = chunks
		chunks += c
	}
	return first, chunks
}

func (p *Plan) collective(chunks int64) string {
	switch p.Kind {
	case ir.AllGather:
		return fmt.Sprintf("collective allgather(%d, chunks = %d)", p.Ranks, chunks)
	case ir.ReduceScatter:
		return fmt.Sprintf("collective reducescatter(%d, chunks = %d, inplace = true)", p.Ranks, chunks)
	case ir.AllReduce:
		return fmt.Sprintf("collective allreduce(%d, chunks = %d, inplace = true)", p.Ranks, chunks)
	case ir.Broadcast:
		return fmt.Sprintf("collective broadcast(%d, root = %d, chunks = %d)", p.Ranks, p.Root, chunks)
	}
	return fmt.Sprintf("collective reduce(%d, root = %d, chunks = %d, inplace = true)", p.Ranks, p.Root, chunks)
}

// offset is where a root's chunks begin in the buffers of all ranks.
func (p *Plan) offset(chunks int64) string {
	if p.Kind == ir.AllGather || p.Kind == ir.ReduceScatter {
		return fmt.Sprintf("hops[0][0] * %d + ", chunks)
	}
	return ""
}

const gatherText = `def gather(first, count, hops) {
    for k in len(hops) - 1..-1 by -1 {
        let hop = hops[k]
        let parts = [chunk(r, input, OFFSETfirst, count) for r in hop[1..len(hop)]]
        chunk(hop[0], input, OFFSETfirst, count).reduce(partsLANE)
    }
}
`

func (p *Plan) spreadText() string {
	if p.Kind == ir.AllReduce {
		return `def spread(first, count, hops) {
    for hop in hops { chunk(hop[0], input, first, count).copy(hop[1..len(hop)]LANE) }
}
`
	}
	return `def spread(first, count, hops) {
    for hop in hops {
        let to = hop[1..len(hop)]
        if hop[0] == hops[0][0] {
            chunk(hop[0], input, first, count).copy(to, output, OFFSETfirstLANE)
        } else {
            chunk(hop[0], output, OFFSETfirst, count).copy(toLANE)
        }
    }
}
`
}

// write writes a line a tree.
func write(b *strings.Builder, call string, trees []Tree, next []int64) {
	for _, t := range trees {
		fmt.Fprintf(b, "%s(%d, %d, [%s])\n", call, next[t.Root], t.Count, t.hops())
		next[t.Root] += t.Count
	}
}

// hops writes the hops of a tree by sender, each in the order in which it gets the data: [0, 3, 4], [3, 1].
func (t *Tree) hops() string {
	var order []int32
	to := map[int32][]string{}
	for _, h := range t.Hops {
		if to[h.From] == nil {
			order = append(order, h.From)
		}
		to[h.From] = append(to[h.From], fmt.Sprint(h.To))
	}
	var parts []string
	for _, r := range order {
		parts = append(parts, fmt.Sprintf("[%d, %s]", r, strings.Join(to[r], ", ")))
	}
	return strings.Join(parts, ", ")
}
