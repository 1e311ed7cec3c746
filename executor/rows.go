// This file is kernels/abi.h in Go, field by field. executor/cpu has a test that
// compares sizes and offsets of the two.

package executor

import "structs"

// A Step is one step as the kernel reads it. Chain is the number of steps,
// itself included, that one multi-source reduction does at once.
type Step struct {
	_                      structs.HostLayout
	Op, SrcBuf, DstBuf     uint8
	Flags                  uint8
	Count, Src, Dst, Class uint32
	DepBlock, DepStep      int32
	Chain                  uint32
}

// A Block is one thread block. FirstBlock is block 0 of its rank; Send and Recv
// are connections, or -1.
type Block struct {
	_                structs.HostLayout
	Rank, FirstBlock uint32
	FirstStep, Steps uint32
	Send, Recv       int32
}

// RankMemory holds the addresses of one rank's buffers.
type RankMemory struct {
	_                      structs.HostLayout
	Input, Output, Scratch uint64
}

// A State is what a block carries from launch to launch.
type State struct {
	_                           structs.HostLayout
	Flag, Tiles, Sent, Received uint64
	_                           [4]uint64
}

// Counters are the head and the tail of one connection's FIFO.
type Counters struct {
	_    structs.HostLayout
	Head uint64
	_    [7]uint64
	Tail uint64
	_    [7]uint64
}

// A ConnMemory says where a connection has its slots and counters.
type ConnMemory struct {
	_                 structs.HostLayout
	Slots, Head, Tail uint64
}

// A Status is how a launch ended. Code is also the abort word that every wait
// polls, and LimitNS how long one wait may last. Column and Operand are a one-sided
// program's.
type Status struct {
	_                          structs.HostLayout
	Code, Block, Step, What    uint32
	Want, Have, Tile, WaitedNS uint64
	LimitNS                    uint64
	Column, Operand            uint32
}

// The codes of a Status.
const (
	StatusOK uint32 = iota
	StatusTimeout
	StatusCancelled
	StatusHost
	StatusStuck
)

// An Action is what a block does at once: one message of a step that transfers,
// all of another step, or a chain of reductions, which goes by its first. Step
// counts within the block. Begin and End are of a clock that counts both, 0 where
// it never came to that; Seen is what the probed chunk began with after the end.
type Action struct {
	_                   structs.HostLayout
	Step, Message, Tile uint32
	_                   uint32
	Begin, End, Seen    uint64
}

// What a step waited for: Status.What. WaitMeet and WaitPort are a one-sided program's.
const (
	WaitFlag uint32 = iota
	WaitSlot
	WaitMessage
	WaitPacket
	WaitMeet
	WaitPort
)

// Params are the numbers of one launch; addresses are the device's to fill in.
type Params struct {
	_                                             structs.HostLayout
	Steps, Blocks, Ranks, States, Conns, StatusAt uint64
	Elems, Chunk, Tile                            uint64
	SlotBytes, SlotStride                         uint64
	Chunks, Slots                                 uint32
	BlockCount, RankCount                         uint32
	Proto, DType, RedOp, ElemSize                 uint32
}

// A TraceTables says where a traced launch of a two-sided program has its Records.
type TraceTables struct {
	_           structs.HostLayout
	Rows, First uint64
}

// TwoParams is what a GPU's kernel of two-sided programs takes: a launch, and where
// the numbers of its blocks are.
type TwoParams struct {
	_       structs.HostLayout
	Params  Params
	Numbers uint64
}

// TwoTraced is what the kernel that traces takes.
type TwoTraced struct {
	_     structs.HostLayout
	Two   TwoParams
	Trace TraceTables
}
