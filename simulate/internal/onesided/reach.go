package onesided

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/onesided"
)

// reach finds the ways of all operands.
func (o *Blocks) reach() (err error) {
	one := o.program
	pairs := make([][2]int32, len(one.Operands)) // of an operand of its own rank, 0 to 0, which no link is on
	all := false
	for b := range o.program.Blocks {
		tb := &o.program.Blocks[b]
		for i := range o.program.StepsOf(tb) {
			s := &o.program.StepsOf(tb)[i]
			for k := s.Src; k < s.Src+int32(s.NSrc); k++ {
				if r := one.Operands[k].Rank; r >= 0 && r != tb.Rank {
					pairs[k] = [2]int32{r, tb.Rank}
				}
				all = all || one.Operands[k].Rank == ir.AllRanks
			}
			for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
				if r := one.Operands[k].Rank; r >= 0 && r != tb.Rank {
					pairs[k] = [2]int32{tb.Rank, r}
				}
				all = all || one.Operands[k].Rank == ir.AllRanks
			}
		}
	}
	if o.ways, err = o.Net.Find(pairs); err != nil {
		return err
	}
	if !all || len(o.program.Rank) == 1 {
		return nil
	}
	if o.call.Multicast {
		return o.reachSwitch()
	}
	pairs = pairs[:0]
	for from := range o.program.Rank {
		for to := range o.program.Rank {
			pairs = append(pairs, [2]int32{int32(from), int32(to)})
		}
	}
	o.each, err = o.Net.Find(pairs)
	return err
}

// partsOfWays finds what a CTA moves over each way: that of the slowest of its links. What goes to another node a CTA
// stores in memory of its own.
func (o *Blocks) partsOfWays() {
	o.parts = slices.Repeat([]float64{1}, len(o.Net.Ways))
	if len(o.Costs.OneSided.Links) == 0 {
		return
	}
	rates := slices.Repeat([]float64{1}, len(o.Net.Topology.Links))
	for l, link := range o.Net.Topology.Links {
		for _, c := range o.Costs.OneSided.Links {
			if o.Net.Topology.Classes[link.Class].Is(c.Class) {
				rates[l] = c.Rate
			}
		}
	}
	for way, links := range o.Net.Ways {
		if !o.Net.Leaves(int32(way)) {
			for _, l := range links {
				o.parts[way] = min(o.parts[way], rates[l])
			}
		}
	}
}

// part is partsOfWays of an operand.
func (o *Blocks) part(operand int32) float64 { return o.parts[o.ways[operand]] }

// others returns how many more operands one of all ranks is, where it is reached rank by rank.
func (o *Blocks) others(x *onesided.Operand) float64 {
	if x.Rank == ir.AllRanks && o.each != nil {
		return float64(len(o.program.Rank) - 1)
	}
	return 0
}

// reachSwitch finds each rank's link to what follows its path to the next rank, and back.
func (o *Blocks) reachSwitch() error {
	n := int32(len(o.program.Rank))
	var pairs [][2]int32
	for r := range n {
		pairs = append(pairs, [2]int32{r, (r + 1) % n})
	}
	ways, err := o.Net.Find(pairs)
	if err != nil {
		return err
	}
	o.up, o.down = make([]int32, n), make([]int32, n)
	for r := range n {
		links := o.Net.Ways[ways[r]]
		o.up[r], o.down[(r+1)%n] = links[0], links[len(links)-1]
	}
	return nil
}
