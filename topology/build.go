package topology

import (
	"math"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"mscclc/ir/diag"
)

// A builder makes a Topology of a file.
type builder struct {
	t      *Topology
	vars   map[string]int // parameters; of a link also node, and the name in its first brackets
	groups map[string]*group
	errs   diag.List
	notes  Findings
}

// A group is places of each node, or shared ones. Those of node n are counts[n] from first[n] on, and the shared ones
// counts[0] from first[0] on.
type group struct {
	kind   Kind
	shared bool
	counts []int
	first  []int32
	most   int // of counts
}

// of returns the members that node n has, or that nodes share: their number, and the first of them.
func (g *group) of(n int) (count int, first int32) {
	if g.shared {
		n = 0
	}
	return g.counts[n], g.first[n]
}

// mostErrors is how many errors of a topology are collected.
const mostErrors = 20

func (b *builder) fault(code diag.Code, p lexer.Position, format string, args ...any) {
	if len(b.errs) < mostErrors {
		b.errs = append(b.errs, diag.New(code, span(p, 1), format, args...))
	}
}

// params gives the parameters their values.
func (b *builder) params(h *head, given map[string]int) {
	for _, p := range h.Params {
		b.vars[p.Name] = b.value(p.Value)
		if v, ok := given[p.Name]; ok {
			b.vars[p.Name] = v
		}
		b.t.Params = append(b.t.Params, p.Name)
	}
	known := b.t.Params
	for name := range given {
		if !slices.Contains(known, name) {
			b.fault(diag.Parameter, h.Pos, "%s has no parameter %s; it has %s", h.Name, name,
				strings.Join(append(known[:len(known):len(known)], "no other"), ", "))
		}
	}
	if b.t.Nodes = b.vars["nodes"]; b.t.Nodes < 1 || b.t.Nodes > MaxPlaces {
		b.fault(diag.Parameter, h.Pos, "%s has %d nodes, and may have 1 to %d", h.Name, b.t.Nodes, MaxPlaces)
	}
}

// build makes places of all groups first, the GPUs before all, and then links.
func (b *builder) build(stmts []*stmt) {
	var links []*linkDef
	var inNode []bool
	var walk func(list []*stmt, node bool)
	var groups []*groupDef
	var ofNode []bool
	walk = func(list []*stmt, node bool) {
		for _, s := range list {
			switch {
			case s.Node != nil && node:
				b.fault(diag.Declaration, s.Pos, "a node within a node")
			case s.Node != nil:
				walk(s.Node, true)
			case s.Class != nil:
				b.class(s.Class)
			case s.Group != nil:
				groups, ofNode = append(groups, s.Group), append(ofNode, node)
			case s.Apart != nil:
				b.t.Apart = b.value(s.Apart) != 0
			case s.Link != nil:
				links, inNode = append(links, s.Link), append(inNode, node)
			default:
				b.t.Device = s.Device
			}
		}
	}
	walk(stmts, false)
	for _, gpus := range []bool{true, false} {
		for i, g := range groups {
			if (g.Kind == "gpu") == gpus {
				b.group(g, ofNode[i])
			}
		}
	}
	if g := b.groups["gpu"]; g == nil && len(b.errs) == 0 {
		b.fault(diag.Declaration, lexer.Position{Filename: "", Line: 0},
			"%s has no GPUs: a line \"gpu 8\" in node's braces says how many a node has", b.t.Name)
	}
	for i, l := range links {
		if len(b.errs) == 0 {
			b.link(l, inNode[i])
		}
	}
	b.t.Links = joined(b.t.Links)
}

// joined makes links of one class between the same vertices one link, which is as wide as all of them: data between two
// GPUs goes over all, as over a link with x 2.
func joined(links []Link) (list []Link) {
	type ends struct{ from, to, class int32 }
	at := map[ends]int{}
	for _, l := range links {
		key := ends{l.From, l.To, l.Class}
		if i, known := at[key]; known && int64(list[i].Width)+int64(l.Width) <= math.MaxInt32 {
			list[i].Width += l.Width
			continue
		}
		at[key] = len(list)
		list = append(list, l)
	}
	return list
}

func (b *builder) class(c *classDef) {
	latency, isTime := quantity(c.Latency.Text, times)
	bandwidth, isRate := quantity(c.Bandwidth.Text, rates)
	switch {
	case slices.ContainsFunc(b.t.Classes, func(o Class) bool { return o.Name == c.Name }):
		b.fault(diag.Redefined, c.Pos, "class %s is there already", c.Name)
	case !isTime:
		b.unit(&c.Latency, "latency", "write a number and ns, us or ms, without a space: 0.7us")
	case !isRate || bandwidth <= 0:
		b.unit(&c.Bandwidth, "bandwidth", "write a number and its unit, without a space: 50GB/s or 400Gb/s")
	default:
		b.t.Classes = append(b.t.Classes, Class{Name: c.Name, Latency: latency, Bandwidth: bandwidth, Network: c.Network})
	}
}

// unit adds the error that a measure has the wrong unit, or none.
func (b *builder) unit(m *measure, what, hint string) {
	if len(b.errs) < mostErrors {
		d := diag.New(diag.Kind, span(m.Pos, len(m.Text)), "%s is not a %s", m.Text, what)
		b.errs = append(b.errs, d.WithHint("%s", hint))
	}
}

func (b *builder) group(g *groupDef, node bool) {
	kind, name := Switch, g.Name
	if g.Kind != "" {
		kind, name = Kind(slices.Index(kindNames[:], g.Kind)), g.Kind
	}
	if kind == GPU && !node {
		b.fault(diag.Declaration, g.Pos, "GPUs lie in node's braces")
	}
	if b.groups[name] != nil {
		b.fault(diag.Redefined, g.Pos, "%s is there already", name)
	}
	if len(b.errs) > 0 {
		return
	}
	copies := 1
	if node {
		copies = b.t.Nodes
	}
	made := &group{kind: kind, shared: !node}
	for n := range copies {
		count := b.countOf(g, node, n)
		if count < 0 || count > MaxPlaces || count*(copies-n) > MaxPlaces-len(b.t.Places) || count == 0 && !g.Count.ofNode() {
			b.fault(diag.Limit, g.Pos, "%s has %d members in each of %d; a group has one at least, and a topology %d at most",
				name, count, copies, MaxPlaces)
		}
		if kind == GPU && n > 0 && count != made.counts[0] {
			b.fault(diag.Declaration, g.Pos, "node 0 has %s and node %d has %d: all nodes have equally many",
				diag.Counted(made.counts[0], "GPU"), n, count)
		}
		if len(b.errs) > 0 {
			return
		}
		made.first, made.counts = append(made.first, int32(len(b.t.Places))), append(made.counts, count)
		made.most = max(made.most, count)
		for i := range count {
			p := Place{Kind: kind, Group: name, Node: n, Index: i}
			if !node {
				p.Node = -1
			}
			b.t.Places = append(b.t.Places, p)
		}
	}
	b.groups[name] = made
	if kind == GPU {
		if b.t.GPUs = made.most; b.t.GPUs == 0 {
			b.fault(diag.Limit, g.Pos, "the nodes have no GPUs")
		}
	}
}

// countOf returns how many members of a group node n has, or nodes share.
func (b *builder) countOf(g *groupDef, node bool, n int) int {
	if g.Count == nil {
		return 1
	}
	if node {
		b.vars["node"] = n
		defer delete(b.vars, "node")
	}
	return b.value(g.Count)
}
