// This file says where chunks lie and how a transfer is cut. A chunk's class is
// its place in its piece, and chunks of one class have one length; input and
// output are dense, scratch has a slot of the longest chunk for each. Both ends
// of a connection cut alike, whatever buffers they use.
#pragma once
#include "ops_gen.h"
#include "rows.h"

KD u64 least(u64 a, u64 b) { return a < b ? a : b; }

// chunk_length is the elements of a chunk of class k.
KD u64 chunk_length(const abi_launch &a, u32 k) {
  const u64 first = (u64)k * a.chunk;
  return first < a.elems ? least(a.chunk, a.elems - first) : 0;
}

// cell is where element `at` of a chunk lies in the memory of a rank.
KD u64 cell(const abi_launch &a, const abi_rank &m, u32 buf, u32 index, u64 at) {
  if (buf == BUF_SCRATCH) return m.scratch + (index * a.chunk + at) * a.elem_size;
  const u64 piece = index / a.chunks * a.elems, inner = least(index % a.chunks * a.chunk, a.elems);
  return (buf == BUF_INPUT ? m.input : m.output) + (piece + inner + at) * a.elem_size;
}

// A tile iteration moves elements [at, at + a.tile) of each chunk; group is
// how many chunks a message of this iteration holds.
struct Tile {
  u64 at;
  u32 group;
  bool whole;  // it is all of each chunk
};

enum { MAX_GROUP = 71 };  // ir.MaxMessageChunks

KD Tile tile_at(const abi_launch &a, u64 at) {
  const u64 bytes = least(a.tile, chunk_length(a, 0) - at) * a.elem_size, fit = a.slot_bytes / bytes;
  return Tile{at, fit < 1 ? 1u : (u32)least(fit, MAX_GROUP), a.tile >= a.chunk};
}

// next_run finds how far the chunks from i of a step are one run of bytes in
// whatever buffer they are: as long as they are moved whole and have the full
// length. It returns the chunk after the run, and its elements.
KD u32 next_run(const abi_launch &a, const Tile &tile, const abi_step &s, u32 i, u32 end, u64 *elems) {
  u32 k = (s.first_class + i) % a.chunks;
  u64 length = chunk_length(a, k);
  if (!tile.whole) {
    *elems = least(length > tile.at ? length - tile.at : 0, a.tile);
    return i + 1;
  }
  *elems = length;
  for (i++; i < end && length == a.chunk; i++) {
    k = k + 1 == a.chunks ? 0 : k + 1;
    length = chunk_length(a, k);
    *elems += length;
  }
  return i;
}
