// This file is kernels/abi_onesided.h in Go, field by field.

package executor

import "structs"

// OneRanks and OneCode are how many rows of memory and of tables travel in a
// launch; OnePeriod is the passes after which packets' flags begin anew.
const (
	OneRanks  = 16
	OneCode   = 160
	OnePeriod = 1<<32 - 1
)

// Among the Flags of a step, beside ir.StepFlags: onePackets says that some operand is of packets, and
// onePort that a port may make the copy.
const (
	onePort    = 1 << 6
	onePackets = 1 << 7
)

// oneMeets among the Flags of a Signal says that a Signal before it, of another thread, may signal a flag of it, and that
// nothing else has the threads meet between.
const oneMeets = 1 << 5

// A OneStep is one step of a one-sided program. Its sources are Srcs operands from
// First on, its destinations the Dsts behind them; Group is, of a Move, how many that are
// alike run together from here on.
type OneStep struct {
	_                 structs.HostLayout
	Op, Flags         uint8
	Srcs, Dsts, Group uint16
	Count, Class      uint16
	First             uint32
}

// A OneOperand is one operand of a step. Of input and output, A is the piece and B
// the place in it; of a flag, A is the number of the signal in its pass and B how
// many there are in one.
type OneOperand struct {
	_        structs.HostLayout
	Rank     int16
	Buf, Via uint8
	Index    uint32
	A        int32
	B        uint32
}

// A OneBlock is one block. Number is its place among those of the whole program; a
// step's First counts from FirstOperand.
type OneBlock struct {
	_                      structs.HostLayout
	Rank, Number           uint32
	FirstStep, Steps       uint32
	FirstOperand, Operands uint32
	_                      [2]uint32
}

// A OneMemory is the memory of one rank as a device sees it.
type OneMemory struct {
	_                                      structs.HostLayout
	Input, Output, Scratch, Packets, Flags uint64
}

// OneSwitch is the memory of all ranks as the switch has it.
type OneSwitch struct {
	_                      structs.HostLayout
	Input, Output, Scratch uint64
}

// A OneState is what a block's column carries from launch to launch.
type OneState struct {
	_                structs.HostLayout
	Passes, Launches uint64
}

// A OneRecord is when a step began and ended, in ns of the device's clock; 0 where
// it did not run.
type OneRecord struct {
	_          structs.HostLayout
	Begin, End uint64
}

// A PortCopy is a copy that a block asks a port for, a PortLane its queue of them in memory of the host, and
// PortEnds what a device's memory has of that.
type PortCopy struct {
	_                     structs.HostLayout
	Src, Dst, Bytes, Peer uint64
}

// PortDepth is how many copies a lane holds.
const PortDepth = 32

// A PortLane is the queue of a block's column.
type PortLane struct {
	_      structs.HostLayout
	Pushed uint64
	_      [7]uint64
	Copy   [PortDepth]PortCopy
}

// PortEnds count a lane's copies, and say which are over.
type PortEnds struct {
	_              structs.HostLayout
	Sent           uint64
	_              [7]uint64
	Done, PushedBy [PortDepth]uint64
}

// OneParams are one launch of a one-sided program on one device. What is of the
// device (tables, states, status, memory) is the device's to fill in.
type OneParams struct {
	_                                   structs.HostLayout
	Blocks, Steps, Operands             uint64
	Ranks, States, StatusAt             uint64
	Elems, Chunk                        uint64
	Share, Tile, Passes                 uint64
	ScratchStride, ScratchCopy          uint64
	PacketStride, PacketCopy            uint64
	Trace, TracePasses                  uint64
	Chunks, Columns, MaxColumns, Depth  uint32
	Flags, AllBlocks                    uint32
	BlockCount, StepCount, OperandCount uint32
	Inlined, RankCount                  uint32
	DType, RedOp, ElemSize              uint32
	All                                 OneSwitch
	Port, PortEnds                      uint64
	Rank                                [OneRanks]OneMemory
	Code                                [OneCode * 4]uint32
}
