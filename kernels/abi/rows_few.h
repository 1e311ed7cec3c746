// This file lays out a launch of few packets (few/pairs.h): what the general launch has in tables and
// would compute on the way, ready beside it. executor/abi/rows_few.go holds the same structs in Go.
#pragma once
#include "rows_onesided.h"

enum {
  FEW_STEPS = 16,
  FEW_OPERANDS = 56,
  FEW_PACKETS = 1,  // the bit that an operand's address has if it is of packets:
  FEW_MARK = 15     // it is then so much less than it is
};

// What a step's flags say.
enum {
  FEW_MEET = 1,  // the threads meet before it
  FEW_TAKE = 2,  // its only source, or those of all its group, is of packets
  FEW_FOLD = 4,
  FEW_FINISH = 8  // it finishes rows (rows/abi.h)
};

// One step, a Move: its operands are where[first] and following, the sources first. group is as in
// abi_one_step, but Moves of lines are of one group only if they store equally many lines: those of a bundle store
// them together. Where group is over 1, or nothing is folded, there is one source.
struct abi_few_step {
  u8 flags, srcs, dsts, group;
  u16 count, first;
};
ABI_SIZE(abi_few_step, 8);

// A launch of one tile iteration, of one block's replicas. Replica c moves `share` bytes of each chunk from c * share
// on, which are `units` halves of a unit (8 bytes each), an even number, and the last replica what is left. where is,
// of an operand's first chunk, where replica 0 and copy 0 begin; from there to any byte that is moved it is less than
// 2^32 bytes.
struct abi_few {
  u64 state;  // abi_one_state of replica 0, and those of the others after it
  u64 status;
  u32 stride[2];    // bytes from chunk to chunk, of input and output, and of packets
  u32 packet_copy;  // from copy to copy
  u32 depth;        // copies, a power of two
  u32 share, units;
  u32 inverse;      // 2^32 / units, rounded up
  u32 number, steps;
  u32 lines;        // that the units of a replica take, or 0 where packets are pairs (protocol/lines.h)
  struct abi_few_step step[FEW_STEPS];
  u64 where[FEW_OPERANDS];
};
ABI_SIZE(abi_few, 632);

// The launch as the kernel takes it, with the general one for what is rare.
struct abi_few_launch {
  struct abi_few few;
  struct abi_one_launch one;
};
ABI_SIZE(abi_few_launch, 4072);
