// Package onesided holds the type of one-sided programs. Their steps read and write memory of any rank, and order each
// other by signals and waits.
package onesided

import (
	"math"

	"mscclc/ir"
)

// A Program is a one-sided program: all its steps are one-sided operations. The sources of a step are Operands[Src :
// Src+NSrc], and its destinations are Operands[Dst : Dst+NDst]. They may lie in any rank's memory. SrcBuf and DstBuf
// are NoBuf, and DepBlock is -1. Blocks have no peers: one block may write to many ranks.
//
// # Tile iterations
//
// A launch cuts the bytes of every chunk into tiles of one size. For each tile it runs one tile iteration over the
// program. Tile iterations are counted on from launch to launch. In each, every block runs its steps in order. Signals
// and Awaits that are marked Enter run in a launch's first tile iteration only, and those that are marked Leave in its
// last only. A chunk of input or output then stands for the tile's part of it. Scratch and packets hold one tile of
// each chunk, in Depth copies: tile iteration e uses copy e mod Depth, and must not read what earlier tile iterations
// left there. If OnePass is set, each launch has one tile iteration, which is both its first and its last.
//
// # Replicas
//
// Several replicas of the program run at once. Each moves an equal share of every chunk's bytes, and has scratch,
// packets, flags and tile iterations of its own. Replicas share only the rank's kernel: it begins before the first step
// of all replicas, and ends after the last. So one replica stands for any number of them, and launches may have
// different numbers.
//
// # Steps
//
// A Move folds its sources from left to right, chunk by chunk, for Count chunks, and writes the result to every
// destination. With one source, it copies. It keeps sums of f16, bf16 and fp8 in f32, and rounds them once. A
// destination may be one of the sources; otherwise it overlaps none. A Move that reads a chunk of packets waits for the
// packets that the writer sends there in this tile iteration. There is one packet at least, also where the chunk is
// empty. One step writes a chunk of packets, and one block reads it.
//
// A Signal adds 1 to each destination, which is a flag. An Await waits until all its sources, which are flags of its
// own rank, have been signalled often enough. Let n Signals raise a flag in each tile iteration. In tile iteration e,
// counted from 0, the flag must have been signalled e n + Nth times in all. So Nth from 1 to n stands for a signal of
// this tile iteration, and Nth = k - n for signal k of the one before. A number of 0 or less is reached from the start.
// One block signals a flag, and one awaits it. If the steps of a flag are marked Enter or Leave, launches count in
// place of tile iterations. Then all steps of the flag are marked so.
//
// # Order
//
// The threads of a block synchronise before each step that is not Joint. Such a step and the Joint steps after it are
// a group. The steps of a group begin in their order. Their accesses do not conflict, unless packets order them. A
// Signal of the group releases nothing of the group's other steps: when it signals, or when a Move of the group begins,
// these need not have ended. All steps before the group in its block have ended, and their writes are visible to it.
// The steps of a group run in the same tile iterations.
//
//   - An Await acquires, of each flag, what the last Signal that it waits for released. That is all that the Signal's
//     block had seen or written before the Signal's group, at the scope of the system. It is visible to the group
//     after the Await. If the Signal is Relaxed, the Await acquires nothing of earlier Signals of the flag either.
//   - A Signal or an Await that is Relaxed orders the same steps, but makes nothing visible: the Await's block knows
//     that the steps have ended, and sees no more writes than before.
//   - One thread of a block does the k-th source of an Await and the k-th destination of a Signal. So the k-th
//     destination of a Signal also releases what the k-th sources of earlier Awaits of its group acquired, though the
//     threads do not synchronise in between. This holds for flags that the group signals, or awaits, at one place of
//     its steps only (Relayed).
//   - A block that has read a chunk of packets knows that all steps before the sender's group have ended, and that the
//     sending step has read the sources of that chunk. It sees nothing of what the sender wrote or saw: packets order
//     no other memory. The reading step itself knows this for what it writes in place of the packets.
//   - The launches of a rank come one after the other. The end of a kernel and the start of the next order all that the
//     rank's own blocks do. From the start of its launch, other ranks may access the rank's input and output. At its
//     end, all such accesses must be over, and their writes visible. What the caller wrote before the launch is visible
//     to any block that knows by Signals, also Relaxed ones, that the launch has begun: it was written before, and no
//     cache of a kernel that has not read it holds it. A block that only writes to this memory may know of the launch
//     by packets or by Signals.
//   - A block of Loose steps, such as those of a port, may still run when its rank's launch has ended and the next has
//     begun. Launches neither wait for it nor signal it. For its rank's input and output it counts as a block of
//     another rank. Its own launches come one after the other.
//
// # Form
//
// Count and Class are 0 in a Signal and an Await. Operands lie in the order of the steps, and a step's destinations
// follow its sources. No operand belongs to two steps. So a program that is written and read back is the same.
type Program struct {
	ir.Program
	Operands []Operand
	Packets  []int32 // chunks of packets, for each rank
	Flags    []int32 // flags of each rank
	Depth    int32   // copies of scratch and packets, at least 1
	OnePass  bool    // each launch has one tile iteration
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
