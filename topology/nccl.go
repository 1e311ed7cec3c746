package topology

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/beevik/etree"

	"mscclc/files"
	"mscclc/ir/diag"
)

// maxDump is how large a file of NCCL's may be; NCCL's own are some kilobytes.
const maxDump = 4 << 20

// maxCPUs is how many processors a node may have, which are all joined.
const maxCPUs = 256

// ReadNCCL reads what NCCL writes where NCCL_TOPO_FILE's partner NCCL_TOPO_DUMP_FILE asks: PCI trees under processors,
// in which GPUs and NICs are leaves, and NVLinks. The only parameter is nodes: so many such nodes, on one network
// switch.
func ReadNCCL(name string, r io.Reader, params map[string]int) (*Topology, error) {
	fault := func(code diag.Code, format string, args ...any) (*Topology, error) {
		return nil, diag.List{diag.New(code, diag.Span{Pos: diag.Pos{Filename: name}}, format, args...)}
	}
	nodes := 1
	for _, p := range paramNames(params) {
		if p != "nodes" {
			return fault(diag.Parameter, "%s has no parameter %s; it has nodes", name, p)
		}
		nodes = params[p]
	}
	doc := etree.NewDocument()
	doc.ReadSettings.Permissive = false
	if _, err := doc.ReadFrom(files.Limit(name, r, "a topology that NCCL wrote", maxDump)); err != nil {
		if list := (diag.List)(nil); errors.As(err, &list) {
			return nil, list
		}
		return fault(diag.Malformed, "not XML: %v", err)
	}
	root := doc.Root()
	switch {
	case root == nil:
		return fault(diag.Malformed, "the file is no XML: it has no element, where NCCL's topologies have <system>")
	case root.Tag != "system":
		return fault(diag.Malformed, "the file is of a <%s>, where NCCL's topologies are of a <system>", root.Tag)
	}
	system := root
	d := dump{classes: map[string]int32{}, members: map[string]int{}, byBus: map[string]int32{}}
	cpus := system.SelectElements("cpu")
	if len(cpus) > maxCPUs {
		return fault(diag.Limit, "the system has %d processors, at most %d are read", len(cpus), maxCPUs)
	}
	for _, cpu := range cpus {
		at := d.place(Place{Kind: Switch, Group: "cpu"})
		for _, other := range d.cpus {
			d.link(other, at, "cpu", cpuMicros, cpuBandwidth, 1)
		}
		d.cpus = append(d.cpus, at)
		d.under(cpu, at, 0)
	}
	d.nvlinks()
	if d.err != nil {
		return fault(diag.Malformed, "%v", d.err)
	}
	if len(d.gpus) == 0 {
		return fault(diag.Malformed, "the system has no GPU")
	}
	if nodes < 1 || nodes > maxPlaces/len(d.places) || nodes > maxLinks/(2*len(d.links)+1) {
		return fault(diag.Parameter, "%s cannot have %d nodes", name, nodes)
	}
	return d.topology(strings.TrimSuffix(filepath.Base(name), ".xml"), nodes), nil
}

// A dump is a node as NCCL wrote it. Its links are of one direction, of which the other is added at the end.
type dump struct {
	places     []Place
	links      []Link
	classes    map[string]int32
	list       []Class
	cpus, gpus []int32
	nics       []int32
	ranks      []int          // of gpus
	members    map[string]int // of a group, so far
	pending    []nvlink
	byBus      map[string]int32
	device     string // that costs are known of, or ""
	err        error
}

func (d *dump) place(p Place) int32 {
	p.Index = d.members[p.Group]
	d.members[p.Group]++
	d.places = append(d.places, p)
	return int32(len(d.places) - 1)
}

// link joins two places by a class of the given name, and so many such links.
func (d *dump) link(a, b int32, class string, micros, bandwidth float64, width int) {
	name := fmt.Sprintf("%s_%.0f", class, bandwidth/1e3)
	id, ok := d.classes[name]
	if !ok {
		id = int32(len(d.list))
		d.classes[name] = id
		d.list = append(d.list, Class{Name: name, Latency: micros, Bandwidth: bandwidth, Network: class == "net"})
	}
	d.links = append(d.links, Link{a, b, id, int32(width)})
}

func (d *dump) fault(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// under reads what lies below e, which is place at.
func (d *dump) under(e *etree.Element, at int32, deep int) {
	if deep > maxNesting {
		d.fault("PCI devices are nested more than %d deep", maxNesting)
		return
	}
	for _, c := range e.ChildElements() {
		switch c.Tag {
		case "pci":
			d.pci(c, at, deep)
		case "nic":
			d.nic(c, at)
		}
	}
}

// pci reads a PCI device: a GPU, a NIC, or a switch with more below it.
func (d *dump) pci(e *etree.Element, above int32, deep int) {
	width := pciBandwidth(e)
	bus := e.SelectAttrValue("busid", "")
	switch gpu := e.SelectElement("gpu"); {
	case gpu != nil:
		at := d.place(Place{Kind: GPU, Group: "gpu"})
		d.gpus, d.ranks = append(d.gpus, at), append(d.ranks, d.number(gpu, "rank", 0, maxPlaces))
		d.link(above, at, "pcie", pcieMicros, width, 1)
		d.bus(bus, at)
		d.gpu(gpu, at)
		if d.device == "" {
			d.device = deviceOf(strings.ToLower(e.SelectAttrValue("device", "")), d.number(gpu, "sm", 1, 1<<16),
				gpu.SelectAttrValue("gcn", ""))
		}
	case e.SelectElement("nic") != nil:
		before := len(d.nics)
		d.nic(e.SelectElement("nic"), -1)
		for _, at := range d.nics[before:] {
			d.link(above, at, "pcie", pcieMicros, width, 1)
		}
	default:
		at := d.place(Place{Kind: Switch, Group: "pci"})
		d.link(above, at, "pcie", pcieMicros, width, 1)
		d.bus(bus, at)
		d.under(e, at, deep+1)
	}
}

// deviceOf returns the device that costs are known of by: PCI's number tells an H200 from an H100, whose architectures
// are the same.
func deviceOf(pci string, sm int, gcn string) string {
	switch {
	case pci == "0x2335":
		return "h200"
	case strings.HasPrefix(gcn, "gfx942"):
		return "mi300x"
	}
	return map[int]string{70: "v100", 80: "a100", 90: "h100"}[sm]
}

func (d *dump) bus(id string, at int32) {
	d.byBus[strings.ToLower(id)] = at
}

// nic reads a NIC's ports, each of which is a NIC of ours; at is what it lies under, or -1.
func (d *dump) nic(e *etree.Element, at int32) {
	for _, n := range e.SelectElements("net") {
		speed := d.number(n, "speed", 1, 1<<24)
		nic := d.place(Place{Kind: NIC, Group: "nic"})
		d.nics = append(d.nics, nic)
		if at >= 0 {
			d.link(at, nic, "pcie", pcieMicros, 16e3, 1)
		}
		d.links = append(d.links, Link{nic, -1, d.netClass(float64(speed) / 8), 1})
	}
}

func (d *dump) netClass(bandwidth float64) int32 {
	d.link(0, 0, "net", networkMicros, bandwidth, 1)
	class := d.links[len(d.links)-1].Class
	d.links = d.links[:len(d.links)-1]
	return class
}

func (d *dump) number(e *etree.Element, key string, least, most int) int {
	s := e.SelectAttrValue(key, "")
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		d.fault("%s of <%s> is %q, not a number from %d to %d", key, e.Tag, s, least, most)
		return least
	}
	return n
}

// topology returns the topology of nodes machines like d. The GPUs of all machines come first.
func (d *dump) topology(name string, nodes int) *Topology {
	t := &Topology{Name: name, Doc: "what NCCL wrote of a machine", Device: d.device, Nodes: nodes, GPUs: len(d.gpus),
		Classes: d.list}
	at := make([][]int32, nodes) // where a node's places are now
	order := slices.Clone(d.gpus)
	slices.SortStableFunc(order, func(a, b int32) int { return d.ranks[d.places[a].Index] - d.ranks[d.places[b].Index] })
	for n := range nodes {
		at[n] = make([]int32, len(d.places))
		for i, g := range order {
			at[n][g] = int32(len(t.Places))
			t.Places = append(t.Places, Place{Kind: GPU, Group: "gpu", Node: n, Index: i})
		}
	}
	for n := range nodes {
		for i, p := range d.places {
			if p.Kind != GPU {
				p.Node = n
				at[n][i] = int32(len(t.Places))
				t.Places = append(t.Places, p)
			}
		}
	}
	network := int32(-1)
	if len(d.nics) > 0 {
		network = int32(len(t.Places))
		t.Places = append(t.Places, Place{Kind: Switch, Group: "network", Node: -1})
	}
	for n := range nodes {
		for _, l := range d.links {
			from, to := at[n][l.From], network
			if l.To >= 0 {
				to = at[n][l.To]
			}
			t.Links = append(t.Links, Link{from, to, l.Class, l.Width}, Link{to, from, l.Class, l.Width})
		}
	}
	return t
}
