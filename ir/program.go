package ir

import (
	"sort"
)

// A Program is a compiled algorithm: frozen flat tables that say, for each
// thread block of each rank, which steps it runs. Where OneSided is nil it has the
// semantics of MSCCL-IR, which follow; else those of type OneSided. All blocks of all ranks run at once, each its steps
// in order; a send waits while its connection (Channel, rank, peer) holds as many messages as it has slots, a receive
// until there is one, and a step with Dep until that block of its rank has passed that step.
type Program struct {
	Header
	Scratch  []int32 // chunks of scratch, for each rank
	Channels int
	Even     bool    // chunks must be of one length: sizes divide by Coll.Divisor()
	Rank     []Range // the blocks of each rank, as indices in Blocks
	Blocks   []TB    // by rank
	Steps    []Step  // by block

	// InPlace and OutOfPlace say which calls the program is for, where its format
	// can say so; Coll.Inplace is how it is judged and run.
	InPlace, OutOfPlace bool

	// OneSided has what only a one-sided program has, nil for a two-sided one.
	OneSided *OneSided

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

// CTAs returns how many CTAs the rank of p has that has most, in so many replicas. Replicas share CTAs where shared.
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

// Replicas returns how many replicas have at most so many CTAs, as Program.CTAs counts them.
func (p *Program) Replicas(ctas int, shared bool) int {
	return sort.Search(ctas, func(n int) bool { return p.CTAs(n+1, shared) > ctas })
}

// MostTogether is the most replicas that share a CTA.
const MostTogether = 4

// MayShare reports whether so many replicas may share a CTA: 2 or MostTogether.
func MayShare(replicas int) bool { return replicas == 2 || replicas == MostTogether }

// CTAs returns how many CTAs a block has in so many replicas, if the GPU lets replicas share them.
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

// Memory lays out the cells of p, one copy of what rotates.
func (p *Program) Memory() *Memory {
	if p.OneSided != nil {
		return newMemory(p.Coll, p.Scratch, p.OneSided.Packets)
	}
	return NewMemory(p.Coll, p.Scratch)
}

// TBsOf returns the blocks of rank.
func (p *Program) TBsOf(rank int) []TB { return p.Blocks[p.Rank[rank].First:p.Rank[rank].End] }

// StepsOf returns the steps of b.
func (p *Program) StepsOf(b *TB) []Step { return p.Steps[b.Steps.First:b.Steps.End] }

// ScratchOf returns how many chunks of scratch rank has: 0 for ranks that Scratch does not list.
func (p *Program) ScratchOf(rank int) int { return int(entry(p.Scratch, rank)) }

// entry is list[rank], and 0 behind the end of list.
func entry(list []int32, rank int) int32 {
	if rank < len(list) {
		return list[rank]
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

// Called returns p, which it shares all else with, as calls in place, or out of
// place, see it.
func (p *Program) Called(inplace bool) *Program {
	q, c := *p, *p.Coll
	c.Inplace = inplace
	q.Coll = &c
	return &q
}

// ModifiesInput reports whether some step writes a chunk of input that is not
// output too. What lang makes never does; files from elsewhere may.
func (p *Program) ModifiesInput() bool {
	for r := range p.Rank {
		for _, tb := range p.TBsOf(r) {
			for _, s := range p.StepsOf(&tb) {
				if s.Op.Info().OneSided {
					if p.moveModifiesInput(&s) {
						return true
					}
				} else if s.DstBuf == Input && s.Op.Info().Writes && p.beyondOutput(r, s.Dst, s.Count) {
					return true
				}
			}
		}
	}
	return false
}

func (p *Program) moveModifiesInput(s *Step) bool {
	for _, d := range p.OneSided.Dests(s) {
		if d.Buf != Input {
			continue
		}
		first, end := int(d.Rank), int(d.Rank)+1
		if d.Rank == AllRanks {
			first, end = 0, len(p.Rank)
		}
		for r := first; r < end; r++ {
			if p.beyondOutput(r, d.Index, s.Count) {
				return true
			}
		}
	}
	return false
}

// beyondOutput reports whether some of n chunks of rank's input are not output too.
func (p *Program) beyondOutput(rank int, index, n int32) bool {
	if !p.Coll.Inplace {
		return true
	}
	inOut, outIn := p.Coll.Shift(rank)
	first := max(outIn, 0)
	end := min(p.Coll.InChunks(rank), first+p.Coll.OutChunks(rank)-max(inOut, 0))
	return int(index) < first || int(index+n) > end
}

// Chained reports whether a runtime of MSCCL-IR takes next, which follows s in a
// block, as one more source of the same reduction: both are reductions from
// one buffer to one place, next waits for nothing, and s publishes nothing.
func Chained(s, next *Step) bool {
	return s.Op == Reduce && next.Op == Reduce && next.DepBlock < 0 && s.Flags&HasDep == 0 &&
		s.SrcBuf == next.SrcBuf && s.DstBuf == next.DstBuf && s.Dst == next.Dst
}
