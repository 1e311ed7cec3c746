package choose

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"mscclc/selection"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// This file is what was found on the hosts that a call runs on: the variants that were fastest there, and the network.

// Here is what was found on the hosts of a job. Its parts may be empty.
type Here struct {
	// Tuned has the fastest variants. The UpTo of a rule is the size of the call that was measured.
	Tuned *selection.Table
	// Topology is the text of a topology with the network of the hosts, and Costs are those of its device.
	Topology string
	Costs    *devices.Costs
}

// A Source says what has chosen a variant.
type Source int

// The sources, in the order in which they are asked.
const (
	Given         Source = iota // the table that the user gives
	Tuned                       // what was tuned on these hosts
	BuiltIn                     // the tables that are built in
	SimulatedHere               // simulation with the network of these hosts
	Simulated                   // simulation
)

// Measured reports whether a variant was chosen by measured times.
func (s Source) Measured() bool { return s <= BuiltIn }

// reach is how far a call may be from a size that was measured, as a factor, for the variant to be taken for it.
const reach = 4

// Measure adds a rule that was measured for calls of a given number of bytes, in place of one of the same size.
func (h *Here) Measure(e selection.Entry, r selection.Rule, bytes int64) {
	if h.Tuned == nil {
		h.Tuned = &selection.Table{Version: selection.Version}
	}
	r.UpTo = bytes
	e.Rules = nil
	i := slices.IndexFunc(h.Tuned.Entries, func(o selection.Entry) bool { return o.Same(&e) })
	if i >= 0 {
		e = h.Tuned.Entries[i]
	}
	bySize := func(o selection.Rule, bytes int64) int { return cmp.Compare(o.UpTo, bytes) }
	at, same := slices.BinarySearchFunc(e.Rules, bytes, bySize)
	rules := slices.Clone(e.Rules)
	if same {
		rules[at] = r
	} else {
		rules = slices.Insert(rules, at, r)
	}
	if e.Rules = rules; i >= 0 {
		h.Tuned.Entries[i] = e
		return
	}
	h.Tuned.Put(e)
}

// rule returns the rule whose size is the nearest to that of a call, if one is within reach.
func (h *Here) rule(device string, call Call, bytes int64, element int) (r selection.Rule, ok bool) {
	if h == nil {
		return r, false
	}
	e := EntryFor(h.Tuned, device, call, element)
	if e == nil {
		return r, false
	}
	best := math.Log(reach) + 1e-9
	for _, o := range e.Rules {
		far := math.Abs(math.Log(float64(max(bytes, 1)) / float64(max(o.UpTo, 1))))
		if far <= best {
			r, ok, best = o, true, far
		}
	}
	return r, ok
}

// knows reports whether the network of a call was measured.
func (h *Here) knows(call Call) bool {
	return h != nil && h.Topology != "" && h.Costs != nil && call.On != ""
}

// machine returns what a call is simulated on.
func (h *Here) machine(call Call) (*topology.Topology, *devices.Costs, error) {
	params := map[string]int{"nodes": call.inBlocks().Nodes, "gpus": call.perNode()}
	t, err := topology.Read("here.topo", strings.NewReader(h.Topology), params)
	return t, h.Costs, err
}

// A sourced is a rule, and where it is from.
type sourced struct {
	selection.Rule
	by Source
}

// rules returns the rules that tables have for a call, in the order in which they count.
func (c *Chooser) rules(call Call, bytes int64, element int) (list []sourced) {
	add := func(t *selection.Table, by Source) {
		if e := EntryFor(t, c.Device, call, element); e != nil {
			if r, ok := e.Rule(bytes); ok {
				list = append(list, sourced{r, by})
			}
		}
	}
	add(c.Given, Given)
	if r, ok := c.Here.rule(c.Device, call, bytes, element); ok {
		list = append(list, sourced{r, Tuned})
	}
	if !c.Apart {
		add(c.Table, BuiltIn)
	}
	return list
}

// Source returns what chooses the variant of a call. It fails nowhere: a rule whose program does not compile counts.
func (c *Chooser) Source(call Call, bytes int64, element int) Source {
	if list := c.rules(call, bytes, element); len(list) > 0 {
		return list[0].by
	}
	if c.Here.knows(call) {
		return SimulatedHere
	}
	return Simulated
}

// machine returns what calls like call are simulated on.
func (c *Chooser) machine(call Call) (*topology.Topology, *devices.Costs, error) {
	if c.Here.knows(call) {
		return c.Here.machine(call)
	}
	if c.Apart && call.On == "" {
		return apartMachine(c.Device, call.Ranks)
	}
	return call.machine(c.Device)
}
