package fifo

import (
	"cmp"
	"slices"

	"mscclc/ir"
	"mscclc/ir/vclock"
)

// pack lays scratch chunks of a rank over each other. Chunks that some
// instruction touches together stay neighbours: they form a region. A region
// may take the place of an earlier one when flags and block order already put
// all uses of that one before its own, so that sharing needs no new wait.
// Scratch that nothing touches disappears.
func pack(s *state) (int, error) {
	d := s.InstDAG
	saved := 0
	if !slices.ContainsFunc(d.Scratch, func(n int32) bool { return n > 0 }) {
		return 0, nil
	}
	packed := make([]int32, len(d.Scratch))
	clocks := newClocks(d, &d.Waits)
	for _, insts := range byRank(d) {
		rank := d.Insts[insts[0]].Rank
		p := &packer{d: d, clocks: clocks, region: make([]int32, d.Scratch[rank])}
		p.regions(insts)
		p.uses(insts)
		p.assign()
		packed[rank] = p.size
		p.rename(insts)
	}
	for r := range packed {
		saved += int(d.Scratch[r] - packed[r])
	}
	d.Scratch = packed
	if saved > 0 {
		depend(d) // what shares a chunk now depends on each other, and flags carry it already
	}
	return saved, nil
}

type packer struct {
	d      *ir.InstDAG
	region []int32 // of each scratch chunk, -1 where nothing touches it
	clocks *clocks
	list   []region
	slots  []slot
	size   int32
}

// A region is a run of scratch chunks.
type region struct {
	first, n int32
	to       int32          // where it goes
	start    []vclock.Clock // the uses before which there is none, as clocks after them
	last     []use          // the uses after which there is none
	seq      int32          // of its first use
}

type use struct{ block, step int32 }

// A slot is a place in the packed scratch, with the last uses of what lay there
// last.
type slot struct {
	at, n int32
	last  []use
}

// scratchOf calls touch with the scratch chunks that in uses.
func scratchOf(in *ir.Inst, touch func(first, n int32)) {
	op := in.Op.Info()
	if in.SrcBuf == ir.Scratch && op.ReadsSrc {
		touch(in.Src, in.Count)
	}
	if in.DstBuf == ir.Scratch && op.Writes {
		touch(in.Dst, in.Count)
	}
}

// regions joins chunks that one instruction touches.
func (p *packer) regions(insts []int32) {
	const untouched, begins, joined = 0, 1, 2
	mark := make([]uint8, len(p.region))
	for _, i := range insts {
		scratchOf(&p.d.Insts[i], func(first, n int32) {
			mark[first] = max(mark[first], begins)
			for c := first + 1; c < first+n; c++ {
				mark[c] = joined
			}
		})
	}
	for c, m := range mark {
		p.region[c] = -1
		if m == begins {
			p.list = append(p.list, region{first: int32(c), seq: -1})
		}
		if m != untouched {
			p.region[c] = int32(len(p.list) - 1)
			p.list[len(p.list)-1].n++
		}
	}
}

// uses finds when each region is used first and last. What comes after one of
// the first uses, or before one of the last, adds nothing.
func (p *packer) uses(insts []int32) {
	if len(p.list) == 0 {
		return
	}
	c := p.clocks
	c.begin(insts)
	for _, i := range insts {
		in := &p.d.Insts[i]
		now := c.step(i, func(int32) {})
		scratchOf(in, func(first, _ int32) {
			r := &p.list[p.region[first]]
			if r.seq < 0 {
				r.seq = in.Seq
			}
			before := func(u use) bool { return now.Knows(u.block) >= u.step }
			if !slices.ContainsFunc(r.start, func(u vclock.Clock) bool { return before(use{u.Block, u.Step}) }) {
				r.start = append(r.start, now)
			}
			r.last = append(slices.DeleteFunc(r.last, before), use{now.Block, now.Step})
		})
	}
}

// assign places regions in the order of their first use: each into the
// smallest slot that holds it and whose former uses are all over, else into a
// new one. It looks at a bounded number of slots, from where it found the last
// one on.
func (p *packer) assign() {
	const look = 64
	order := make([]int32, len(p.list))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(p.list[a].seq, p.list[b].seq), cmp.Compare(a, b))
	})
	next := 0
	for _, k := range order {
		r := &p.list[k]
		best := -1
		for range min(look, len(p.slots)) {
			if f := &p.slots[next]; f.n >= r.n && (best < 0 || f.n < p.slots[best].n) && over(f.last, r.start) {
				best = next
			}
			next = (next + 1) % len(p.slots)
		}
		if best < 0 {
			p.slots = append(p.slots, slot{p.size, r.n, r.last})
			r.to = p.size
			p.size += r.n
			continue
		}
		// All that lay there before is over before r begins, and so before what
		// comes after r.
		r.to, p.slots[best].last = p.slots[best].at, r.last
		next = (best + 1) % len(p.slots)
	}
}

// over reports whether all of last are done before any of start begins.
func over(last []use, start []vclock.Clock) bool {
	for _, u := range last {
		for k := range start {
			v := &start[k]
			if v.Block == u.block && u.step >= v.Step || v.Knows(u.block) < u.step {
				return false
			}
		}
	}
	return true
}

func (p *packer) rename(insts []int32) {
	for _, i := range insts {
		in := &p.d.Insts[i]
		if in.SrcBuf == ir.Scratch {
			r := &p.list[p.region[in.Src]]
			in.Src += r.to - r.first
		}
		if in.DstBuf == ir.Scratch {
			r := &p.list[p.region[in.Dst]]
			in.Dst += r.to - r.first
		}
	}
}
