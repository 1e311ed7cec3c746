// This file does Moves whose operands are of all ranks through NVLink's switch: a load from a
// multicast address is the sum of what all ranks hold there, and a store goes to
// all. It needs sm_90 and PTX 8.2, and a launch with multicast addresses (abi_one_launch.all).
// Nobody here has run it: RATIONALE.md says why.
#pragma once
#include "lanes_onesided.h"

// switch_sum adds up units of 16 bytes of all ranks, in the switch's own order; those
// of f16 and bf16 are summed in f32, and rounded once.
template <class T> struct SwitchSum;
#define SWITCH_SUM(T, ptx)                                                                                   \
  template <> struct SwitchSum<T> {                                                                          \
    KD v16 of(const u8 *p) {                                                                                 \
      v16 v;                                                                                                 \
      asm volatile("multimem.ld_reduce.relaxed.sys.global.add" ptx " {%0,%1,%2,%3},[%4];"                    \
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(global_at(p)) : "memory");             \
      return v;                                                                                              \
    }                                                                                                        \
  };
SWITCH_SUM(f16, ".acc::f32.v4.f16x2")
SWITCH_SUM(bf16, ".acc::f32.v4.bf16x2")
SWITCH_SUM(float, ".v4.f32")
#undef SWITCH_SUM

// A store moves bits, whatever its type.
KD void switch_store(u8 *p, v16 v) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0],{%1,%2,%3,%4};" ::"l"(global_at(p)), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}

// A multicast address is another name of memory that has one already: what is done by
// one name is ordered before what is done by the other.
KD void switch_fence() { asm volatile("fence.proxy.alias;" ::: "memory"); }

// everywhere is the multicast addresses of a launch, as numbers of their own: if the compiler
// chose among their places instead, it would keep a copy of the whole launch.
KD abi_one_memory everywhere(const One &t) {
  u64 input = t.a.all.input, output = t.a.all.output, scratch = t.a.all.scratch;
  asm("" : "+l"(input), "+l"(output), "+l"(scratch));
  return abi_one_memory{input, output, scratch, 0, 0};
}

// SwitchLanes does by the switch what has one source of elements T and goes to or comes from
// all ranks, in whole units, and leaves all else to Lanes.
template <class T, class Lanes> struct SwitchLanes : Lanes {
  KD bool switched(const One &t, const abi_one_step &s) {
    if (s.srcs != 1) return false;
    const abi_one_memory has = everywhere(t);
    bool all = false;
    for (u32 o = 0; o < 1u + s.dsts; o++) {
      const abi_one_operand &x = t.at.operands[s.first + o];
      if (x.buf == BUF_PACKETS) return false;
      if (x.rank >= 0) continue;
      if (!(x.buf == BUF_INPUT ? has.input : x.buf == BUF_OUTPUT ? has.output : has.scratch)) return false;
      all = true;
    }
    return all;
  }

  // base is where a chunk of an operand begins, by the name that its way has.
  KD u64 base(const One &t, const abi_one_operand &x, u32 i) {
    abi_one_memory m = everywhere(t);
    if (x.rank >= 0)
      m.input = t.at.ranks[x.rank].input, m.output = t.at.ranks[x.rank].output, m.scratch = t.at.ranks[x.rank].scratch;
    return one_cell(t, x, m, i);
  }

  KD bool whole(const One &t, const abi_one_step &s, u32 i) {
    u64 low = 0;
    for (u32 o = 0; o < 1u + s.dsts; o++) low |= base(t, t.at.operands[s.first + o], i);
    return low % 16 == 0;
  }

  KD void move_unit(const One &t, const abi_one_step &s, u32 i, u64 at) {
    const abi_one_operand &from = t.at.operands[s.first];
    const u8 *src = at_address<const u8>(base(t, from, i) + at);
    const v16 v = from.rank < 0 ? SwitchSum<T>::of(src) : load_global<v16>(src);
    for (u32 o = 1; o < 1u + s.dsts; o++) {
      const abi_one_operand &to = t.at.operands[s.first + o];
      u8 *dst = at_address<u8>(base(t, to, i) + at);
      if (to.rank < 0) switch_store(dst, v);
      else store_global<v16>(dst, v);
    }
  }

  KD void move_chunk(One &t, const abi_one_step &s, u32 i) {
    const u64 bytes = iteration_bytes(t, class_of(t, s, i));
    const bool units = whole(t, s, i);
    for (u64 at = (u64)tid() * 16; at < bytes && !t.gone; at += (u64)ntid() * 16) {
      if (units && bytes - at >= 16) move_unit(t, s, i, at);
      else if (!Lanes::move_unit(Unit{t, s, i, at / 16, at, (u32)least(16, bytes - at), true})) give_up(t);
    }
  }

  KD void place(One &t) { Lanes::place(t); }

  // move does the Moves that run together from the present one on.
  KD void move(One &t, const abi_one_step &of) {
    const u32 first = t.step;
    for (u32 k = 0; k < of.group && !t.gone; k++) {
      t.step = first + k;
      abi_one_step s = t.at.steps[t.step];
      s.group = 1;
      if (!switched(t, s)) {
        Lanes::move(t, s);
        continue;
      }
      switch_fence();
      for (u32 i = 0; i < s.count; i++) move_chunk(t, s, i);
      switch_fence();
    }
    t.step = first;
  }
};
