// Package form checks that a program is well formed. Its tables must fit together: the blocks of the ranks, and the
// steps of the blocks, fill their tables without a gap or an overlap. Every number must be in range. Every step must
// have only the operands, flags and peers that its operation may have.
//
// [Check] checks a Program. ir/verify calls it before a proof. Readers and writers of program files call it before they
// use or write a number. The executor calls it before it makes a kernel's tables. No other package repeats these rules.
// [CheckInsts] and [CheckChunks] check the stages before a Program.
package form

import (
	"fmt"
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// Bounds are how much a program may ask for, whatever the file says that it was read from.
type Bounds struct {
	Cells  int64 // chunks of input, output and scratch of all ranks; as many of packets; as many flags
	Memory int64 // all of these that a run has memory for: of what rotates, each copy counts
	Moved  int64 // chunks that all steps read or write
}

// Unbounded are the bounds of a program that this process made.
var Unbounded = Bounds{Cells: math.MaxInt64, Memory: math.MaxInt64, Moved: math.MaxInt64}

// Check returns what is wrong with the form of p. It works at three levels, and stops after the first that finds a
// fault:
//
//   - Tables: what makes p unsafe to walk, such as a table that does not cover another. It returns the first fault.
//   - Steps: each block and each step by itself. It lists as many faults as ir.Problems holds.
//   - Work: chunks beyond most.Moved; and, in a one-sided program, operands of one step that overlap, flags that
//     several blocks signal or await, and rows that are not finished once.
//
// A fault of a step has its rank, block and step.
func Check(p *either.Program, most Bounds) diag.List {
	f := &checker{p: p, most: most}
	if !f.tables() {
		return f.Done()
	}
	for r := range p.Rank {
		f.rank(r)
	}
	if len(f.List) == 0 && f.work() && p.OneSided != nil {
		f.overlaps()
		f.flags()
		f.finished()
	}
	return f.Done()
}

type checker struct {
	ir.Problems
	p    *either.Program
	most Bounds

	moved    int64 // chunks, by the steps checked so far
	together int32 // replicas that share a CTA, of the blocks checked so far that have some
	shortest []int // of each buffer the shortest rank's length, where asked
	spans    []span
}

// bad reports a fault of the whole program. It returns false.
func (f *checker) bad(code diag.Code, format string, args ...any) bool {
	f.Add(diag.New(code, diag.Span{}, format, args...))
	return false
}

// block reports a fault of block b of rank r.
func (f *checker) block(code diag.Code, r, b int, pos int32, format string, args ...any) {
	d := diag.New(code, f.p.Span(pos), "rank %d block %d %s", r, b, fmt.Sprintf(format, args...))
	d.Rank, d.Block = r, b
	f.Add(d)
}

// A place is a step, and where it stands.
type place struct {
	rank, block, step int
	*ir.Step
}

// step reports a fault of a step, which it names. It returns false.
func (f *checker) step(at *place, code diag.Code, format string, args ...any) bool {
	if f.Full() { // a program can be wrong in millions of steps
		f.Lost++
		return false
	}
	i := f.p.TBsOf(at.rank)[at.block].Steps.First + int32(at.step)
	d := diag.New(code, f.p.Span(at.Pos), "%s %s", f.p.StepName(i), fmt.Sprintf(format, args...))
	d.Rank, d.Block, d.Step = at.rank, at.block, at.step
	f.Add(d)
	return false
}

// rank checks the blocks and the steps of rank r.
func (f *checker) rank(r int) {
	tbs := f.p.TBsOf(r)
	if f.p.OneSided == nil {
		f.twoSided(r, tbs)
		return
	}
	for b := range tbs {
		f.oneSidedBlock(r, b, &tbs[b])
	}
}
