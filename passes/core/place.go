package core

import "mscclc/ir"

// The places of scratch and packets are numbered anew, those of each rank from 0.
type places struct {
	of               []int32 // of a place: which of its rank's chunks of scratch, or of packets, it is
	scratch, packets []int32 // of a rank: how many it has
}

// place numbers the places that Moves use.
func place(l *State) (int, error) {
	owner := make([]int32, l.slots) // 1 + rank, or less than 0 where it is of packets
	for i := range l.moves {
		m := &l.moves[i]
		for _, list := range [2][]spot{m.srcs, m.dsts} {
			for _, x := range list {
				if x.user() {
					continue
				}
				by := x.rank + 1
				if x.buf == ir.Packets {
					by = -by
				}
				for k := range m.count {
					owner[x.index+k] = by
				}
			}
		}
	}
	scratch, packets, used := make([]int32, l.n), make([]int32, l.n), 0
	for k, by := range owner {
		switch {
		case by > 0:
			owner[k] = scratch[by-1]
			scratch[by-1]++
		case by < 0:
			owner[k] = packets[-by-1]
			packets[-by-1]++
		default:
			continue
		}
		used++
	}
	l.places = places{owner, scratch, packets}
	return used, nil
}
