// Package onesided holds the type of one-sided programs. Their steps read and write memory of any rank, and order each
// other by signals and waits.
package onesided

import (
	"math"

	"mscclc/ir"
)

// A Program is a one-sided program: its steps are all of the one-sided operations. A
// step's sources are Operands[Src : Src+NSrc] and its destinations
// Operands[Dst : Dst+NDst], of any rank's memory; SrcBuf and DstBuf are NoBuf, and
// DepBlock is -1. Blocks have no peers: one block talks to many.
//
// # Passes
//
// A launch cuts the bytes of every chunk into tiles of one size, and runs one pass
// over the program for each. Passes are counted on from launch to launch. In a
// pass every block does its steps in order; Signals and Awaits that are marked
// Enter in a launch's first pass only, those marked Leave in its last only. A chunk of input and output is
// then the tile's part of it. Scratch and Packets hold one tile of each chunk, and
// rotate: pass e uses copy e mod Depth of them, and must not read what passes
// before it left there. Where OnePass, each launch has one pass, which is its first and its last.
//
// The same program runs in several replicas at once, each of which moves an equal
// share of every chunk's bytes, and has scratch, packets, flags and passes of its own.
// Columns have nothing in common but that a rank's kernel begins before the first
// step of all of its replicas and ends after their last. So one replica stands for
// any number of them, and any number may run in any launch.
//
// # Steps
//
// Move: every destination = the sources folded left to right, chunk by chunk, for
// Count chunks; with one source that is a copy. Sums of f16, bf16 and fp8 are kept
// in f32 and rounded once. A destination may be a source exactly, and overlaps none
// in part. Reading a chunk of Packets waits for the packets that this pass's
// writer sends there, one at least though the chunk is empty in this pass; a chunk
// of Packets is written by one step and read by one block.
//
// Signal: adds one to each destination, a flag. Await, in pass e from 0: goes on when
// each source, a flag of the block's own rank that n Signals raise in a pass, has been
// signalled e n + Nth times in all. So Nth from 1 to n is a signal of this pass, and k - n
// is signal k of the pass before; 0 times and less have always been. A flag has one block that signals it
// and one that awaits it. Steps at flags that are marked Enter or Leave count
// launches instead of passes; a flag's steps are all marked so, or none.
//
// # Order
//
// The threads of a block synchronise between steps, but not before one that is Joint: a
// step that is Joint and the steps before it, back to the first that is not, are
// one group, which begin in their order, whose accesses do not conflict unless
// packets order them, and which tell others nothing of each other: a step of a group need not
// have ended when a Signal of it tells, nor an Await of it when a Move of it begins.
// What is before a group in its block is over for it, and seen by it. A group's steps run in the same passes.
//
//   - An Await acquires, of each flag, what the last Signal it waits for released: all that its block had seen or
//     written before its group, at the scope of the system. The next group sees it. If that Signal is Relaxed, the
//     Await acquires nothing of the flag's earlier ones either.
//   - A Signal or an Await that is Relaxed tells the same, but makes nothing visible: who awaits knows what is over,
//     and sees no more than before.
//   - One thread of a block does the k-th source of an Await and the k-th destination of a Signal. So the k-th
//     destination of a Signal tells, too, what the k-th sources of the Awaits before it in its group were told, though
//     the threads do not synchronise in between. That holds of flags that the group signals, or awaits, at one place of
//     its steps only.
//   - Who has read a chunk of packets knows that what came before the sending
//     step's group is over, and the sending step's own reads of the chunks that it made
//     that one of, but sees nothing of what the sender wrote or saw: packets order no
//     other memory. The step that reads it knows that for what it writes in its place.
//   - A rank's launches come one after the other, and its kernel's end and next
//     begin order all that its own blocks do. When a launch of a rank begins, others may
//     access its input and output; when it ends, all accesses of others to them must be
//     over, and their writes seen. What the caller wrote before its launch is seen by whoever knows by
//     Signals, Relaxed ones too, that the launch has begun: it was written when that began, and is in no cache of a
//     kernel that has not read it. Who writes there need only know that the launch has begun, by packets or by Signals.
//   - A block of Loose steps, as of a port, may be at them when its rank's launch has ended, and the next has begun:
//     launches neither wait for it nor tell it anything. To the input and output of its rank it is one of the others;
//     its launches follow each other.
//
// # Form
//
// Count and Class are 0 in a Signal and an Await. The operands of the steps lie in the steps' order,
// a step's destinations after its sources, and no row is of two steps: so what is
// written and read back is the same.
type Program struct {
	ir.Program
	Operands []Operand
	Packets  []int32 // chunks of packets, for each rank
	Flags    []int32 // flags of each rank
	Depth    int32   // copies of scratch and packets, at least 1
	OnePass  bool    // each launch has one pass
}

// An Operand is a run of chunks that a Move reads or writes, as many as the step
// says, or a flag.
type Operand struct {
	Rank  int32 // whose memory; ir.AllRanks through the switch
	Index int32 // the first chunk, or the flag
	Buf   ir.Buf
	Via   ir.Via // how a Move reaches another rank's memory; ViaAny is as memory
	Nth   int32  // of an Await: how often the flag must have been signalled; see Program
}

// MaxOperands bounds the sources of a step, and its destinations.
const MaxOperands = math.MaxInt16

// PacketsOf returns how many chunks of packets rank has: 0 for ranks that Packets does not list.
func (p *Program) PacketsOf(rank int) int { return ir.OfRank(p.Packets, rank) }

// FlagsOf returns how many flags rank has: 0 for ranks that Flags does not list.
func (p *Program) FlagsOf(rank int) int { return ir.OfRank(p.Flags, rank) }

// Sources returns the sources of s.
func (p *Program) Sources(s *ir.Step) []Operand { return p.Operands[s.Src : s.Src+int32(s.NSrc)] }

// OperandsOf returns the sources of s and the destinations, which follow them.
func (p *Program) OperandsOf(s *ir.Step) []Operand { return p.Operands[s.Src : s.Dst+int32(s.NDst)] }

// Dests returns the destinations of s.
func (p *Program) Dests(s *ir.Step) []Operand { return p.Operands[s.Dst : s.Dst+int32(s.NDst)] }
