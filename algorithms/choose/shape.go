package choose

import "mscclc/ir"

// A Shape is what a program costs, whatever it runs on: how many transfers follow
// each other at most, which part of a call's bytes the rank that sends or
// receives most does, and how many others a rank sends to.
type Shape struct {
	Rounds int
	Volume float64
	Peers  int
}

// shape measures the operations of d.
func shape(d *ir.ChunkDAG) Shape {
	type cell struct {
		rank, index int32
		buf         ir.Buf
	}
	rounds := map[cell]int{}
	sent, received := make([]int, d.Coll.Ranks), make([]int, d.Coll.Ranks)
	pairs := map[[2]int32]bool{}
	var s Shape
	at := func(r ir.Ref, i int32) cell {
		if d.Coll.Inplace && r.Buf == ir.Output { // one memory with input
			r.Buf = ir.Input
			if inOut, outIn := d.Coll.Shift(int(r.Rank)); inOut >= 0 {
				r.Index -= int32(inOut)
			} else {
				r.Index += int32(outIn)
			}
		}
		return cell{r.Rank, r.Index + i, r.Buf}
	}
	for k := range d.Ops {
		op := &d.Ops[k]
		for i := range op.Count {
			n := 0
			for _, src := range d.Sources(op) {
				m := rounds[at(src, i)]
				if src.Rank != op.Dst.Rank {
					m++
					sent[src.Rank]++
					received[op.Dst.Rank]++
					pairs[[2]int32{src.Rank, op.Dst.Rank}] = true
				}
				n = max(n, m)
			}
			rounds[at(op.Dst, i)] = n
			s.Rounds = max(s.Rounds, n)
		}
	}
	most := 0
	for r := range sent {
		most = max(most, sent[r], received[r])
	}
	peers := make([]int, d.Coll.Ranks)
	for p := range pairs {
		peers[p[0]]++
		s.Peers = max(s.Peers, peers[p[0]])
	}
	s.Volume = float64(most) / float64(max(d.Coll.Divisor(), 1))
	return s
}
