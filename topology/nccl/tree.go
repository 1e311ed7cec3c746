package nccl

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"mscclc/topology"
)

// This file has the trees of NCCL's topologies: processors, with PCI devices under them.

// cpu reads a processor, and what lies under it.
func (d *dump) cpu(e *element) {
	e.looked = true
	h := d.host(e)
	at := d.place(topology.Switch, "cpu", h.index)
	for _, other := range h.cpus {
		d.link(other, at, d.cpuClass(e), 1)
	}
	h.cpus = append(h.cpus, at)
	d.under(e, tree{h, at, at})
}

// host returns the host of a processor.
func (d *dump) host(cpu *element) *host {
	text := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(cpu.attr("host_hash"))), "0x")
	hash, err := strconv.ParseUint(text, 16, 64)
	if err != nil && cpu.has("host_hash") {
		d.notes.Add(cpu.line, "a host_hash is no hexadecimal number: such processors are of one host",
			cpu.attr("host_hash"))
		hash = 0
	}
	h := d.hosts[hash]
	if h == nil {
		h = &host{index: len(d.hosts), byBus: map[string]int32{}, out: map[string]bool{}}
		d.hosts[hash] = h
	}
	return h
}

// A tree is where devices lie: on a host, under a vertex, whose processor is another.
type tree struct {
	host    *host
	at, cpu int32
}

// under reads what lies under a processor or a PCI switch.
func (d *dump) under(e *element, in tree) {
	for _, c := range e.subs {
		switch c.tag {
		case "pci":
			d.pci(c, in)
		case "nic":
			d.nic(c, in, func() topology.Class { return localClass })
		}
	}
}

// pci reads a PCI device: GPUs, a NIC, or a switch with more below it.
func (d *dump) pci(e *element, in tree) {
	e.looked = true
	link := sync.OnceValue(func() topology.Class { return d.pciClass(e) }) // whose notes are of what counts
	class, gpus := strings.ToLower(e.attr("class")), e.all("gpu")
	bus := busOf(e.attr("busid"))
	if len(gpus) > 0 {
		d.gpuDevice(e, gpus, bus, in, link)
	}
	switch nics := e.all("nic"); {
	case len(nics) > 0:
		for _, nic := range nics {
			d.nic(nic, in, link)
		}
	case len(gpus) > 0:
	case isGPU(class):
		d.byItsClass(e, bus, in, link)
	case strings.HasPrefix(class, "0x02") && d.byClass:
		d.port(e, card{in.at, link()}, in)
	case strings.HasPrefix(class, "0x02"):
		d.notes.Add(e.line, "network cards without <nic> are left out", e.attr("busid"))
	default:
		at := d.place(topology.Switch, "pci", in.host.index)
		d.link(in.at, at, link(), 1)
		d.on(in.host, e, at)
		for _, l := range e.all("pcilink") {
			l.looked = true
			d.pcilink = append(d.pcilink, pcilink{at, busOf(l.attr("target")), l, in.host})
		}
		d.under(e, tree{in.host, at, in.cpu})
	}
}

// on has the vertex of a PCI device lie on its bus.
func (d *dump) on(h *host, e *element, at int32) {
	bus := busOf(e.attr("busid"))
	if _, twice := h.byBus[bus]; twice {
		d.notes.Add(e.line, "PCI devices have the bus of another one: links to it lead to the first", bus)
	} else if bus != "" {
		h.byBus[bus] = at
	}
}

// isGPU reports whether a PCI class is one of GPUs: display controllers, and processing accelerators as AMD's.
func isGPU(class string) bool {
	return strings.HasPrefix(class, "0x0302") || strings.HasPrefix(class, "0x0380") || strings.HasPrefix(class, "0x12")
}

// byItsClass reads a GPU that the file has no <gpu> of.
func (d *dump) byItsClass(e *element, bus string, in tree, link func() topology.Class) {
	if !d.byClass {
		d.notes.Add(e.line, "GPUs without <gpu> are left out", e.attr("busid"))
		in.host.out[bus] = true
		return
	}
	d.notes.Add(e.line, "GPUs are known by their PCI class, and the file says nothing of NVLinks: they have none here", "")
	at := d.place(topology.GPU, "gpu", in.host.index)
	d.link(in.at, at, link(), 1)
	d.gpus = append(d.gpus, dumpGPU{at, in.host.index, len(d.gpus), bus, e.line})
}

// gpuDevice reads the GPUs of a PCI device. Several share its links.
func (d *dump) gpuDevice(e *element, gpus []*element, bus string, in tree, link func() topology.Class) {
	var counted []*element
	for _, g := range gpus {
		g.looked = true
		rank := rankOf(g)
		if g.has("rank") && rank < 0 {
			d.notes.Add(g.line, "GPUs have a rank that is no number from 0 on", g.attr("rank"))
		}
		if d.ranked && rank < 0 {
			d.notes.Add(g.line, "GPUs without rank are left out, as others have one", e.attr("busid"))
			for _, l := range g.subs {
				l.looked = true
			}
			continue
		}
		counted = append(counted, g)
	}
	if len(counted) == 0 {
		in.host.out[bus] = true
		return
	}
	at := int32(-1)
	if len(counted) > 1 {
		at = d.place(topology.Switch, "device", in.host.index)
		d.link(in.at, at, link(), 1)
	}
	for _, g := range counted {
		own := d.place(topology.GPU, "gpu", in.host.index)
		if at >= 0 {
			d.link(at, own, localClass, 1)
		} else {
			at = own
			d.link(in.at, at, link(), 1)
		}
		d.gpus = append(d.gpus, dumpGPU{own, in.host.index, rankOf(g), fmt.Sprintf("%s %8d", bus, len(d.gpus)), g.line})
		d.whatItIs(e, g)
	}
	d.on(in.host, e, at)
	said := map[string]bool{}
	for _, g := range counted {
		d.linksOf(g, at, in, said)
	}
}

// nic reads a NIC, which joins what it lies under by a link of a class. Each of its ports is a NIC of ours.
func (d *dump) nic(e *element, in tree, link func() topology.Class) {
	e.looked = true
	var ports []*element
	for _, n := range e.all("net") {
		n.looked = true
		if net, ok := d.number(n, "net"); ok && net == 0 {
			d.notes.Add(n.line, "<net> with net=\"0\" are left out: NCCL sends no messages by them", n.attr("name"))
			continue
		}
		if !n.has("dev") {
			d.notes.Add(n.line, "<net> without dev are left out, as NCCL does", n.attr("name"))
			continue
		}
		ports = append(ports, n)
	}
	if len(ports) == 0 {
		return
	}
	card := d.card(in, link(), len(ports))
	for _, n := range ports {
		d.port(n, card, in)
	}
}

// A card is what ports lie on: a vertex, which they join by links of a class.
type card struct {
	at    int32
	class topology.Class
}

// card returns where the ports of a NIC join the rest: where it lies, or if there are several, a vertex that shares its
// link.
func (d *dump) card(in tree, class topology.Class, ports int) card {
	if ports < 2 || class == localClass {
		return card{in.at, class}
	}
	at := d.place(topology.Switch, "card", in.host.index)
	d.link(in.at, at, class, 1)
	return card{at, localClass}
}

// port adds a NIC of ours.
func (d *dump) port(n *element, c card, in tree) {
	speed, ok := d.number(n, "speed")
	if name := n.attr("name") + n.attr("busid"); !ok || speed <= 0 {
		d.notes.Add(n.line, "network ports have no speed from 1 to 2147483647 Mb/s: 10 Gb/s is taken, as NCCL does", name)
		speed = 10000
	}
	nic := d.place(topology.NIC, "nic", in.host.index)
	d.nics++
	d.link(c.at, nic, c.class, 1)
	d.link(nic, -1, classOf("net", networkMicros, float64(speed)/8, true), 1)
}

// unlooked notes what NCCL does not look at because of where it lies.
func (d *dump) unlooked(e *element) {
	for _, s := range e.subs {
		switch s.tag {
		case "cpu", "pci", "gpu", "nic", "net", "nvlink", "xgmi", "c2c", "pcilink":
			if !s.looked {
				d.notes.Add(s.line, "elements are left out that lie where NCCL does not look", "<"+s.tag+"> in <"+e.tag+">")
			}
		}
		d.unlooked(s)
	}
}
