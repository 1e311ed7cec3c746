// This file runs launches of few packets: one pass over one block's Moves of packets and its own
// memory, of whole units, where what counts is the length of the way from the launch to the last packet. What
// onesided.h finds out on a GPU step by step, the host has found out before (executor/few.go), and put into the
// launch; what the launch leaves in memory is the same, so that launches of either kind may follow each other.
//
// Nothing depends on the state before the first packet is sent but where it goes. FewPairs is how a thread moves half
// units (8 bytes, a store of 16 as packets), one at a time: who has several has them one after the other. few_lines.h is
// how lines are moved.
#pragma once
#include "abi_few.h"
#include "onesided.h"

// What a thread of such a launch knows; as One, but less.
struct Few {
  abi_status *status;
  u32 block, column, step, operand;
  bool gone;
  u64 tiles;
  u32 flag;
  u32 dense, packets;  // where this column begins in a chunk, and in the packets
  u32 units;           // of this column
};

KD void say_where(abi_status *s, const Few &t) { s->column = t.column, s->operand = t.operand; }

KD u64 few_where(const abi_few_launch &l, u32 o) { return ((const u64 *)l.few.where)[o]; }
KD abi_few_step few_step(const abi_few_launch &l, u32 i) { return same_bits<abi_few_step>(((const u64 *)l.few.step)[i]); }

// few_spot is where half unit `at` of chunk i of an operand lies. Of numbers of the launch that are chosen between, the
// compiler would choose the address, and copy all of the launch for that: a stride is found by an index instead.
KD u64 few_spot(const abi_few_launch &l, const Few &t, u64 where, u32 i, u32 at) {
  const u32 kind = where & FEW_PACKETS, stride = ((const u32 *)l.few.stride)[kind];
  return where - kind + ((kind ? t.packets : t.dense) + i * stride + (at << (3 + kind)));
}

// few_runs is how many chunks a step that copies has, and those of its group.
KD u32 few_runs(const abi_few_step &s) { return s.group > 1 ? s.group : s.count; }

// A FewUnit is half unit u of a step that copies, and those of its group: of the chunk and the Move that it falls to.
struct FewUnit {
  abi_few_step s;
  u32 run, chunk, at;
  KD_MEMBER FewUnit(const abi_few_launch &l, u32 step, const abi_few_step &first, u32 u) : s(first) {
    run = (u32)((u64)u * l.few.inverse >> 32), at = u - run * l.few.units, chunk = run;
    if (first.group > 1) s = few_step(l, step + run), chunk = 0;
  }
};

template <class R, int OP> struct FewPairs {
  enum { FOLDS = OP != COPIES, RENEWS = true };
  typedef u64 Ahead;

  KD u32 units(const abi_few_launch &l, const abi_few_step &s) { return few_runs(s) * l.few.units; }

  KD void store(const abi_few_launch &l, const Few &t, const abi_few_step &s, u32 i, u32 at, u64 v) {
    const u32 end = s.first + s.srcs + s.dsts;
#pragma nounroll
    for (u32 o = s.first + s.srcs; o < end; o++) {
      const u64 where = few_where(l, o), to = few_spot(l, t, where, i, at);
      if (where & FEW_PACKETS) st_pair(at_address<u8>(to), pair64{ll_packet((u32)v, t.flag), ll_packet((u32)(v >> 32), t.flag)});
      else store_global<u64>(at_address<u8>(to), v);
    }
  }

  // copy does a step that copies, and those of its group: the threads share out all of their half units.
  KD bool copy(const abi_few_launch &l, Few &t, const abi_few_step &first, const Ahead &ahead) {
    const u32 step = t.step, all = units(l, first);
#pragma nounroll
    for (u32 u = tid(); u < all; u += ntid()) {
      const FewUnit x(l, step, first, u);
      if (x.at >= t.units) continue;
      u64 from[1] = {few_where(l, x.s.first)}, v[1] = {ahead};
      if (first.flags & FEW_TAKE) {
        t.step = step + (first.group > 1 ? x.run : 0);
        from[0] = few_spot(l, t, from[0] | FEW_PACKETS, x.chunk, x.at);
        if (!take_halves(t, from, 1, v)) return false;
      } else if (step > 0 || u != tid()) {
        v[0] = load_global<u64>(at_address<const u8>(few_spot(l, t, from[0], x.chunk, x.at)));
      }
      store(l, t, x.s, x.chunk, x.at, v[0]);
    }
    t.step = step;
    return true;
  }

  // fold does a step that folds, with up to G sources under way.
  KD bool fold(const abi_few_launch &l, Few &t, const abi_few_step &s) {
    typedef typename R::Half F;
    enum { G = 4 };
    const u32 all = s.count * l.few.units;
#pragma nounroll
    for (u32 u = tid(); u < all; u += ntid()) {
      const u32 i = (u32)((u64)u * l.few.inverse >> 32), at = u - i * l.few.units;
      if (at >= t.units) continue;
      typename F::Acc acc[1] = {};
#pragma nounroll
      for (u32 o = 0; o < s.srcs; o += G) {
        u64 v[G] = {}, from[G] = {};
        u32 packets = 0;
#pragma unroll
        for (int g = 0; g < G; g++) {
          if (o + g >= s.srcs) continue;
          const u64 where = few_where(l, s.first + o + g);
          from[g] = few_spot(l, t, where, i, at);
          if (where & FEW_PACKETS) packets |= 1u << g;
          else v[g] = load_global<u64>(at_address<const u8>(from[g]));
        }
        t.operand = o;
        if (packets && !take_halves(t, from, packets, v)) return false;
#pragma unroll
        for (int g = 0; g < G; g++) {
          if (o + g >= s.srcs) continue;
          const u64 with[1] = {v[g]};
          if (o + g == 0) acc[0] = F::open(v[g]);
          else F::fold((u32)OP, acc, with);
        }
      }
      store(l, t, s, i, at, F::close(acc[0]));
    }
    return true;
  }

  // ahead loads what a thread copies first, before it is known where that goes.
  KD u64 ahead(const abi_few_launch &l, const Few &t) {
    const abi_few_step first = few_step(l, 0);
    if (first.flags & (FEW_TAKE | FEW_FOLD) || tid() >= units(l, first)) return 0;
    const FewUnit x(l, 0, first, tid());
    return x.at < t.units ? load_global<u64>(at_address<const u8>(few_spot(l, t, few_where(l, x.s.first), x.chunk, x.at))) : 0;
  }
};

// few_meet has the threads of a block meet; who gave up tells all.
KD void few_meet(Few &t) { t.gone = bar_any(t.gone); }

// few_renew is for when the passes' numbers need more than a packet's flag has (ONE_PERIOD).
KD void few_renew(const abi_few_launch &l, Few &t, const abi_one_state &before) {
  t.flag = period_of(t.tiles).rest + 1;
  if (t.flag > 1) return;
  One whole = one_thread(bring_near(l.one, 0), t.column, before);
  whole.block = t.block;
  bar();
  renew(whole);
  t.gone = whole.gone;
}

// run_few runs a column; M moves data.
template <class M> KD void run_few(const abi_few_launch &l, u32 column) {
  abi_one_state *state = at_address<abi_one_state>(l.few.state) + column;
  const pair64 was = ld_pair((const u8 *)state);  // volatile, since the compiler waits for what it takes to be uniform
  Few t = {at_address<abi_status>(l.few.status), l.few.number, column, 0, 0, false, 0, 0, column * l.few.share, 0,
           (u32)least(l.few.stride[0] / 8 - column * l.few.units, l.few.units)};
  const typename M::Ahead ahead = M::ahead(l, t);
  const abi_one_state before = {was.low, was.high};
  t.tiles = before.passes, t.flag = (u32)t.tiles + 1;
  t.packets = (column * l.few.depth + ((u32)t.tiles & (l.few.depth - 1))) * l.few.packet_copy;
  if (M::RENEWS && __builtin_expect(t.tiles >= ONE_PERIOD, 0)) few_renew(l, t, before);
  u32 next;
#pragma nounroll
  for (u32 step = 0; step < l.few.steps; step = next) {
    const abi_few_step s = few_step(l, step);
    next = step + s.group;
    if (s.flags & FEW_MEET) few_meet(t);
    if (t.gone) continue;
    t.step = step;
    if (M::FOLDS && s.flags & FEW_FOLD) t.gone = !M::fold(l, t, s);
    else t.gone = !M::copy(l, t, s, ahead);
  }
  few_meet(t);  // all threads have read the state
  if (tid() == 0 && !t.gone) *state = abi_one_state{before.passes + 1, before.launches + 1};
}
