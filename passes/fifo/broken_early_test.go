package fifo

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// The broken copies of Lower, match and drop.

var brokenLower = []fault{
	{pass: "lower", what: "a remote reduction adds what lies at the sender's place",
		name: "remote reduce of another place", run: senderPlace, by: "meaning", code: diag.WrongResult, source: `
algorithm r1(ranks = 2)
collective custom(ranks, input = 4, output = 1) { require chunk(0, output, 0) == sum([chunk(0, input, 2), chunk(1, input, 3)]) }
chunk(0, input, 2).copy(0, output, 0).reduce(chunk(1, input, 3))
`},
	{pass: "lower", what: "the first chunk of the output is at -1", name: "copy to output without an index",
		run: minusOne, by: "form", code: diag.OutOfBounds},
}

// senderPlace makes receives that reduce add what lies where the sender's chunk
// lies, if there is such a place.
func senderPlace(s *state) (int, error) {
	d := s.InstDAG
	order := d.BySeq()
	for k, i := range order {
		if in := &d.Insts[i]; in.Op == ir.RecvReduceCopy {
			from := &d.Insts[order[k-1]]
			size := map[ir.Buf]int{ir.Input: d.Coll.InChunks(int(in.Rank)), ir.Output: d.Coll.OutChunks(int(in.Rank)),
				ir.Scratch: int(d.Scratch[in.Rank])}
			if int(from.Src+in.Count) <= size[from.SrcBuf] {
				in.SrcBuf, in.Src = from.SrcBuf, from.Src
			}
		}
	}
	return 0, nil
}

func minusOne(s *state) (int, error) {
	for i := range s.Insts {
		if in := &s.Insts[i]; in.Op.Info().Writes && in.DstBuf == ir.Output && in.Dst == 0 {
			in.Dst = -1
		}
	}
	return 0, nil
}

var brokenMatch = []fault{
	{pass: "match", what: "the last send goes to the first receive", run: lastToFirst, by: "meaning", code: diag.WrongResult},
	{pass: "match", what: "a write does not wait for the reads before it", by: "acyclic", code: diag.Race, tune: plain,
		run: then(match, func(s *state) {
			keepDeps(s.InstDAG, func(i, j *ir.Inst) bool { return writesInto(s.InstDAG, j, i) })
		})},
	{pass: "match", what: "of a run only the first chunk is looked at", by: "acyclic", code: diag.Race, tune: plain,
		run: then(match, func(s *state) {
			keepDeps(s.InstDAG, func(i, j *ir.Inst) bool {
				first := *i
				first.Count = 1
				return writesInto(s.InstDAG, j, &first) || writesInto(s.InstDAG, &first, j)
			})
		})},
	{pass: "match", what: "runs of several chunks, interleaved, wait for their own part only",
		name: "mixed counts in instances", run: interleaved, by: "acyclic", code: diag.Race, tune: plain},
}

// plain turns off the passes that derive dependences anew.
func plain(o *Options) { o.Level0 = true }

// then is run followed by damage.
func then(run func(*state) (int, error), damage func(*state)) func(*state) (int, error) {
	return func(s *state) (int, error) {
		n, err := run(s)
		if err == nil {
			damage(s)
		}
		return n, err
	}
}

// lastToFirst pairs the transfers between two ranks, of one count and class,
// the other way round.
func lastToFirst(s *state) (int, error) {
	n, err := match(s)
	type kind struct{ from, to, count, class int32 }
	alike := map[kind][]int32{}
	for _, i := range s.BySeq() {
		if in := &s.Insts[i]; in.Op == ir.Send {
			k := kind{in.Rank, in.SendPeer, in.Count, in.Class}
			alike[k] = append(alike[k], i)
		}
	}
	for _, sends := range alike {
		var recvs []int32
		for _, i := range sends {
			recvs = append(recvs, s.Insts[i].SendMate)
		}
		slices.Reverse(recvs)
		for k, i := range sends {
			s.Insts[i].SendMate, s.Insts[recvs[k]].RecvMate = recvs[k], i
		}
	}
	return n, err
}

// writesInto reports whether a writes a chunk that b reads or writes.
func writesInto(d *ir.InstDAG, a, b *ir.Inst) bool {
	f := flow{d: d, mem: d.Memory()}
	from := f.writes(a)
	meets := func(to int) bool { return from >= 0 && to >= 0 && from < to+int(b.Count) && to < from+int(a.Count) }
	return meets(f.reads(b)) || meets(f.writes(b))
}

// keepDeps removes the dependences of i on j that keep does not keep.
func keepDeps(d *ir.InstDAG, keep func(i, j *ir.Inst) bool) {
	d.Deps = keepEdges(d, &d.Deps, func(i, j int32) bool { return keep(&d.Insts[i], &d.Insts[j]) })
}

func keepEdges(d *ir.InstDAG, from *ir.Edges, keep func(i, j int32) bool) ir.Edges {
	e := ir.Edges{Start: make([]int32, 1, len(d.Insts)+1)}
	for i := range d.Insts {
		for _, j := range from.Of(i) {
			if keep(int32(i), j) {
				e.To = append(e.To, j)
			}
		}
		e.Start = append(e.Start, int32(len(e.To)))
	}
	return e
}

// interleaved does the program in two parts: part i of a run of n chunks at
// index k is the run of n at 2k + in. Where n is not 1 that is another part's as
// well, which nothing waits for.
func interleaved(s *state) (int, error) {
	d := *s.InstDAG
	d.Coll = d.Coll.Refine(ir.Split{Ways: 2})
	d.Scratch = slices.Clone(d.Scratch)
	for r := range d.Scratch {
		d.Scratch[r] *= 2
	}
	d.Insts, d.Even = nil, true
	for _, i := range s.BySeq() {
		for part := range int32(2) {
			in := s.Insts[i]
			in.Src, in.Dst, in.Part = 2*in.Src+part*in.Count, 2*in.Dst+part*in.Count, 2*in.Part+part
			in.Seq = in.Seq/2*4 + part*2 + in.Seq%2 // a receive stays right after its send
			in.SendSeq = in.Seq
			d.Insts = append(d.Insts, in)
		}
	}
	s.InstDAG = &d
	n, err := match(s)
	keepDeps(&d, func(i, j *ir.Inst) bool { return i.Part%2 == j.Part%2 })
	return n, err
}

var brokenDrop = []fault{
	{pass: "drop", what: "what is overwritten later is dead, whoever reads it before", by: "meaning",
		code: diag.WrongResult, run: brokenLiveness{blind: true}.drop},
	{pass: "drop", what: "of a run only the first chunk is asked for", by: "meaning", code: diag.WrongResult,
		run: brokenLiveness{first: true}.drop},
	{pass: "drop", what: "a reduction does not need what it adds to", by: "meaning", code: diag.WrongResult,
		run: brokenLiveness{forgets: true}.drop},
	{pass: "drop", what: "the send of a dropped receive stays", by: "form",
		run: brokenLiveness{sends: true}.drop},
	{pass: "drop", what: "what no send and no copy leads to goes", name: "a local reduction first", by: "meaning",
		code: diag.WrongResult, run: onlyReached},
}

// A brokenLiveness is drop with one of its conditions left out.
type brokenLiveness struct{ blind, first, forgets, sends bool }

func (b brokenLiveness) drop(s *state) (int, error) {
	f := newFlow(s.InstDAG)
	live := liveSet(s.InstDAG, f.mem)
	dead := make([]bool, len(s.Insts))
	bySeq := s.BySeq()
	for k := len(bySeq) - 1; k >= 0; k-- {
		i := bySeq[k]
		in := &s.Insts[i]
		src, dst, n := f.reads(in), f.writes(in), int(in.Count)
		switch {
		case in.Op == ir.Send:
			dead[i] = dead[in.SendMate] && !b.sends
		case b.first:
			dead[i] = !live.any(dst, 1)
		default:
			dead[i] = !live.any(dst, n)
		}
		if dead[i] {
			continue
		}
		if dst >= 0 {
			live.fill(dst, n, in.Op.Info().ReadsDst && !b.forgets)
		}
		if src >= 0 && !(b.blind && in.Op != ir.Send) {
			live.fill(src, n, true)
		}
	}
	return remove(s.InstDAG, dead), nil
}

// onlyReached drops what begins with a reduction, and all that depends on it.
func onlyReached(s *state) (int, error) {
	dead := make([]bool, len(s.Insts))
	bySeq := s.BySeq()
	for _, i := range bySeq {
		in := &s.Insts[i]
		deps := s.Deps.Of(int(i))
		dead[i] = in.Op == ir.Reduce && len(deps) == 0 || in.RecvMate >= 0 && dead[in.RecvMate] ||
			slices.ContainsFunc(deps, func(j int32) bool { return dead[j] })
	}
	for _, i := range bySeq { // the receive of what is not sent, the send of what is not received
		if m := s.Insts[i].SendMate; m >= 0 {
			dead[i] = dead[i] || dead[m]
			dead[m] = dead[i]
		}
	}
	return remove(s.InstDAG, dead), nil
}
