// This file holds the reductions, each of two accumulators.
#pragma once
#include "types.h"

// Accumulators: A is the type that up() gives.
template <class A> struct Sum {
  KD A of(A a, A b) { return (A)((u64)a + (u64)b); }
};
template <> struct Sum<float> {
  KD float of(float a, float b) { return a + b; }
};
template <> struct Sum<double> {
  KD double of(double a, double b) { return a + b; }
};

template <class A> struct Prod {
  KD A of(A a, A b) { return (A)((u64)a * (u64)b); }
};
template <> struct Prod<float> {
  KD float of(float a, float b) { return a * b; }
};
template <> struct Prod<double> {
  KD double of(double a, double b) { return a * b; }
};

// Mean is the sum of an average, of floats that are scaled. No average of finite numbers is infinite: where roundings
// carry a sum of two beyond the largest number, Mean is that.
template <class A> struct Mean : Sum<A> {};
template <> struct Mean<float> {
  KD float of(float a, float b) {
    const float sum = a + b, infinite = __builtin_inff();
    const bool over = __builtin_fabsf(sum) == infinite && __builtin_fabsf(a) != infinite &&
                      __builtin_fabsf(b) != infinite;
    return bits<float>(bits<u32>(sum) - (u32)over);
  }
};
template <> struct Mean<double> {
  KD double of(double a, double b) {
    const double sum = a + b, infinite = __builtin_inf();
    const bool over = __builtin_fabs(sum) == infinite && __builtin_fabs(a) != infinite &&
                      __builtin_fabs(b) != infinite;
    return bits<double>(bits<u64>(sum) - (u64)over);
  }
};

// Min and Max do not depend on the order of their operands. Of floats, -0 is below +0, a number wins over NaN, and
// they are NaN where both operands are.
template <class A> struct Min {
  KD A of(A a, A b) { return b < a ? b : a; }
};
template <class A> struct Max {
  KD A of(A a, A b) { return a < b ? b : a; }
};
#ifdef HARD_MIN  // the hardware's are the same
template <> struct Min<float> {
  KD float of(float a, float b) { return min_of(a, b); }
};
template <> struct Max<float> {
  KD float of(float a, float b) { return max_of(a, b); }
};
template <> struct Min<double> {
  KD double of(double a, double b) { return min_of(a, b); }
};
template <> struct Max<double> {
  KD double of(double a, double b) { return max_of(a, b); }
};
#else
template <> struct Min<float> {
  KD float of(float a, float b) {
    const float same = bits<float>(bits<u32>(a) | bits<u32>(b)), number = a == a ? a : b,
                other = a == b ? same : number;
    return a < b ? a : b < a ? b : other;
  }
};
template <> struct Max<float> {
  KD float of(float a, float b) {
    const float same = bits<float>(bits<u32>(a) & bits<u32>(b)), number = a == a ? a : b,
                other = a == b ? same : number;
    return a > b ? a : b > a ? b : other;
  }
};
template <> struct Min<double> {
  KD double of(double a, double b) {
    const double same = bits<double>(bits<u64>(a) | bits<u64>(b)), number = a == a ? a : b,
                 other = a == b ? same : number;
    return a < b ? a : b < a ? b : other;
  }
};
template <> struct Max<double> {
  KD double of(double a, double b) {
    const double same = bits<double>(bits<u64>(a) & bits<u64>(b)), number = a == a ? a : b,
                 other = a == b ? same : number;
    return a > b ? a : b > a ? b : other;
  }
};
#endif

template <class A> struct IsFloat {
  enum { IS = false };
};
template <> struct IsFloat<float> {
  enum { IS = true };
};
template <> struct IsFloat<double> {
  enum { IS = true };
};

// An average of floats multiplies each input once by 1 / ranks, when a step first adds it to another (a fresh operand),
// and divides nowhere. Integers are summed as they are, and the sum is divided at its end.
//
// scale_of is what an operand is multiplied by, scaled the operand, add the sum of two, and within a sum before it is
// rounded to T: what roundings carried beyond T's largest number is that.
template <class T> struct Averages {
  typedef decltype(up(T())) A;
  enum { FLOATS = IsFloat<A>::IS };
  KD A add(A a, A b) { return Mean<A>::of(a, b); }
  KD A scale_of(bool fresh, double inverse) { return fresh && FLOATS ? (A)inverse : (A)1; }
  KD A scaled(A x, A k) { return FLOATS ? (A)(x * k) : x; }
  KD A within(A x) { return x; }
};
struct SmallFloats {
  enum { FLOATS = true };
  KD float scale_of(bool fresh, double inverse) { return fresh ? (float)inverse : 1.0f; }
  KD float scaled(float x, float k) { return x * k; }
  KD float add(float a, float b) { return a + b; }  // of f16 and fp8, never too large for f32
  // at_most is x, or the largest number of its sign where it is finite and beyond.
  KD float at_most(float x, u32 largest) {
    const u32 m = bits<u32>(x) & 0x7fffffffu;
    return bits<float>(pick(m > largest && m < 0x7f800000u, largest | (bits<u32>(x) & 0x80000000u), bits<u32>(x)));
  }
};
template <> struct Averages<f16> : SmallFloats {
  KD float within(float x) { return at_most(x, 0x477fe000u); }
};
template <> struct Averages<bf16> : SmallFloats {
  KD float add(float a, float b) { return Mean<float>::of(a, b); }
  KD float within(float x) { return at_most(x, 0x7f7f0000u); }
};
template <> struct Averages<e4m3> : SmallFloats {
  KD float within(float x) { return x; }
};
// An infinity of e5m2 is scaled to the largest number, which it becomes in any sum.
template <> struct Averages<e5m2> : SmallFloats {
  KD float scaled(float x, float k) {
    const u32 product = bits<u32>(x * k);
    return bits<float>(pick((product & 0x7fffffffu) == 0x7f800000u, 0x47600000u | (product & 0x80000000u), product));
  }
  KD float within(float x) { return x; }
};

// divide is the last step of an average of integers, by a number of ranks: it drops the fraction. 64 bits are divided
// only where there are as many.
template <class A> KD A divide(A a, u32) { return a; }
KD i8 divide(i8 a, u32 n) { return (i8)((i32)a / (i32)n); }
KD i32 divide(i32 a, u32 n) { return a / (i32)n; }
KD i64 divide(i64 a, u32 n) { return a / (i64)n; }
KD u8 divide(u8 a, u32 n) { return (u8)(a / n); }
KD u32 divide(u32 a, u32 n) { return a / n; }
KD u64 divide(u64 a, u32 n) { return a / n; }
