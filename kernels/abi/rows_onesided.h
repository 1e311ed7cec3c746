// This file lays out the tables of one-sided programs (ir.OneSided), as rows.h does
// those of two-sided ones; executor/abi/rows_onesided.go holds the same structs in Go.
//
// A launch on a device has a grid of replicas (x) by the program's blocks on this
// device (y). Rows are of 16 bytes; those of a small program travel in the launch itself,
// so that a block has them without a trip to memory, and a captured graph keeps the
// addresses of the call.
#pragma once
#include "rows.h"

enum {
  ONE_RANKS = 16,       // rows of memory in a launch
  ONE_CODE = 160,       // rows of tables in a launch: two for each block, then steps, then operands
  ONE_ALL_RANKS = -1,   // the rank of an operand of a switch
  ONE_PERIOD = 0xffffffff  // tile iterations after which packets' flags begin anew
};

// One step: its sources are operands [first, first + srcs), its destinations the
// dsts after them. group is, of a Move, how many Moves run together from here on: itself
// and those after it that are Joint and alike, each of one chunk and one source that is, or is not,
// of packets. flags are ir.StepFlags and what follows here. Class and count as in ir.Step.
enum {
  ONE_MEETS = 32,    // a Signal: one before it may have another thread store one of its flags
  ONE_PORT = 64,     // a Move that a port can do: one source, no arithmetic, no packets, no switch
  ONE_PACKETS = 128  // some operand is of packets
};
struct abi_one_step {
  u8 op, flags;
  u16 srcs, dsts, group;
  u16 count, first_class;
  u32 first;
};
ABI_SIZE(abi_one_step, 16);

// One operand. Of input and output, a is the piece and b the place in it of chunk
// index. Of a flag, a is the number of the signal in its tile iteration, counted from 1, and, where
// it is awaited, as ir.Operand.Nth; b is how often the flag is signalled per iteration (or
// a launch, where the step is STEP_ENTER or STEP_LEAVE): the flag is to be a + b * iterations.
//
// via is ir.Via, and ONE_FRESH where a step that folds has the operand as a source that is fresh: an input that no step
// has added to another (eval.Fresh).
enum { ONE_FRESH = 128 };
struct abi_one_operand {
  i16 rank;
  u8 buf, via;
  u32 index;
  i32 a;
  u32 b;
};
ABI_SIZE(abi_one_operand, 16);

// One block: its rank, its number among those of the whole program, and where its
// steps and their operands are in the tables of this device. A step's first operand counts
// from the block's. together is how many of its replicas share a CTA, where replicas can; 0 is one each.
struct abi_one_block {
  u32 rank, number;
  u32 first_step, steps, first_operand, operands;
  u32 together, pad;
};
ABI_SIZE(abi_one_block, 32);

// The memory of one rank as this device sees it. Addresses of what no step here
// touches may be 0. Replica c has flags [c * flags, (c + 1) * flags) of the launch's
// `flags`, and copy d of a replica begins (c * depth + d) * scratch_copy bytes into scratch, and
// so in packets. Packets are zeroed at load and hold nothing else.
struct abi_one_memory {
  u64 input, output, scratch, packets, flags;
};
ABI_SIZE(abi_one_memory, 40);

// The memory of all ranks as the switch has it.
struct abi_one_switch {
  u64 input, output, scratch;
};
ABI_SIZE(abi_one_switch, 24);

// What a block's replica carries from launch to launch: tile iterations and launches since
// the last reset. All blocks of a replica, on all ranks, have the same.
struct abi_one_state {
  u64 iterations, launches;
};
ABI_SIZE(abi_one_state, 16);

// When a step began and ended, in ns of the device's clock; 0 where it did not run.
struct abi_one_record {
  u64 begin, end;
};
ABI_SIZE(abi_one_record, 16);

// A port is a proxy on the host that copies for the kernel (moves/port.h). Each block's replica has a lane of it, in
// which copy n of all that it ever asked for is row n % PORT_DEPTH. The host's memory has the lane, which the kernel
// writes: the copies, and how many were pushed. The device's has their ends, which begin zeroed: sent is what all
// launches so far have pushed, done[i] is n + 1 when copy n is over, and pushed_by[i] its step and, in the upper half,
// operand.
enum { PORT_DEPTH = 32 };
struct abi_port_copy {
  u64 src, dst, bytes;
  u64 peer;  // the other rank, or the own: copies from and to one go one after the other
};
ABI_SIZE(abi_port_copy, 32);
struct abi_port_lane {
  u64 pushed, pad[7];
  struct abi_port_copy copy[PORT_DEPTH];
};
ABI_SIZE(abi_port_lane, 64 + 32 * 32);
struct abi_port_ends {
  u64 sent, pad[7];
  u64 done[PORT_DEPTH], pushed_by[PORT_DEPTH];
};
ABI_SIZE(abi_port_ends, 64 + 32 * 16);

// One launch, passed by value. Replica c moves bytes [c * share, (c + 1) * share) of
// each chunk, in `iterations` iterations of tile bytes; both are multiples of 16, and iterations
// is the same on all ranks, at least 1. A packet's wire has 32 bytes for each 16, or 128 for each 120
// (protocol/lines.h).
struct abi_one_launch {
  u64 blocks, steps, operands;  // tables in memory, where they are not in code
  u64 ranks;                    // abi_one_memory of all ranks, where there are more than ONE_RANKS
  u64 states;                   // abi_one_state [blocks of this device][max_replicas]
  u64 status;                   // abi_status
  u64 elems, chunk;             // of a piece, and of its longest chunk, as in abi_launch
  u64 share, tile, iterations;
  u64 scratch_stride, scratch_copy;  // bytes from chunk to chunk, and from copy to copy
  u64 packet_stride, packet_copy;
  u64 trace, trace_iterations;  // abi_one_record [replicas][trace_iterations][step_count] of traced images, or 0
  u32 chunks;                   // of a piece
  u32 replicas, max_replicas, depth;
  u32 flags;                    // of a rank in a replica: those of the program, then one for each block of all ranks
  u32 all_blocks;               // blocks of all ranks
  u32 block_count, step_count, operand_count;  // of this device's tables
  u32 inlined;                  // they are in code
  u32 rank_count;
  u32 dtype, redop, elem_size;
  double inverse;               // 1 / rank_count
  struct abi_one_switch all;    // 0 where its operands are done rank by rank
  // abi_port_lane and abi_port_ends [blocks of this device][max_replicas], or 0: the kernel copies
  u64 port, port_ends;
  struct abi_one_memory rank[ONE_RANKS];
  u32 code[ONE_CODE * 4];
};
ABI_SIZE(abi_one_launch, 3440);
