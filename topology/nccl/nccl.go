// Package nccl reads the topologies that NCCL and RCCL write (NCCL_TOPO_DUMP_FILE). It is a package of its own because
// it reads XML. Programs that only compile, prove and simulate do not need to link an XML reader.
package nccl

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mscclc/ir/diag"
	"mscclc/topology"
)

// maxCPUs is how many processors a host may have, which are all joined.
const maxCPUs = 256

// noGPUs is the hint where a file names no GPUs.
const noGPUs = "such a file is what a cloud gives NCCL before it looks at the machine: have NCCL write what it found " +
	"(NCCL_TOPO_DUMP_FILE=FILE)"

// Open is topology.Open, which also takes files that NCCL wrote.
func Open(spec string) (*topology.Topology, error) { return OpenOf(spec, "") }

// OpenOf is Open of a machine whose GPUs are a device, as Topology.Device or a driver names it; "" is what the machine
// or the file says.
func OpenOf(spec, device string) (*topology.Topology, error) {
	return topology.OpenWith(spec, device, Read)
}

// Read reads what NCCL or RCCL writes where NCCL_TOPO_DUMP_FILE asks for it, as NCCL reads it: PCI trees under
// processors, with GPUs and NICs in them, and NVLinks. The topology's Notes say what it leaves out, and what it takes
// for what the file does not say. Hosts of the file are nodes. The only parameter is nodes: how many there are, in
// copies of the file on one network switch. device is what the GPUs are, or "" if the file says it. Its errors are a
// diag.List.
func Read(name string, r io.Reader, params map[string]int, device string) (*topology.Topology, error) {
	fault := func(code diag.Code, format string, args ...any) diag.Diagnostic {
		return diag.New(code, diag.FileSpan(name), format, args...)
	}
	for _, p := range slices.Sorted(maps.Keys(params)) {
		if p != "nodes" {
			return nil, diag.List{fault(diag.Parameter, "%s has no parameter %s; it has nodes", name, p)}
		}
	}
	roots, err := readElements(name, r)
	if err != nil {
		return nil, err
	}
	d := newDump(device)
	system, why := systemOf(roots, &d.notes)
	if why != "" {
		return nil, diag.List{fault(diag.Malformed, "%s", why)}
	}
	d.byClass = device != "" && count(system, "gpu") == 0
	d.ranked = anyRank(system)
	for _, cpu := range system.all("cpu") {
		d.cpu(cpu)
		tooLarge := func(h *host) bool { return len(h.cpus) > maxCPUs }
		if len(d.links) > topology.MaxLinks/8 || slices.ContainsFunc(slices.Collect(maps.Values(d.hosts)), tooLarge) {
			return nil, diag.List{fault(diag.Limit, "a host of the system has more than %d processors, or all have more "+
				"than %d links", maxCPUs, topology.MaxLinks/8)}
		}
	}
	d.nvlinks()
	d.pcilinks()
	d.unlooked(system)
	switch {
	case len(d.gpus) > 0:
	case count(system, "gpu") > 0:
		return nil, diag.List{fault(diag.Malformed,
			"the system has no GPU where NCCL looks for one: in a <pci> under a <cpu>")}
	default:
		hint := noGPUs
		if device == "" {
			hint += ", or say what the GPUs are: --device h100"
		}
		return nil, diag.List{fault(diag.Malformed, "the system has no GPU: the file has no <gpu>").WithHint("%s", hint)}
	}
	if !d.ranked && !d.byClass && len(d.gpus) > 1 {
		d.notes.Add(0, "no GPU has a rank: they are counted in the order of their PCI buses", "")
	}
	hosts := d.sorted()
	nodes, given := params["nodes"]
	if !given {
		nodes = hosts
	}
	copies := nodes / hosts
	if nodes < 1 || nodes%hosts > 0 || copies > topology.MaxPlaces/len(d.places) ||
		copies > topology.MaxLinks/(2*len(d.links)+1) {
		text := ""
		if hosts > 1 {
			text = ": the file has " + strconv.Itoa(hosts) + " hosts, and there are copies of all"
		}
		return nil, diag.List{fault(diag.Parameter, "%s cannot have %d nodes%s", name, nodes, text)}
	}
	base := filepath.Base(name)
	return d.topology(strings.TrimSuffix(base, filepath.Ext(base)), hosts, copies), nil
}

// systemOf returns the <system> among the outermost elements of a file, or why there is none.
func systemOf(roots []*element, n *topology.Findings) (system *element, why string) {
	for _, e := range roots {
		switch {
		case e.tag != "system":
		case system == nil:
			system = e
		default:
			n.Add(e.line, "NCCL takes the first <system> of a file, and others are left out",
				diag.Counted(count(e, "gpu"), "GPU"))
		}
	}
	switch {
	case system != nil:
		return system, ""
	case len(roots) == 0:
		return nil, "the file is no XML: it has no element, where NCCL's topologies have <system>"
	case roots[0].tag == "graphs":
		return nil, "the file is of <graphs>, which NCCL_GRAPH_DUMP_FILE asks for; a topology is of a <system>, which " +
			"NCCL_TOPO_DUMP_FILE asks for"
	}
	return nil, "the file is of a <" + diag.Printable(roots[0].tag) + ">, where NCCL's topologies are of a <system>"
}

// count returns how many elements with a tag lie in e.
func count(e *element, tag string) (n int) {
	for _, s := range e.subs {
		if n += count(s, tag); s.tag == tag {
			n++
		}
	}
	return n
}

// anyRank reports whether a GPU in e has a rank.
func anyRank(e *element) bool {
	return slices.ContainsFunc(e.subs, func(s *element) bool {
		return s.tag == "gpu" && rankOf(s) >= 0 || anyRank(s)
	})
}

// rankOf returns the rank of a <gpu>, or -1.
func rankOf(gpu *element) int {
	if n, ok := gpu.number("rank"); ok && n >= 0 && n < topology.MaxNumber {
		return int(n)
	}
	return -1
}

// A dump is a machine as NCCL wrote it. Its links are of one direction. The other is added at the end.
type dump struct {
	places  []topology.Place
	links   []topology.Link
	merged  map[topology.Link]int // of a link with width 0: its index in links
	classes map[topology.Class]int32
	list    []topology.Class
	gpus    []dumpGPU
	nics    int
	hosts   map[uint64]*host
	members map[string]int // of a group, so far
	nvlink  []nvlink
	pcilink []pcilink
	device  string // what the GPUs are
	named   bool   // as the caller says
	byClass bool   // GPUs are known by the class of their PCI devices
	ranked  bool   // GPUs without rank are left out
	notes   topology.Findings
}

// A host is what processors of one host_hash are.
type host struct {
	index int // in the order of the file
	cpus  []int32
	byBus map[string]int32 // what is on the PCI bus: GPUs, and switches
	out   map[string]bool  // GPUs on the bus that are left out
}

// A dumpGPU is a GPU that counts.
type dumpGPU struct {
	at   int32
	host int
	rank int
	bus  string
	line int
}

func newDump(device string) *dump {
	return &dump{device: device, named: device != "", merged: map[topology.Link]int{}, classes: map[topology.Class]int32{},
		hosts: map[uint64]*host{}, members: map[string]int{}}
}

// place adds a vertex of a host.
func (d *dump) place(kind topology.Kind, group string, host int) int32 {
	d.places = append(d.places, topology.Place{Kind: kind, Group: group, Node: host, Index: d.members[group]})
	d.members[group]++
	return int32(len(d.places) - 1)
}

// link joins two vertices by a given number of links of a class, beside those of this class that join them already.
func (d *dump) link(a, b int32, c topology.Class, width int) {
	id, ok := d.classes[c]
	if !ok {
		id = int32(len(d.list))
		d.classes[c] = id
		if slices.ContainsFunc(d.list, func(o topology.Class) bool { return o.Name == c.Name }) {
			c.Name = fmt.Sprintf("%s.%03.0f", c.Name, math.Mod(c.Bandwidth, 1e3))
		}
		d.list = append(d.list, c)
	}
	key := topology.Link{From: a, To: b, Class: id}
	if at, ok := d.merged[key]; ok && a != b && b >= 0 {
		d.links[at].Width = int32(min(int(d.links[at].Width)+width, topology.MaxWidth))
		return
	}
	d.merged[key] = len(d.links)
	d.links = append(d.links, topology.Link{From: a, To: b, Class: id, Width: int32(width)})
}

// sorted puts the GPUs in the order of their ranks, and hosts in the order of their first GPU. It returns how many
// nodes these are: hosts with equally many GPUs.
func (d *dump) sorted() int {
	slices.SortStableFunc(d.gpus, func(a, b dumpGPU) int {
		if !d.ranked { // no GPU has a rank
			return cmp.Or(cmp.Compare(a.host, b.host), strings.Compare(a.bus, b.bus))
		}
		if a.rank == b.rank {
			d.notes.Add(b.line, "GPUs have the rank of another one: they are counted in the order of the file", "")
		}
		return cmp.Compare(a.rank, b.rank)
	})
	order, sizes := map[int]int{}, []int(nil)
	for i := range d.gpus {
		g := &d.gpus[i]
		n, ok := order[g.host]
		if !ok {
			n = len(sizes)
			order[g.host], sizes = n, append(sizes, 0)
		}
		g.host, sizes[n] = n, sizes[n]+1
	}
	if !slices.IsSortedFunc(d.gpus, func(a, b dumpGPU) int { return a.host - b.host }) {
		slices.SortStableFunc(d.gpus, func(a, b dumpGPU) int { return a.host - b.host })
		d.notes.Add(0, "hosts do not have ranks in blocks: ranks are counted host by host here", "")
	}
	hosts := len(sizes)
	if slices.Min(sizes) != slices.Max(sizes) {
		d.notes.Add(0, "hosts have from "+strconv.Itoa(slices.Min(sizes))+" to "+diag.Counted(slices.Max(sizes), "GPU")+
			": they are one node here, as all nodes have equally many", "")
		hosts = 1
	}
	for i := range d.places {
		p := &d.places[i]
		n, ok := order[p.Node]
		if p.Node = n; !ok && hosts > 1 || p.Group == "nvswitch" && hosts > 1 {
			p.Node = -1 // of a host without GPUs, or of all
		}
		if hosts == 1 {
			p.Node = 0
		}
	}
	return hosts
}

// topology returns the topology of copies of d, one for each of a number of nodes. The GPUs of all nodes come first.
func (d *dump) topology(name string, hosts, copies int) *topology.Topology {
	t := &topology.Topology{Name: name, Doc: "what NCCL wrote of a machine", Device: d.device, Params: []string{"nodes"},
		Nodes: hosts * copies, GPUs: len(d.gpus) / hosts, Classes: d.list, Notes: d.notes.All()}
	at := make([][]int32, copies) // where the places of a copy are now
	for c := range copies {
		at[c] = make([]int32, len(d.places))
		for i, g := range d.gpus {
			at[c][g.at] = int32(len(t.Places))
			t.Places = append(t.Places, topology.Place{Kind: topology.GPU, Group: "gpu", Node: c*hosts + i/t.GPUs,
				Index: i % t.GPUs})
		}
	}
	for c := range copies {
		seen := map[string]int{}
		for i, p := range d.places {
			if p.Kind == topology.GPU {
				continue
			}
			if p.Node >= 0 {
				p.Node += c * hosts
			}
			group := p.Group + " " + strconv.Itoa(p.Node)
			p.Index, seen[group] = seen[group], seen[group]+1
			at[c][i] = int32(len(t.Places))
			t.Places = append(t.Places, p)
		}
	}
	network := int32(-1)
	if d.nics > 0 {
		network = int32(len(t.Places))
		t.Places = append(t.Places, topology.Place{Kind: topology.Switch, Group: "network", Node: -1})
	}
	for c := range copies {
		for _, l := range d.links {
			from, to := at[c][l.From], network
			if l.To >= 0 {
				to = at[c][l.To]
			}
			t.Links = append(t.Links, topology.Link{From: from, To: to, Class: l.Class, Width: l.Width},
				topology.Link{From: to, To: from, Class: l.Class, Width: l.Width})
		}
	}
	return t
}
