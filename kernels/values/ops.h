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

// Min and Max of floats do not depend on the order of their operands: NaN if
// either is, and -0 below +0.
template <class A> struct Min {
  KD A of(A a, A b) { return b < a ? b : a; }
};
template <class A> struct Max {
  KD A of(A a, A b) { return a < b ? b : a; }
};
template <> struct Min<float> {
  KD float of(float a, float b) {
    float same = bits<float>(bits<u32>(a) | bits<u32>(b)), equal = a == b ? same : bits<float>(0x7fc00000u);
    return a < b ? a : b < a ? b : equal;
  }
};
template <> struct Max<float> {
  KD float of(float a, float b) {
    float same = bits<float>(bits<u32>(a) & bits<u32>(b)), equal = a == b ? same : bits<float>(0x7fc00000u);
    return a > b ? a : b > a ? b : equal;
  }
};
template <> struct Min<double> {
  KD double of(double a, double b) {
    double same = bits<double>(bits<u64>(a) | bits<u64>(b)),
           equal = a == b ? same : bits<double>(0x7ff8000000000000ull);
    return a < b ? a : b < a ? b : equal;
  }
};
template <> struct Max<double> {
  KD double of(double a, double b) {
    double same = bits<double>(bits<u64>(a) & bits<u64>(b)),
           equal = a == b ? same : bits<double>(0x7ff8000000000000ull);
    return a > b ? a : b > a ? b : equal;
  }
};

// divide is the last step of an average, by a number of ranks. Integers lose their
// fraction; 64 bits are divided only where there are as many.
#ifdef KERNEL_LANES
// A division of floats is a call on a GPU where the result may be small, and that costs the caller registers. The
// quotient of a float and a small integer is never so near the middle of two floats, except exactly there, that a
// quotient with 53 bits, which is exact where it can be, would be rounded otherwise.
KD float divide(float a, u32 n) {
  const double x = a, inverse = inverse_of(n), q = x * inverse, rest = __builtin_fma(-q, (double)n, x);
  return (float)(rest == rest ? __builtin_fma(rest, inverse, q) : q);
}
#else
KD float divide(float a, u32 n) { return a / (float)n; }
#endif
KD double divide(double a, u32 n) { return a / (double)n; }
KD i8 divide(i8 a, u32 n) { return (i8)((i32)a / (i32)n); }
KD i32 divide(i32 a, u32 n) { return a / (i32)n; }
KD i64 divide(i64 a, u32 n) { return a / (i64)n; }
KD u8 divide(u8 a, u32 n) { return (u8)(a / n); }
KD u32 divide(u32 a, u32 n) { return a / n; }
KD u64 divide(u64 a, u32 n) { return a / n; }
