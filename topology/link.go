package topology

import (
	"fmt"
	"slices"

	"mscclc/ir/diag"
)

// link makes the links that l says, in each node, or once for each member of a shared group.
func (b *builder) link(l *linkDef, inNode bool) {
	from, to := b.groups[l.From.Group], b.groups[l.To.Group]
	class := slices.IndexFunc(b.t.Classes, func(c Class) bool { return c.Name == l.Class })
	switch {
	case from == nil:
		b.fault(diag.Undefined, l.From.Pos, "%s is no group", l.From.Group)
	case to == nil:
		b.fault(diag.Undefined, l.To.Pos, "%s is no group", l.To.Group)
	case class < 0:
		b.fault(diag.Undefined, l.Pos, "%s is no class", l.Class)
	case from.shared && !to.shared:
		b.fault(diag.Declaration, l.Pos, "a link begins in a node where one of its ends is a node's: write %s last",
			l.From.Group)
	case inNode && (from.shared || to.shared):
		b.fault(diag.Declaration, l.Pos, "a link with what nodes share stands outside node's braces")
	case l.From.All:
		b.fault(diag.Declaration, l.From.Pos, "all members of %s begin a link where its brackets have a name", l.From.Group)
	}
	if len(b.errs) > 0 {
		return
	}
	nodes := 1
	if !from.shared {
		nodes = b.t.Nodes
	}
	name := b.binds(l.From)
	for n := range nodes {
		b.vars["node"] = n
		count, _ := from.of(n)
		for i := range count {
			if name != "" {
				b.vars[name] = i
			}
			if len(b.errs) == 0 && (name != "" || b.begins(l.From, i)) {
				b.join(l, from, to, n, i, int32(class))
			}
		}
	}
	delete(b.vars, "node")
	delete(b.vars, name)
}

// binds returns the name in e's brackets that stands for each member, "" where there is none.
func (b *builder) binds(e *end) string {
	if e.Index == nil || len(e.Index.Rest) > 0 || len(e.Index.First.Rest) > 0 {
		return ""
	}
	name := e.Index.First.First.Name
	if _, taken := b.vars[name]; taken || name == "node" {
		return ""
	}
	return name
}

// begins reports whether a link begins at member i by e, which names one; without brackets its group has but one.
func (b *builder) begins(e *end, i int) bool {
	if e.Index != nil {
		return b.value(e.Index) == i
	}
	if i > 0 {
		b.fault(diag.Declaration, e.Pos, "%s has more than one member: %s[i] is each", e.Group, e.Group)
	}
	return i == 0
}

// join makes the links of member i of from in node n.
func (b *builder) join(l *linkDef, from, to *group, n, i int, class int32) {
	width := 1
	if l.Width != nil {
		if width = b.value(l.Width); width == 0 && l.Width.ofNode() {
			return // this node has none
		}
	}
	count, start := to.of(n)
	first, end := 0, count
	switch {
	case l.To.Index != nil:
		first = b.value(l.To.Index)
		end = first + 1
	case !l.To.All && to.most > 1:
		b.fault(diag.Declaration, l.To.Pos, "%s has %d members: %s[i] is one, %s[*] is all", l.To.Group, to.most,
			l.To.Group, l.To.Group)
		return
	}
	if end > count && end <= to.most {
		if first, end = b.lacks(l, n, i, count); end == 0 {
			return
		}
	}
	switch {
	case first < 0 || end > count:
		b.fault(diag.OutOfBounds, l.To.Pos, "%s[%d] is none of %d, for %s[%d] of node %d", l.To.Group, first, count,
			l.From.Group, i, n)
	case width < 1 || width > MaxWidth:
		b.fault(diag.Arithmetic, l.Pos, "a link of width %d", width)
	case len(b.t.Links)+2*(end-first) > MaxLinks:
		b.fault(diag.Limit, l.Pos, "the topology has more than %d links", MaxLinks)
	}
	if len(b.errs) > 0 {
		return
	}
	_, a := from.of(n)
	a += int32(i)
	for k := first; k < end; k++ {
		z := start + int32(k)
		switch {
		case a == z && l.To.All, from == to && l.To.All && z < a: // the other end has made it
		case a == z:
			b.fault(diag.OutOfBounds, l.Pos, "%v is linked with itself", b.t.Places[a])
		default:
			b.t.Links = append(b.t.Links, Link{a, z, class, int32(width)}, Link{z, a, class, int32(width)})
		}
	}
}

// lacks returns to which members the link of a member i leads in node n, which has count members of the second group,
// and fewer than other nodes: to its last one, or to none where it has none. A note says so.
func (b *builder) lacks(l *linkDef, n, i, count int) (first, end int) {
	if count == 0 {
		b.notes.Add(l.Pos.Line, fmt.Sprintf("links to %s are left out in nodes that have none", l.To.Group),
			fmt.Sprintf("%s[%d] of node %d", l.From.Group, i, n))
		return 0, 0
	}
	b.notes.Add(l.Pos.Line, fmt.Sprintf("nodes have fewer of %s than others: a link to one that a node lacks leads to "+
		"its last one", l.To.Group), fmt.Sprintf("%s[%d] of node %d", l.From.Group, i, n))
	return count - 1, count
}
