package fifo

import (
	"cmp"
	"maps"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/property"
)

// The broken copies of order, sync, pack and fit.

var brokenOrder = []fault{
	{pass: "order", what: "connections have slots without end", name: "sixteen sends, then sixteen receives", by: "live",
		code: diag.Deadlock, run: func(s *state) (int, error) {
			endless := *s
			endless.slots = 1 << 20
			return order(&endless)
		}},
	{pass: "order", what: "a block takes its steps by chunk", by: "ordered", code: diag.WrongResult,
		run: then(order, func(s *state) {
			reorder(s, func(steps []int32) {
				slices.SortStableFunc(steps, func(i, j int32) int {
					return cmp.Compare(max(s.Insts[i].Src, s.Insts[i].Dst), max(s.Insts[j].Src, s.Insts[j].Dst))
				})
			})
		})},
	{pass: "order", what: "a receiver takes the last message first", by: "matched", code: diag.WrongResult,
		run: then(order, func(s *state) {
			reorder(s, func(steps []int32) {
				var at []int
				for k, i := range steps {
					if in := &s.Insts[i]; in.RecvMate >= 0 && in.SendMate < 0 {
						at = append(at, k)
					}
				}
				for k := range len(at) / 2 {
					a, b := at[k], at[len(at)-1-k]
					steps[a], steps[b] = steps[b], steps[a]
				}
			})
		})},
}

// reorder gives each block its steps in the order that change makes.
func reorder(s *state, change func(steps []int32)) {
	blocks := make([][]int32, len(s.Blocks))
	for _, i := range s.BySeq() {
		b := s.Insts[i].Block
		blocks[b] = append(blocks[b], i)
	}
	for _, steps := range blocks {
		change(steps)
		for k, i := range steps {
			s.Insts[i].Step = int32(k)
		}
	}
}

var brokenSync = []fault{
	{pass: "sync", what: "the last of several flags is forgotten", by: "synced", code: diag.Race,
		run: then(syncBlocks, func(s *state) {
			s.Waits = keepEdges(s.InstDAG, &s.Waits, func(i, j int32) bool {
				row := s.Waits.Of(int(i))
				return len(row) < 2 || j != row[len(row)-1]
			})
		})},
	{pass: "sync", what: "all flags of reductions move up to the first one", name: "dependences of reductions moved up",
		by: "ordered", code: diag.Deadlock, run: then(syncBlocks, hoist), source: `
algorithm r10(ranks = 2)
collective custom(ranks, input = 2, output = 2) {
    require chunk(0, output, 0) == sum([chunk(0, input, 0), chunk(1, input, 0)])
    require chunk(0, output, 1) == sum([chunk(0, input, 1), chunk(0, input, 0), chunk(1, input, 0)])
}
scratch a[1]
scratch b[1]
chunk(1, input, 0).copy(0, a, 0, recvtb = 1, sendtb = 0)
let c = chunk(0, input, 0).copy(0, output, 0, recvtb = 0).reduce(chunk(0, a, 0), recvtb = 0)
c.copy(1, a, 0, sendtb = 2, recvtb = 1).copy(0, b, 0, sendtb = 3, recvtb = 3)
chunk(0, input, 1).copy(0, output, 1, recvtb = 0).reduce(chunk(0, b, 0), recvtb = 0)
`},
	{pass: "sync", what: "one flag of a block stands for all its later steps", by: "synced", code: diag.Race,
		run: then(syncBlocks, func(s *state) {
			seen := map[[2]int32]bool{}
			kept := map[[2]int32]bool{}
			for _, i := range s.BySeq() {
				for _, j := range s.Waits.Of(int(i)) {
					if pair := [2]int32{s.Insts[i].Block, s.Insts[j].Block}; !seen[pair] {
						seen[pair], kept[[2]int32{i, j}] = true, true
					}
				}
			}
			s.Waits = keepEdges(s.InstDAG, &s.Waits, func(i, j int32) bool { return kept[[2]int32{i, j}] })
		})},
	{pass: "sync", what: "a write does not wait for the reads before it", by: "synced", code: diag.Race,
		run: syncWhere(func(s *state, i, j int32) bool {
			return writesInto(s.InstDAG, &s.Insts[j], &s.Insts[i])
		})},
	{pass: "sync", what: "a message that came back stands for a flag", by: "synced", code: diag.Race,
		run: syncWhere(func(s *state, i, j int32) bool {
			return s.Insts[i].Block == s.Insts[j].Block || !messages(s, j)[i]
		})},
}

// hoist moves the flags of a block's reductions to the first reduction.
func hoist(s *state) {
	first := map[int32]int32{}
	row := make([]map[int32]bool, len(s.Insts))
	for _, i := range s.BySeq() {
		in := &s.Insts[i]
		row[i] = map[int32]bool{}
		to := i
		if in.Op == ir.Reduce {
			if _, ok := first[in.Block]; !ok {
				first[in.Block] = i
			}
			to = first[in.Block]
		}
		for _, j := range s.Waits.Of(int(i)) {
			row[to][j] = true
		}
	}
	e := ir.Edges{Start: make([]int32, 1)}
	for i := range s.Insts {
		e.To = append(e.To, slices.Sorted(maps.Keys(row[i]))...)
		e.Start = append(e.Start, int32(len(e.To)))
	}
	s.Waits = e
}

// syncWhere is sync for the dependences that keep keeps.
func syncWhere(keep func(s *state, i, j int32) bool) func(*state) (int, error) {
	return func(s *state) (int, error) {
		all := s.Deps
		s.Deps = keepEdges(s.InstDAG, &all, func(i, j int32) bool { return keep(s, i, j) })
		n, err := syncBlocks(s)
		s.Deps = all
		return n, err
	}
}

// messages marks what follows instruction j by the order of blocks and messages.
func messages(s *state, j int32) []bool {
	next := make(map[[2]int32]int32, len(s.Insts)) // by block and step
	for i := range s.Insts {
		next[[2]int32{s.Insts[i].Block, s.Insts[i].Step}] = int32(i)
	}
	after := make([]bool, len(s.Insts))
	for todo := []int32{j}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if after[i] {
			continue
		}
		after[i] = true
		in := &s.Insts[i]
		if k, ok := next[[2]int32{in.Block, in.Step + 1}]; ok {
			todo = append(todo, k)
		}
		if in.SendMate >= 0 {
			todo = append(todo, in.SendMate)
		}
	}
	return after
}

var brokenPack = []fault{
	{pass: "pack", what: "what is over in the source order is over", by: "synced", code: diag.Race, run: brokenPacker{reads: true, runs: true}.pack},
	{pass: "pack", what: "a chunk's life ends with the last write", by: "meaning", code: diag.WrongResult, run: brokenPacker{runs: true}.pack},
	{pass: "pack", what: "of a run only the first chunk is moved", by: "form", code: diag.OutOfBounds, run: brokenPacker{reads: true}.pack},
}

// A brokenPacker lays scratch over itself by source order alone; where reads is
// false, without a look at reads, and where runs is false, as if each
// instruction moved one chunk.
type brokenPacker struct{ reads, runs bool }

// A life is where a run of scratch chunks lies, and its first and last use in
// the source order.
type life struct{ at, n, first, last, to int32 }

func (b brokenPacker) pack(s *state) (int, error) {
	for r := range s.Scratch {
		lives, size := b.lives(s, int32(r)), int32(0)
		slices.SortStableFunc(lives, func(x, y *life) int { return cmp.Compare(x.first, y.first) })
		for k, l := range lives {
			l.to = size
			for _, o := range lives[:k] {
				taken := slices.ContainsFunc(lives[:k], func(p *life) bool {
					return p.last >= l.first && p.to < o.to+l.n &&
						o.to < p.to+p.n
				})
				if o.n >= l.n && !taken {
					l.to = o.to
					break
				}
			}
			size = max(size, l.to+l.n)
		}
		move := func(buf ir.Buf, index *int32) {
			for _, l := range lives {
				if buf == ir.Scratch && *index >= l.at && *index < l.at+l.n {
					*index += l.to - l.at
					return
				}
			}
		}
		for i := range s.Insts {
			if in := &s.Insts[i]; int(in.Rank) == r {
				move(in.SrcBuf, &in.Src)
				move(in.DstBuf, &in.Dst)
			}
		}
		s.Scratch[r] = size
	}
	depend(s.InstDAG)
	return 0, nil
}

// lives lists the runs of scratch of a rank that instructions touch.
func (b brokenPacker) lives(s *state, rank int32) []*life {
	var lives []*life
	touch := func(at, n, seq int32, counts bool) {
		if !b.runs {
			n = 1
		}
		l := &life{at: at, n: n, first: seq, last: seq}
		lives = slices.DeleteFunc(lives, func(o *life) bool {
			if o.at >= l.at+l.n || l.at >= o.at+o.n {
				return false
			}
			end := max(o.at+o.n, l.at+l.n)
			l.at, l.first = min(l.at, o.at), min(l.first, o.first)
			if l.n = end - l.at; !counts {
				l.last = o.last
			}
			return true
		})
		lives = append(lives, l)
	}
	for _, i := range s.BySeq() {
		in := &s.Insts[i]
		if in.Rank != rank {
			continue
		}
		if in.SrcBuf == ir.Scratch {
			touch(in.Src, in.Count, in.Seq, b.reads)
		}
		if in.DstBuf == ir.Scratch {
			touch(in.Dst, in.Count, in.Seq, true)
		}
	}
	return lives
}

// tight are limits that some of the random programs exceed, whatever they are.
func tight(o *Options) {
	o.Limits = ir.Limits{Target: "test", ReceiveFused: true, Steps: 3 + int(o.Seed%8), Blocks: 2 + int(o.Seed/8%4)}
}

var brokenFit = []fault{
	{pass: "fit", what: "nops are no steps", by: "bounded", code: diag.Limit, tune: tight,
		run: func(s *state) (int, error) {
			bare := *s.InstDAG
			bare.Waits = ir.Edges{}
			return 0, property.Excess(&bare, &s.opt.Limits).Err()
		}},
	{pass: "fit", what: "one more is allowed", by: "bounded", code: diag.Limit, tune: tight,
		run: func(s *state) (int, error) {
			l := s.opt.Limits
			l.Steps, l.Blocks = l.Steps+1, l.Blocks+1
			return 0, property.Excess(s.InstDAG, &l).Err()
		}},
	{pass: "fit", what: "only rank 0 is looked at", by: "bounded", code: diag.Limit, tune: tight,
		run: func(s *state) (int, error) {
			return 0, slices.DeleteFunc(property.Excess(s.InstDAG, &s.opt.Limits),
				func(d diag.Diagnostic) bool { return d.Rank != 0 }).Err()
		}},
	{pass: "fit", what: "nothing is refused", name: "more than 32 fused flows", by: "bounded", code: diag.Limit,
		tune: tight, run: func(*state) (int, error) {
			return 0, nil
		}},
}
