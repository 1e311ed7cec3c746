package topology

import (
	"strconv"
	"strings"

	"github.com/beevik/etree"
)

// This file has the links of NCCL's topologies: how fast they are, and which of them are NVLinks or xGMI between GPUs.

// What NCCL takes links for where it says of them only what they are: bytes a microsecond of an NVLink by compute
// capability (its constants of 2.28), and of an xGMI link; and how long links take, which it does not say.
var nvlinkBandwidth = []struct {
	sm int
	mb float64
}{{100, 40.1e3}, {90, 20.6e3}, {86, 12e3}, {80, 20e3}, {70, 20e3}, {60, 18e3}}

const (
	xgmiBandwidth = 48e3
	cpuBandwidth  = 16e3 // between sockets

	nvlinkMicros  = 0.32
	xgmiMicros    = 0.9
	pcieMicros    = 0.2
	cpuMicros     = 0.3
	networkMicros = 1.2
)

// An nvlink is an NVLink whose other end may not have been read.
type nvlink struct {
	from   int32
	target string
	tclass string
	count  int
	sm     int
}

// pciBandwidth returns what a device's link says: GT/s, a lane's bit each, of which 128 of 130 are data; x16 of the
// fourth generation where it says nothing, as in virtual machines.
func pciBandwidth(e *etree.Element) float64 {
	speed, _, _ := strings.Cut(e.SelectAttrValue("link_speed", ""), " ")
	gt, err := strconv.ParseFloat(speed, 64)
	lanes, err2 := strconv.Atoi(e.SelectAttrValue("link_width", ""))
	if err != nil || err2 != nil || gt <= 0 || gt > 1024 || lanes <= 0 || lanes > 64 {
		gt, lanes = 16, 16
	}
	const reached = 0.8 // of the wire's: headers, and what devices manage
	return gt * float64(lanes) / 8 * 1e3 * reached
}

func (d *dump) gpu(e *etree.Element, at int32) {
	sm := d.number(e, "sm", 1, 1<<16)
	for _, l := range e.SelectElements("nvlink") {
		d.pending = append(d.pending, nvlink{at, strings.ToLower(l.SelectAttrValue("target", "")),
			l.SelectAttrValue("tclass", ""), d.number(l, "count", 1, 64), sm})
	}
	for _, l := range e.SelectElements("xgmi") {
		d.pending = append(d.pending, nvlink{at, strings.ToLower(l.SelectAttrValue("target", "")), "xgmi",
			d.number(l, "count", 1, 64), sm})
	}
}

// nvlinks joins GPUs with each other, and with the switches, of which NCCL takes all for one. Both ends of a link
// between GPUs say it.
func (d *dump) nvlinks() {
	nvswitch := int32(-1)
	last := -1 // the last link with the switch, which more of one GPU are side by side with
	for _, l := range d.pending {
		bandwidth, micros, class := nvlinkOf(l.sm), nvlinkMicros, "nvlink"
		if l.tclass == "xgmi" {
			bandwidth, micros, class = xgmiBandwidth, xgmiMicros, "xgmi"
		}
		to, known := d.byBus[l.target]
		switch {
		case known && d.places[to].Kind == GPU && to > l.from:
			d.link(l.from, to, class, micros, bandwidth, l.count)
		case known && d.places[to].Kind == GPU:
		case l.tclass == "0x068000" && last >= 0 && d.links[last].From == l.from:
			d.links[last].Width += int32(l.count)
		case l.tclass == "0x068000":
			if nvswitch < 0 {
				nvswitch = d.place(Place{Kind: Switch, Group: "nvswitch"})
			}
			last = len(d.links)
			d.link(l.from, nvswitch, class, micros, bandwidth, l.count)
		default:
			d.fault("an NVLink leads to %q, which is neither a GPU of the system nor a switch", l.target)
		}
	}
}

func nvlinkOf(sm int) float64 {
	for _, n := range nvlinkBandwidth {
		if sm >= n.sm {
			return n.mb
		}
	}
	return nvlinkBandwidth[len(nvlinkBandwidth)-1].mb
}
