// This file folds operands with the reduction of a launch, a strip of elements
// at a time. The operands are taken in the order in which they are listed, and
// small floats are rounded once, at the end.
#pragma once
#include "types.h"
#include "layout.h"

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
    double same = bits<double>(bits<u64>(a) | bits<u64>(b)), equal = a == b ? same : bits<double>(0x7ff8000000000000ull);
    return a < b ? a : b < a ? b : equal;
  }
};
template <> struct Max<double> {
  KD double of(double a, double b) {
    double same = bits<double>(bits<u64>(a) & bits<u64>(b)), equal = a == b ? same : bits<double>(0x7ff8000000000000ull);
    return a > b ? a : b > a ? b : equal;
  }
};

// divide is the last step of an average. Integers lose their fraction.
KD float divide(float a, u32 n) { return a / (float)n; }
KD double divide(double a, u32 n) { return a / (double)n; }
KD i8 divide(i8 a, u32 n) { return (i8)((i64)a / (i64)n); }
KD i32 divide(i32 a, u32 n) { return (i32)((i64)a / (i64)n); }
KD i64 divide(i64 a, u32 n) { return a / (i64)n; }
KD u8 divide(u8 a, u32 n) { return (u8)(a / n); }
KD u32 divide(u32 a, u32 n) { return a / n; }
KD u64 divide(u64 a, u32 n) { return a / n; }

// Operands says where the operands of a reduction begin: a local one and what was
// received, or, where there is a chain of steps, dst and the sources of the steps
// one after the other. One type for both halves the code of fold.
struct Operands {
  const u8 *first, *received;
  const abi_launch *a;
  const abi_rank *m;
  const abi_step *chain;
  u32 i;         // chunk of each step
  u64 elem, at;  // element of the chunk, and bytes from there
  KD_MEMBER const u8 *operator()(u32 k) const {
    if (k == 0) return first;
    if (!chain) return received;
    return at_address<const u8>(cell(*a, *m, chain[0].src_buf, chain[k - 1].src + i, elem)) + at;
  }
};

// fold writes the reduction of n elements of the operands to `to`, which may
// be one of them; divisor is 0 or what the result is divided by.
template <class T, template <class> class Op> KD_CALL void fold(T *to, const Operands &get, u32 operands, u32 n, u32 divisor) {
  typedef decltype(up(T())) A;
  A acc[FOLD];
  for (u32 at = 0; at < n; at += FOLD) {
    const u32 k = n - at < (u32)FOLD ? n - at : (u32)FOLD;
    const T *p = (const T *)get(0) + at;
    for (u32 i = 0; i < k; i++) acc[i] = up(p[i]);
    for (u32 j = 1; j < operands; j++) {
      p = (const T *)get(j) + at;
      for (u32 i = 0; i < k; i++) acc[i] = Op<A>::of(acc[i], up(p[i]));
    }
    if (divisor)
      for (u32 i = 0; i < k; i++) acc[i] = divide(acc[i], divisor);
    for (u32 i = 0; i < k; i++) down(to + at + i, acc[i]);
  }
}

template <class T> KD_CALL void fold_op(u32 redop, void *to, const Operands &get, u32 operands, u32 n, u32 divisor) {
  switch (redop) {
    case RED_SUM:
    case RED_AVG: fold<T, Sum>((T *)to, get, operands, n, divisor); break;
    case RED_PROD: fold<T, Prod>((T *)to, get, operands, n, divisor); break;
    case RED_MIN: fold<T, Min>((T *)to, get, operands, n, divisor); break;
    case RED_MAX: fold<T, Max>((T *)to, get, operands, n, divisor); break;
  }
}

// AnyFold is the reduction of a kernel that serves all types and operations. A
// kernel built for one of them has a class with the same function.
struct AnyFold {
  KD_CALL void run(const abi_launch &a, void *to, const Operands &get, u32 operands, u32 bytes, u32 divisor) {
    const u32 n = bytes / a.elem_size, op = a.redop;
    switch (a.dtype) {
      case DT_F16: fold_op<f16>(op, to, get, operands, n, divisor); break;
      case DT_BF16: fold_op<bf16>(op, to, get, operands, n, divisor); break;
      case DT_F32: fold_op<float>(op, to, get, operands, n, divisor); break;
      case DT_F64: fold_op<double>(op, to, get, operands, n, divisor); break;
      case DT_I8: fold_op<i8>(op, to, get, operands, n, divisor); break;
      case DT_U8: fold_op<u8>(op, to, get, operands, n, divisor); break;
      case DT_I32: fold_op<i32>(op, to, get, operands, n, divisor); break;
      case DT_U32: fold_op<u32>(op, to, get, operands, n, divisor); break;
      case DT_I64: fold_op<i64>(op, to, get, operands, n, divisor); break;
      case DT_U64: fold_op<u64>(op, to, get, operands, n, divisor); break;
      case DT_E4M3: fold_op<e4m3>(op, to, get, operands, n, divisor); break;
      case DT_E5M2: fold_op<e5m2>(op, to, get, operands, n, divisor); break;
    }
  }
};
