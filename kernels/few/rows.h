// This file is how a launch of few packets finishes rows (rows/abi.h): the packets are pairs, all is aligned to units
// of 16 bytes, and a block holds a row as a Whole. The host has seen to it (executor/abi/few.go).
#pragma once
#include "../rows/lanes.h"
#include "pairs.h"

KD const abi_rows &rows_of(const abi_few_launch &l) {
  return ((const abi_few_rows_launch *)(const void *)&l)->rows;
}

// A FewRow is a row that a step finishes, of chunk i.
struct FewRow : Row {
  const abi_few_launch &l;
  Few &t;
  const abi_few_step s;  // no reference: of what it refers to the compiler makes memory, and of the launch with it
  u32 i;

  KD_MEMBER RowSource source(u32 o) const {
    const u64 where = few_where(l, s.first + o);
    return RowSource{at(where), (where & FEW_PACKETS) != 0};
  }
  // at is where the row begins, of an operand that is at `where`.
  KD_MEMBER u64 at(u64 where) const { return FewSpot(l, t, i, (u32)(begin / 8)).of(t, where); }
  template <int N> KD_MEMBER void take(u32 o, u64 (&from)[N], u64 (&halves)[N]) {
    t.operand = o;
    if (!take_halves(t, from, (1u << N) - 1, halves)) t.gone = true;
  }
};

template <class T> struct FewRows : FewPairs<Units<T>, RED_SUM> {
  typedef Units<T> R;
  typedef FewPairs<R, RED_SUM> Pairs;
  enum { FINISHES = true };

  KD u32 row_bytes() { return rows_near().length * (u32)sizeof(T); }

  // copy loads what is no packets in units of 16 bytes, U of a thread at a time: rows are long.
  KD bool copy(const abi_few_launch &l, Few &t, const abi_few_step &first) {
    if (first.flags & FEW_TAKE) return Pairs::copy(l, t, first);
    enum { U = 4 };
    const u32 step = t.step, runs = few_runs(first), units = t.units / 2;
#pragma nounroll
    for (u32 run = 0; run < runs; run++) {
      const bool several = first.group > 1;
      const abi_few_step s = several ? few_step(l, step + run) : first;
      const u64 from = few_where(l, s.first);
#pragma nounroll
      for (u32 begin = 0; begin < units; begin += U * ntid()) {
        v16 v[U];
#pragma unroll
        for (u32 k = 0; k < U; k++) {
          const u32 u = (u32)least(begin + tid() + k * ntid(), units - 1);
          v[k] = load_unit(FewSpot(l, t, several ? 0 : run, 2 * u).of(t, from), v16());
        }
        if (!few_begin<Pairs::RENEWS>(l, t)) return false;
#pragma unroll
        for (u32 k = 0; k < U; k++) {
          const u32 u = begin + tid() + k * ntid();
          if (u < units) store_unit_to(l, t, s, s.first + s.srcs, several ? 0 : run, u, v[k]);
        }
      }
    }
    return true;
  }

  // store_unit_to stores unit u of chunk i to the destinations of a step, from number `first` of all operands on.
  KD void store_unit_to(const abi_few_launch &l, const Few &t, const abi_few_step &s, u32 first, u32 i, u32 u, v16 v) {
    const FewSpot spot(l, t, i, 2 * u);
    const u32 end = s.first + s.srcs + s.dsts;
#pragma nounroll
    for (u32 o = first; o < end; o++) {
      const u64 where = few_where(l, o), to = spot.of(t, where);
      const bool packets = where & FEW_PACKETS;
      if (!packets) store_unit(to, PLACE_DENSE, v, 0);
      else store_unit(to, PLACE_PACKETS, low_of(v), t.flag), store_unit(to + 16, PLACE_PACKETS, high_of(v), t.flag);
    }
  }

  // fold does a step that finishes rows, or one that sums.
  KD bool fold(const abi_few_launch &l, Few &t, const abi_few_step &s) {
    if (!(s.flags & FEW_FINISH)) return Pairs::fold(l, t, s);
    bar();  // shows the stages, and that nobody is at a turn of before
    const u32 bytes = row_bytes(), mine = t.units * 8, units = bytes / 16;
    u32 turn = 0;
#pragma nounroll
    for (u32 i = 0; i < s.count; i++) {
      u64 number = few_where(l, s.first + s.srcs) + (t.dense + i * l.few.stride[0]) / bytes;
#pragma nounroll
      for (u32 begin = 0; begin < mine; begin += bytes, number++) {
        FewRow p = {{rows_near(), t.gone, begin, number, rows_near().output, bytes}, l, t, s, i};
        if (units <= 2 * ntid()) finish<2>(p, &turn);
        else finish<4>(p, &turn);
      }
    }
    return !t.gone;
  }

  template <int U> KD void finish(FewRow &p, u32 *turn) {
    Whole<T, U> h(p);
    fold_row(p, h, p.s.srcs);
    if (p.s.dsts > 1 && !p.gone) {
#pragma unroll
      for (u32 k = 0; k < U; k++)
        if (h.has(k))
          store_unit_to(p.l, p.t, p.s, p.s.first + p.s.srcs + 1, p.i, (u32)(p.begin / 16) + h.unit(k),
                        R::close(h.x[k]));
    }
    RowLanes<T>::stages(p, h, turn);
  }
};

// run_few_rows runs a replica of such a launch, whose rank is the one that has the rows' memory.
template <class T> KD void run_few_rows(const abi_few_rows_launch &whole, u32 replica) {
  const abi_few_launch &l = *(const abi_few_launch *)(const void *)&whole;
  const u32 rank = whole.rows.first_rank;
  bring_rows_near(whole.rows, rank, whole.rows.length * (u32)sizeof(T));
  if (tid() == ROW_STAGES) rows_near().output = l.one.rank[rank].output;
  run_few<FewRows<T>>(l, replica);
}
