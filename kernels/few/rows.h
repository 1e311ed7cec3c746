// This file is how a launch of few packets finishes rows (rows/abi.h): all is aligned to units of 16 bytes, and a block
// holds a row as a Whole. The host has seen to it (executor/abi/few.go).
#pragma once
#include "lists.h"
#include "wires.h"

// A FewRow is a row that a step finishes, of chunk i, by the stages of List. Wire says how its packets lie.
template <class List, class Wire> struct FewRow : Row {
  const abi_few_launch &l;
  Few &t;
  const abi_few_step s;  // no reference: of what it refers to the compiler makes memory, and of the launch with it
  u32 i;

  // source says where the row begins in operand o of the step, or of lines where those of the first row do.
  KD_MEMBER RowSource source(u32 o) const {
    const u64 where = few_where(l, s.first + o);
    const bool packets = where & FEW_PACKETS;
    return RowSource{FewSpot(l, t, i, Wire::LINES && packets ? 0 : (u32)(begin / 8)).of(t, where), packets};
  }
  template <int U, class T> KD_MEMBER void bring(const Whole<T, U> &h, u32 o, u64 first, v16 (&v)[U]) {
    Wire::bring(*this, h, o, first, v);
  }
  template <u32 N> KD_MEMBER u64 ahead() const { return List::template ahead<N>(*this); }
  template <int N> KD_MEMBER void take(u32 o, u64 (&from)[N], u64 (&halves)[N]) {
    t.operand = o;
    if (!take_halves(t, from, (1u << N) - 1, halves)) leave();
  }
  KD_MEMBER void leave() { t.gone = true; }
};

// FewRows runs the stages of List on rows whose packets travel by Wire.
template <class T, class List, class Wire> struct FewRows : Wire {
  typedef Units<T> R;
  // Of lines, any list has code for long rows alone: with more, all images would have more than 10 MB.
  enum { FINISHES = true, BRIEF = !Wire::LINES || List::LONG == 2 };

  // store_unit_to stores unit u of chunk i to the destinations of a step, from number `first` of all operands on, which
  // are packets that are pairs, or none.
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
    if (!(s.flags & FEW_FINISH)) return Wire::fold(l, t, s);
    const near_rows &rows = List::rows(l);
    const u32 bytes = rows.length * (u32)sizeof(T), mine = t.units * 8, units = bytes / 16;
#pragma nounroll
    for (u32 i = 0; i < s.count; i++) {
      u64 number = few_where(l, s.first + s.srcs) + (t.dense + i * l.few.stride[0]) / bytes;
#pragma nounroll
      for (u32 begin = 0; begin < mine; begin += bytes, number++) {
        FewRow<List, Wire> p = {{rows, t.gone, begin, number, rows.output, bytes}, l, t, s, i};
        if (BRIEF && units <= 2 * ntid()) finish<2>(p, &t.turn);
        else if constexpr (List::LONG > 2) finish<List::LONG>(p, &t.turn);
      }
    }
    return !t.gone;
  }

  template <int U> KD void finish(FewRow<List, Wire> &p, u32 *turn) {
    Whole<T, U> h(p);
    fold_row(p, h, p.s.srcs);
    if (!Wire::LINES && p.s.dsts > 1 && !p.gone) {
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
template <class T, class Wire> KD void run_few_rows(const abi_few_rows_launch &whole, u32 replica) {
  const abi_few_launch &l = *(const abi_few_launch *)(const void *)&whole;
  typedef KnownList<T, T, ROW_RESIDUAL, ROW_RMS_NORM> Norm;
  typedef KnownList<T, e4m3, ROW_RESIDUAL, ROW_RMS_NORM, ROW_QUANTISE> Quantised;
  if (Norm::is(whole.rows)) return run_few<FewRows<T, Norm, Wire>>(l, replica);
  if (Quantised::is(whole.rows)) return run_few<FewRows<T, Quantised, Wire>>(l, replica);
  const u32 rank = whole.rows.first_rank;
  bring_rows_near(whole.rows, rank, whole.rows.length * (u32)sizeof(T));
  if (tid() == ROW_STAGES) rows_near().output = l.one.rank[rank].output;
  run_few<FewRows<T, AnyList<T>, Wire>>(l, replica);
}
