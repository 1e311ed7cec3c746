package ir

import (
	"sort"
)

// A Program is the tables that a compiled algorithm has, of either kind: they say, for each thread block of each rank,
// which steps it runs. Programs are frozen. A two-sided one is a fifo.Program, a one-sided one a onesided.Program, and
// both embed these tables. Their comments say what programs mean.
type Program struct {
	Header
	Scratch []int32 // chunks of scratch, for each rank
	Even    bool    // chunks must be of one length: sizes divide by Coll.Divisor()
	Rank    []Range // the blocks of each rank, as indices in Blocks
	Blocks  []TB    // by rank
	Steps   []Step  // by block

	// InPlace and OutOfPlace say which calls the program is for, where its format
	// can say so; Coll.Inplace is how it is judged and run.
	InPlace, OutOfPlace bool

	// Source names steps, blocks and chunks in messages, nil where the program's own numbers do. No file has it.
	Source Source
}

// A Range is a half-open range of indices.
type Range struct{ First, End int32 }

// A TB is a thread block of a Program. Where a GPU can, up to Together of its replicas share a CTA, each with a part of
// the threads: 2 or 4 of a one-sided program, and 0 where each has its own. What the program means does not change.
type TB struct {
	Block
	Steps    Range
	Together int32
}

// CTAs returns how many CTAs the rank of p has that has most, in `replicas` replicas. Replicas share CTAs where shared.
func (p *Program) CTAs(replicas int, shared bool) (most int) {
	for r := range p.Rank {
		n := 0
		for _, b := range p.TBsOf(r) {
			if !shared {
				b.Together = 0
			}
			n += b.CTAs(replicas)
		}
		most = max(most, n)
	}
	return most
}

// Shared returns how many replicas share a CTA of the blocks whose replicas do; 1 where there are none.
func (p *Program) Shared() int {
	for i := range p.Blocks {
		if n := p.Blocks[i].Together; n > 0 {
			return int(n)
		}
	}
	return 1
}

// Replicas returns how many replicas have at most `ctas` CTAs, as Program.CTAs counts them.
func (p *Program) Replicas(ctas int, shared bool) int {
	return sort.Search(ctas, func(n int) bool { return p.CTAs(n+1, shared) > ctas })
}

// MostTogether is the most replicas that share a CTA.
const MostTogether = 4

// MayShare reports whether n replicas may share a CTA: 2 or MostTogether.
func MayShare(replicas int) bool { return replicas == 2 || replicas == MostTogether }

// CTAs returns how many CTAs a block has in `replicas` replicas, if the GPU lets replicas share them.
func (b *TB) CTAs(replicas int) int {
	together := int(max(b.Together, 1))
	return (replicas + together - 1) / together
}

// A Step is one step of a thread block.
type Step struct {
	Op             Op
	SrcBuf, DstBuf Buf
	Flags          StepFlags
	Src, Dst       int32 // chunk indices; they mean nothing where the buffer is NoBuf
	Count          int32 // chunks
	Class          int32 // as in Inst
	DepBlock       int32 // waits for this block of its rank, counted within the rank; -1 for none
	DepStep        int32 // to have finished this step of its
	Pos            int32 // index in Spans
	NSrc, NDst     int16 // one-sided: numbers of operands
}

// ClearUnused clears the operands that the step's operation does not have.
func (s *Step) ClearUnused() {
	info := s.Op.Info()
	if !info.ReadsSrc {
		s.SrcBuf, s.Src = NoBuf, 0
	}
	if !info.ReadsDst && !info.Writes {
		s.DstBuf, s.Dst = NoBuf, 0
	}
	if s.Op == Nop {
		s.Count, s.Class = 0, 0
	}
}

// StepFlags are facts about a step.
type StepFlags uint8

const (
	// HasDep: some step waits for this one, which therefore publishes its number.
	HasDep StepFlags = 1 << iota
	// Final: the step makes the complete sum; avg divides here.
	Final
	// Joint, one-sided: the step runs together with the one before it.
	Joint
	// Enter, one-sided: the step runs in the first pass of a launch only.
	Enter
	// Leave, one-sided: the step runs in the last pass of a launch only.
	Leave
	// Relaxed, one-sided: a Signal or an Await that makes nothing visible.
	Relaxed
	// Loose, one-sided: the end of its rank's launch does not wait for the step. All steps of a block are, or none.
	Loose
)

// TBsOf returns the blocks of rank.
func (p *Program) TBsOf(rank int) []TB { return p.Blocks[p.Rank[rank].First:p.Rank[rank].End] }

// StepsOf returns the steps of b.
func (p *Program) StepsOf(b *TB) []Step { return p.Steps[b.Steps.First:b.Steps.End] }

// ScratchOf returns how many chunks of scratch rank has: 0 for ranks that Scratch does not list.
func (p *Program) ScratchOf(rank int) int { return OfRank(p.Scratch, rank) }

// OfRank returns list[rank], and 0 for ranks that list does not have.
func OfRank(list []int32, rank int) int {
	if rank < len(list) {
		return int(list[rank])
	}
	return 0
}

// Place says which step of which block of which rank step i of p.Steps is, the
// latter two counted within what they are of.
func (p *Program) Place(i int32) (rank, block, step int) {
	b := sort.Search(len(p.Blocks), func(b int) bool { return p.Blocks[b].Steps.End > i })
	t := &p.Blocks[b]
	return int(t.Rank), b - int(p.Rank[t.Rank].First), int(i - t.Steps.First)
}
