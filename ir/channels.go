package ir

import (
	"strconv"

	"mscclc/ir/diag"
)

// A ChannelProgram is a program at the level of channels: its author, or a file of MSCCL++, says which thread block
// does what, over which channel, and when the threads of a block synchronise. It has one list of operations for each
// block of each rank; channels.Unroll says what these mean, by making a one-sided Program of them.
//
// # What it means
//
// All blocks of all ranks run at once, each its operations in order, each operation by all threads of the block, which
// share out its bytes; but a Signal, an Await, an Acquire and a Release by one thread for each channel or semaphore.
// The threads of a block go on by themselves: only Meet has them meet, and Barrier those of several blocks. So what is
// before a Signal in its block is released by it only as far as it is before the last Meet or Barrier, and what an
// Await acquired is seen only by what comes after the next. But one thread does what operations do at their k-th
// channel or semaphore: it releases what it has awaited by its Signals, Releases and requests to ports, though the
// threads do not meet.
//
// A channel has two ends, of which each has a count of the signals that came and of those that were awaited; the k-th
// channel from one rank to another of a type pairs with the k-th back. An Await takes one signal. Counts last from
// launch to launch. A semaphore counts in the same way among the blocks of its rank, from Initial on in the first
// launch.
//
// Packets carry their flag: reading them waits for those of this launch. Scratch holds plain data and packets, in
// places of their own. ChMove of packets through ports has the block await them, its threads synchronise, and its ports
// copy. ChEach through ports copies packets as they lie, and waits for none: something else orders it after whoever
// makes them, who may be another block. Where DoubleScratch, launches use one half of packets' scratch and the other in
// turn.
//
// A Loop does its body once for each Unit bytes of Chunks chunks, each operation of it on that part of its operands'
// bytes. An operation with Parts > 1 does part Part of Parts equal parts of its bytes.
type ChannelProgram struct {
	Header
	Ranks         []ChannelRank
	Threads       int // of a block
	Align         int // bytes; parts are multiples of it
	DoubleScratch bool
	Reuse         bool   // one scratch for all calls (reuse_resources)
	MinBytes      uint64 // message sizes, both included
	MaxBytes      uint64
}

// A ChannelRank is what one rank has and does.
type ChannelRank struct {
	In, Out, Scratch int32 // chunks
	Channels         [NumChannelTypes][]Channel
	Semaphores       []int32 // their initial values
	Blocks           [][]ChannelOp
}

// A ChannelType says what a channel goes through.
type ChannelType uint8

// The types of channels.
const (
	MemoryChannel ChannelType = iota // the peer's memory, by threads
	PortChannel                      // a proxy, which copies for the threads
	SwitchChannel                    // the switch, to all ranks of a group
	NumChannelTypes
	NoChannel ChannelType = 0xff
)

// A Channel is a rank's end of a channel.
type Channel struct {
	Peer  int32   // memory, port
	Group []int32 // switch: the ranks
	Buf   Buf     // switch: the buffer that it is of
}

// A ChannelOpKind is what an operation of a ChannelProgram does.
type ChannelOpKind uint8

// The operations. Relaxed signals and awaits order what is over, and make nothing visible. A port is done with what it
// was given only when a flush is over, or a signal after it has come: the launch may have ended. What threads give it
// without a block barrier between is in no order.
const (
	ChMeet            ChannelOpKind = iota // the threads of the block synchronise
	ChBarrier                              // the threads of Blocks blocks meet, at barrier ID
	ChSignal                               // on each of Channels
	ChAwait                                // on each of Channels
	ChRelaxedSignal                        // on each of Channels
	ChRelaxedAwait                         // on each of Channels
	ChFlush                                // waits until what was put through each of Channels (port) has left
	ChAcquire                              // each of Semaphores
	ChRelease                              // each of Semaphores
	ChMove                                 // each of Dsts = Srcs[0] ⊕ Srcs[1] ⊕ ..., any of them packets
	ChEach                                 // Dsts[i] = Srcs[i], for each i
	ChEachSignal                           // as ChEach, through ports, and a signal after it
	ChEachSignalFlush                      // and a flush after that
	ChLoop                                 // Body, once for each Unit bytes
	NumChannelOps
)

// A ChannelOpInfo is the row of an operation in ChannelOps. An operation may belong to several sets.
type ChannelOpInfo struct {
	Name       string // in text forms; those of several operations may be one
	Moves      bool   // writes Dsts of what it reads of Srcs
	Pairs      bool   // Dsts[i] of Srcs[i] alone: each pair is a step; else all is one step
	Step       Op     // of one that moves: the operation of its steps
	Signals    bool   // on each of Channels, after what it moves
	Awaits     bool   // a signal of each of Channels
	Flushes    bool   // waits until what was put through each of Channels has left, after all else that it does
	Meets      bool   // the threads of the block synchronise
	Semaphores bool   // acquires or releases each of Semaphores
	Relaxed    bool   // its signals make nothing visible
}

// ChannelOps is the table of operations.
var ChannelOps = [NumChannelOps]ChannelOpInfo{
	ChMeet:            {Name: "meet", Meets: true},
	ChBarrier:         {Name: "barrier", Meets: true},
	ChSignal:          {Name: "signal", Signals: true},
	ChAwait:           {Name: "wait", Awaits: true},
	ChRelaxedSignal:   {Name: "relaxed signal", Signals: true, Relaxed: true},
	ChRelaxedAwait:    {Name: "relaxed wait", Awaits: true, Relaxed: true},
	ChFlush:           {Name: "flush", Flushes: true},
	ChAcquire:         {Name: "acquire", Semaphores: true},
	ChRelease:         {Name: "release", Semaphores: true},
	ChMove:            {Name: "mv", Moves: true, Step: Move},
	ChEach:            {Name: "each", Moves: true, Pairs: true, Step: Move},
	ChEachSignal:      {Name: "each", Moves: true, Pairs: true, Step: Move, Signals: true},
	ChEachSignalFlush: {Name: "each", Moves: true, Pairs: true, Step: Move, Signals: true, Flushes: true},
	ChLoop:            {Name: "loop"},
}

// Info returns the row of k, or an empty one where k is no operation.
func (k ChannelOpKind) Info() *ChannelOpInfo {
	if k < NumChannelOps {
		return &ChannelOps[k]
	}
	return &ChannelOpInfo{}
}

// OnChannels reports whether an operation has Channels, and moves nothing.
func (i *ChannelOpInfo) OnChannels() bool { return !i.Moves && (i.Signals || i.Awaits || i.Flushes) }

// A ChannelReduce is how a ChMove combines its sources, as files say op by op. It means nothing: the call says how to
// reduce, and MSCCL++'s executor, which never reads it, sums.
type ChannelReduce uint8

// The reductions that MSCCL++ names.
const (
	ReduceSum ChannelReduce = iota
	ReduceMin
	ReduceMax
)

// A ChannelOp is one operation of a block.
type ChannelOp struct {
	Name string // what its file calls it, for messages; or ""
	Kind ChannelOpKind
	// of Channels, and of what remote operands are reached through; NoChannel where there are neither
	Type       ChannelType
	Srcs, Dsts []ChannelRef
	Channels   []int32 // indices in ChannelRank.Channels[Type]
	Semaphores []int32
	ID, Blocks int32         // ChBarrier
	Reduce     ChannelReduce // ChMove with several sources
	Part       int32         // of Parts, where the op is one of a thread block group's
	Parts      int32         // 0 or 1: alone
	Unit       int64         // ChLoop: bytes of one turn
	Chunks     int32         // ChLoop: chunks of all turns
	Body       []ChannelOp   // ChLoop
	Unsynced   bool          // its author wants no block barrier for it (sync = false); channels.Synchronise clears it
	Pos        int32         // index in Spans
}

// A ChannelRef is a run of chunks that an operation reads or writes.
type ChannelRef struct {
	Rank    int32 // whose memory; AllRanks through a switch channel
	Buf     Buf   // Input, Output, Scratch
	Packets bool  // of Scratch: packets
	Remote  bool  // named as others' memory is, though Rank is the rank itself
	Index   int32
	Count   int32
	Switch  int32 // through the switch: index in ChannelRank.Channels[SwitchChannel]
}

// Of reports whether the chunks are named as memory of a rank itself.
func (r *ChannelRef) Of(rank int) bool { return int(r.Rank) == rank && !r.Remote }

// Place is Span, but that what has no position is of the program's file.
func (p *ChannelProgram) Place(pos int32) diag.Span {
	span := p.Span(pos)
	if pos < 0 && len(p.Spans) > 0 {
		span.Filename = p.Spans[0].Filename
	}
	return span
}

var ChannelTypeNames = [NumChannelTypes]string{"memory", "port", "switch"}

func (t ChannelType) String() string {
	if t < NumChannelTypes {
		return ChannelTypeNames[t]
	}
	return "none"
}

func (k ChannelOpKind) String() string {
	if k < NumChannelOps {
		return ChannelOps[k].Name
	}
	return strconv.Itoa(int(k))
}
