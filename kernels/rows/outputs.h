// This file copies finished rows on a GPU, from output to output, with all that the stages wrote for them (companions).
// A rank finishes a row once, in its own output, and other outputs get a copy.
#pragma once
#include "hold.h"

// rows_before is how many rows n bytes are.
KD u64 rows_before(u64 n, u32 row) { return n >> 32 ? (u64)((double)n / row) : (u32)n / row; }

// first_row is the row of its rank's output that is the first of chunk i of an operand, in this iteration.
KD u64 first_row(const One &t, const abi_one_operand &o, u32 i) {
  const abi_one_launch &a = t.a;
  u32 piece = (u32)o.a, k = o.b + i;
  if (k >= a.chunks) piece += k / a.chunks, k %= a.chunks;
  return (u64)piece * a.elems + least((u64)k * a.chunk, a.elems) + rows_before(t.first, a.elem_size);
}

// copy_rows copies n bytes, by all threads of the block.
KD void copy_rows(u64 to, u64 from, u64 n) {
  enum { U = 4 };  // units that a thread has under way
  if ((to | from | n) % 16 == 0) {
#pragma nounroll
    for (u64 at = tid() * 16ull; at < n; at += U * 16ull * ntid()) {
      v16 v[U] = {};
#pragma unroll
      for (u32 k = 0; k < U; k++)
        if (const u64 b = at + k * 16ull * ntid(); b < n) v[k] = load_global<v16>(at_address<const u8>(from + b));
#pragma unroll
      for (u32 k = 0; k < U; k++)
        if (const u64 b = at + k * 16ull * ntid(); b < n) store_global<v16>(at_address<u8>(to + b), v[k]);
    }
    return;
  }
#pragma nounroll
  for (u64 at = tid(); at < n; at += ntid())
    store_global<u8>(at_address<u8>(to + at), load_global<u8>(at_address<const u8>(from + at)));
}

// copy_finished copies finished rows of a rank's output, `first` and those after it, to all other outputs that a step
// writes: what this iteration has of a chunk i, `bytes` bytes of sums.
KD void copy_finished(const One &t, const abi_one_step &s, u32 in, u64 first, u32 i, u64 bytes) {
  if (t.gone) return;
  const abi_rows &rows = rows_of(t.a);
  const u32 size = t.a.elem_size;
  const u64 count = rows_before(bytes, size);
#pragma nounroll
  for (u32 o = s.srcs; o < (u32)s.srcs + s.dsts; o++) {
    const abi_one_operand &to = t.at.operands[s.first + o];
    const u32 out = (u32)to.rank;
    if (to.buf != BUF_OUTPUT || out == in) continue;
    const u64 at = first_row(t, to, i);
    // Stage j is one that writes, or the output itself.
#pragma nounroll
    for (u32 j = 0; j <= rows.stages; j++) {
      u32 row = rows.length * rows.output_size;
      u64 dst = t.at.ranks[out].output, src = t.at.ranks[in].output;
      if (j < rows.stages) {
        const u32 kind = rows.stage[j].kind;
        if (kind != ROW_RESIDUAL && kind != ROW_QUANTISE) continue;
        row = kind == ROW_RESIDUAL ? size : rows.scales_of_row * 4;
        dst = row_memory(rows, out, ROW_STAGES + j), src = row_memory(rows, in, ROW_STAGES + j);
      }
      copy_rows(dst + at * row, src + first * row, count * row);
    }
  }
}
