package text

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mscclc/ir"
)

// WriteHeader writes the lines that all text forms begin with: the kind of the form and the name, the collective and
// the rest of h, and hints.
func WriteHeader(b *bufio.Writer, kind string, h *ir.Header, hints []ir.Hint) {
	fmt.Fprintf(b, "%s %s\n", kind, quoteWord(h.Name))
	writeCollective(b, h.Coll)
	if h.Protocol != ir.Simple {
		fmt.Fprintf(b, "protocol %v\n", h.Protocol)
	}
	if h.Sizes != (ir.SizeRange{}) {
		fmt.Fprintf(b, "sizes %d..%d\n", h.Sizes.Min, h.Sizes.Max)
	}
	if h.RanksPerNode != 0 {
		fmt.Fprintf(b, "ranks_per_node %d\n", h.RanksPerNode)
	}
	if len(h.Then) > 0 {
		fmt.Fprintf(b, "then %s\n", quoteWord(h.Then.String()))
	}
	for _, n := range hints[min(1, len(hints)):] {
		b.WriteString("hint")
		for _, f := range []struct {
			name string
			n    int32
		}{{"ch", n.Channel}, {"sendtb", n.SendTB}, {"recvtb", n.RecvTB}, {"lane", n.Lane}} {
			if f.n >= 0 {
				fmt.Fprintf(b, " %s=%d", f.name, f.n)
			}
		}
		if n.Via != ir.ViaAny {
			fmt.Fprintf(b, " via=%d", n.Via)
		}
		if n.Pull {
			b.WriteString(" pull")
		}
		b.WriteByte('\n')
	}
	for _, s := range h.Spans {
		fmt.Fprintf(b, "span %s line=%d col=%d offset=%d len=%d\n", quoteWord(s.Filename), s.Line, s.Column, s.Offset, s.Len)
	}
}

func writeCollective(b *bufio.Writer, c *ir.Collective) {
	fmt.Fprintf(b, "collective %v", c)
	switch {
	case c.Kind.Rooted():
		fmt.Fprintf(b, " root=%d", c.Root)
	case c.Kind == ir.SendRecv:
		fmt.Fprintf(b, " peer=%s", joinInts(c.Peer))
	case c.Kind == ir.Custom || c.Kind == ir.Opaque:
		fmt.Fprintf(b, " in=%d out=%d", c.In, c.Out)
		if c.PerRank != nil {
			var each []string
			for _, n := range c.PerRank {
				each = append(each, fmt.Sprintf("%d/%d", n[0], n[1]))
			}
			fmt.Fprintf(b, " each=%s", strings.Join(each, ","))
		}
	}
	b.WriteByte('\n')
	outs := make([]ir.Part, 0, len(c.Require))
	for out := range c.Require {
		outs = append(outs, out)
	}
	slices.SortFunc(outs, ComparePart)
	for _, out := range outs {
		fmt.Fprintf(b, "require %d output[%d] =", out.Rank, out.Index)
		for i, in := range c.Require[out] {
			if i > 0 {
				b.WriteString(" +")
			}
			fmt.Fprintf(b, " %d input[%d]", in.Rank, in.Index)
		}
		b.WriteByte('\n')
	}
}

func ComparePart(a, b ir.Part) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Index, b.Index))
}
