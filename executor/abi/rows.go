// This file is kernels/abi/rows.h in Go, field by field. executor/cpu has a test that
// compares sizes and offsets of the two.

package abi

import "structs"

// A Step is one step of a two-sided program. Count, Src and Dst are in chunks. Class is the place of the first chunk in
// its piece. DepBlock, of the same rank, and DepStep are the step that it waits for; DepBlock is -1 if it waits for
// none. Flags are ir.StepFlags, and which of its operands are fresh (eval.Fresh). Chain is the number of steps, this
// one included, that one reduction of several sources does at once.
type Step struct {
	_                      structs.HostLayout
	Op, SrcBuf, DstBuf     uint8
	Flags                  uint8
	Count, Src, Dst, Class uint32
	DepBlock, DepStep      int32
	Chain                  uint32
}

// A Block is one thread block of a two-sided program. FirstBlock is the number of block 0 of its rank. FirstStep and
// Steps are its range in the table of steps. Send and Recv are numbers in Image.Conns, or -1.
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

// A State is what a block of a two-sided program carries from launch to launch. Tiles, Sent and Received count its tile
// iterations and messages. Flag is 1 + tile * steps + step of the last step that was
// published, for the blocks of its rank that wait for it.
type State struct {
	_                           structs.HostLayout
	Flag, Tiles, Sent, Received uint64
	_                           [4]uint64
}

// Counters are the head and the tail of the FIFO of a connection, on cache lines of their own.
type Counters struct {
	_    structs.HostLayout
	Head uint64
	_    [7]uint64
	Tail uint64
	_    [7]uint64
}

// A ConnMemory holds the addresses of a connection's slots, head and tail.
type ConnMemory struct {
	_                 structs.HostLayout
	Slots, Head, Tail uint64
}

// A Status says how a launch ended. Every wait polls Code, so that the host can end a launch, and lasts at most
// LimitNS. If a wait ran out of time, Block, Step and Tile (or pass) say where, What is one of the codes that begin
// with Wait, and Want and Have are the numbers that it compared. Replica and Operand are those of a one-sided program.
// Leave is the address of a word that has long waits end where it is not 0, or 0 for none.
type Status struct {
	_                          structs.HostLayout
	Code, Block, Step, What    uint32
	Want, Have, Tile, WaitedNS uint64
	LimitNS                    uint64
	Replica, Operand           uint32
	Leave, _                   uint64
}

// The codes of a Status.
const (
	StatusOK uint32 = iota
	StatusTimeout
	StatusCancelled
	StatusHost
	StatusStuck
)

// An Action is what a block does at once: one message of a step that transfers, all of another step, or a chain of
// reductions, whose Step is the first. Step counts within the block. Begin and End are times of one clock that advances
// at each of them, and 0 if that never happened. Seen is the first 8 bytes of the probed chunk after the end.
type Action struct {
	_                   structs.HostLayout
	Step, Message, Tile uint32
	_                   uint32
	Begin, End, Seen    uint64
}

// What a step waited for, as Status.What says. WaitMeet is all other blocks, where the flags of packets begin anew;
// WaitPort is a copy that a port makes, and WaitNet a signal to another node. Only one-sided programs have these three.
const (
	WaitFlag uint32 = iota
	WaitSlot
	WaitMessage
	WaitPacket
	WaitMeet
	WaitPort
	WaitNet
)

// Params are the numbers of one launch of a two-sided program. Elems (of a piece), Chunk (the longest) and Tile count
// elements; SlotBytes and SlotStride are bytes. The device fills in the addresses, Steps to StatusAt.
type Params struct {
	_                                             structs.HostLayout
	Steps, Blocks, Ranks, States, Conns, StatusAt uint64
	Elems, Chunk, Tile                            uint64
	SlotBytes, SlotStride                         uint64
	Chunks, Slots                                 uint32
	BlockCount, RankCount                         uint32
	Proto, DType, RedOp, ElemSize                 uint32
	Inverse                                       float64 // 1 / RankCount
}

// TraceTables holds the addresses of the rows and of the first row of each block that a traced launch of a two-sided
// program records.
type TraceTables struct {
	_           structs.HostLayout
	Rows, First uint64
}

// TwoParams is the argument of the GPU kernel of two-sided programs. Numbers is the address of the numbers of its
// blocks.
type TwoParams struct {
	_       structs.HostLayout
	Params  Params
	Numbers uint64
}

// TwoTraced is the argument of the kernel that also traces.
type TwoTraced struct {
	_     structs.HostLayout
	Two   TwoParams
	Trace TraceTables
}
