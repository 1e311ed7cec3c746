package program

import (
	"fmt"
	"hash/crc32"
	"hash/fnv"

	"mscclc/ir"
)

// A plan is a program in mscclc's own flat form: tables of fixed-width
// little-endian fields that count in chunks, never in bytes, so that a plan
// serves every message size and a host in any language can map it. All
// offsets are from the start of the file; all sections begin at multiples of
// 8, in the order of the section table, and bytes between them are 0.
//
//	header, 256 bytes
//	    0  8  magic "MSCCLPLN"
//	    8  4  version of the format that wrote the file (1)
//	   12  4  least version that a reader must know (1)
//	   16  8  features that a reader must know, as bits: 1 two-sided steps, or 2 one-sided, or 6 one-sided with
//	           signals and awaits that are joint or relaxed, or with launches of one pass; 8 where replicas of
//	           some blocks share CTAs; and 16 with an epilogue
//	   24  8  ABI: FNV-1a of the operations' table, shared with the kernel's images
//	   32  8  size of the file
//	   40  4  CRC-32C of the header with this field 0
//	   44  4  ranks
//	   48  4  collective (ir.Kind)        52  4  chunks of a piece
//	   56  4  root                        60  4  channels
//	   64  4  input chunks of a custom collective, the most of a rank
//	   68  4  its output chunks
//	   72  4  protocol                    76  4  flags: 1 judged and run in place, 2 for calls in place,
//	                                             4 for calls out of place, 8 chunks must be of one length,
//	                                             16 buffers differ from rank to rank, 32 launches
//	                                             have one pass
//	   80  8  least size in bytes         88  8  end of the sizes, 0 for none
//	   96  4  ranks of a node            100  4  one-sided: copies of scratch and packets, else 0
//	  104 24  section table: for each of the sections below, 8 offset, 8 length, 4 CRC-32C, 4 zero
//	  248  8  0
//	strings   4 count, then each 4 length and its bytes: the name of the program, the names of source files,
//	          and with feature 16 the epilogue (epilogue.List.String)
//	ranks     40 bytes a rank: 8 offset of its part, 4 blocks, 4 steps, 4 scratch, 4 input and 4 output chunks, 4 and 4
//	          where input begins in output and output in input in place, -1 where it does not, 4 CRC-32C of its part;
//	          one-sided 56 bytes: then 4 chunks of packets, 4 flags, 4 operands in its part, 4 zero
//	parts     of each rank: its blocks, 20 bytes each: 4 peer to send to, 4 to receive from, -1 for none, 4 channel, 4
//	          first step, counted within the part, 4 steps; where replicas of a one-sided block share CTAs, how many of
//	          them in place of the peer to receive from; and its steps, 32 bytes each: 1 operation, 1 and 1 source
//	          and destination buffer (255 for none), 1 flags (ir.StepFlags), 4 and 4 their first chunks, 4 count, 4
//	          class, 4 block of the rank and 4 step of it to wait for, -1 for none, 4 source position, -1 for none;
//	          one-sided: buffers 255, 4 and 4 the first source and destination among the part's operands, in place of
//	          the wait 2 and 2 how many of each and 4 zero; and then the operands, in the order of the steps, 16 bytes
//	          each: 4 rank, -1 for all through the switch, 4 first chunk or flag, 4 how often awaited (ir.Operand.Nth),
//	          1 buffer, 1 ir.Via, 2 zero
//	contract  of sendrecv: 4 peer a rank; of custom: 4 count, then for each output chunk that must hold something 4 rank,
//	          4 index, 4 count, and each part 4 rank, 4 index; else empty
//	sources   24 bytes a position: 4 string of the file, 4 line, 4 column, 4 length, 8 offset
//	proof     empty in version 1: the place of what a verifier attests
//
// A rank needs the header, the strings, its row of ranks and its part. The
// section table has no CRC of parts: each part has its own.
const (
	planVersion     = 1
	planTwoSided    = 1 // features
	planOneSided    = 2
	planOrder       = 4
	planTogether    = 8
	planThen        = 16
	planKnown       = planTwoSided | planOneSided | planOrder | planTogether | planThen
	headerSize      = 256
	sectionTable    = 104
	sectionSize     = 24
	planRankSize    = 40
	planOneRankSize = 56
	planBlockSize   = 20
	planStepSize    = 32
	planOperandSize = 16
	planSpanSize    = 24
)

// The sections of a plan, in their order.
const (
	secStrings = iota
	secRanks
	secParts
	secContract
	secSources
	secProof
	numSections
)

// The flags of a plan's header.
const (
	planInplace = 1 << iota // the collective is judged and run in place
	planForInPlace
	planForOutOfPlace
	planEven
	planPerRank
	planOnePass
	planFlags = 1<<iota - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ABI returns the hash of what a plan and the kernel's images must agree in: the
// operations in their order, with what each reads, writes, moves and orders,
// and the numbers of buffers, protocols, ways and flags.
func ABI() uint64 {
	h := fnv.New64a()
	bit := map[bool]int{true: 1}
	for i := range ir.Ops {
		op := &ir.Ops[i]
		fmt.Fprintf(h, "%d %s %d%d%d%d%d%d%d%d%d\n", i, op.Mnemonic, bit[op.Receives], bit[op.Sends], bit[op.ReadsSrc],
			bit[op.ReadsDst], bit[op.Writes], bit[op.Reduces], bit[op.OneSided], op.Release, op.Acquire)
	}
	fmt.Fprintf(h, "buffers %d %d %d %d %d %d protocols %d ways %d %d %d %d\n", ir.Input, ir.Output, ir.Scratch,
		ir.Packets, ir.Flags, ir.NoBuf, ir.NumProtocols, ir.ViaAny, ir.ViaMemory, ir.ViaPort, ir.ViaSwitch)
	fmt.Fprintf(h, "flags %d %d %d %d %d\n", ir.HasDep, ir.Final, ir.Joint, ir.Enter, ir.Leave)
	return h.Sum64()
}

func align8(n int) int { return (n + 7) &^ 7 }

// shifts is ir.Collective.Shift, or none out of place.
func shifts(c *ir.Collective, rank int) (inOut, outIn int) {
	if !c.Inplace {
		return -1, -1
	}
	return c.Shift(rank)
}
