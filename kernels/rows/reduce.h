// This file folds one number of each thread of a GPU's block, or of some lanes of a bundle, to one that all of them
// get.
#pragma once
#include "abi.h"

// row_parts has a word of each bundle of the block. There are two rows of them, which folds use in turn, so that one
// barrier a fold is enough.
enum { ROW_BUNDLES = 16 };

// A near_stage is what a block keeps near it of a stage: addresses are those of the block's rank, and stride the bytes
// from row to row of the first. A launch's parameters are far: each line of them is fetched when it is first read.
struct near_stage {
  u64 first, second;
  u32 stride, block;
  float value;
  u8 kind, function, type, pad;
};
// near_rows has the stages of a launch, and which of them read an operand first, in their order. output_bytes are those
// of a row of the output, and output is where that is in launches of few packets.
struct near_rows {
  near_stage stage[ROW_STAGES];
  u64 output;
  u32 stages, length, output_type, output_bytes, scales_of_row, reads;
  u8 reader[ROW_STAGES];
};
#ifndef HOST_ROW_PARTS  // a host that stands in for a GPU has them elsewhere
__shared__ static u32 row_part_words[2][ROW_BUNDLES];
KD u32 *row_parts(u32 turn) { return row_part_words[turn & 1]; }
__shared__ static near_rows rows_of_block;
KD near_rows &rows_near() { return rows_of_block; }
#else
static_assert(sizeof(near_rows) <= 512, "a host has room for near_rows");
KD near_rows &rows_near() { return *(near_rows *)row_table(); }
#endif

KD u32 word_of(float x) {
  u32 w;
  __builtin_memcpy(&w, &x, sizeof w);
  return w;
}
KD float float_of(u32 w) {
  float x;
  __builtin_memcpy(&x, &w, sizeof x);
  return x;
}

// The folds: a word of 0 changes nothing.
struct Added {
  KD u32 of(u32 a, u32 b) { return word_of(float_of(a) + float_of(b)); }
};
struct Largest {
  KD u32 of(u32 a, u32 b) { return a > b ? a : b; }
};

// over_lanes folds the words of `lanes` lanes side by side, a power of two. All lanes of the bundle do at once.
template <class F> KD u32 over_lanes(u32 v, u32 lanes) {
#pragma nounroll
  for (u32 apart = lanes / 2; apart; apart /= 2) v = F::of(v, lane_xor(v, apart));
  return v;
}
template <class F> KD u32 over_bundle(u32 v) {
#pragma unroll
  for (u32 apart = LANES / 2; apart; apart /= 2) v = F::of(v, lane_xor(v, apart));
  return v;
}

// over_block folds the words of all threads of the block. turn counts the folds of the launch.
template <class F> KD u32 over_block(u32 v, u32 *turn) {
  const u32 lane = tid() % LANES, bundles = ntid() / LANES;
  u32 *part = row_parts((*turn)++);
  v = over_bundle<F>(v);
  if (lane == 0) st_block32(part + tid() / LANES, v);
  bar();
  return over_bundle<F>(lane < bundles ? ld_block32(part + lane) : 0);
}
