package synthesis

import (
	"fmt"
	"strings"

	"mscclc/ir"
)

// This file writes programs whose trees are images of those of rank 0: a loop over ranks, in which trees stand once.

const symmetricText = `# Rank d as rank r sees it. All ranks see the machine alike.
def at(r, d) = FORMULA
# Each list of hops is a rank and whom it sends to, or in a sum whose it adds, as the tree's root sees them.
`

const symmetricGather = `def gather(root, first, count, hops) {
    for k in len(hops) - 1..-1 by -1 {
        let parts = [chunk(at(root, d), input, root * CHUNKS + first, count) for d in hops[k]]
        parts[0].reduce(parts[1..len(parts)])
    }
}
`

// Of AllGather, what a rank has is in its input, and what it got in its output.
const symmetricAllGather = `def spread(root, first, count, hops) {
    for hop in hops {
        let to = [at(root, d) for d in hop[1..len(hop)]]
        if hop[0] == 0 {
            chunk(root, input, first, count).copy(to, output, root * CHUNKS + first)
        } else {
            chunk(at(root, hop[0]), output, root * CHUNKS + first, count).copy(to)
        }
    }
}
`

const symmetricSpread = `def spread(root, first, count, hops) {
    for hop in hops {
        let part = chunk(at(root, hop[0]), input, root * CHUNKS + first, count)
        part.copy([at(root, d) for d in hop[1..len(hop)]])
    }
}
`

// symmetric writes the program.
func (p *Plan) symmetric(b *strings.Builder) {
	spread, gather := p.Spread, p.Gather
	var each int64
	for _, t := range p.Trees() {
		each += t.Count
	}
	if len(spread) > 0 && len(gather) > 0 {
		each /= 2
	}
	chunks := each
	if p.Kind == ir.AllReduce {
		chunks *= int64(p.Ranks)
	}
	fmt.Fprintf(b, "algorithm %s()\n%s\n\n", p.Name, p.collective(chunks))
	text := strings.ReplaceAll(symmetricText, "FORMULA", p.Shifts.formula())
	if len(gather) > 0 {
		text += symmetricGather
	}
	switch {
	case p.Kind == ir.AllGather:
		text += symmetricAllGather
	case len(spread) > 0:
		text += symmetricSpread
	}
	b.WriteString(strings.ReplaceAll(text, "CHUNKS", fmt.Sprint(each)))
	loop(b, p.Ranks, "gather", gather)
	loop(b, p.Ranks, "spread", spread)
	if p.Kind == ir.AllGather {
		fmt.Fprintf(b, "for r in 0..%d { chunk(r, input, 0, %d).copy(r, output, r * %[2]d) }\n", p.Ranks, each)
	}
}

// loop writes a loop over ranks with a line a tree.
func loop(b *strings.Builder, ranks int, call string, trees []Tree) {
	if len(trees) == 0 {
		return
	}
	first := int64(0)
	fmt.Fprintf(b, "for r in 0..%d {\n", ranks)
	for _, t := range trees {
		fmt.Fprintf(b, "    %s(r, %d, %d, [%s])\n", call, first, t.Count, t.hops())
		first += t.Count
	}
	fmt.Fprintln(b, "}")
}
