// Package graph presents the chunks and instructions of package ir to gonum as directed graphs, for tests that compare
// with gonum's algorithms. It may import ir and ir/text.
package graph

import (
	"fmt"
	"io"
	"slices"

	"mscclc/ir"
	"mscclc/ir/text"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/encoding"
	"gonum.org/v1/gonum/graph/encoding/dot"
	"gonum.org/v1/gonum/graph/iterator"
)

// A Graph shows a DAG to gonum as a graph.Directed, for drawings, diagnostics
// and tests; what is hot runs over the arrays. Node i is operation or
// instruction i, and an edge leads from what comes first to what needs it.
type Graph struct {
	name        string
	next, prior ir.Edges
	label       func(i int) string
	rank        func(i int) int32
	message     func(from, to int) bool // the edge is a transfer to another rank
}

// OfInsts returns d's instructions with their dependences and transfers.
func OfInsts(d *ir.InstDAG) *Graph {
	prior := ir.Edges{Start: make([]int32, 1, len(d.Insts)+1)}
	for i := range d.Insts {
		row := len(prior.To)
		prior.To = append(prior.To, d.Deps.Of(i)...)
		if m := d.Insts[i].RecvMate; m >= 0 {
			prior.To = append(prior.To, m)
		}
		prior.To = prior.To[:row+uniq(prior.To[row:])]
		prior.Start = append(prior.Start, int32(len(prior.To)))
	}
	return &Graph{
		name: d.Name, prior: prior, next: prior.Reverse(),
		label: func(i int) string {
			in := &d.Insts[i]
			return fmt.Sprintf("i%d %v%s", i, in.Op, text.AppendOperands(nil, in.Op, in.SrcBuf, in.Src, in.DstBuf,
				in.Dst, in.Count))
		},
		rank:    func(i int) int32 { return d.Insts[i].Rank },
		message: func(from, to int) bool { return d.Insts[to].RecvMate == int32(from) },
	}
}

// uniq sorts list, drops what is repeated, and returns how many are left.
func uniq(list []int32) int {
	slices.Sort(list)
	return len(slices.Compact(list))
}

// OfChunks returns d's operations. Each has an edge to those after it that read
// what it writes, overwrite it, or overwrite what it reads. References must be
// in range, which CheckChunks checks.
func OfChunks(d *ir.ChunkDAG) *Graph {
	mem, base := ir.NewMemory(d.Coll, d.ScratchChunks()), d.ScratchBase()
	cells := ir.NewAccesses(mem.Len())
	cell := func(r ir.Ref) int {
		if r.Buf >= ir.Scratch {
			return mem.Cell(int(r.Rank), ir.Scratch, base[r.Buf-ir.Scratch]+int(r.Index))
		}
		return mem.Cell(int(r.Rank), r.Buf, int(r.Index))
	}
	prior := ir.Edges{Start: make([]int32, 1, len(d.Ops)+1)}
	for i := range d.Ops {
		op, row := &d.Ops[i], len(prior.To)
		after := func(j int32) {
			if j >= 0 && j != int32(i) {
				prior.To = append(prior.To, j)
			}
		}
		n := int(op.Count)
		for _, src := range d.Sources(op) {
			at := cell(src)
			cells.Cut(at, n)
			for k := at; k < at+n; k = cells.End(k) {
				after(cells.Writer(k))
				cells.Read(int32(i), k)
			}
		}
		at := cell(op.Dst)
		cells.Cut(at, n)
		for k := at; k < at+n; k = cells.End(k) {
			after(cells.Writer(k))
			cells.Readers(k, after)
		}
		cells.Write(int32(i), at, n)
		prior.To = prior.To[:row+uniq(prior.To[row:])]
		prior.Start = append(prior.Start, int32(len(prior.To)))
	}
	return &Graph{
		name: d.Name, prior: prior, next: prior.Reverse(),
		label: func(i int) string {
			b := text.AppendOp(d, nil, &d.Ops[i])
			return fmt.Sprintf("%d: %s", i, b[:len(b)-1])
		},
		rank:    func(i int) int32 { return d.Ops[i].Dst.Rank },
		message: func(from, to int) bool { return d.Ops[from].Dst.Rank != d.Ops[to].Dst.Rank },
	}
}

// A Node is a node of a Graph.
type Node struct {
	g  *Graph
	id int64
}

// ID returns the index of the operation or instruction.
func (n Node) ID() int64 { return n.id }

// Attributes returns what a drawing shows of the node.
func (n Node) Attributes() []encoding.Attribute {
	i := int(n.id)
	return []encoding.Attribute{{Key: "label", Value: fmt.Sprintf("%q",
		fmt.Sprintf("%d | %s", n.g.rank(i), n.g.label(i)))}, {Key: "group", Value: fmt.Sprint(n.g.rank(i))}}
}

// A Edge is an edge of a Graph.
type Edge struct{ from, to Node }

// From returns what comes first.
func (e Edge) From() graph.Node { return e.from }

// To returns what needs it.
func (e Edge) To() graph.Node { return e.to }

// ReversedEdge returns the edge unchanged: it has one direction.
func (e Edge) ReversedEdge() graph.Edge { return e }

// Attributes returns what a drawing shows of the edge: transfers are bold.
func (e Edge) Attributes() []encoding.Attribute {
	if e.from.g.message(int(e.from.id), int(e.to.id)) {
		return []encoding.Attribute{{Key: "style", Value: "bold"}}
	}
	return nil
}

func (g *Graph) len() int { return max(0, len(g.prior.Start)-1) }

func (g *Graph) has(id int64) bool { return id >= 0 && id < int64(g.len()) }

// Node returns the node id, or nil.
func (g *Graph) Node(id int64) graph.Node {
	if !g.has(id) {
		return nil
	}
	return Node{g, id}
}

func (g *Graph) list(ids []int32) graph.Nodes {
	if len(ids) == 0 {
		return graph.Empty
	}
	nodes := make([]graph.Node, len(ids))
	for k, i := range ids {
		nodes[k] = Node{g, int64(i)}
	}
	return iterator.NewOrderedNodes(nodes)
}

// Nodes returns all nodes, in order.
func (g *Graph) Nodes() graph.Nodes {
	if g.len() == 0 {
		return graph.Empty
	}
	return iterator.NewImplicitNodes(0, g.len(), func(id int) graph.Node { return Node{g, int64(id)} })
}

// From returns the nodes that need id.
func (g *Graph) From(id int64) graph.Nodes {
	if !g.has(id) {
		return graph.Empty
	}
	return g.list(g.next.Of(int(id)))
}

// To returns the nodes that id needs.
func (g *Graph) To(id int64) graph.Nodes {
	if !g.has(id) {
		return graph.Empty
	}
	return g.list(g.prior.Of(int(id)))
}

// HasEdgeFromTo reports whether v needs u.
func (g *Graph) HasEdgeFromTo(u, v int64) bool {
	if !g.has(u) || !g.has(v) {
		return false
	}
	_, found := slices.BinarySearch(g.prior.Of(int(v)), int32(u))
	return found
}

// HasEdgeBetween reports whether one of x and y needs the other.
func (g *Graph) HasEdgeBetween(x, y int64) bool {
	return g.HasEdgeFromTo(x, y) || g.HasEdgeFromTo(y, x)
}

// Edge returns the edge from u to v, or nil.
func (g *Graph) Edge(u, v int64) graph.Edge {
	if !g.HasEdgeFromTo(u, v) {
		return nil
	}
	return Edge{Node{g, u}, Node{g, v}}
}

// WriteDOT writes g for Graphviz.
func (g *Graph) WriteDOT(w io.Writer) error {
	text, err := dot.Marshal(g, fmt.Sprintf("%q", g.name), "", "\t")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
