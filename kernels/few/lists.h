// This file says which stages a launch of few packets runs on a row: those that the launch tells, or a list that the
// compiler knows.
#pragma once
#include "../rows/lanes.h"
#include "pairs.h"

KD const abi_rows &rows_of(const abi_few_launch &l) {
  return ((const abi_few_rows_launch *)(const void *)&l)->rows;
}

// AnyList is lists of stages that a launch tells. The block has what is needed of them near it. A thread holds LONG
// units of a row at most.
template <class T> struct AnyList {
  enum { LONG = 4 };
  KD const near_rows &rows(const abi_few_launch &) {
    bar();  // shows the stages
    return rows_near();
  }
  template <u32 N> KD u64 ahead(const Row &p) { return p.ahead<N>(); }
  template <class Hold> KD void run(const Row &p, Hold &h, u32 *turn) { RowLanes<T>::stages(p, h, turn); }
};

template <class O> struct Numbered;
template <> struct Numbered<f16> { enum { DTYPE = DT_F16 }; };
template <> struct Numbered<bf16> { enum { DTYPE = DT_BF16 }; };
template <> struct Numbered<float> { enum { DTYPE = DT_F32 }; };
template <> struct Numbered<e4m3> { enum { DTYPE = DT_E4M3 }; };

// A KnownList is a list that the compiler knows, whose output has elements of type Out. What is needed of the stages is
// the launch's parameters themselves, and no code of other stages lies between: a launch takes a quarter less. With
// code for LONG = 4 the compiler has too few registers, and all rows take 1 us more (NOTES.md).
template <class T, class Out, u8... KINDS> struct KnownList {
  enum { LONG = 2, STAGES = sizeof...(KINDS), OUT = Numbered<Out>::DTYPE };

  // is says whether a launch has the list, without blocks of a row, and rows that are short enough.
  KD bool is(const abi_rows &rows) {
    bool same = rows.stages == STAGES && rows.output_type == OUT && rows.length * (u32)sizeof(T) <= 16 * LONG * ntid();
    u32 j = 0;
    ((same &= rows.stage[j].kind == KINDS && rows.stage[j].block == 0, j++), ...);
    return same;
  }
  KD near_rows rows(const abi_few_launch &l) {
    const abi_rows &of = rows_of(l);
    near_rows m = {};
    m.stages = STAGES, m.length = of.length, m.output_type = OUT, m.scales_of_row = 1;
    m.output_bytes = of.length * (u32)sizeof(Out), m.output = l.one.rank[of.first_rank].output;
    u32 j = 0;
    (bring(of, &m, j++, KINDS), ...);
    return m;
  }
  KD void bring(const abi_rows &of, near_rows *m, u32 j, u8 kind) {
    m->stage[j] = near_stage_of(of, j, of.rank.first[j], of.rank.second[j], of.length * (u32)sizeof(T));
    m->stage[j].block = 0, m->stage[j].kind = kind;
  }
  // reader is which stage reads the operand number n of those that stages read first.
  constexpr KD u32 reader(u32 n) {
    const u8 all[] = {KINDS...};
    u32 j = 0;
    for (; j < STAGES; j++)
      if (row_reads(all[j]) && n-- == 0) break;
    return j;
  }
  template <u32 N> KD u64 ahead(const Row &p) {
    constexpr u32 j = reader(N);
    return j < STAGES ? p.operand(j < STAGES ? j : 0) : 0;
  }
  template <class Hold> KD void run(const Row &p, Hold &h, u32 *turn) {
    u32 n = 0, j = 0;
    (RowLanes<T>::stage(p, h, turn, j++, KINDS, &n), ...);
    h.template put_as<Out>(row_output(p));
  }
};
