// This file runs launches of few packets: one tile iteration of one block's Moves of packets and its own
// memory, of whole units, where what counts is the length of the way from the launch to the last packet. What
// loop/interp_onesided.h finds out on a GPU step by step, the host has found out before (executor/abi/few.go), and put
// into the launch; what the launch leaves in memory is the same, so that launches of either kind may follow each other.
//
// What counts is how many instructions are on that way, from when the state is known on most of all (NOTES.md): all
// that can be is done before. FewPairs is how a thread moves half units (8 bytes, a store of 16 as packets), one at a
// time: who has several has them one after the other. lines.h is how lines are moved.
#pragma once
#include "../abi/rows_few.h"
#include "../loop/interp_onesided.h"

// What a thread of such a launch knows; as One, but less.
struct Few {
  abi_status *status;
  u32 block, replica, step, operand;
  bool gone;
  u64 tiles, launches;  // before this launch; on their way from memory until it has begun
  u32 flag;             // 0 until it has begun
  u32 dense, packets;   // where this replica begins in a chunk, and in the packets
  u32 units;            // of this replica
  u32 turn;             // folds of a block so far (rows/reduce.h)
};

KD void say_where(abi_status *s, const Few &t) { s->replica = t.replica, s->operand = t.operand; }

KD u64 few_where(const abi_few_launch &l, u32 o) { return ((const u64 *)l.few.where)[o]; }
KD abi_few_step few_step(const abi_few_launch &l, u32 i) {
  return same_bits<abi_few_step>(((const u64 *)l.few.step)[i]);
}

// A FewSpot is how far from where the launch has an operand half unit `at` of chunk i lies: plain, or in packets, those
// of the copy that this launch has.
struct FewSpot {
  u32 plain, packets;
  KD_MEMBER FewSpot(const abi_few_launch &l, const Few &t, u32 i, u32 at)
      : plain(t.dense + i * l.few.stride[0] + at * 8), packets(i * l.few.stride[1] + at * 16 + FEW_MARK) {}
  KD_MEMBER u64 of(const Few &t, u64 where) const {
    return where + (where & FEW_PACKETS ? t.packets + packets : plain);
  }
};

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

// few_begin is for when a launch first has to know which it is; until then nothing waits for the state. Where flags may
// begin anew (ONE_PERIOD) all threads come to it at once. It gives false where the launch is over.
template <bool RENEWS> KD bool few_begin(const abi_few_launch &l, Few &t) {
  if (t.flag) return true;
  not_before(&t.tiles), not_before(&t.launches);
  t.flag = (u32)t.tiles + 1;
  t.packets = (t.replica * l.few.depth + ((u32)t.tiles & (l.few.depth - 1))) * l.few.packet_copy;
  if (!RENEWS || __builtin_expect(t.tiles < ONE_PERIOD, 1)) return true;
  t.flag = period_of(t.tiles).rest + 1;
  if (t.flag > 1) return true;
  One whole = one_thread(bring_near(l.one, 0), t.replica, abi_one_state{t.tiles, t.launches});
  whole.block = t.block;
  bar();
  renew(whole);
  return !whole.gone;
}

template <class R, int OP> struct FewPairs {
  enum { FOLDS = OP != COPIES, RENEWS = true, FINISHES = false };

  KD u32 units(const abi_few_launch &l, const abi_few_step &s) { return few_runs(s) * l.few.units; }

  // store stores to a step's destinations, of which the first is known.
  KD void store(const abi_few_launch &l, const Few &t, const abi_few_step &s, const FewSpot &spot, u64 v, u64 where) {
    u32 o = s.first + s.srcs;
    const u32 last = o + s.dsts - 1;
#pragma nounroll
    for (;; o++) {
      const u64 to = spot.of(t, where), next = few_where(l, (u32)least(o + 1, last));
      if (where & FEW_PACKETS)
        st_pair(at_address<u8>(to), pair64{ll_packet((u32)v, t.flag), ll_packet((u32)(v >> 32), t.flag)});
      else store_global<u64>(at_address<u8>(to), v);
      if (o == last) return;
      where = next;
    }
  }

  // copy does a step that copies, and those of its group: the threads share out all of their half units. What can be
  // found out before it is known which launch this is is, in the first step.
  KD bool copy(const abi_few_launch &l, Few &t, const abi_few_step &first) {
    const u32 step = t.step, all = units(l, first);
    const bool takes = first.flags & FEW_TAKE;
    u32 u = tid();
#pragma nounroll
    do {
      const FewUnit x(l, step, first, (u32)least(u, all - 1));
      const FewSpot spot(l, t, x.chunk, x.at);
      const bool has = u < all && x.at < t.units;
      const u64 from = few_where(l, x.s.first), to = few_where(l, x.s.first + 1);
      u64 v[1] = {};
      if (has && !takes) v[0] = load_global<u64>(at_address<const u8>(from + spot.plain));
      if (!few_begin<RENEWS>(l, t)) return false;
      if (has) {
        if (takes) {
          t.step = step + (first.group > 1 ? x.run : 0);
          u64 at[1] = {from + t.packets + spot.packets};
          if (!take_halves(t, at, 1, v)) return false;
        }
        store(l, t, x.s, spot, v[0], to);
      }
      u += ntid();
    } while (u < all);
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
      const FewSpot spot(l, t, i, at);
      const u64 to = few_where(l, s.first + s.srcs);
      typename F::Acc acc[1] = {};
#pragma nounroll
      for (u32 o = 0; o < s.srcs; o += G) {
        u64 v[G] = {}, from[G] = {};
        u32 packets = 0;
#pragma unroll
        for (int g = 0; g < G; g++) {
          if (o + g >= s.srcs) continue;
          const u64 where = few_where(l, s.first + o + g);
          from[g] = spot.of(t, where);
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
      store(l, t, s, spot, F::close(acc[0]), to);
    }
    return true;
  }
};

// few_meet has the threads of a block meet; who gave up tells all.
KD void few_meet(Few &t) { t.gone = bar_any(t.gone); }

// run_few runs a replica; M moves data.
template <class M> KD void run_few(const abi_few_launch &l, u32 replica) {
  abi_one_state *state = at_address<abi_one_state>(l.few.state) + replica;
  const pair64 was = ld_pair((const u8 *)state);  // volatile, since the compiler waits for what it takes to be uniform
  Few t = {at_address<abi_status>(l.few.status),
           l.few.number,
           replica,
           0,
           0,
           false,
           was.low,
           was.high,
           0,
           replica * l.few.share,
           0,
           (u32)least(l.few.stride[0] / 8 - replica * l.few.units, l.few.units),
           0};
  u32 next;
#pragma nounroll
  for (u32 step = 0; step < l.few.steps; step = next) {
    const abi_few_step s = few_step(l, step);
    next = step + s.group;
    if (s.flags & FEW_MEET) few_meet(t);
    if (t.gone && !(M::FINISHES && s.flags & FEW_FINISH)) continue;  // threads that finish rows meet on the way
    t.step = step;
    if (M::FOLDS && s.flags & FEW_FOLD) {
      t.gone = !few_begin<M::RENEWS>(l, t) || !M::fold(l, t, s);
    } else {
      t.gone = !M::copy(l, t, s);
    }
  }
  few_meet(t);  // all threads have read the state
  if (tid() == 0 && !t.gone) *state = abi_one_state{t.tiles + 1, t.launches + 1};
}
