package nccl

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"mscclc/topology"
)

// This file has the links of NCCL's topologies: how fast they are, and which of them join GPUs with what is elsewhere
// in the file.

// What NCCL takes links for where its files say of them only what they are, in bytes a microsecond; and how long links
// take, which it does not say.
const (
	pciLaneDefault = 6e3 / 8 // of a PCIe lane of unknown speed
	localBandwidth = 5000e3
	cpuBandwidth   = 16e3 // between processors of unknown kind

	nvlinkMicros  = 0.32
	xgmiMicros    = 0.9
	pcieMicros    = 0.2
	cpuMicros     = 0.3
	networkMicros = 1.2
)

// localClass is of links within a device, which bound nothing.
var localClass = topology.Class{Name: "local", Bandwidth: localBandwidth}

// classOf returns the class of links of a kind and a bandwidth: nvlink_21, by GB/s, or net_2M, by MB/s below 1 GB/s.
func classOf(kind string, micros, bandwidth float64, network bool) topology.Class {
	name := fmt.Sprintf("%s_%.0f", kind, bandwidth/1e3)
	if bandwidth < 1e3 {
		name = fmt.Sprintf("%s_%.3gM", kind, bandwidth)
	}
	return topology.Class{Name: name, Latency: micros, Bandwidth: bandwidth, Network: network}
}

// busOf returns a PCI bus as it is compared.
func busOf(id string) string { return strings.ToLower(strings.TrimSpace(id)) }

// pciClass returns the class of the link of a PCI device: GT/s, a bit each of every lane. The fourth fifth of them is
// data that devices manage.
func (d *dump) pciClass(e *element) topology.Class {
	lanes, ok := d.number(e, "link_width")
	if !ok || lanes <= 0 || lanes > 64 {
		d.notes.Add(e.line, "link_width is absent, 0 or out of range: 16 lanes are taken, as NCCL does",
			e.attr("busid"))
		lanes = 16
	}
	const reached = 0.8 // of the wire's: headers, and what devices manage
	text, _, unit := strings.Cut(strings.TrimSpace(e.attr("link_speed")), " GT/s")
	lane, err := strconv.ParseFloat(text, 64)
	if lane = lane / 8 * 1e3 * reached; !unit || err != nil || !(lane > 0) || lane > 1e6 {
		d.notes.Add(e.line, "link_speed is unknown: 6 Gb/s a lane are taken, as NCCL does",
			e.attr("busid"))
		lane = pciLaneDefault
	}
	return classOf("pcie", pcieMicros, lane*float64(lanes), false)
}

// cpuClass returns the class of the links between a processor and others of its host, as NCCL takes it.
func (d *dump) cpuClass(e *element) topology.Class {
	bandwidth := 0.
	family, _ := e.number("familyid")
	model, _ := e.number("modelid")
	switch arch, vendor := e.attr("arch"), e.attr("vendor"); {
	case arch == "ppc64":
		bandwidth = 32e3
	case arch == "arm64":
		bandwidth = 6e3
	case arch == "x86_64" && vendor == "AuthenticAMD":
		bandwidth = 16e3
	case arch == "x86_64" && vendor == "GenuineIntel":
		bandwidth = 6e3
		for _, m := range []struct {
			first int64
			mb    float64
		}{{0x55, 10e3}, {0x8f, 22e3}, {0xcf, 40e3}} {
			if family == 6 && model >= m.first {
				bandwidth = m.mb
			}
		}
	case arch == "x86_64" && (vendor == "CentaurHauls" || vendor == "  Shanghai  "):
		if bandwidth = 6e3; family == 7 && model == 0x5b {
			bandwidth = 9e3
		}
	default:
		d.notes.Add(e.line, "arch and vendor of processors are unknown: 16 GB/s between them are taken", "")
		bandwidth = cpuBandwidth
	}
	return classOf("cpu", cpuMicros, bandwidth, false)
}

// nvlinkOf returns the bandwidth of an NVLink of GPUs of a compute capability.
func nvlinkOf(sm int64) float64 {
	switch {
	case sm >= 100:
		return 40.1e3
	case sm >= 90:
		return 20.6e3
	case sm == 86:
		return 12e3
	case sm >= 60 && sm < 70:
		return 18e3
	}
	return 20e3
}

// xgmiOf returns the bandwidth of an xGMI link of GPUs of an architecture, as RCCL takes it. Old files number it.
func xgmiOf(gcn string) float64 {
	switch name := strings.TrimPrefix(strings.ToLower(gcn), "gfx"); {
	case strings.HasPrefix(name, "94"), strings.HasPrefix(name, "95"):
		return 48e3
	case strings.HasPrefix(name, "90a"), name == "910":
		return 36e3
	}
	return 24e3
}

// An nvlink is an NVLink or xGMI link whose other end may not have been read.
type nvlink struct {
	e     *element
	from  int32
	in    tree
	class topology.Class
	count int
}

// A pcilink is a link between two PCI switches.
type pcilink struct {
	from   int32
	target string
	e      *element
	host   *host
}

// linksOf reads the NVLinks, xGMI links and the C2C of a GPU, which begin at a vertex. GPUs of one PCI device share
// them: what one before said is not read again.
func (d *dump) linksOf(gpu *element, at int32, in tree, said map[string]bool) {
	own := map[string]bool{}
	defer func() { maps.Copy(said, own) }()
	sm, ok := d.number(gpu, "sm")
	if len(gpu.all("nvlink")) > 0 && !ok {
		d.notes.Add(gpu.line, "sm of GPUs with NVLinks is unknown: 20 GB/s an NVLink are taken, as NCCL does", "")
	}
	for _, l := range gpu.subs {
		l.looked = true
		key := l.tag + " " + busOf(l.attr("target"))
		if own[key] = true; said[key] {
			continue
		}
		var class topology.Class
		switch l.tag {
		case "nvlink":
			class = classOf("nvlink", nvlinkMicros, nvlinkOf(sm), false)
		case "xgmi":
			class = classOf("xgmi", xgmiMicros, xgmiOf(gpu.attr("gcn")), false)
		case "c2c":
		default:
			continue
		}
		width, ok := d.number(l, "count")
		if !ok || width < 1 || width > topology.MaxWidth {
			d.notes.Add(l.line, "links are left out whose count is not from 1 to 1048576",
				fmt.Sprintf("<%s count=%q>", l.tag, l.attr("count")))
			continue
		}
		if l.tag != "c2c" {
			d.nvlink = append(d.nvlink, nvlink{l, at, in, class, int(width)})
			continue
		}
		bandwidth, ok := d.number(l, "bw")
		if !ok || bandwidth < 1 || bandwidth > topology.MaxNumber {
			d.notes.Add(l.line, "<c2c> are left out whose bw is not from 1 to 1073741824 MB/s", l.attr("bw"))
			continue
		}
		d.link(at, in.cpu, classOf("c2c", nvlinkMicros, float64(bandwidth)*float64(width), false), 1)
	}
}

// nvlinks joins GPUs with each other, with their processors, and with the switches, which NCCL takes for one. Both ends
// of a link between GPUs say it.
func (d *dump) nvlinks() {
	nvswitch := int32(-1)
	type pair struct {
		low, high int32
		class     topology.Class
	}
	said, lines := map[pair][2]int{}, map[pair]int{}
	var pairs []pair
	for _, l := range d.nvlink {
		target, tclass := busOf(l.e.attr("target")), strings.ToLower(l.e.attr("tclass"))
		to, known := l.in.host.byBus[target]
		isPeer := known && to != l.from && (d.places[to].Kind == topology.GPU || d.places[to].Group == "device")
		switch {
		case isPeer:
			p := pair{min(l.from, to), max(l.from, to), l.class}
			counts, ok := said[p]
			if !ok {
				pairs, lines[p] = append(pairs, p), l.e.line
			}
			if l.from == p.low {
				counts[0] = min(counts[0]+l.count, topology.MaxWidth)
			} else {
				counts[1] = min(counts[1]+l.count, topology.MaxWidth)
			}
			said[p] = counts
		case strings.HasPrefix(tclass, "0x03"), strings.HasPrefix(tclass, "0x12"), l.in.host.out[target]:
			d.notes.Add(l.e.line, "NVLinks and xGMI links to GPUs that are not there, or are left out, are left out too", target)
		case tclass == "0x068001":
			d.link(l.from, l.in.cpu, l.class, l.count)
		default:
			if tclass != "0x068000" {
				d.notes.Add(l.e.line, "NVLinks whose tclass is of no GPU, switch or processor lead to the NVSwitch, as in NCCL",
					strconv.Quote(l.e.attr("tclass")))
			}
			if nvswitch < 0 {
				nvswitch = d.place(topology.Switch, "nvswitch", l.in.host.index)
			}
			d.link(l.from, nvswitch, l.class, l.count)
		}
	}
	for _, p := range pairs {
		counts := said[p]
		if counts[0] != counts[1] {
			d.notes.Add(lines[p], "the two ends of links between GPUs differ in their count: the larger is taken", "")
		}
		d.link(p.low, p.high, p.class, max(counts[0], counts[1]))
	}
}

// pcilinks joins PCI switches that forward to each other.
func (d *dump) pcilinks() {
	done := map[[2]int32]bool{}
	for _, l := range d.pcilink {
		to, known := l.host.byBus[l.target]
		switch pair := [2]int32{min(l.from, to), max(l.from, to)}; {
		case !known || to == l.from || d.places[to].Group != "pci":
			d.notes.Add(l.e.line, "<pcilink> to PCI switches that are not there are left out", l.target)
		case !done[pair]:
			done[pair] = true
			d.link(l.from, to, localClass, 1)
		}
	}
}
