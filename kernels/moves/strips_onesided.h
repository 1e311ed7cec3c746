// This file moves and folds data of one-sided programs on a host: strips of
// memory, as strips.h does. A packet is 4 bytes of data and 4 of flag, whatever of LL,
// LL16 and LL128 the program asks for: all have the same meaning, and LL128's lines
// need memory that shows a line of 128 bytes at once.
#pragma once
#include "cells.h"
#include "../values/ops.h"
#include "../protocol/ll.h"

enum { ONE_STRIP = 1024 };  // bytes that are folded at once

// A Strip is n bytes from `at` of chunk i of a step.
struct Strip {
  One &t;
  const abi_one_step &s;
  u32 i;
  u64 at;
  u32 n;
};

// at_most is n, of which it tells the compiler that it is not above most. So the compiler writes copies itself, by an
// instruction for many bytes, which takes half as long as the library's function where memory is far. The thread
// sanitizer sees the function only.
KD u32 at_most(u32 n, u32 most) {
#ifdef __SANITIZE_THREAD__
  (void)most;
  return n;
#else
  return (u32)least(n, most);
#endif
}

// source gives a strip of operand o in the memory of a rank, in place or in
// room; nullptr where a packet did not come.
KD_CALL const u8 *source(const Strip &p, u32 o, u32 rank, u8 *room) {
  const abi_one_operand &from = p.t.at.operands[p.s.first + o];
  const u64 base = one_cell(p.t, from, p.t.at.ranks[rank], p.i);
  if (from.buf != BUF_PACKETS) return at_address<const u8>(base + p.at);
  p.t.operand = o;
  return LL::take(p.t, at_address<const u8>(base), p.at, p.n, p.t.flag, room);
}

// open_all makes accumulators of n elements, and close_all the reverse. Of elements that are their own, these are
// copies.
template <class T, class A> KD void open_all(A *acc, const T *x, u32 n) {
  for (u32 k = 0; k < n; k++) acc[k] = up(x[k]);
}
template <class T, class A> KD void close_all(T *to, const A *acc, u32 n) {
  for (u32 k = 0; k < n; k++) down(to + k, acc[k]);
}
template <class T> KD void open_all(T *acc, const T *x, u32 n) {
  copy_bytes(acc, x, at_most(n * sizeof(T), ONE_STRIP));
}
template <class T> KD void close_all(T *to, const T *acc, u32 n) {
  copy_bytes(to, acc, at_most(n * sizeof(T), ONE_STRIP));
}

// Plainly folds the sources as they are, by Op. It is what fold_strip does with an operand: to begin with, and with the
// others.
template <class T, template <class> class Op> struct Plainly {
  typedef decltype(up(T())) A;
  KD void begin(A *acc, const T *x, u32 n, A) { open_all(acc, x, n); }
  KD void add(A *acc, const T *x, u32 n, A) {
    for (u32 k = 0; k < n; k++) acc[k] = Op<A>::of(acc[k], up(x[k]));
  }
  KD void end(A *, u32) {}
};
// Scaled is what averages of floats do.
template <class T> struct Scaled {
  typedef decltype(up(T())) A;
  typedef Averages<T> Of;
  KD void begin(A *acc, const T *x, u32 n, A scale) {
    for (u32 k = 0; k < n; k++) acc[k] = Of::scaled(up(x[k]), scale);
  }
  KD void add(A *acc, const T *x, u32 n, A scale) {
    for (u32 k = 0; k < n; k++) acc[k] = Of::add(acc[k], Of::scaled(up(x[k]), scale));
  }
  KD void end(A *acc, u32 n) {
    for (u32 k = 0; k < n; k++) acc[k] = Of::within(acc[k]);
  }
};

// fold_strip writes the fold of a strip's sources to `to`, as F does it.
template <class T, class F> KD_CALL bool fold_strip(const Strip &p, T *to) {
  typedef decltype(up(T())) A;
  A acc[ONE_STRIP / sizeof(T)];
  alignas(16) u8 room[ONE_STRIP];
  const u32 n = p.n / sizeof(T);
  bool begun = false;
  for (u32 o = 0; o < p.s.srcs; o++) {
    const abi_one_operand &from = p.t.at.operands[p.s.first + o];
    for (u32 r = first_rank(from); r < end_rank(p.t, from); r++, begun = true) {
      const T *x = (const T *)source(p, o, r, room);
      if (!x) return false;
      const A scale = Averages<T>::scale_of(from.via & ONE_FRESH, p.t.a.inverse);
      if (begun) F::add(acc, x, n, scale);
      else F::begin(acc, x, n, scale);
    }
  }
  F::end(acc, n);
  if (const u32 divisor = one_divisor(p.t.a, p.s))  // of integers
    for (u32 k = 0; k < n; k++) acc[k] = divide(acc[k], divisor);
  close_all(to, (const A *)acc, n);
  return true;
}

template <class T> KD_CALL bool fold_by(const Strip &p, void *to) {
  switch (p.t.a.redop) {
    case RED_AVG:
      if (Averages<T>::FLOATS) return fold_strip<T, Scaled<T>>(p, (T *)to);
      break;  // a sum, divided at its end
    case RED_PROD: return fold_strip<T, Plainly<T, Prod>>(p, (T *)to);
    case RED_MIN: return fold_strip<T, Plainly<T, Min>>(p, (T *)to);
    case RED_MAX: return fold_strip<T, Plainly<T, Max>>(p, (T *)to);
  }
  return fold_strip<T, Plainly<T, Sum>>(p, (T *)to);
}

// AnyType folds elements of all types. A kernel built for one has a class with the
// same function.
struct AnyType {
  KD_CALL bool fold(const Strip &p, void *to) {
    switch (p.t.a.dtype) {
      case DT_F16: return fold_by<f16>(p, to);
      case DT_BF16: return fold_by<bf16>(p, to);
      case DT_F32: return fold_by<float>(p, to);
      case DT_F64: return fold_by<double>(p, to);
      case DT_I8: return fold_by<i8>(p, to);
      case DT_U8: return fold_by<u8>(p, to);
      case DT_I32: return fold_by<i32>(p, to);
      case DT_U32: return fold_by<u32>(p, to);
      case DT_I64: return fold_by<i64>(p, to);
      case DT_U64: return fold_by<u64>(p, to);
      case DT_E4M3: return fold_by<e4m3>(p, to);
    }
    return fold_by<e5m2>(p, to);
  }
};

// copy_strip copies a strip.
KD void copy_strip(void *to, const void *from, u32 n) { copy_bytes(to, from, at_most(n, STRIP)); }

// store_strip writes a strip to all destinations.
KD_CALL void store_strip(const Strip &p, const u8 *value) {
  for (u32 o = p.s.srcs; o < (u32)p.s.srcs + p.s.dsts; o++) {
    const abi_one_operand &to = p.t.at.operands[p.s.first + o];
    for (u32 r = first_rank(to); r < end_rank(p.t, to); r++) {
      const u64 base = one_cell(p.t, to, p.t.at.ranks[r], p.i);
      if (to.buf == BUF_PACKETS) LL::put(at_address<u8>(base), p.at, value, p.n, p.t.flag);
      else if (u8 *dst = at_address<u8>(base + p.at); dst != value) copy_strip(dst, value, p.n);
    }
  }
}

// folds says whether a step does arithmetic.
KD bool folds(const One &t, const abi_one_step &s) {
  return s.srcs > 1 || t.at.operands[s.first].rank < 0 || one_divisor(t.a, s);
}

// OneStrips moves data with the folds of F.
template <class F> struct OneStrips : Portless {
  KD_CALL void place(One &) {}

  // move does `count` Moves that run together.
  KD_CALL void move(One &t, const abi_one_step &of) {
    const abi_one_step *s = t.at.steps + t.step;
    const u32 count = of.group;
    const u32 first = t.step;
    for (u32 k = 0; k < count && !t.gone; k++) {
      t.step = first + k;
      for (u32 i = 0; i < s[k].count; i++) move_chunk(t, s[k], i);
    }
    t.step = first;
  }

  KD_CALL void move_chunk(One &t, const abi_one_step &s, u32 i) {
    const u64 bytes = iteration_bytes(t, class_of(t, s, i)), strip = folds(t, s) ? (u64)ONE_STRIP : (u64)STRIP;
    for (u64 at = tid() * strip; at < dealt(s, bytes); at += ntid() * strip) {
      if (t.gone || !move_strip(Strip{t, s, i, at, (u32)least(strip, bytes - at)})) return;
    }
  }

  // move_strip reads every source once where there are packets: who has those that one destination gets may overwrite a
  // source while others are yet to be written. Plain data wait for a signal after the step, and go straight from
  // their source, or from the first destination where they were folded.
  KD_CALL bool move_strip(const Strip &p) {
    alignas(64) u8 result[STRIP];
    const bool plain = !(p.s.flags & ONE_PACKETS);
    u8 *room = plain && folds(p.t, p.s) ? first_place(p, result) : result;
    const u8 *value = room;
    const bool good = folds(p.t, p.s)
                          ? F::fold(p, room)
                          : (value = source(p, 0, first_rank(p.t.at.operands[p.s.first]), result)) != nullptr;
    if (good && value != room && p.s.dsts > 1 && !plain) {
      copy_strip(result, value, p.n);
      value = result;
    }
    if (good) store_strip(p, value);
    else give_up(p.t);
    return good;
  }

  // first_place is where a strip of plain data goes in the first destination. That of a switch is `other`, since a
  // rank's source may be another rank's destination.
  KD_CALL u8 *first_place(const Strip &p, u8 *other) {
    const abi_one_operand &to = p.t.at.operands[p.s.first + p.s.srcs];
    return to.rank < 0 ? other : at_address<u8>(one_cell(p.t, to, p.t.at.ranks[to.rank], p.i) + p.at);
  }
};
