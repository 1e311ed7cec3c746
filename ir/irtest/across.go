package irtest

import (
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// await is a step that awaits.
var await = ir.Step{Op: ir.Await, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: -1, DepStep: -1, Pos: -1}

// ViaThird returns g with one change: the flag by which a block signals its data to a rank of another node is signalled
// by a new block of rank third, modulo the ranks, which the sender signals instead. The sender signals the receiver by
// a new flag, too, so that the data is sent; but the block that reads them awaits that at its end. It is nil if that
// rank is the sender or the receiver, or there is no such flag.
func ViaThird(g *either.Program, node []int32, third int32) *either.Program {
	third %= int32(g.Coll.Ranks)
	sender, flag, ok := crossing(g, node)
	if !ok || third == flag.Rank || third == g.Blocks[sender].Rank {
		return nil
	}
	q := g.Copy()
	o := q.OneSided
	o.Flags, o.Operands, q.Steps = append([]int32(nil), o.Flags...), nil, nil
	own := onesided.Operand{Rank: third, Buf: ir.Flags, Index: o.Flags[third]}
	o.Flags[third]++
	late := onesided.Operand{Rank: flag.Rank, Buf: ir.Flags, Index: o.Flags[flag.Rank]}
	o.Flags[flag.Rank]++
	q.Blocks, q.Source = nil, nil
	q.Rank = append([]ir.Range(nil), g.Rank...)
	add := func(s ir.Step, sources, dests []onesided.Operand) {
		s.Src, s.NSrc = int32(len(o.Operands)), int16(len(sources))
		o.Operands = append(o.Operands, sources...)
		s.Dst, s.NDst = int32(len(o.Operands)), int16(len(dests))
		o.Operands = append(o.Operands, dests...)
		q.Steps = append(q.Steps, s)
	}
	signals := int32(0)
	for b := range g.Blocks {
		for _, s := range g.StepsOf(&g.Blocks[b]) {
			for _, x := range g.OneSided.Dests(&s) {
				if s.Op == ir.Signal && x == flag {
					signals++
				}
			}
		}
	}
	for rank := range g.Rank {
		q.Rank[rank].First = int32(len(q.Blocks))
		for b := g.Rank[rank].First; b < g.Rank[rank].End; b++ {
			t := g.Blocks[b]
			first, reads := int32(len(q.Steps)), false
			for _, s := range g.StepsOf(&t) {
				dests := append([]onesided.Operand(nil), g.OneSided.Dests(&s)...)
				for k := range dests {
					if s.Op == ir.Signal && dests[k] == flag {
						dests[k] = own
						dests = append(dests, late)
					}
				}
				add(s, g.OneSided.Sources(&s), dests)
				for _, x := range g.OneSided.Sources(&s) {
					reads = reads || s.Op == ir.Await && x.Rank == flag.Rank && x.Index == flag.Index
				}
			}
			if reads {
				late.Nth = signals
				add(await, []onesided.Operand{late}, nil)
				late.Nth = 0
			}
			t.Steps = ir.Range{First: first, End: int32(len(q.Steps))}
			q.Blocks = append(q.Blocks, t)
		}
		if int32(rank) == third {
			q.Blocks = append(q.Blocks, relay(add, q, third, own, flag, signals))
		}
		q.Rank[rank].End = int32(len(q.Blocks))
	}
	return q
}

// relay adds a block of a rank that passes on each signal of the flag own as one of flag.
func relay(add func(s ir.Step, sources, dests []onesided.Operand), q *either.Program, rank int32,
	own, flag onesided.Operand,
	signals int32) ir.TB {
	first := int32(len(q.Steps))
	step := await
	step.Op = ir.Signal
	for n := range signals {
		own.Nth = n + 1
		add(await, []onesided.Operand{own}, nil)
		add(step, nil, []onesided.Operand{flag})
	}
	return ir.TB{Block: ir.Block{Rank: rank, SendPeer: -1, RecvPeer: -1},
		Steps: ir.Range{First: first, End: int32(len(q.Steps))}}
}

// crossing finds a block that writes to a rank of another node, and the flag by which it signals that.
func crossing(g *either.Program, node []int32) (block int32, flag onesided.Operand, ok bool) {
	for b := range g.Blocks {
		steps := g.StepsOf(&g.Blocks[b])
		for i := range steps {
			if steps[i].Op != ir.Move || i+1 == len(steps) {
				continue
			}
			for _, x := range g.OneSided.Dests(&steps[i]) {
				if node[x.Rank] == node[g.Blocks[b].Rank] {
					continue
				}
				for _, f := range g.OneSided.Dests(&steps[i+1]) {
					if f.Rank == x.Rank { // the last; one before it says that a slot was read
						block, flag, ok = int32(b), f, true
					}
				}
				return block, flag, ok
			}
		}
	}
	return 0, flag, false
}
