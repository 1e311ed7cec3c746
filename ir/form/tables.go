package form

import (
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// MaxChannels is the most channels that a program may have.
const MaxChannels = 1 << 16

// maxDepth is the most copies of scratch and packets that a one-sided program may have.
const maxDepth = 1 << 10

// tables checks what makes p unsafe to walk. It bounds the cells before anything of their number is allocated.
func (f *checker) tables() bool {
	if !f.header() || f.p.OneSided != nil && !f.regions() {
		return false
	}
	return f.cells() && f.contract() && f.ranges() && (f.p.OneSided == nil || f.operands())
}

func (f *checker) header() bool {
	p := f.p
	if p.Coll == nil {
		return f.bad(diag.Malformed, "the program is of no collective")
	}
	if wrong := p.Coll.Valid(math.MaxInt32); wrong != "" {
		return f.bad(diag.Malformed, "%s", wrong)
	}
	n := p.Coll.Ranks
	switch {
	case p.Protocol >= ir.NumProtocols:
		return f.bad(diag.Malformed, "protocol %d is none", p.Protocol)
	case len(p.Rank) != n || p.Scratch != nil && len(p.Scratch) != n:
		return f.bad(diag.Malformed, "there are blocks of %d ranks and scratch of %d, and the collective has %d ranks",
			len(p.Rank), len(p.Scratch), n)
	case p.Channels() < 0 || p.Channels() > MaxChannels:
		return f.bad(diag.Malformed, "the program has %d channels, and 0 to %d are allowed", p.Channels(), MaxChannels)
	case p.RanksPerNode < 0:
		return f.bad(diag.Malformed, "a node has %d ranks", p.RanksPerNode)
	case p.Sizes.Min < 0 || p.Sizes.Max < 0 || p.Sizes.Max != 0 && p.Sizes.Max <= p.Sizes.Min:
		return f.bad(diag.Malformed, "no size is from %d to below %d", p.Sizes.Min, p.Sizes.Max)
	}
	if len(p.Then) > 0 && !f.epilogue() {
		return false
	}
	for r, chunks := range p.Scratch {
		if chunks < 0 {
			return f.bad(diag.Malformed, "rank %d has %d chunks of scratch", r, chunks)
		}
	}
	return true
}

// epilogue checks the stages on rows.
func (f *checker) epilogue() bool {
	p := f.p
	if err := p.Then.Check(); err != nil {
		return f.bad(diag.Malformed, "%v", err)
	}
	if p.OneSided == nil || p.Coll.Inplace || p.InPlace || !p.Coll.HasRows() {
		return f.bad(diag.Malformed, "the program has an epilogue, which is for one-sided programs that sum over all ranks out of place")
	}
	return true
}

// regions checks the sizes of packets, flags and copies.
func (f *checker) regions() bool {
	p, o := f.p, f.p.OneSided
	if o.Depth < 1 {
		return f.bad(diag.Malformed, "there are %d copies of scratch and packets", o.Depth)
	}
	if o.Depth > maxDepth {
		return f.bad(diag.Limit, "there are %d copies of scratch and packets, at most %d are allowed", o.Depth, maxDepth)
	}
	for _, table := range []struct {
		name string
		n    []int32
	}{{"packets", o.Packets}, {"flags", o.Flags}} {
		if table.n != nil && len(table.n) != p.Coll.Ranks {
			return f.bad(diag.Malformed, "there are %s of %d ranks, and the collective has %d ranks", table.name, len(table.n),
				p.Coll.Ranks)
		}
		total := int64(0)
		for r, n := range table.n {
			if n < 0 {
				return f.bad(diag.Malformed, "rank %d has %d %s", r, n, table.name)
			}
			if n > 0 && table.name == "packets" && p.Protocol == ir.Simple {
				return f.bad(diag.Malformed, "rank %d has %d chunks of packets, and %v has no packets", r, n, p.Protocol)
			}
			total += int64(n)
		}
		if most := min(f.most.Cells, math.MaxInt32); total > most { // those of all ranks are numbered
			return f.limit("cells", total, "all ranks have %d %s, at most %d are allowed", total, table.name, most)
		}
	}
	return true
}

// limit reports that p asks for too much; the hint names the limit that allows n.
func (f *checker) limit(name string, n int64, format string, args ...any) bool {
	f.bad(diag.Limit, format, args...)
	f.List[len(f.List)-1].Hint = diag.LimitHint(name, n)
	return false
}

// cells bounds the chunks of all buffers.
func (f *checker) cells() bool {
	p, cells, copies := f.p, int64(0), int64(0)
	for r := range p.Rank {
		scratch := int64(p.ScratchOf(r))
		cells += int64(p.Coll.InChunks(r)) + int64(p.Coll.OutChunks(r)) + scratch
		if o := p.OneSided; o != nil {
			copies += int64(o.Depth-1)*scratch + int64(o.Depth)*int64(o.PacketsOf(r)) + int64(o.FlagsOf(r))
		}
	}
	if cells > f.most.Cells {
		enough := cells
		if cells+copies > f.most.Memory { // which the same flag raises
			enough += copies
		}
		return f.limit("cells", enough, "the buffers of all ranks have %d chunks, at most %d are allowed", cells, f.most.Cells)
	}
	if cells+copies > f.most.Memory {
		return f.limit("cells", cells+copies, "the buffers of all ranks have %d chunks in all copies, at most %d are allowed",
			cells+copies, f.most.Memory)
	}
	return true
}

// contract checks the parts that the collective names.
func (f *checker) contract() bool {
	c := f.p.Coll
	inside := func(x ir.Part, chunks func(int) int) bool {
		return 0 <= x.Rank && int(x.Rank) < c.Ranks && 0 <= x.Index && int(x.Index) < chunks(int(x.Rank))
	}
	for _, r := range c.Peer {
		if r < 0 || int(r) >= c.Ranks {
			return f.bad(diag.Malformed, "peer %d of the collective is none of %d ranks", r, c.Ranks)
		}
	}
	for out, list := range c.Require {
		good := inside(out, c.OutChunks)
		for _, in := range list {
			good = good && inside(in, c.InChunks)
		}
		if !good {
			return f.bad(diag.Malformed, "a requirement of the collective names a chunk that does not exist")
		}
	}
	return true
}

// ranges checks that ranks cover blocks and blocks cover steps, in order.
func (f *checker) ranges() bool {
	p := f.p
	block, step := int32(0), int32(0)
	for r, own := range p.Rank {
		if own.First != block || own.End < block || int(own.End) > len(p.Blocks) {
			return f.bad(diag.Malformed, "the blocks of rank %d are not those from %d", r, block)
		}
		for ; block < own.End; block++ {
			b := &p.Blocks[block]
			if int(b.Rank) != r || b.Steps.First != step || b.Steps.End < step || int(b.Steps.End) > len(p.Steps) {
				return f.bad(diag.Malformed, "block %d of rank %d does not hold the steps from %d", block-own.First, r, step)
			}
			step = b.Steps.End
		}
	}
	if int(block) != len(p.Blocks) || int(step) != len(p.Steps) {
		return f.bad(diag.Malformed, "some blocks or steps belong to no rank")
	}
	return true
}

// operands checks that the steps' operands follow each other, each row of one.
func (f *checker) operands() bool {
	p, at, all := f.p, int64(0), int64(len(f.p.OneSided.Operands))
	for i := range p.Steps {
		s := &p.Steps[i]
		if int64(s.Src) != at || s.NSrc < 0 || s.NDst < 0 || int64(s.Dst) != at+int64(s.NSrc) ||
			int64(s.Dst)+int64(s.NDst) > all {
			return f.bad(diag.Malformed, "%s does not have the operands from %d on", p.StepName(int32(i)), at)
		}
		at = int64(s.Dst) + int64(s.NDst)
	}
	if at != all {
		return f.bad(diag.Malformed, "some operands belong to no step")
	}
	return true
}

// work bounds the chunks that all steps read and write, those of others through the switch included.
func (f *checker) work() bool {
	if f.moved > f.most.Moved {
		return f.limit("moves", f.moved, "the steps move %d chunks in all, at most %d are allowed", f.moved, f.most.Moved)
	}
	return true
}

// ranksOf returns the ranks whose memory x is: [first, end).
func (f *checker) ranksOf(x *onesided.Operand) (first, end int) {
	if x.Rank == ir.AllRanks {
		return 0, f.p.Coll.Ranks
	}
	return int(x.Rank), int(x.Rank) + 1
}
