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
  enum { FLOATS = Averages<T>::FLOATS };
  enum { N = sizeof(V) / sizeof(T), REGISTERS = N * (sizeof(A) < 4 ? 4 : sizeof(A)) / 4 };

  KD A scale_of(bool fresh, double inverse) { return Averages<T>::scale_of(fresh, inverse); }

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
    for (int k = 0; k < U; k++) fold_one<Op>(acc[k], open(v[k]));
  }
  template <template <class> class Op> KD void fold_one(Acc &acc, const Acc &with) {
#pragma unroll
    for (u32 i = 0; i < N; i++) acc.x[i] = Op<A>::of(acc.x[i], with.x[i]);
  }
  // fold_scaled does so for an average of floats, of what is multiplied by k.
  template <int U> KD void fold_scaled(Acc (&acc)[U], const V (&v)[U], A k) {
#pragma unroll
    for (int u = 0; u < U; u++) scale_one(acc[u], open(v[u]), k);
  }
  KD void scale_one(Acc &acc, const Acc &with, A k) {
#pragma unroll
    for (u32 i = 0; i < N; i++) acc.x[i] = Averages<T>::add(acc.x[i], Averages<T>::scaled(with.x[i], k));
  }

  // fold makes v part of a reduction; of an average of floats, times k.
  template <int U> KD void fold(u32 redop, Acc (&acc)[U], const V (&v)[U], A k = 1) {
    if (FLOATS && sizeof(T) == 1) return fold_opened(redop, acc, v, k);
    switch (!FLOATS && redop == RED_AVG ? (u32)RED_SUM : redop) {
      case RED_SUM: fold_by<Sum>(acc, v); break;
      case RED_AVG: fold_scaled(acc, v, k); break;
      case RED_PROD: fold_by<Prod>(acc, v); break;
      case RED_MIN: fold_by<Min>(acc, v); break;
      case RED_MAX: fold_by<Max>(acc, v); break;
    }
  }
  // fold_opened is fold where opening a unit is most of the work, and is in the code once for all reductions.
  template <int U> KD void fold_opened(u32 redop, Acc (&acc)[U], const V (&v)[U], A k) {
#pragma unroll
    for (int u = 0; u < U; u++) {
      const Acc with = open(v[u]);
      switch (redop) {
        case RED_SUM: fold_one<Sum>(acc[u], with); break;
        case RED_AVG: scale_one(acc[u], with, k); break;
        case RED_PROD: fold_one<Prod>(acc[u], with); break;
        case RED_MIN: fold_one<Min>(acc[u], with); break;
        case RED_MAX: fold_one<Max>(acc[u], with); break;
      }
    }
  }
  // scale is what an average does to its first operand, which it was opened of.
  template <int U> KD void scale(Acc (&acc)[U], A k) {
    if (!FLOATS) return;
#pragma unroll
    for (int u = 0; u < U; u++)
#pragma unroll
      for (u32 i = 0; i < N; i++) acc[u].x[i] = Averages<T>::scaled(acc[u].x[i], k);
  }
  // end_average is what an average does before a sum is closed: floats stay within their type. Integers are divided by
  // the divisor, if it is not 0.
  template <int U> KD void end_average(Acc (&acc)[U], u32 divisor) {
    if (!FLOATS && !divisor) return;
#pragma unroll
    for (int u = 0; u < U; u++)
#pragma unroll
      for (u32 i = 0; i < N; i++)
        acc[u].x[i] = FLOATS ? Averages<T>::within(acc[u].x[i]) : divide(acc[u].x[i], divisor);
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
