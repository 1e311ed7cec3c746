package channels

import "mscclc/ir"

// This file joins neighbouring operations of a block, as MSCCL++'s own language does.

// join returns list with fewer operations, in place: one operation signals or awaits
// several channels, or makes several copies that touch no common chunk. Through ports,
// one operation puts, signals and flushes.
func (s *synchroniser) join(rank int32, list []ir.ChannelOp) []ir.ChannelOp {
	for i := range list {
		list[i].Body = s.join(rank, list[i].Body)
	}
	for {
		out := list[:0]
		for i := range list {
			if n := len(out); n == 0 || !s.joins(rank, &out[n-1], &list[i]) {
				out = append(out, list[i])
			}
		}
		if len(out) == len(list) {
			return out
		}
		list = out
	}
}

// joins adds b to a if one operation can do both, and reports whether it did.
func (s *synchroniser) joins(rank int32, a, b *ir.ChannelOp) bool {
	one, ok := a.Join(b, rank)
	if ok && a.Kind == ir.ChEach && b.Kind == ir.ChEach {
		w := pending{s: s, rank: rank}
		w.touches(a)
		ok = !w.conflicts(b)
	}
	if ok {
		*a = one
	}
	return ok
}
