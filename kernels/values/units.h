// This file is how one thread of a GPU holds data: units of 16 bytes in registers,
// and what they are as elements of the launch's type.
#pragma once
#include "ops.h"

template <class To, class From> KD To same_bits(From v) {
  static_assert(sizeof(To) == sizeof(From), "same_bits changes no size");
  To r;
  __builtin_memcpy(&r, &v, sizeof r);
  return r;
}
KD v16 join(u64 low, u64 high) { return v16{(u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32)}; }
KD u64 low_of(v16 v) { return (u64)v.x | (u64)v.y << 32; }
KD u64 high_of(v16 v) { return (u64)v.z | (u64)v.w << 32; }

// Word is the number that has an element's bits.
template <u32 N> struct Word;
template <> struct Word<1> { typedef u8 type; };
template <> struct Word<2> { typedef u16 type; };
template <> struct Word<4> { typedef u32 type; };
template <> struct Word<8> { typedef u64 type; };

// Units are the reductions of a kernel that is built for elements of type T, in units
// of V: of 16 bytes, or half of one.
template <class T, class V = v16> struct Units {
  typedef typename Word<sizeof(T)>::type W;
  typedef decltype(up(T())) A;
  typedef Units<T, u64> Half;
  enum { N = sizeof(V) / sizeof(T), REGISTERS = N * (sizeof(A) < 4 ? 4 : sizeof(A)) / 4 };

  // Sum of a unit under way: small floats are rounded once, at its end.
  struct Acc {
    A x[N];
  };
  struct Elements {
    T e[N];
  };
  KD Acc open(V v) {
    const Elements from = same_bits<Elements>(whole_words(v));
    Acc acc;
#pragma unroll
    for (u32 i = 0; i < N; i++) acc.x[i] = up(from.e[i]);
    return acc;
  }
  KD V close(const Acc &acc) {
    Elements to;
#pragma unroll
    for (u32 i = 0; i < N; i++) down(&to.e[i], acc.x[i]);
    return whole_words(same_bits<V>(to));
  }
  template <template <class> class Op, int U> KD void fold_by(Acc (&acc)[U], const V (&v)[U]) {
#pragma unroll
    for (int k = 0; k < U; k++) {
      const Acc with = open(v[k]);
#pragma unroll
      for (u32 i = 0; i < N; i++) acc[k].x[i] = Op<A>::of(acc[k].x[i], with.x[i]);
    }
  }
  template <int U> KD void fold(u32 redop, Acc (&acc)[U], const V (&v)[U]) {
    switch (redop) {
      case RED_SUM:
      case RED_AVG: fold_by<Sum>(acc, v); break;
      case RED_PROD: fold_by<Prod>(acc, v); break;
      case RED_MIN: fold_by<Min>(acc, v); break;
      case RED_MAX: fold_by<Max>(acc, v); break;
    }
  }
  template <int U> KD void divide_by(Acc (&acc)[U], u32 divisor) {
    if (!divisor) return;
#pragma unroll
    for (int k = 0; k < U; k++)
#pragma unroll
      for (u32 i = 0; i < N; i++) acc[k].x[i] = divide(acc[k].x[i], divisor);
  }

  // The first n bytes of a unit, element by element: all that is sure is that
  // these are aligned. What is loaded for the rest is some of them again.
  KD v16 load(const u8 *p, u32 n) {
    struct {
      W w[N];
    } v = {};
    if (n == 0) return v16{0, 0, 0, 0};
#pragma unroll
    for (u32 i = 0; i < N; i++) v.w[i] = load_global<W>(p + (i * sizeof(T) < n ? i * sizeof(T) : 0));
    return whole_words(same_bits<v16>(v));
  }
  KD void store(u8 *p, v16 value, u32 n) {
    const u64 low = low_of(value), high = high_of(value);
#pragma nounroll
    for (u32 at = 0; at < n; at += sizeof(T)) store_global<W>(p + at, (W)((at < 8 ? low : high) >> at % 8 * 8));
  }
};
