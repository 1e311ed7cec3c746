// This file moves and folds data of one-sided programs on a GPU, units in registers. Sources
// are read once, in their order, and what comes of them is stored to every destination. Where all
// is aligned and of one length, onesided_quick.h does it; here is what does it in any case, a unit of 16
// bytes of a thread at a time. onesided_moves_host.h is the same for hosts, and says what packets are.
#pragma once
#include "onesided_cells.h"
#include "onesided_quick.h"
#include "proto_ll.h"
#include "units.h"

// A Unit is n bytes, mostly 16, from `at` of chunk i of a step.
struct Unit {
  One &t;
  const abi_one_step &s;
  u32 i;
  u64 at;
  u32 n;
};

// take_unit waits for the four packets of a unit.
KD bool take_unit(One &t, const u8 *p, v16 *v) {
  auto look = [&](u64 *have) {
    const pair64 a = ld_pair(p), b = ld_pair(p + 16);
    *v = v16{(u32)a.low, (u32)a.high, (u32)b.low, (u32)b.high};
    const u32 flags[] = {(u32)(a.low >> 32), (u32)(a.high >> 32), (u32)(b.low >> 32), (u32)(b.high >> 32)};
    bool all = true;
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (flags[i] != t.flag) all = false, *have = flags[i];
    return all;
  };
  return wait_until(t, WAIT_PACKET, t.flag, look);
}
KD void put_unit(const One &t, u8 *p, v16 v) {
  st_pair(p, pair64{ll_packet(v.x, t.flag), ll_packet(v.y, t.flag)});
  st_pair(p + 16, pair64{ll_packet(v.z, t.flag), ll_packet(v.w, t.flag)});
}

// OneLanes moves data with the reductions of R; OP is the one that the kernel is built for,
// RED_COUNT for all, or COPIES where no step folds.
template <class R, int OP> struct OneLanes : Portless {
  KD bool load(const Unit &p, u32 o, u32 rank, v16 *v) {
    const abi_one_operand &from = p.t.at.operands[p.s.first + o];
    const u64 base = one_cell(p.t, from, p.t.at.ranks[rank], p.i);
    if (from.buf == BUF_PACKETS) {
      p.t.operand = o;
      return take_unit(p.t, at_address<const u8>(base + 2 * p.at), v);
    }
    const u8 *src = at_address<const u8>(base + p.at);
    *v = p.n == 16 && base % 16 == 0 ? load_global<v16>(src) : R::load(src, p.n);
    return true;
  }

  KD void store(const Unit &p, v16 v) {
#pragma nounroll
    for (u32 o = p.s.srcs; o < (u32)p.s.srcs + p.s.dsts; o++) {
      const abi_one_operand &to = p.t.at.operands[p.s.first + o];
#pragma nounroll
      for (u32 r = first_rank(to); r < end_rank(p.t, to); r++) {
        const u64 base = one_cell(p.t, to, p.t.at.ranks[r], p.i);
        u8 *dst = at_address<u8>(base + p.at);
        if (to.buf == BUF_PACKETS) put_unit(p.t, dst + p.at, v);
        else if (p.n == 16 && base % 16 == 0) store_global<v16>(dst, v);
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
        if (!begun) acc[0] = R::open(v[0]);
        else R::fold(OP == RED_COUNT ? p.t.a.redop : (u32)OP, acc, v);
      }
    }
    R::divide_by(acc, one_divisor(p.t.a, p.s));
    store(p, R::close(acc[0]));
    return true;
  }

  KD void move_chunk(One &t, const abi_one_step &s, u32 i) {
    const u64 bytes = pass_bytes(t, class_of(t, s, i));
#pragma nounroll
    for (u64 at = (u64)tid() * 16; at < dealt(s, bytes) && !t.gone; at += (u64)ntid() * 16)
      if (!move_unit(Unit{t, s, i, at, (u32)least(16, bytes - at)})) give_up(t);
  }

  KD void place(One &t) { place_operands(t); }

  // move does `count` Moves that run together.
  KD void move(One &t, const abi_one_step &first_step) {
    if (t.gone) return;
    if (__builtin_expect(t.quick, 1)) {
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
