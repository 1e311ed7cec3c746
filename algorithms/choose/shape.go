package choose

import (
	"slices"

	"mscclc/ir"
)

// A Shape is what a program costs, whatever it runs on: how many transfers follow
// each other at most, which part of a call's bytes the rank that sends or
// receives most does, how many others a rank sends to, how many chunks all move, and
// how much scratch a rank has, as a part of a call's bytes.
type Shape struct {
	Rounds  int
	Volume  float64
	Peers   int
	Moved   int
	Scratch float64
}

// ShapeOf measures the operations of d.
func ShapeOf(d *ir.ChunkDAG) Shape {
	var s Shape
	ranks, scratch := d.Coll.Ranks, int32(0)
	base := d.ScratchBase()
	for _, b := range d.Scratch {
		scratch += int32(b.Chunks)
	}
	mem := ir.NewMemory(d.Coll, slices.Repeat([]int32{scratch}, ranks))
	rounds := make([]int, mem.Len()) // of a chunk, as it is so far
	at := func(r ir.Ref, i int32) *int {
		if r.Buf >= ir.Scratch {
			return &rounds[mem.Cell(int(r.Rank), ir.Scratch, base[r.Buf-ir.Scratch]+int(r.Index+i))]
		}
		return &rounds[mem.Cell(int(r.Rank), r.Buf, int(r.Index+i))]
	}
	sent, received, peers := make([]int, ranks), make([]int, ranks), make([]int, ranks)
	pairs := make([]uint64, ranks*ranks/64+1) // bits, of who sends to whom
	transfer := func(from, to int) {
		sent[from]++
		received[to]++
		if bit := from*ranks + to; pairs[bit/64]>>(bit%64)&1 == 0 {
			pairs[bit/64] |= 1 << (bit % 64)
			peers[from]++
		}
	}
	for k := range d.Ops {
		op := &d.Ops[k]
		s.Moved += int(op.Count)
		for i := range op.Count {
			n := 0
			for _, src := range d.Sources(op) {
				m := *at(src, i)
				if src.Rank != op.Dst.Rank {
					m++
					transfer(int(src.Rank), int(op.Dst.Rank))
				}
				n = max(n, m)
			}
			*at(op.Dst, i) = n
			s.Rounds = max(s.Rounds, n)
		}
	}
	most := 0
	for r := range sent {
		most = max(most, sent[r], received[r])
		s.Peers = max(s.Peers, peers[r])
	}
	s.Volume = float64(most) / float64(max(d.Coll.Divisor(), 1))
	s.Scratch = float64(scratch) / float64(max(d.Coll.Divisor(), 1))
	return s
}
