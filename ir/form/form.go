// Package form checks that a Program is well formed: that its tables cover each other and every number in them is in range.
// [Check] says what is not. Readers call it before anything follows a number of a file, and writers before they write.
// It may import ir and ir/diag.
package form

import (
	"fmt"
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// Bounds are how much a program may ask for, whatever the file says that it was read from.
type Bounds struct {
	Cells int64 // chunks of all buffers of all ranks
	Moved int64 // chunks that all steps move together
}

// Unbounded are the bounds of a program that this process made.
var Unbounded = Bounds{Cells: math.MaxInt64, Moved: math.MaxInt64}

// MaxChannels is the most channels that a program may have.
const MaxChannels = 1 << 16

// Check returns what makes p no program at all: a table that does not cover another, or a number, an operation, a buffer
// or a chunk out of range. It lists at most diag.Shown problems. What a well-formed program does wrong is for ir/verify.
func Check(p *ir.Program, most Bounds) diag.List {
	f := checker{p: p}
	if p.OneSided != nil && !f.oneSided() || !f.collective(most.Cells) || !f.tables() {
		return f.found
	}
	for r := range p.Rank {
		f.rank(r)
	}
	if len(f.found) == 0 {
		f.work(most.Moved)
	}
	return f.found
}

type checker struct {
	p     *ir.Program
	found diag.List

	shortest *[ir.Flags + 1]int64 // of each buffer the shortest rank's length, where asked
}

func (f *checker) say(code diag.Code, rank, block, step int, pos int32, format string, args ...any) {
	if len(f.found) < diag.Shown {
		d := diag.New(code, f.p.Span(pos), format, args...)
		d.Rank, d.Block, d.Step = rank, block, step
		f.found = append(f.found, d)
	}
}

func (f *checker) bad(format string, args ...any) bool {
	f.say(diag.Malformed, -1, -1, -1, -1, format, args...)
	return false
}

// collective checks the header and bounds the cells before anything of their
// number is allocated.
func (f *checker) collective(maxCells int64) bool {
	p := f.p
	c := p.Coll
	n := c.Ranks
	switch {
	case n < 1 || n != len(p.Rank) || len(p.Scratch) > n:
		return f.bad("program of %d ranks has blocks of %d and scratch of %d", n, len(p.Rank), len(p.Scratch))
	case c.Kind >= ir.NumKinds || p.Protocol >= ir.NumProtocols:
		return f.bad("collective %d or protocol %d is none", c.Kind, p.Protocol)
	case c.Chunks < 0 || c.Chunks > math.MaxInt32 || c.In < 0 || c.In > math.MaxInt32 || c.Out < 0 || c.Out > math.MaxInt32:
		return f.bad("collective of %d chunks, %d in and %d out, is none", c.Chunks, c.In, c.Out)
	case c.Root < 0 || c.Root >= n:
		return f.bad("root %d is none of %d ranks", c.Root, n)
	case c.PerRank != nil && len(c.PerRank) != n || c.Kind == ir.SendRecv && len(c.Peer) != n:
		return f.bad("collective does not say every rank's part")
	case c.Kind == ir.SendRecv && n > ir.MaxSendRecv:
		return f.bad("sendrecv of %d ranks has more than %d", n, ir.MaxSendRecv)
	case p.Channels < 0 || p.Channels > MaxChannels || p.RanksPerNode < 0:
		return f.bad("program has %d channels and %d ranks a node", p.Channels, p.RanksPerNode)
	case p.Sizes.Min < 0 || p.Sizes.Max < 0 || p.Sizes.Max != 0 && p.Sizes.Max <= p.Sizes.Min:
		return f.bad("sizes from %d to %d are none", p.Sizes.Min, p.Sizes.Max)
	}
	cells := int64(0)
	for r := range n {
		if c.PerRank != nil && (c.PerRank[r][0] < 0 || c.PerRank[r][1] < 0) || r < len(p.Scratch) && p.Scratch[r] < 0 {
			return f.bad("a buffer of rank %d has a negative length", r)
		}
		in, out := c.InChunks(r), c.OutChunks(r)
		if max(in, out) > math.MaxInt32 {
			return f.bad("a buffer of rank %d has %d chunks", r, max(in, out))
		}
		cells = min(cells+min(int64(in)+int64(out)+int64(p.ScratchOf(r))+oneSidedCells(p, r), 1<<50), 1<<50)
	}
	if cells > maxCells {
		f.say(diag.Limit, -1, -1, -1, -1, "the ranks' buffers have %d chunks, at most %d are read", cells, maxCells)
		f.found[len(f.found)-1].Hint = diag.LimitHint("cells", cells)
		return false
	}
	return f.contract()
}

// work bounds the chunks that all steps move.
func (f *checker) work(most int64) {
	moved := int64(0)
	for i := range f.p.Steps {
		s := &f.p.Steps[i]
		moved += int64(s.Count) * max(1, int64(s.NSrc)+int64(s.NDst))
	}
	if moved > most {
		f.say(diag.Limit, -1, -1, -1, -1, "the steps move %d chunks, at most %d are read", moved, most)
		f.found[len(f.found)-1].Hint = diag.LimitHint("moves", moved)
	}
}

// contract checks the parts that a collective of its own names.
func (f *checker) contract() bool {
	c := f.p.Coll
	for _, p := range c.Peer {
		if p < 0 || int(p) >= c.Ranks {
			return f.bad("rank %d is beyond the last of %d ranks", p, c.Ranks)
		}
	}
	for out, list := range c.Require {
		if out.Rank < 0 || int(out.Rank) >= c.Ranks || out.Index < 0 || int(out.Index) >= c.OutChunks(int(out.Rank)) {
			return f.bad("output chunk %d of rank %d is none", out.Index, out.Rank)
		}
		for _, p := range list {
			if p.Rank < 0 || int(p.Rank) >= c.Ranks || p.Index < 0 || int(p.Index) >= c.InChunks(int(p.Rank)) {
				return f.bad("input chunk %d of rank %d is none", p.Index, p.Rank)
			}
		}
	}
	return true
}

// tables checks that ranks cover the blocks in order, and blocks the steps.
func (f *checker) tables() bool {
	p := f.p
	block, step := int32(0), int32(0)
	for r, part := range p.Rank {
		if part.First != block || part.End < block || int(part.End) > len(p.Blocks) {
			return f.bad("rank %d has blocks %d to %d where %d is due", r, part.First, part.End, block)
		}
		for ; block < part.End; block++ {
			b := &p.Blocks[block]
			if int(b.Rank) != r || b.Steps.First != step || b.Steps.End < step || int(b.Steps.End) > len(p.Steps) {
				return f.bad("block %d, of rank %d, does not hold the steps from %d", block, r, step)
			}
			step = b.Steps.End
		}
	}
	if int(block) != len(p.Blocks) || int(step) != len(p.Steps) {
		return f.bad("program has %d blocks and %d steps that belong to no rank", len(p.Blocks)-int(block), len(p.Steps)-int(step))
	}
	return true
}

func (f *checker) rank(r int) {
	p := f.p
	tbs := p.TBsOf(r)
	sizes := [3]int32{int32(p.Coll.InChunks(r)), int32(p.Coll.OutChunks(r)), int32(p.ScratchOf(r))}
	peer := func(n int32) bool {
		return n >= -1 && int(n) < p.Coll.Ranks && int(n) != r && (n == -1 || p.OneSided == nil)
	}
	for b := range tbs {
		if !peer(tbs[b].SendPeer) || !peer(tbs[b].RecvPeer) || tbs[b].Channel < 0 || int(tbs[b].Channel) >= p.Channels {
			f.say(diag.OutOfBounds, r, b, -1, -1, "thread block sends to %d and receives from %d on channel %d", tbs[b].SendPeer, tbs[b].RecvPeer, tbs[b].Channel)
		}
		steps := p.StepsOf(&tbs[b])
		for i := range steps {
			text, code := "", diag.Malformed
			if p.OneSided != nil {
				text, code = f.oneSidedStepFault(r, &steps[i])
			} else {
				text, code = stepFault(p, tbs, b, &steps[i], &sizes)
			}
			if text != "" {
				f.say(code, r, b, i, min(steps[i].Pos, int32(len(p.Spans)-1)), "%s", text)
				if len(f.found) == diag.Shown {
					return
				}
			}
		}
	}
}

// stepFault says what is wrong with a step of block b of a rank whose buffers
// have sizes, or nothing.
func stepFault(p *ir.Program, tbs []ir.TB, b int, s *ir.Step, sizes *[3]int32) (string, diag.Code) {
	if s.Op >= ir.NumOps || s.Op.Info().OneSided || s.Flags&^(ir.HasDep|ir.Final) != 0 || s.NSrc != 0 || s.NDst != 0 {
		return fmt.Sprintf("operation %d with flags %d is none", s.Op, s.Flags), diag.Malformed
	}
	info := s.Op.Info()
	switch {
	case s.Pos < -1 || int(s.Pos) >= len(p.Spans):
		return fmt.Sprintf("source position %d is none", s.Pos), diag.Malformed
	case s.Class < 0 || s.Class > 0 && int(s.Class) >= p.Coll.Chunks:
		return fmt.Sprintf("class %d is none of %d", s.Class, p.Coll.Chunks), diag.Malformed
	case (s.Count < 1) != (s.Op == ir.Nop) || s.Count < 0:
		return fmt.Sprintf("%s moves %d chunks", s.Op, s.Count), diag.Malformed
	case info.Sends && tbs[b].SendPeer < 0, info.Receives && tbs[b].RecvPeer < 0:
		return fmt.Sprintf("%s in a thread block without that peer", s.Op), diag.Malformed
	case s.DepBlock < 0 && (s.DepBlock != -1 || s.DepStep != -1 || s.Op == ir.Nop):
		return fmt.Sprintf("%s waits for step %d of thread block %d", s.Op, s.DepStep, s.DepBlock), diag.Malformed
	case s.DepBlock >= 0 && (int(s.DepBlock) >= len(tbs) || s.DepStep < 0 || s.DepStep >= tbs[s.DepBlock].Steps.End-tbs[s.DepBlock].Steps.First):
		return fmt.Sprintf("step waits for step %d of thread block %d, which is none", s.DepStep, s.DepBlock), diag.OutOfBounds
	}
	if text, code := operandFault(info.ReadsSrc, s.SrcBuf, s.Src, s.Count, sizes); text != "" {
		return text, code
	}
	return operandFault(info.ReadsDst || info.Writes, s.DstBuf, s.Dst, s.Count, sizes)
}

func operandFault(used bool, b ir.Buf, index, count int32, sizes *[3]int32) (string, diag.Code) {
	switch {
	case !used && (b != ir.NoBuf || index != 0):
		return "step has an operand that its operation has not", diag.Malformed
	case used && b > ir.Scratch:
		return fmt.Sprintf("buffer %d is none", b), diag.Malformed
	case used && (index < 0 || int64(index)+int64(count) > int64(sizes[b])):
		return fmt.Sprintf("%s chunks %d to %d are outside the rank's %d", b, index, int64(index)+int64(count)-1, sizes[b]), diag.OutOfBounds
	}
	return "", ""
}
