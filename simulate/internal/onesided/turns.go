package onesided

import (
	"mscclc/ir"
	"mscclc/ir/onesided"
	"mscclc/simulate/internal/events"
)

// This file has the blocks of a rank share links. A block moves the data of a group of joint steps in several parts,
// one after the other, and the parts of several blocks take turns on a link: so each has its share of it, as on a real
// one, and none waits until another has moved all that it has to. A rank with one block moves all at once.

// In how many parts a group is moved at most, and what a part has at least, in bytes.
const (
	mostParts = 8
	leastPart = 64 << 10
)

// A group is joint steps that move plain data.
type group struct {
	end   int32 // of its steps
	count int32 // the most chunks that one of them moves
}

// findGroups finds the groups of ranks with several blocks. What packets bring, ports copy and switches add up is moved
// at once.
func (o *Blocks) findGroups() {
	o.groups = make([]group, len(o.program.Steps))
	for _, own := range o.program.Rank {
		if own.End-own.First < 2 {
			continue
		}
		for b := own.First; b < own.End; b++ {
			steps := o.program.Blocks[b].Steps
			for at := steps.First; at < steps.End; {
				g, plain := group{end: at}, true
				for first := true; g.end < steps.End && (first || o.program.Steps[g.end].Flags&ir.Joint != 0); first = false {
					s := &o.program.Steps[g.end]
					g.count, plain = max(g.count, s.Count), plain && o.isPlain(s)
					g.end++
				}
				if plain {
					o.groups[at] = g
				}
				at = g.end
			}
		}
	}
}

// isPlain reports whether s moves plain data, of single ranks, by loads and stores.
func (o *Blocks) isPlain(s *ir.Step) bool {
	if !s.Op.Moves() {
		return false
	}
	for _, list := range [2][]onesided.Operand{o.program.Sources(s), o.program.Dests(s)} {
		for k := range list {
			if x := &list[k]; x.Buf == ir.Packets || x.Via == ir.ViaPort || x.Rank == ir.AllRanks {
				return false
			}
		}
	}
	return true
}

// partsOf is in how many parts block b moves the group that it is at.
func (o *Blocks) partsOf(b *block) int32 {
	bytes := float64(o.groups[b.step].count) * o.Bytes(b.pass%o.Simulated)
	return int32(min(bytes/leastPart, mostParts))
}

// turn moves one part of the group that b is at, which has several. The next begins when the links have taken this one.
func (o *Blocks) turn(b *block, parts int32, now float64) events.Verdict {
	if b.part == 0 {
		b.came, b.issued = now, now
	}
	goes, end := now, o.groups[b.step].end
	for i := b.step; i < end; i++ {
		s, begin := &o.program.Steps[i], now
		if b.part == 0 {
			begin += o.plain.Step + float64(o.Costs.OneSided.Joint*float64(i-b.step))
		}
		bytes, rate := float64(s.Count)*o.Bytes(b.pass%o.Simulated)/float64(parts), o.plain.Block*o.rate*b.wide
		b.moved = max(b.moved, begin) + bytes*o.handled(b, s)/2/rate
		loaded, stored := o.load(b, s, begin, bytes, rate), o.store(b, s, begin, bytes, rate, o.plain.Wire)
		if o.finishes(s) && b.part == parts-1 {
			stored += o.finish.time
		}
		goes = max(goes, b.moved, stored, loaded-o.lag(s))
		b.over = max(b.over, b.moved, stored, loaded)
	}
	if b.part++; b.part < parts {
		return events.GoOn(goes)
	}
	for i := b.step; i < end; i++ {
		o.Took(i, 0, b.pass, 0, b.came, b.came, b.over)
	}
	b.step, b.part = end, 0
	return events.GoOn(b.over)
}

// handled returns how many operands of s go through its block's threads, each as often as it takes them longer.
func (o *Blocks) handled(b *block, s *ir.Step) (n float64) {
	for k := s.Src; k < s.Src+int32(s.NSrc); k++ {
		n += (1 + o.others(&o.program.Operands[k])) / o.part(k)
	}
	for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
		x := &o.program.Operands[k]
		n += (1 + o.others(x)) / o.part(k)
		if x.Via == ir.ViaPort && x.Rank != b.rank {
			n -= 1 + 1/o.part(k) // the port reads and writes
		}
	}
	if o.finishes(s) {
		n += o.finish.handled
	}
	return max(n, 0)
}

// lag returns the longest latency of what s loads.
func (o *Blocks) lag(s *ir.Step) (most float64) {
	for k := s.Src; k < s.Src+int32(s.NSrc); k++ {
		most = max(most, o.Net.Latency(o.ways[k]))
	}
	return most
}
