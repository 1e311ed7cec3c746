// This file says where the chunks of a one-sided program's operands lie, and how
// much of each a tile iteration moves.
#pragma once
#include "../values/bytes.h"
#include "../protocol/inbox.h"

// iteration_bytes is how much of a chunk of class k this tile iteration moves.
KD u64 iteration_bytes(const One &t, u32 k) {
  const u64 first = (u64)k * t.a.chunk;
  const u64 length = (first < t.a.elems ? least(t.a.chunk, t.a.elems - first) : 0) * t.a.elem_size;
  return least(length, t.end) - least(length, t.first);
}

// dealt is how much of a chunk of `bytes` bytes the threads share out: packets of an
// empty chunk are one of nothing, since it is by packets that ranks know how far others are.
KD u64 dealt(const abi_one_step &s, u64 bytes) { return bytes == 0 && s.flags & ONE_PACKETS ? 1 : bytes; }

// class_of is the class of chunk i of a step.
KD u32 class_of(const One &t, const abi_one_step &s, u32 i) {
  const u32 k = s.first_class + i;
  return k < t.a.chunks ? k : k % t.a.chunks;
}

// one_cell is where what this iteration moves of chunk i of an operand lies, in the
// memory of a rank. Packets are twice as long as what they carry.
KD u64 one_cell(const One &t, const abi_one_operand &o, const abi_one_memory &m, u32 i) {
  const abi_one_launch &a = t.a;
  if (NET && o.buf == BUF_INBOX) return inbox_cell(t, o, i);
  if (o.buf == BUF_SCRATCH) return m.scratch + t.copy * a.scratch_copy + (u64)(o.index + i) * a.scratch_stride;
  if (o.buf == BUF_PACKETS) return m.packets + t.copy * a.packet_copy + (u64)(o.index + i) * a.packet_stride;
  u32 piece = (u32)o.a, k = o.b + i;
  if (k >= a.chunks) piece += k / a.chunks, k %= a.chunks;
  return (o.buf == BUF_INPUT ? m.input : m.output) +
         ((u64)piece * a.elems + least((u64)k * a.chunk, a.elems)) * a.elem_size + t.first;
}

// one_divisor is what the result of a step of integers is divided by, or 0.
KD u32 one_divisor(const abi_one_launch &a, const abi_one_step &s) {
  return a.redop == RED_AVG && s.flags & STEP_FINAL ? a.rank_count : 0;
}

// is_average says whether a launch of the kernel that is built for reduction OP (RED_COUNT: for all) is an average.
template <int OP> KD bool is_average(const abi_one_launch &a) {
  return OP == RED_COUNT ? a.redop == RED_AVG : OP == RED_AVG;
}

// Portless is what a way to move data has for a port: nothing. RENEWS says whether its packets' flags begin anew some
// day.
struct Portless {
  enum { RENEWS = true };
  KD_CALL void begin(One &, u32) {}
  KD_CALL void settle(One &) {}
  KD_CALL void finish(const One &) {}
};

// An operand of a switch stands for all ranks, one after the other, where there is none.
KD u32 first_rank(const abi_one_operand &o) { return o.rank < 0 ? 0 : (u32)o.rank; }
KD u32 end_rank(const One &t, const abi_one_operand &o) { return o.rank < 0 ? t.a.rank_count : (u32)o.rank + 1; }
