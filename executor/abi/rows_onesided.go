// This file is kernels/abi/rows_onesided.h in Go, field by field.

package abi

import (
	"structs"

	"mscclc/executor/launch"
)

// OneRanks is how many rows of OneParams.Rank a launch carries. OneCode is how many rows of 16 bytes of tables it
// carries: two for each block, one for each step and operand. Where there are more, they lie in memory. OnePeriod is
// the number of passes after which the flags of packets begin anew.
const (
	OneRanks  = launch.OneRanks
	OneCode   = 160
	OnePeriod = 1<<32 - 1
)

// Flags of a OneStep beside ir.StepFlags: onePackets says that some operand is packets, and onePort that a port may
// make the copy.
const (
	onePort    = 1 << 6
	onePackets = 1 << 7
)

// oneMeets is a flag of a Signal: an earlier Signal by another thread may signal one of its flags, and no block barrier
// lies between the two.
const oneMeets = 1 << 5

// oneFresh is a bit of OneOperand.Via: a step that folds has the operand as a source that is fresh (eval.Fresh).
const oneFresh = 1 << 7

// A OneStep is one step of a one-sided program. Its sources are Srcs operands from First on, and its destinations the
// Dsts operands after them. First counts from OneBlock.FirstOperand. Group is how many Moves, from this one on, are
// alike and run together.
type OneStep struct {
	_                 structs.HostLayout
	Op, Flags         uint8
	Srcs, Dsts, Group uint16
	Count, Class      uint16
	First             uint32
}

// A OneOperand is one operand of a step. In input and output, A is the piece and B the place in it. Of a flag, A is the
// number of the signal in its pass, from 1 on, and B how many signals a pass has (a launch, at Enter and Leave). Rank
// is ir.AllRanks for all ranks at once. Via is ir.Via, and whether the operand is fresh.
type OneOperand struct {
	_        structs.HostLayout
	Rank     int16
	Buf, Via uint8
	Index    uint32
	A        int32
	B        uint32
}

// Fresh reports whether averages of floats scale the operand.
func (o OneOperand) Fresh() bool { return o.Via&oneFresh != 0 }

// A OneBlock is one thread block of a one-sided program. Number is its number in the whole program. Together is that of
// ir.TB.
type OneBlock struct {
	_                      structs.HostLayout
	Rank, Number           uint32
	FirstStep, Steps       uint32
	FirstOperand, Operands uint32
	Together, _            uint32
}

// A OneMemory holds the addresses of one rank's memory, as a device sees them; 0 where the device does not reach it.
type OneMemory struct {
	_                                      structs.HostLayout
	Input, Output, Scratch, Packets, Flags uint64
}

// OneSwitch holds the multicast addresses of the memory of all ranks; 0 where there is none.
type OneSwitch struct {
	_                      structs.HostLayout
	Input, Output, Scratch uint64
}

// A OneState is what one replica of a block carries from launch to launch: how many passes and launches it has done.
type OneState struct {
	_                structs.HostLayout
	Passes, Launches uint64
}

// A OneRecord says when a step began and ended, in ns of the device's clock; 0 if it did not run.
type OneRecord struct {
	_          structs.HostLayout
	Begin, End uint64
}

// A PortCopy is a copy that a block asks a port for: addresses, bytes, and the other
// rank, or the own. Copies with the same Peer are made one after the other.
type PortCopy struct {
	_                     structs.HostLayout
	Src, Dst, Bytes, Peer uint64
}

// PortDepth is how many copies a lane holds.
const PortDepth = 32

// A PortLane is the queue of copies of one replica of a block, in memory of the host. Pushed counts them.
type PortLane struct {
	_      structs.HostLayout
	Pushed uint64
	_      [7]uint64
	Copy   [PortDepth]PortCopy
}

// PortEnds counts the copies of a lane and says which are complete, in memory of the device.
type PortEnds struct {
	_              structs.HostLayout
	Sent           uint64
	_              [7]uint64
	Done, PushedBy [PortDepth]uint64
}

// OneParams are the numbers of one launch of a one-sided program on one device. OneImage.Params sets them; the device
// fills in the addresses of tables, states, status and memory.
type OneParams struct {
	_                                    structs.HostLayout
	Blocks, Steps, Operands              uint64
	Ranks, States, StatusAt              uint64
	Elems, Chunk                         uint64
	Share, Tile, Passes                  uint64
	ScratchStride, ScratchCopy           uint64
	PacketStride, PacketCopy             uint64
	Trace, TracePasses                   uint64
	Chunks, Replicas, MaxReplicas, Depth uint32
	Flags, AllBlocks                     uint32
	BlockCount, StepCount, OperandCount  uint32
	Inlined, RankCount                   uint32
	DType, RedOp, ElemSize               uint32
	Inverse                              float64 // 1 / RankCount
	All                                  OneSwitch
	Port, PortEnds                       uint64
	Rank                                 [OneRanks]OneMemory
	Code                                 [OneCode * 4]uint32
}
