// This file moves and folds data of one-sided programs on a GPU, units in registers. Sources
// are read once, in their order, and what comes of them is stored to every destination. Where all
// is aligned and of one length, quick.h does it; here is what does it in any case, a unit of 16
// bytes of a thread at a time. strips_onesided.h is the same for hosts, and says what packets are.
#pragma once
#include "../protocol/lines.h"
#include "cells.h"
#include "quick.h"

// A Unit is unit u of chunk i of a step: n bytes, mostly 16, from `at` on. Not every lane has one, where a
// bundle moves together.
struct Unit {
  One &t;
  const abi_one_step &s;
  u32 i;
  u64 u, at;
  u32 n;
  bool has;
};

// OneLanes moves data with the reductions of R; OP is the one that the kernel is built for,
// RED_COUNT for all, or COPIES where no step folds, and W the packets, Pairs or Lines. Where outputs hold finished
// ROWS, it does not write them.
template <class R, int OP, class W = Pairs, bool ROWS = false> struct OneLanes : Portless {
  enum { RENEWS = !W::LINES };

  KD bool load(const Unit &p, u32 o, u32 rank, v16 *v) {
    const abi_one_operand &from = p.t.at.operands[p.s.first + o];
    const u64 base = one_cell(p.t, from, p.t.at.ranks[rank], p.i);
    if (from.buf == BUF_PACKETS) {
      p.t.operand = o;
      return W::take(p.t, base, p.u, p.has, v);
    }
    const u8 *src = at_address<const u8>(base + p.at);
    *v = p.n == 16 && (base + p.at) % 16 == 0 ? load_global<v16>(src) : R::load(src, p.n);
    return true;
  }

  KD void store(const Unit &p, v16 v) {
#pragma nounroll
    for (u32 o = p.s.srcs; o < (u32)p.s.srcs + p.s.dsts; o++) {
      const abi_one_operand &to = p.t.at.operands[p.s.first + o];
      if (ROWS && to.buf == BUF_OUTPUT) continue;
#pragma nounroll
      for (u32 r = first_rank(to); r < end_rank(p.t, to); r++) {
        const u64 base = one_cell(p.t, to, p.t.at.ranks[r], p.i);
        u8 *dst = at_address<u8>(base + p.at);
        if (to.buf == BUF_PACKETS) W::put(p.t, base, p.u, p.has, v);
        else if (p.n == 16 && (base + p.at) % 16 == 0) store_global<v16>(dst, v);
        else R::store(dst, v, p.n);
      }
    }
  }

  // move_unit folds a unit's sources, and stores it. false: a packet did not come.
  KD bool move_unit(const Unit &p) {
    typename R::Acc acc[1] = {};
    v16 v[1] = {};
    if (OP == COPIES) {
      if (!load(p, 0, (u32)p.t.at.operands[p.s.first].rank, v)) return false;
      store(p, v[0]);
      return true;
    }
    bool begun = false;
#pragma nounroll
    for (u32 o = 0; o < p.s.srcs; o++) {
      const abi_one_operand &from = p.t.at.operands[p.s.first + o];
#pragma nounroll
      for (u32 r = first_rank(from); r < end_rank(p.t, from); r++, begun = true) {
        if (!load(p, o, r, v)) return false;
        const auto scale = R::scale_of(from.via & ONE_FRESH, p.t.a.inverse);
        if (begun) {
          R::fold(OP == RED_COUNT ? p.t.a.redop : (u32)OP, acc, v, scale);
          continue;
        }
        acc[0] = R::open(v[0]);
        if (is_average<OP>(p.t.a)) R::scale(acc, scale);
      }
    }
    if (ends_average<R, OP>(p.t.a)) R::end_average(acc, one_divisor(p.t.a, p.s));
    store(p, R::close(acc[0]));
    return true;
  }

  KD void move_chunk(One &t, const abi_one_step &s, u32 i) {
    const u64 bytes = iteration_bytes(t, class_of(t, s, i)), units = W::units(dealt(s, bytes));
    const u32 lead = W::EACH ? 0 : lane_of();  // a bundle's first lane has a unit if any has
#pragma nounroll
    for (u64 u = tid(); u - lead < units && !t.gone; u += ntid()) {
      const u64 at = W::at(u);
      if (!move_unit(Unit{t, s, i, u, at, (u32)least(W::room(u), bytes - least(bytes, at)), u < units})) give_up(t);
    }
  }

  KD void place(One &t) { place_operands<ROWS>(t); }

  // move does `count` Moves that run together.
  KD void move(One &t, const abi_one_step &first_step) {
    if (!W::EACH) t.gone = any(t.gone);
    if (t.gone) return;
    if (__builtin_expect(t.quick, 1) && !(W::LINES && first_step.flags & ONE_PACKETS)) {
      if (!Quick<R, OP>::move(t, first_step)) give_up(t);
      return;
    }
    const u32 first = t.step;
    const abi_one_step *s = t.at.steps + first;
#pragma nounroll
    for (u32 k = 0; k < first_step.group && !t.gone; k++) {
      t.step = first + k;
#pragma nounroll
      for (u32 i = 0; i < s[k].count; i++) move_chunk(t, s[k], i);
    }
    t.step = first;
  }
};
