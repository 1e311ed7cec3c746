// This file says what a step does to one run of bytes.
#pragma once
#include "../protocol/wait.h"

KD bool in(u32 op, u32 mask) { return mask >> op & 1; }

// One contiguous run of bytes of a step: its operands, and its place in the
// messages. Addresses are 0 where the operation has no such operand.
struct Run {
  u64 src, dst;
  const u8 *from;  // in the message received
  u8 *to;          // in the message sent
  u64 bytes;
};

// divisor is what the result of a step of integers is divided by, or 0.
KD u32 divisor(const abi_launch &a, const abi_step &s) {
  return a.redop == RED_AVG && s.flags & STEP_FINAL ? a.rank_count : 0;
}
