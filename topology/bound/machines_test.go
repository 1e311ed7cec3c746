package bound_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mscclc/topology"
	"mscclc/topology/bound"
)

// of returns the bound of a question that has one.
func of(t *testing.T, on *topology.Topology, q bound.Question) *bound.Bound {
	t.Helper()
	b, err := bound.Of(context.Background(), on, q)
	if err != nil {
		t.Fatalf("%s: %v: %v", on.Name, q.Kind, err)
	}
	return b
}

// machine opens a topology that mscclc knows.
func machine(t *testing.T, spec string) *topology.Topology {
	t.Helper()
	m, err := topology.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// written reads the lines of a topology.
func written(t *testing.T, text string) *topology.Topology {
	t.Helper()
	m, err := topology.Read("test.topo", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A line is a directed link between vertices.
type line struct{ from, to, cap int32 }

// both returns each line in both directions.
func both(lines ...line) (list []line) {
	for _, l := range lines {
		list = append(list, l, line{l.to, l.from, l.cap})
	}
	return list
}

// direct makes a topology of one node with a given number of GPUs and switches, whose links have whole bandwidths in
// MB/s.
func direct(gpus, switches int, lines []line) *topology.Topology {
	m := &topology.Topology{Name: "direct", Nodes: 1, GPUs: gpus,
		Classes: []topology.Class{{Name: "link", Latency: 1, Bandwidth: 1}}}
	for i := range gpus + switches {
		p := topology.Place{Kind: topology.GPU, Group: "gpu", Index: i}
		if i >= gpus {
			p = topology.Place{Kind: topology.Switch, Group: "switch", Index: i - gpus}
		}
		m.Places = append(m.Places, p)
	}
	for _, l := range lines {
		m.Links = append(m.Links, topology.Link{From: l.from, To: l.to, Width: l.cap})
	}
	return m
}

// dgx1v is the NVLinks of a DGX-1V at their nominal rate.
func dgx1v() []line {
	const two, one = 50000, 25000
	return both(line{0, 3, two}, line{0, 4, two}, line{1, 2, two}, line{1, 5, two}, line{2, 3, two}, line{4, 7, two},
		line{5, 6, two}, line{6, 7, two}, line{0, 1, one}, line{0, 2, one}, line{1, 3, one}, line{2, 6, one},
		line{3, 7, one}, line{4, 5, one}, line{4, 6, one}, line{5, 7, one})
}

// torus returns the unit links of a torus.
func torus(rows, cols int32) (lines []line) {
	for r := range rows {
		for c := range cols {
			lines = append(lines, line{r*cols + c, r*cols + (c+1)%cols, 1}, line{r*cols + c, (r+1)%rows*cols + c, 1})
		}
	}
	return both(lines...)
}

// mi250 is the links between the 16 dies of a node of 8 MI250: how many xGMI links of 50 GB/s each pair has.
const mi250 = `
. 4 . . 2 . . . 1 . . . . . . .
4 . . . . 1 . . . 1 1 . . . . .
. . . 4 . . 1 . . 1 1 . . . . .
. . 4 . . . . 2 . . . 1 . . . .
2 . . . . 4 1 . . . . . . . . .
. 1 . . 4 . 1 1 . . . . . . . .
. . 1 . 1 1 . 4 . . . . . . . .
. . . 2 . 1 4 . . . . . . . . .
1 . . . . . . . . 4 . . 2 . . .
. 1 1 . . . . . 4 . . . . 1 . .
. 1 1 . . . . . . . . 4 . . 1 .
. . . 1 . . . . . . 4 . . . . 2
. . . . . . . . 2 . . . . 4 1 .
. . . . . . . . . 1 . . 4 . 1 1
. . . . . . . . . . 1 . 1 1 . 4
. . . . . . . . . . . 2 . 1 4 .
`

// mi250s is nodes of MI250 on one InfiniBand switch, by a link of 16 GB/s of each die.
func mi250s(t *testing.T, nodes int) *topology.Topology {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "topology mi250(nodes = %d)\nclass xgmi 1us 50GB/s\nclass ib 1us 16GB/s network\nnode {\n    gpu 16\n", nodes)
	for i, row := range strings.Split(strings.TrimSpace(mi250), "\n") {
		for j, n := range strings.Fields(row) {
			if i < j && n != "." {
				fmt.Fprintf(&b, "    link gpu[%d] gpu[%d] xgmi x %s\n", i, j, n)
			}
		}
	}
	b.WriteString("}\nswitch ib\nlink gpu[i] ib ib\n")
	return written(t, b.String())
}

// rails is nodes of 8 H100s at nominal rates, whose NICs of one number share a rail.
const rails = `topology rails(nodes = 2)
class nvlink 1us 450GB/s
class ib 1us 50GB/s network
node {
    gpu 8
    switch nvswitch
    link gpu[i] nvswitch nvlink
}
switch rail 8
link gpu[i] rail[i] ib
`

// boxes is three boxes of four GPUs with one uplink each.
const boxes = `topology boxes(nodes = 3)
class fast 1us 100GB/s
class up 1us 60GB/s network
node {
    gpu 4
    switch box
    link gpu[i] box fast
}
switch spine
link box spine up
`
