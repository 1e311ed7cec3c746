// Package topology describes the machines that programs run on: GPUs, NICs and switches, and the links between them.
// Each link has a class with a latency (α) and a bandwidth (β). Machines are small text files (machines/*.topo);
// grammar.go has their grammar. Package topology/nccl reads NCCL's dumps. A Router finds paths from GPU to GPU.
//
// # Where to begin
//
//   - [Open] makes a [Topology] from a specification: the name of a machine ([Names]) or of a file, and parameters
//     after a colon, as in ndv4:nodes=4.
//   - [Read] reads a topology from an io.Reader. nccl.Open and nccl.Read also accept files that NCCL wrote.
//   - simulate.Run takes a Topology.
package topology

import (
	"fmt"
	"slices"
	"strings"
)

// A Topology is a machine, or several with a network between. Ranks are its GPUs, node by node. It is not to be changed
// once its ways were asked for.
type Topology struct {
	Name    string
	Doc     string   // the first sentence of its comment
	Params  []string // the names of its parameters
	Nodes   int
	GPUs    int    // of a node
	Apart   bool   // GPUs do not reach each other's memory: ranks share memory of the host
	Device  string // what the GPUs are, as the costs of kernels on them are known by; "" where nothing says
	Classes []Class
	Places  []Place // the GPUs first, by rank
	Links   []Link
	Notes   []Note // what its reader left out, or took for what the file does not say

	ways ways
}

// Ranks returns how many GPUs there are.
func (t *Topology) Ranks() int { return t.Nodes * t.GPUs }

// A Class is what links have in common.
type Class struct {
	Name      string
	Latency   float64 // of a message through it, in microseconds
	Bandwidth float64 // of one direction, in bytes a microsecond
	Network   bool    // between nodes
}

// Is reports whether c is of a kind, as costs name it: pcie, of which the class pcie_51 of a file of NCCL's is too.
func (c *Class) Is(kind string) bool {
	rest, ok := strings.CutPrefix(c.Name, kind)
	return ok && (rest == "" || strings.HasPrefix(rest, "_") && strings.Trim(rest, "_.0123456789") == "")
}

// A Kind is what a Place is.
type Kind uint8

// The kinds of places. Only GPUs begin and end messages.
const (
	GPU Kind = iota
	NIC
	Switch
)

var kindNames = [...]string{"gpu", "nic", "switch"}

func (k Kind) String() string { return kindNames[k] }

// A Place is an end of links.
type Place struct {
	Kind  Kind
	Group string // its name in the file: gpu, nic, or what a switch is called
	Node  int    // -1 where it is no node's
	Index int    // in its group, of its node
}

func (p Place) String() string {
	if p.Node < 0 {
		return fmt.Sprintf("%s[%d]", p.Group, p.Index)
	}
	return fmt.Sprintf("node %d %s[%d]", p.Node, p.Group, p.Index)
}

// A Link is one direction of a link: From and To are Places, and Width is how many of its Class lie side by side.
type Link struct {
	From, To int32
	Class    int32
	Width    int32
}

// Bandwidth returns the bandwidth of link l, in bytes a microsecond.
func (t *Topology) Bandwidth(l int32) float64 {
	return t.Classes[t.Links[l].Class].Bandwidth * float64(t.Links[l].Width)
}

// Latency returns the latency of link l, in microseconds.
func (t *Topology) Latency(l int32) float64 { return t.Classes[t.Links[l].Class].Latency }

// WholeLines reports whether stores of 128 bytes arrive at once at all other GPUs of a node: over NVLink and the like,
// but not over PCIe.
func (t *Topology) WholeLines() bool {
	if t.Apart {
		return false
	}
	var pairs [][2]int32
	for a := range int32(t.GPUs) { // nodes are alike
		for b := range a {
			pairs = append(pairs, [2]int32{a, b})
		}
	}
	ids, ways := t.Ways(pairs)
	return !slices.ContainsFunc(ids, func(id int32) bool {
		return slices.ContainsFunc(ways[id], func(l int32) bool { return t.Classes[t.Links[l].Class].Is("pcie") })
	})
}

// LinkName names link l for a report.
func (t *Topology) LinkName(l int32) string {
	k := t.Links[l]
	return fmt.Sprintf("%v to %v (%s)", t.Places[k.From], t.Places[k.To], t.Wide(l))
}

// Wide names the class of link l, and how many of it lie side by side, as files of this form say it: ib x 8.
func (t *Topology) Wide(l int32) string {
	k := t.Links[l]
	if k.Width == 1 {
		return t.Classes[k.Class].Name
	}
	return fmt.Sprintf("%s x %d", t.Classes[k.Class].Name, k.Width)
}
