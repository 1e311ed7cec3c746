// This file is how a launch of few packets finishes rows (rows/abi.h): the packets are pairs, all is aligned to units
// of 16 bytes, and a block holds a row as a Whole. The host has seen to it (executor/abi/few.go).
#pragma once
#include "../rows/lanes.h"
#include "pairs.h"

KD const abi_rows &rows_of(const abi_few_launch &l) {
  return ((const abi_few_rows_launch *)(const void *)&l)->rows;
}

// A FewRow is a row that a step finishes, of chunk i, by the stages of List.
template <class List> struct FewRow : Row {
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
  template <u32 N> KD_MEMBER u64 ahead() const { return List::template ahead<N>(*this); }
  template <int N> KD_MEMBER void take(u32 o, u64 (&from)[N], u64 (&halves)[N]) {
    t.operand = o;
    if (!take_halves(t, from, (1u << N) - 1, halves)) t.gone = true;
  }
};

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

// FewRows runs the stages of List.
template <class T, class List> struct FewRows : FewPairs<Units<T>, RED_SUM> {
  typedef Units<T> R;
  typedef FewPairs<R, RED_SUM> Pairs;
  enum { FINISHES = true };

  // copy loads what is no packets in half units, U of a thread at a time: rows are long. The lanes of a bundle store
  // packets side by side: NVLink takes twice as long where each second one comes in another store.
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
    const near_rows &rows = List::rows(l);
    const u32 bytes = rows.length * (u32)sizeof(T), mine = t.units * 8, units = bytes / 16;
#pragma nounroll
    for (u32 i = 0; i < s.count; i++) {
      u64 number = few_where(l, s.first + s.srcs) + (t.dense + i * l.few.stride[0]) / bytes;
#pragma nounroll
      for (u32 begin = 0; begin < mine; begin += bytes, number++) {
        FewRow<List> p = {{rows, t.gone, begin, number, rows.output, bytes}, l, t, s, i};
        if (units <= 2 * ntid()) finish<2>(p, &t.turn);
        else if constexpr (List::LONG > 2) finish<List::LONG>(p, &t.turn);
      }
    }
    return !t.gone;
  }

  template <int U> KD void finish(FewRow<List> &p, u32 *turn) {
    Whole<T, U> h(p);
    fold_row(p, h, p.s.srcs);
    if (p.s.dsts > 1 && !p.gone) {
#pragma unroll
      for (u32 k = 0; k < U; k++)
        if (h.has(k))
          store_unit_to(p.l, p.t, p.s, p.s.first + p.s.srcs + 1, p.i, (u32)(p.begin / 16) + h.unit(k),
                        R::close(h.x[k]));
    }
    List::run(p, h, turn);
  }
};

// run_few_rows runs a replica of such a launch, whose rank is the one that has the rows' memory.
template <class T> KD void run_few_rows(const abi_few_rows_launch &whole, u32 replica) {
  const abi_few_launch &l = *(const abi_few_launch *)(const void *)&whole;
  typedef KnownList<T, T, ROW_RESIDUAL, ROW_RMS_NORM> Norm;
  typedef KnownList<T, e4m3, ROW_RESIDUAL, ROW_RMS_NORM, ROW_QUANTISE> Quantised;
  if (Norm::is(whole.rows)) return run_few<FewRows<T, Norm>>(l, replica);
  if (Quantised::is(whole.rows)) return run_few<FewRows<T, Quantised>>(l, replica);
  const u32 rank = whole.rows.first_rank;
  bring_rows_near(whole.rows, rank, whole.rows.length * (u32)sizeof(T));
  if (tid() == ROW_STAGES) rows_near().output = l.one.rank[rank].output;
  run_few<FewRows<T, AnyList<T>>>(l, replica);
}
