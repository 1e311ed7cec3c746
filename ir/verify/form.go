package verify

import (
	"fmt"
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// form checks every number of the program, so that the rest may rely on them:
// tables that cover each other, ids, offsets and counts in range, one block an
// end of a connection, and the rules of nops and of chains of reductions.
func (c *checker) form() bool {
	if !c.header() || !c.tables() {
		return false
	}
	moves := 0
	for i := range c.p.Steps {
		moves += int(max(c.p.Steps[i].Count, 0))
	}
	if moves > c.opt.Moves {
		c.at(place{-1, -1, -1}, diag.Limit, -1, "the steps move %d chunks in all, and no more than %d are followed", moves, c.opt.Moves).Hint = diag.LimitHint("moves", int64(moves))
		return false
	}
	for r := range c.p.Rank {
		c.ends(r)
		tbs := c.p.TBsOf(r)
		for b := range tbs {
			c.block(r, b, &tbs[b])
		}
	}
	return len(c.List) == 0
}

func (c *checker) malformed(format string, args ...any) bool {
	c.at(place{-1, -1, -1}, diag.Malformed, -1, format, args...)
	return false
}

func (c *checker) header() bool {
	p := c.p
	if p.Coll == nil {
		return c.malformed("the program is of no collective")
	}
	if wrong := p.Coll.Valid(math.MaxInt32); wrong != "" {
		return c.malformed("%s", wrong)
	}
	if p.Protocol >= ir.NumProtocols {
		return c.malformed("protocol %d is none", p.Protocol)
	}
	if len(p.Rank) != p.Coll.Ranks || p.Scratch != nil && len(p.Scratch) != p.Coll.Ranks {
		return c.malformed("there are blocks of %d ranks and scratch of %d, and the collective has %d ranks", len(p.Rank), len(p.Scratch), p.Coll.Ranks)
	}
	cells := 0
	for r := range p.Coll.Ranks {
		cells += p.Coll.InChunks(r) + p.Coll.OutChunks(r)
		if p.Scratch != nil {
			if p.Scratch[r] < 0 {
				return c.malformed("rank %d has %d chunks of scratch", r, p.Scratch[r])
			}
			cells += int(p.Scratch[r])
		}
	}
	if cells > c.opt.Cells {
		c.at(place{-1, -1, -1}, diag.Limit, -1, "the buffers of all ranks have %d chunks, and no more than %d are followed", cells, c.opt.Cells).Hint = diag.LimitHint("cells", int64(cells))
		return false
	}
	for out, list := range p.Coll.Require {
		ok := 0 <= out.Rank && int(out.Rank) < p.Coll.Ranks && 0 <= out.Index && int(out.Index) < p.Coll.OutChunks(int(out.Rank))
		for _, in := range list {
			ok = ok && 0 <= in.Rank && int(in.Rank) < p.Coll.Ranks && 0 <= in.Index && int(in.Index) < p.Coll.InChunks(int(in.Rank))
		}
		if !ok {
			return c.malformed("a requirement of the collective names a chunk that does not exist")
		}
	}
	return true
}

// tables checks that ranks cover blocks and blocks cover steps, in order.
func (c *checker) tables() bool {
	block, step := int32(0), int32(0)
	for r, own := range c.p.Rank {
		if own.First != block || own.End < block || int(own.End) > len(c.p.Blocks) {
			return c.malformed("the blocks of rank %d are not those from %d", r, block)
		}
		for ; block < own.End; block++ {
			b := &c.p.Blocks[block]
			if int(b.Rank) != r || b.Steps.First != step || b.Steps.End < step || int(b.Steps.End) > len(c.p.Steps) {
				return c.malformed("block %d of rank %d does not hold the steps from %d", block-own.First, r, step)
			}
			step = b.Steps.End
		}
	}
	if int(block) != len(c.p.Blocks) || int(step) != len(c.p.Steps) {
		return c.malformed("some blocks or steps belong to no rank")
	}
	return true
}

// ends checks the peers and channels of a rank's blocks.
func (c *checker) ends(r int) {
	type end struct {
		peer, channel int32
		sends         bool
	}
	tbs := c.p.TBsOf(r)
	owner := make(map[end]int, 2*len(tbs))
	for b := range tbs {
		t := &tbs[b]
		at, pos := place{r, b, -1}, int32(-1)
		if t.Steps.First < t.Steps.End {
			pos = c.p.Steps[t.Steps.First].Pos
		}
		if t.Channel < 0 || int(t.Channel) >= c.p.Channels {
			c.at(at, diag.OutOfBounds, pos, "rank %d block %d is on channel %d of %d", r, b, t.Channel, c.p.Channels)
		}
		for _, e := range []end{{t.SendPeer, t.Channel, true}, {t.RecvPeer, t.Channel, false}} {
			if e.peer == -1 {
				continue
			}
			verb := "receives from"
			if e.sends {
				verb = "sends to"
			}
			switch other, taken := owner[e]; {
			case int(e.peer) == r:
				c.at(at, diag.Malformed, pos, "rank %d block %d %s its own rank", r, b, verb)
			case e.peer < 0 || int(e.peer) >= c.p.Coll.Ranks:
				c.at(at, diag.OutOfBounds, pos, "rank %d block %d %s rank %d of %d", r, b, verb, e.peer, c.p.Coll.Ranks)
			case taken:
				c.at(at, diag.Malformed, pos, "rank %d block %d %s rank %d on channel %d, as block %d does", r, b, verb, e.peer, t.Channel, other)
			default:
				owner[e] = b
			}
		}
	}
}

func (c *checker) block(r, b int, t *ir.TB) {
	steps := c.p.StepsOf(t)
	chain := 0 // where the chain of reductions begins that step i continues
	for i := range steps {
		s := &steps[i]
		at := place{r, b, i}
		bad := func(code diag.Code, format string, args ...any) {
			c.at(at, code, s.Pos, "rank %d block %d step %d (%v) %s", r, b, i, s.Op, fmt.Sprintf(format, args...))
		}
		if code, wrong := stepFault(c.p, t, s); wrong != "" {
			bad(code, "%s", wrong)
			continue
		}
		c.wait(r, s, bad)
		switch {
		case s.Op == ir.Nop && s.DepBlock < 0:
			bad(diag.Malformed, "waits for nothing")
		case s.Op == ir.Nop && i == len(steps)-1:
			bad(diag.Malformed, "has no step behind it that would wait on its behalf")
		case s.Op != ir.Nop && s.DepBlock < 0 && i > 0 && steps[i-1].Op == ir.Nop:
			bad(diag.Malformed, "stands behind a nop and waits for nothing itself, which ends the chain of waits")
		}
		if i == 0 || !chains(&steps[i-1], s) {
			chain = i
		} else {
			c.chain(r, steps[chain:i+1], bad)
		}
	}
}

// wait checks what step s of rank r waits for.
func (c *checker) wait(r int, s *ir.Step, bad func(diag.Code, string, ...any)) {
	tbs := c.p.TBsOf(r)
	switch {
	case s.DepBlock == -1:
		if s.DepStep != -1 {
			bad(diag.Malformed, "waits for step %d of no block", s.DepStep)
		}
	case s.DepBlock < 0 || int(s.DepBlock) >= len(tbs):
		bad(diag.OutOfBounds, "waits for block %d, and its rank has %d", s.DepBlock, len(tbs))
	case s.DepStep < 0 || s.DepStep >= tbs[s.DepBlock].Steps.End-tbs[s.DepBlock].Steps.First:
		t := &tbs[s.DepBlock]
		bad(diag.OutOfBounds, "waits for step %d of block %d, which has %d", s.DepStep, s.DepBlock, t.Steps.End-t.Steps.First)
	}
}

// chains says whether the runtimes fuse the reduction b with a before it.
func chains(a, b *ir.Step) bool {
	return a.Op == ir.Reduce && b.Op == ir.Reduce && a.Flags&ir.HasDep == 0 && b.DepBlock < 0 &&
		a.DstBuf == b.DstBuf && a.Dst == b.Dst && a.SrcBuf == b.SrcBuf
}

// chain checks the last step of a chain of reductions, which run as one: the
// destination is read once, before, and written once, after.
func (c *checker) chain(rank int, steps []ir.Step, bad func(diag.Code, string, ...any)) {
	first, s := &steps[0], &steps[len(steps)-1]
	if s.Count != first.Count {
		bad(diag.Malformed, "moves %d chunks, and the reduction that it is fused with moves %d", s.Count, first.Count)
	}
	if apart, ok := distance(c.p.Coll, rank, s); ok && apart < int64(s.Count) {
		bad(diag.Overlap, "reads chunks that the reductions before it, which it is fused with, write")
	}
}

func overlap(a, b, count int32) bool {
	return int64(a) < int64(b)+int64(count) && int64(b) < int64(a)+int64(count)
}

// distance is how far apart the operands of s begin, where they lie in one
// memory. In place, input and output are one.
func distance(coll *ir.Collective, rank int, s *ir.Step) (int64, bool) {
	apart := int64(s.Src) - int64(s.Dst)
	if s.SrcBuf != s.DstBuf {
		if !coll.Inplace || s.SrcBuf > ir.Output || s.DstBuf > ir.Output {
			return 0, false
		}
		inOut, outIn := coll.Shift(rank)
		ahead := int64(max(inOut, 0) - max(outIn, 0)) // of chunk 0 of input before that of output
		if s.SrcBuf == ir.Output {
			ahead = -ahead
		}
		apart += ahead
	}
	return max(apart, -apart), true
}

// stepFault says what is wrong with a step by itself.
func stepFault(p *ir.Program, t *ir.TB, s *ir.Step) (diag.Code, string) {
	if s.Op >= ir.NumOps || s.Op.Info().OneSided || s.Flags&^(ir.HasDep|ir.Final) != 0 {
		return diag.Malformed, fmt.Sprintf("is operation %d with flags %d", s.Op, s.Flags)
	}
	if s.Op == ir.Nop {
		return "", ""
	}
	info := s.Op.Info()
	switch {
	case s.Count < 1:
		return diag.Malformed, fmt.Sprintf("moves %d chunks", s.Count)
	case info.Sends && t.SendPeer < 0:
		return diag.Malformed, "sends, and its block has no peer to send to"
	case info.Receives && t.RecvPeer < 0:
		return diag.Malformed, "receives, and its block has no peer to receive from"
	case s.Class < 0 || int(s.Class) >= max(1, p.Coll.Chunks):
		return diag.Malformed, fmt.Sprintf("begins at class %d of %d", s.Class, p.Coll.Chunks)
	}
	if info.ReadsSrc {
		if code, wrong := operandFault(p, t, s.SrcBuf, s.Src, s.Count, "source"); wrong != "" {
			return code, wrong
		}
	}
	if info.ReadsDst || info.Writes {
		if code, wrong := operandFault(p, t, s.DstBuf, s.Dst, s.Count, "destination"); wrong != "" {
			return code, wrong
		}
	}
	if apart, ok := distance(p.Coll, int(t.Rank), s); ok && info.ReadsSrc && info.Writes && apart > 0 && apart < int64(s.Count) {
		return diag.Overlap, "has a source and a destination that overlap in part"
	}
	return "", ""
}

func operandFault(p *ir.Program, t *ir.TB, b ir.Buf, index, count int32, role string) (diag.Code, string) {
	size := 0
	switch {
	case b == ir.Input:
		size = p.Coll.InChunks(int(t.Rank))
	case b == ir.Output:
		size = p.Coll.OutChunks(int(t.Rank))
	case b == ir.Scratch && p.Scratch != nil:
		size = int(p.Scratch[t.Rank])
	case b != ir.Scratch:
		return diag.Malformed, fmt.Sprintf("has no buffer as its %s", role)
	}
	if index < 0 || int64(index)+int64(count) > int64(size) {
		return diag.OutOfBounds, fmt.Sprintf("has %v[%d]*%d as its %s, and %v has %d chunks", b, index, count, role, b, size)
	}
	return "", ""
}
