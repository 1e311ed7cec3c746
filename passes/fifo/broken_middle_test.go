package fifo

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// The broken copies of aggregate, fuse and place.

var brokenAggregate = []fault{
	{pass: "aggregate", what: "it does not matter where the chunks arrive", by: "meaning", code: diag.WrongResult,
		run: mergeWhere(joint.apart, joint.sent, joint.alike), source: `
algorithm places(ranks = 2)
collective custom(ranks, input = 2, output = 4) {
    require chunk(1, output, 2) == chunk(0, input, 0)
    require chunk(1, output, 0) == chunk(0, input, 1)
}
chunk(0, input, 0).copy(1, output, 2)
chunk(0, input, 1).copy(1, output, 0)
`},
	{pass: "aggregate", what: "what is ready early waits for what is ready late", by: "meaning", code: diag.WrongResult,
		run: mergeWhere(joint.sent, joint.arrives, joint.alike)},
	{pass: "aggregate", what: "a receive that reduces merges with one that does not", by: "meaning",
		code: diag.WrongResult, run: mergeWhere(joint.apart, joint.sent, joint.arrives), source: `
algorithm kinds(ranks = 2)
collective custom(ranks, input = 4, output = 2) {
    require chunk(1, output, 0) == chunk(0, input, 0)
    require chunk(1, output, 1) == sum([chunk(0, input, 1), chunk(1, input, 2)])
}
chunk(0, input, 0).copy(1, output, 0)
reduce([chunk(1, input, 2), chunk(0, input, 1)], 1, output, 1)
`},
}

// A joint is two transfers that might be merged: b after a.
type joint struct {
	a, b       transfer
	s, t, q, r *ir.Inst // the sends and the receives
	free       bool     // neither depends on anything, and nothing on them
}

func (j joint) apart() bool { return j.free }

func (j joint) sent() bool {
	return j.s.Rank == j.t.Rank && j.s.SendPeer == j.t.SendPeer && j.s.Part == j.t.Part && j.s.SrcBuf == j.t.SrcBuf &&
		j.s.Src+j.s.Count == j.t.Src
}

func (j joint) arrives() bool { return j.q.DstBuf == j.r.DstBuf && j.q.Dst+j.q.Count == j.r.Dst }

func (j joint) alike() bool {
	return j.q.Op == j.r.Op && j.q.SrcBuf == j.r.SrcBuf && (j.q.SrcBuf == ir.NoBuf || j.q.Src+j.q.Count == j.r.Src)
}

// mergeWhere is aggregate with these conditions only.
func mergeWhere(conditions ...func(joint) bool) func(s *state) (int, error) {
	return func(s *state) (int, error) {
		s.Even = true // classes shall not hide the fault
		free := map[int32]bool{}
		apart, _ := s.apart()
		for _, t := range apart {
			free[t.send] = true
		}
		var list []transfer
		for i := range s.Insts {
			if s.Insts[i].Op == ir.Send {
				list = append(list, s.transfer(int32(i)))
			}
		}
		slices.SortFunc(list, func(a, b transfer) int { return int(s.Insts[a.send].Seq - s.Insts[b.send].Seq) })
		dead, merged := make([]bool, len(s.Insts)), 0
		for _, a := range list {
			for _, b := range list {
				j := joint{a, b, &s.Insts[a.send], &s.Insts[b.send], &s.Insts[a.recv], &s.Insts[b.recv], free[a.send] &&
					free[b.send]}
				if a.send == b.send || dead[a.send] || dead[b.send] ||
					slices.ContainsFunc(conditions, func(holds func(joint) bool) bool { return !holds(j) }) {
					continue
				}
				s.absorb(a, b)
				dead[b.send], dead[b.recv] = true, true
				merged++
			}
		}
		remove(s.InstDAG, dead)
		return merged, nil
	}
}

// partly is a sum of two chunks that is sent on, of which one is overwritten
// and one is part of the result.
const partly = `
algorithm r2(ranks = 3)
collective custom(ranks, input = 2, output = 2) {
    for i in 0..2 { require chunk(2, output, i) == sum([chunk(0, input, i), chunk(1, input, i)]) }
    require chunk(1, output, 0) == chunk(2, input, 0)
    require chunk(1, output, 1) == sum([chunk(0, input, 1), chunk(1, input, 1)])
}
chunk(1, input, 0, 2).copy(1, output, 0).reduce(chunk(0, input, 0, 2)).copy(2, output, 0)
chunk(2, input, 0).copy(1, output, 0)
`

var brokenFuse = []fault{
	{pass: "fuse", what: "nobody asks whether something else is written in between", name: "a stale reference",
		by: "meaning", code: diag.WrongResult,
		run: fuseWhere(func(r, t *ir.Inst) bool { return r.DstBuf == t.SrcBuf && r.Dst == t.Src && r.Count == t.Count })},
	{pass: "fuse", what: "the chunk sent may be another than the one received", by: "meaning", code: diag.WrongResult,
		run: fuseWhere(func(r, t *ir.Inst) bool { return r.DstBuf == t.SrcBuf && r.Count == t.Count })},
	{pass: "fuse", what: "rrs where nobody needs one chunk of the sum", name: "rrs with a partial overwrite",
		by: "meaning", code: diag.WrongResult, run: then(fuse, func(s *state) { forget(s, slices.Contains[[]bool]) }),
		source: partly},
	{pass: "fuse", what: "rrs whoever needs the sum", by: "meaning", code: diag.WrongResult,
		run: then(fuse, func(s *state) { forget(s, func([]bool, bool) bool { return true }) }), source: partly},
}

// fuseWhere fuses each receive with the first send after it, of its rank and
// part, that fits.
func fuseWhere(fits func(r, t *ir.Inst) bool) func(s *state) (int, error) {
	return func(s *state) (int, error) {
		dead := make([]bool, len(s.Insts))
		order := s.BySeq()
		for k, i := range order {
			r := &s.Insts[i]
			if !r.Op.Info().Receives {
				continue
			}
			for _, j := range order[k+1:] {
				if t := &s.Insts[j]; t.Op == ir.Send && !dead[j] && t.Rank == r.Rank && t.Part == r.Part && t.Class == r.Class &&
					fits(r, t) {
					s.merge(i, j, false)
					dead[j] = true
					break
				}
			}
		}
		return remove(s.InstDAG, dead), nil
	}
}

// forget makes rrs of an rrcs where ask says so of its chunks; they are true
// where nobody needs them.
func forget(s *state, ask func(unneeded []bool, want bool) bool) {
	f := newFlow(s.InstDAG)
	live := liveSet(s.InstDAG, f.mem)
	order := s.BySeq()
	for k := len(order) - 1; k >= 0; k-- {
		in := &s.Insts[order[k]]
		src, dst, n := f.reads(in), f.writes(in), int(in.Count)
		if dst >= 0 {
			var unneeded []bool
			for c := dst; c < dst+n; c++ {
				unneeded = append(unneeded, !live.any(c, 1))
			}
			live.fill(dst, n, in.Op.Info().ReadsDst)
			if in.Op == ir.RecvReduceCopySend && ask(unneeded, true) {
				in.Op, in.DstBuf, in.Dst = ir.RecvReduceSend, ir.NoBuf, 0
			}
		}
		if src >= 0 {
			live.fill(src, n, true)
		}
	}
	depend(s.InstDAG)
}

var brokenPlace = []fault{
	{pass: "place", what: "one end of a connection is in two blocks", name: "two flows that part", run: then(place, twoBlocks), by: "placed", code: diag.Malformed},
	{pass: "place", what: "the two ends of a connection are on different channels", name: "two flows that part", run: then(place, twoChannels), by: "placed", code: diag.Unmatched},
	{pass: "place", what: "the peers of fused instructions need not pair", run: uncut, by: "placed", code: diag.Unmatched},
}

// twoBlocks moves the last send of the first block that has several to a block
// of its own.
func twoBlocks(s *state) {
	sends := make([]int, len(s.Blocks))
	for _, i := range s.BySeq() {
		in := &s.Insts[i]
		if !in.Op.Info().Sends {
			continue
		}
		if sends[in.Block]++; sends[in.Block] < 2 {
			continue
		}
		k := in.Block + 1
		b := s.Blocks[in.Block]
		b.RecvPeer = in.RecvPeer
		s.Blocks = slices.Insert(s.Blocks, int(k), b)
		for j := range s.Insts {
			if o := &s.Insts[j]; o.Block >= k {
				o.Block++
			}
		}
		in.Block = k
		return
	}
}

// twoChannels moves the first block that sends to a channel of its own, and
// leaves the block that receives from it where it is.
func twoChannels(s *state) {
	channel := int32(0)
	for k := range s.Blocks {
		channel = max(channel, s.Blocks[k].Channel+1)
	}
	k := slices.IndexFunc(s.Blocks, func(b ir.Block) bool { return b.SendPeer >= 0 })
	if k < 0 {
		return
	}
	s.Blocks[k].Channel = channel
	for i := range s.Insts {
		if in := &s.Insts[i]; int(in.Block) == k {
			in.Channel = channel
		}
	}
}

// uncut is place without the cuts of what does not fit.
func uncut(s *state) (int, error) {
	c := colour(s.InstDAG, room{channels: 1})
	for i := range s.Insts {
		s.Insts[i].Channel = c.channel[i]
	}
	b := newBlocks(s.InstDAG, c, nil)
	b.locals(c.tbs, 0)
	b.number(c.used)
	return 0, c.errs.Err()
}
