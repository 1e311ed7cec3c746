package choose

import (
	"cmp"
	"errors"
	"slices"

	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"
	"mscclc/simulate"
)

// This file bounds from below what a form takes, without compiling it: by the bytes over the busiest link, by the
// longest chain of transfers, and by the messages of the rank that has most of them with other nodes.

// A measure is what the chunk DAG of a program says of it.
type measure struct {
	Shape
	demand *demand
	err    error
}

// mostOps is how many operations a program of the catalog has at most that is compiled where the search is not
// exhaustive, unless all have more: others take seconds to compile.
const mostOps = 1 << 17

// measureAll expands the programs of variants.
func (s *Selector) measureAll(variants []selection.Choice) {
	s.measured = map[string]*measure{}
	var names []string
	for _, v := range variants {
		if s.measured[v.Program] == nil && s.takes(v.Program) {
			s.measured[v.Program] = &measure{}
			names = append(names, v.Program)
		}
	}
	most := int64(mostOps)
	if s.Exhaustive {
		most = 0
	}
	s.each(len(names), func(i int) { s.measure(names[i], most) })
	for _, name := range names {
		if over(s.measured[name].err) {
			s.skipped = append(s.skipped, name)
		}
	}
	failed := func(name string) bool { return s.measured[name].err != nil }
	if most > 0 && len(s.skipped) > 0 && len(slices.DeleteFunc(slices.Clone(names), failed)) == 0 {
		s.skipped = nil
		s.each(len(names), func(i int) { s.measure(names[i], 0) })
	}
}

// takes reports whether a program takes what the call says of ranks and nodes.
func (s *Selector) takes(program string) bool {
	_, params, _ := Unshaped(program)
	return s.Own.own(program) != nil || factsInCatalog(program).flat || params["nodes"] > 0 ||
		s.Call.Nodes >= 2 && !s.flat
}

// over reports whether a program has too many operations.
func over(err error) bool {
	var list diag.List
	return errors.As(err, &list) && list[0].Code == diag.Limit
}

// measure expands a program of up to a given number of operations; of a compiled one neither shape nor demand is known.
func (s *Selector) measure(program string, most int64) {
	is := s.measured[program]
	*is = measure{}
	if _, given, err := s.Own.compiled(program, s.Call); given {
		is.err = err
		return
	}
	chunks, err := s.Own.expandUpTo(program, s.Call, most)
	if is.err = err; err == nil {
		is.Shape, is.demand = ShapeOf(chunks), s.demandOf(chunks)
	}
}

// A demand is what the chunk DAG of a program asks of the links of a topology.
type demand struct {
	coll     *ir.Collective
	loads    []load // of the links that may be the busiest
	chain    chain  // of transfers, the one that takes longest
	messages int    // ranks of other nodes that a rank sends to, or receives from, at most
}

// A load is how long a link is occupied for each byte of a chunk, in microseconds: by data that stays within a node,
// and by data that leaves it.
type load struct{ near, far float64 }

// A chain is transfers one after the other.
type chain struct {
	alpha     float64 // the latency of its links, in microseconds
	near, far int     // transfers within a node, and to another one
}

// takes is about how long a chain takes, for comparisons.
func (c *chain) takes() float64 { return c.alpha + 0.5*float64(c.near) + 4*float64(c.far) }

func (c chain) then(o chain) chain { return chain{c.alpha + o.alpha, c.near + o.near, c.far + o.far} }

// A hop is all transfers from one rank to another.
type hop struct {
	from, to int32
	chunks   int64
	cost     chain
}

// demandOf measures the operations of d on the selector's topology. It is nil where two ranks that exchange data have
// no way.
func (s *Selector) demandOf(d *ir.ChunkDAG) *demand {
	hops, of := hopsOf(d)
	pairs := make([][2]int32, len(hops))
	for i, h := range hops {
		pairs[i] = [2]int32{h.from, h.to}
	}
	ids, ways := s.Topology.Ways(pairs)
	t := s.Topology
	links := make([]load, len(t.Links))
	out, in := make([]int, d.Coll.Ranks), make([]int, d.Coll.Ranks)
	for i := range hops {
		h, way := &hops[i], ways[ids[i]]
		if len(way) == 0 {
			return nil
		}
		leaves := slices.ContainsFunc(way, func(l int32) bool { return t.Classes[t.Links[l].Class].Network })
		if h.cost.near = 1; leaves {
			h.cost.near, h.cost.far = 0, 1
			out[h.from]++
			in[h.to]++
		}
		for _, l := range way {
			h.cost.alpha += t.Latency(l)
			if amount := float64(h.chunks) / t.Bandwidth(l); leaves {
				links[l].far += amount
			} else {
				links[l].near += amount
			}
		}
	}
	return &demand{d.Coll, busiest(links), longest(d, hops, of), max(slices.Max(out), slices.Max(in))}
}

// hopsOf returns the pairs of ranks between which d moves data, and their numbers by from and to.
func hopsOf(d *ir.ChunkDAG) (hops []hop, of map[[2]int32]int32) {
	of = map[[2]int32]int32{}
	for k := range d.Ops {
		op := &d.Ops[k]
		for _, src := range d.Sources(op) {
			if src.Rank == op.Dst.Rank {
				continue
			}
			key := [2]int32{src.Rank, op.Dst.Rank}
			i, known := of[key]
			if !known {
				i = int32(len(hops))
				of[key], hops = i, append(hops, hop{from: src.Rank, to: op.Dst.Rank})
			}
			hops[i].chunks += int64(op.Count)
		}
	}
	return hops, of
}

// busiest returns the loads of which one is the largest, whatever packets add to what stays within a node.
func busiest(links []load) (list []load) {
	slices.SortFunc(links, func(a, b load) int {
		return cmp.Or(cmp.Compare(b.far, a.far), cmp.Compare(b.near, a.near))
	})
	for _, l := range links {
		if n := len(list); n == 0 || l.near > list[n-1].near {
			list = append(list, l)
		}
	}
	return list
}

// longest returns the chain of transfers of d that takes longest.
func longest(d *ir.ChunkDAG, hops []hop, of map[[2]int32]int32) (worst chain) {
	scratch, base := int32(0), d.ScratchBase()
	for _, b := range d.Scratch {
		scratch += int32(b.Chunks)
	}
	mem := ir.NewMemory(d.Coll, slices.Repeat([]int32{scratch}, d.Coll.Ranks))
	cells := make([]chain, mem.Len()) // of a chunk, what it came by so far
	at := func(r ir.Ref, i int32) *chain {
		if r.Buf >= ir.Scratch {
			return &cells[mem.Cell(int(r.Rank), ir.Scratch, base[r.Buf-ir.Scratch]+int(r.Index+i))]
		}
		return &cells[mem.Cell(int(r.Rank), r.Buf, int(r.Index+i))]
	}
	for k := range d.Ops {
		op := &d.Ops[k]
		for i := range op.Count {
			var came chain
			for _, src := range d.Sources(op) {
				c := *at(src, i)
				if src.Rank != op.Dst.Rank {
					c = c.then(hops[of[[2]int32{src.Rank, op.Dst.Rank}]].cost)
				}
				if c.takes() > came.takes() {
					came = c
				}
			}
			if *at(op.Dst, i) = came; came.takes() > worst.takes() {
				worst = came
			}
		}
	}
	return worst
}

// least returns a time in microseconds that a form takes at least for a size, by the selector's figure. It is 0 where
// nothing is known.
func (s *Selector) least(f Form, bytes int64) float64 {
	d := s.demands[f.Program]
	if d == nil {
		return 0
	}
	geo := data.NewGeometry(d.coll, data.PieceElems(d.coll, bytes, s.DType), s.DType.Size())
	chunk := float64(geo.Chunk * int64(s.DType.Size()))
	if chunk == 0 {
		return 0
	}
	wire, far := s.wires(f)
	const rounding = 1 - 1e-9
	moved := 0.
	for _, l := range d.loads {
		moved = max(moved, rounding*chunk*(l.near*wire+l.far*far))
	}
	if s.By == simulate.Interval { // calls overlap
		return moved
	}
	return max(moved, s.chained(f, d))
}

// wires returns how many bytes go over links for each byte of data, within a node and to another one.
func (s *Selector) wires(f Form) (near, far float64) {
	if f.Sided == selection.TwoSided {
		wire := s.Costs.TwoSided.Protocol[f.Protocol].Wire
		return wire, wire
	}
	one := &s.Costs.OneSided.Protocol
	near = one[f.Protocol].Wire
	if s.Own.own(f.Program) != nil || factsInCatalog(f.Program).hinted { // some data may come without packets
		near = min(near, one[ir.Simple].Wire)
	}
	return near, min(1, one[ir.Simple].Wire)
}

// chained returns what the longest chain of transfers of a form takes at least, with the launch.
func (s *Selector) chained(f Form, d *demand) float64 {
	c := &d.chain
	if f.Sided == selection.TwoSided {
		two := &s.Costs.TwoSided
		return two.Launch + c.alpha + float64(c.near)*two.Protocol[f.Protocol].Step + float64(c.far)*two.Network
	}
	one := &s.Costs.OneSided
	step, launch := one.Protocol[f.Protocol].Step, one.Launch
	if f.Protocol != ir.Simple { // launches of few packets take less
		step = min(step, one.Protocol[f.Protocol].FewStep, one.Protocol[ir.Simple].FewStep)
		launch = min(launch, one.Few)
	}
	steps := c.near
	if steps > 0 && factsInCatalog(f.Program).hinted {
		steps-- // one that reads others' memory may begin before they have ended
	}
	message := s.Costs.Network.Message
	return launch + max(c.alpha+float64(steps)*step+float64(c.far)*2*message, float64(d.messages)*message)
}
