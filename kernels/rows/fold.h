// This file sums the sources of a row that a block holds as a Whole. A row's type says where they lie: MovedRow of the
// general kernel, FewRow of launches of few packets.
#pragma once
#include "hold.h"

// A RowSource is where a row begins in a source: plain, or in packets that are pairs. Of lines, it is where those of
// the first row of the tile begin.
struct RowSource {
  u64 at;
  bool packets;
};

// load_row loads the units of a row, as a Whole has them.
template <class T, int U> KD void load_row(const Whole<T, U> &h, u64 from, v16 (&v)[U]) {
#pragma unroll
  for (u32 k = 0; k < U; k++) v[k] = load_unit(from + 16ull * h.unit(k), v16());
}

// take_row waits for the packets of a row, which begin at first in source o.
template <class P, class T, int U> KD void take_row(P &p, const Whole<T, U> &h, u32 o, u64 first, v16 (&v)[U]) {
  if (p.gone) return;
  u64 from[2 * U], halves[2 * U] = {};
#pragma unroll
  for (u32 k = 0; k < U; k++) from[2 * k] = first + 32ull * h.unit(k), from[2 * k + 1] = from[2 * k] + 16;
  p.take(o, from, halves);
#pragma unroll
  for (u32 k = 0; k < U; k++) v[k] = join(halves[2 * k], halves[2 * k + 1]);
}

// fold_row sums the sources of a row, of which G are under way. Packets are waited for source by source.
template <class P, class T, int U> KD void fold_row(P &p, Whole<T, U> &h, u32 srcs) {
  typedef Units<T> R;
  enum { G = 4 / U };
#pragma nounroll
  for (u32 o = 0; o < srcs; o += G) {
    v16 v[G][U] = {};
#pragma unroll
    for (u32 g = 0; g < G; g++) {
      if (o + g >= srcs) continue;
      const RowSource from = p.source(o + g);
      if (!from.packets) load_row(h, from.at, v[g]);
    }
#pragma unroll
    for (u32 g = 0; g < G; g++) {
      if (o + g >= srcs) continue;
      const RowSource from = p.source(o + g);
      if (from.packets) p.bring(h, o + g, from.at, v[g]);
#pragma unroll
      for (u32 k = 0; k < U; k++)
        if (o + g == 0) h.x[k] = R::open(v[g][k]);
        else R::template fold_one<Sum>(h.x[k], R::open(v[g][k]));
    }
  }
}
