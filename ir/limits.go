package ir

import (
	"math"

	"mscclc/ir/diag"
)

// Limits is what a target accepts. A zero field is no limit.
type Limits struct {
	Target       string // for messages
	Steps        int    // steps of a block, nops included
	Blocks       int    // blocks of a rank
	Channels     int    // of a program
	Count        int    // chunks that one step moves
	Index        int    // largest chunk index
	Peers        int    // peers of a rank on one channel in one direction
	DepBlock     int    // largest block that a step may wait for
	Nodes        int    // XML elements that a rank's reader keeps
	ReduceChain  int    // sources that consecutive reductions may fuse
	ReceiveFused bool   // fused receives (rcs, rrc, rrcs, rrs) exist
	MaxBytes     int64  // sizes that a program without `sizes` is for: below this
}

// Sized returns the sizes s of a program as the target runs them: if they have no end, up to the target's own.
func (l *Limits) Sized(s SizeRange) SizeRange {
	if s.Max == 0 {
		s.Max = l.MaxBytes
	}
	return s
}

// MostCells is how many chunks all buffers of a program may have together: passes remember something of each, by a
// number of 32 bits.
const MostCells = math.MaxInt32 / 4

// UsualInsts is how many instructions, or moves of a one-sided program, a program may have where options do not say.
const UsualInsts = 64 << 20

// MoreInsts returns the hint of a message about that limit, for a program that needs a number of instructions.
func MoreInsts(need int) string { return diag.MoreHint("insts", int64(need), UsualInsts) }

// What one operation of a ChannelProgram has room for: MSCCL++'s executor has two operands of the rank itself, and one
// for each channel.
const (
	OpChannels   = 8
	OpOperands   = 2 + OpChannels // sources, and destinations
	OpSemaphores = 16
)

// AllRanks is the rank of an operand of a switch: reading it gives the sum over
// all ranks, in an order of the switch's own; writing it writes all ranks'.
const AllRanks = -1
