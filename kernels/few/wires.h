// This file is how the packets of rows travel in launches of few packets: as pairs, or as lines. Both send with several
// loads of a thread under way, and bring a row of packets to where a Whole has it.
#pragma once
#include "lines.h"

// RowsInPairs sends half units, U of a thread at a time. The lanes of a bundle store packets side by side: NVLink takes
// twice as long where each second one comes in another store.
template <class T> struct RowsInPairs : FewPairs<Units<T>, RED_SUM> {
  typedef FewPairs<Units<T>, RED_SUM> Pairs;
  enum { LINES = false };

  KD bool copy(const abi_few_launch &l, Few &t, const abi_few_step &first) {
    if (first.flags & FEW_TAKE) return Pairs::copy(l, t, first);
    enum { U = 4 };
    const u32 step = t.step, runs = few_runs(first);
#pragma nounroll
    for (u32 run = 0; run < runs; run++) {
      const bool several = first.group > 1;
      const abi_few_step s = several ? few_step(l, step + run) : first;
      const u64 from = few_where(l, s.first), to = few_where(l, s.first + s.srcs);
#pragma nounroll
      for (u32 begin = 0; begin < t.units; begin += U * ntid()) {
        u64 v[U];
#pragma unroll
        for (u32 k = 0; k < U; k++) {
          const u32 u = (u32)least(begin + tid() + k * ntid(), t.units - 1);
          v[k] = load_unit(FewSpot(l, t, several ? 0 : run, u).of(t, from), u64());
        }
        if (!few_begin<Pairs::RENEWS>(l, t)) return false;
#pragma unroll
        for (u32 k = 0; k < U; k++) {
          const u32 u = begin + tid() + k * ntid();
          if (u < t.units) Pairs::store(l, t, s, FewSpot(l, t, several ? 0 : run, u), v[k], to);
        }
      }
    }
    return true;
  }

  // bring waits for the packets of a row, which begin at first in source o.
  template <class P, int U> KD void bring(P &p, const Whole<T, U> &h, u32 o, u64 first, v16 (&v)[U]) {
    take_row(p, h, o, first, v);
  }
};

// RowsInLines sends parts of lines, U of a lane at a time.
template <class T> struct RowsInLines : FewLines<Units<T>, RED_SUM> {
  typedef FewLines<Units<T>, RED_SUM> Lines;
  typedef typename Lines::FewRun FewRun;
  enum { LINES = true };

  KD bool copy(const abi_few_launch &l, Few &t, const abi_few_step &first) {
    if (first.flags & FEW_TAKE) return Lines::copy(l, t, first);
    enum { U = 4 };
    const u32 runs = few_runs(first), dealt = Lines::dealt_at_once();
#pragma nounroll
    for (u32 run = 0; run < runs; run++) {
      const FewRun r(l, t.step, first, run);
      const u64 from = few_where(l, r.s.first);
#pragma nounroll
      for (u32 line = Lines::dealt_to(); Lines::more(line, l.few.lines); line += U * dealt) {
        pair64 v[U];
#pragma unroll
        for (u32 k = 0; k < U; k++) {
          const FewPart x(t, line + k * dealt);
          v[k] = load_part(part_spot(l, t, from, r.chunk, x), x.has ? x.halves : 0);
        }
        if (!few_begin<Lines::RENEWS>(l, t)) return false;
#pragma unroll
        for (u32 k = 0; k < U; k++)
          if (Lines::more(line + k * dealt, l.few.lines))
            Lines::store(l, t, r.s, r.chunk, FewPart(t, line + k * dealt), v[k]);
      }
    }
    return true;
  }

  // bring waits for the lines of a row. They begin at first, with those of the rows before it.
  template <class P, int U> KD void bring(P &p, const Whole<T, U> &h, u32 o, u64 first, v16 (&v)[U]) {
    take_lines(p, h, o, first, v);
  }
};
