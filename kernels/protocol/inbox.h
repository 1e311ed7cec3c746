// This file says where a launch finds what ranks of other nodes write, in images that are made with KERNEL_NET: in
// inboxes (abi/rows_net.h). In other images it is nothing.
#pragma once
#include "../abi/rows_net.h"
#include "wait_onesided.h"

#ifdef KERNEL_NET
enum { NET = true };

// net_of is what a launch knows of other nodes, and has_net whether there are any. A pointer that may be null would
// have the compiler copy the launch to local memory.
KD const abi_net &net_of(const abi_one_launch &a) { return *(const abi_net *)a.code; }
KD bool has_net(const abi_one_launch &a) { return !a.inlined && net_of(a).lanes; }

// net_together is how many replicas of a block a thread block of the device holds.
KD u32 net_together(const abi_one_launch &a, u32 block) {
  const abi_net &n = net_of(a);
  if (!has_net(a) || block >= 32 * NET_NARROW) return 1;
  return n.narrow[block / 32] >> block % 32 & 1 ? n.together : 1;
}

// inbox_word is one of the two addresses of a rank's abi_inbox.
KD u64 inbox_word(const One &t, u32 rank, u32 word) {
  const u64 *at = at_address<const u64>(net_of(t.a).inboxes) + 2 * rank + word;
#ifdef KERNEL_LANES
  return load_global<u64>(at);
#else
  return *at;
#endif
}

// inbox_copy_of is this iteration's copy of scratch in its replica, and inbox_stride the bytes from chunk to chunk.
KD u32 inbox_copy_of(const One &t) { return (u32)(t.copy - (u64)t.replica * t.a.depth); }
KD u64 inbox_stride(const One &t) { return t.a.max_replicas * t.a.scratch_stride; }

// inbox_cell is where chunk i of an operand lies that is BUF_INBOX.
KD u64 inbox_cell(const One &t, const abi_one_operand &o, u32 i) {
  return inbox_word(t, (u32)o.rank, 0) + inbox_copy_of(t) * net_of(t.a).inbox_copy +
         (u64)(o.index + i) * inbox_stride(t) + t.replica * t.a.scratch_stride;
}

// inbox_flag is where a flag lies that is BUF_INBOX_FLAGS.
KD u64 inbox_flag(const One &t, const abi_one_operand &o) {
  return inbox_word(t, (u32)o.rank, 1) + ((u64)t.replica * t.a.flags + o.index) * 8;
}
#else
enum { NET = false };
KD u64 inbox_stride(const One &) { return 0; }
KD u64 inbox_cell(const One &, const abi_one_operand &, u32) { return 0; }
KD u64 inbox_flag(const One &, const abi_one_operand &) { return 0; }
#endif
