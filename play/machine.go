package play

import (
	"fmt"
	"strconv"
	"strings"

	"mscclc/ir"
	"mscclc/simulate"
	"mscclc/topology"
)

// mostVertices is how many vertices a machine has at most that is shown.
const mostVertices = 400

// machine finds what the program runs on.
func (b *builder) machine() {
	m := &b.scene.Machine
	t, err := b.open()
	m.Spec = b.Machine
	if err != nil {
		m.Problem = strings.TrimSuffix(err.Error(), "\n")
		return
	}
	b.topology = t
	m.Name, m.Doc, m.Device, m.Nodes, m.GPUs = t.Name, t.Doc, t.Device, t.Nodes, t.GPUs
	if len(t.Places) > mostVertices {
		m.Problem = fmt.Sprintf("the machine is too large to be drawn: it has %d GPUs, NICs and switches", len(t.Places))
		return
	}
	for _, p := range t.Places {
		m.Vertices = append(m.Vertices, Vertex{p.Kind.String(), p.Group, p.Node, p.Index, -1, p.String()})
	}
	for i, l := range t.Links {
		class := &t.Classes[l.Class]
		m.Links = append(m.Links, Link{int(l.From), int(l.To), class.Name, int(l.Width), t.Bandwidth(int32(i)) / 1e3,
			class.Latency, class.Network})
	}
}

// open reads the machine: a text of a .topo file, or one that mscclc knows.
func (b *builder) open() (*topology.Topology, error) {
	if b.Topology == "" {
		if topology.File(b.Machine) != "" {
			return nil, fmt.Errorf("%s is no machine that mscclc knows; give the text of a .topo file", b.Machine)
		}
		return topology.Open(b.Machine)
	}
	params := map[string]int{}
	for setting := range strings.SplitSeq(b.Machine, ",") {
		if name, value, ok := strings.Cut(setting, "="); ok {
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %s is no number", b.Machine, value)
			}
			params[name] = n
		}
	}
	return topology.Read("machine.topo", strings.NewReader(b.Topology), params)
}

// seat puts ranks on GPUs.
func (b *builder) seat(h *ir.Header) {
	if b.topology == nil {
		return
	}
	m := &b.scene.Machine
	seats, err := simulate.Seats(h, b.topology, nil)
	if err != nil {
		m.Problem = err.Error()
		return
	}
	b.seats = seats
	for r, g := range seats {
		m.Seats = append(m.Seats, int(g))
		if len(m.Vertices) > 0 {
			m.Vertices[g].Rank = r
		}
	}
}
