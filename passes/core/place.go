package core

import "mscclc/ir"

// places numbers the slots of scratch and of packets anew, those of each rank from 0.
type places struct {
	of               []int32 // by slot: its index in its rank's scratch, or packets
	scratch, packets []int32 // by rank: how many chunks it has
}

// place numbers the slots that Moves use.
func place(l *State) (int, error) {
	owner := make([]int32, l.slots) // by slot: 1 + rank for scratch, -1 - rank for packets, 0 for none
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
