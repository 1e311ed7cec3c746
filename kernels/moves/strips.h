// This file moves and folds data where a thread is a processor of its own: strips
// of memory, long enough for the compiler's vectors and short enough for the
// nearest cache. The operands of a reduction are taken in the order in which they
// are listed, and small floats are rounded once, at the end. lanes.h is the same
// for GPUs.
#pragma once
#include "../abi/layout.h"
#include "../values/ops.h"
#include "../protocol/ll.h"
#include "../protocol/ll128.h"
#include "../protocol/ll16.h"
#include "../protocol/simple.h"
#include "run.h"

// Operands says where the operands of a reduction begin: a local one and what was
// received, or, where there is a chain of steps, dst and the sources of the steps
// one after the other. One type for both halves the code of fold.
struct Operands {
  const u8 *first, *received;
  const abi_launch *a;
  const abi_rank *m;
  const abi_step *chain;
  u32 flags;     // of the step, where there is no chain
  u32 i;         // chunk of each step
  u64 elem, at;  // element of the chunk, and bytes from there
  KD_MEMBER const u8 *operator()(u32 k) const {
    if (k == 0) return first;
    if (!chain) return received;
    return at_address<const u8>(cell(*a, *m, chain[0].src_buf, chain[k - 1].src + i, elem)) + at;
  }
  // fresh says whether an average multiplies operand k. The first of a chain is its dst.
  KD_MEMBER bool fresh(u32 k) const {
    if (chain) return k == 0 ? chain[0].flags & STEP_FRESH_WITH : chain[k - 1].flags & STEP_FRESH;
    return flags & (k == 0 ? STEP_FRESH : STEP_FRESH_WITH);
  }
};

// fold writes the reduction of n elements of the operands to `to`, which may
// be one of them; divisor is 0 or what the result is divided by.
template <class T, template <class> class Op>
KD_CALL void fold(T *to, const Operands &get, u32 operands, u32 n, u32 divisor) {
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

// fold_average is fold for averages.
template <class T>
KD_CALL void fold_average(T *to, const Operands &get, u32 operands, u32 n, u32 divisor, double inverse) {
  typedef Averages<T> Of;
  if (!Of::FLOATS) return fold<T, Sum>(to, get, operands, n, divisor);
  typedef decltype(up(T())) A;
  A acc[FOLD];
  for (u32 at = 0; at < n; at += FOLD) {
    const u32 k = n - at < (u32)FOLD ? n - at : (u32)FOLD;
    const T *p = (const T *)get(0) + at;
    A scale = Of::scale_of(get.fresh(0), inverse);
    for (u32 i = 0; i < k; i++) acc[i] = Of::scaled(up(p[i]), scale);
    for (u32 j = 1; j < operands; j++) {
      p = (const T *)get(j) + at, scale = Of::scale_of(get.fresh(j), inverse);
      for (u32 i = 0; i < k; i++) acc[i] = Of::add(acc[i], Of::scaled(up(p[i]), scale));
    }
    for (u32 i = 0; i < k; i++) down(to + at + i, Of::within(acc[i]));
  }
}

template <class T>
KD_CALL void fold_op(const abi_launch &a, void *to, const Operands &get, u32 operands, u32 n, u32 divisor) {
  switch (a.redop) {
    case RED_SUM: fold<T, Sum>((T *)to, get, operands, n, 0); break;
    case RED_AVG: fold_average<T>((T *)to, get, operands, n, divisor, a.inverse); break;
    case RED_PROD: fold<T, Prod>((T *)to, get, operands, n, 0); break;
    case RED_MIN: fold<T, Min>((T *)to, get, operands, n, 0); break;
    case RED_MAX: fold<T, Max>((T *)to, get, operands, n, 0); break;
  }
}

// AnyFold is the reduction of a kernel that serves all types and operations. A
// kernel built for one of them has a class with the same function.
struct AnyFold {
  KD_CALL void run(const abi_launch &a, void *to, const Operands &get, u32 operands, u32 bytes, u32 divisor) {
    const u32 n = bytes / a.elem_size;
    switch (a.dtype) {
      case DT_F16: fold_op<f16>(a, to, get, operands, n, divisor); break;
      case DT_BF16: fold_op<bf16>(a, to, get, operands, n, divisor); break;
      case DT_F32: fold_op<float>(a, to, get, operands, n, divisor); break;
      case DT_F64: fold_op<double>(a, to, get, operands, n, divisor); break;
      case DT_I8: fold_op<i8>(a, to, get, operands, n, divisor); break;
      case DT_U8: fold_op<u8>(a, to, get, operands, n, divisor); break;
      case DT_I32: fold_op<i32>(a, to, get, operands, n, divisor); break;
      case DT_U32: fold_op<u32>(a, to, get, operands, n, divisor); break;
      case DT_I64: fold_op<i64>(a, to, get, operands, n, divisor); break;
      case DT_U64: fold_op<u64>(a, to, get, operands, n, divisor); break;
      case DT_E4M3: fold_op<e4m3>(a, to, get, operands, n, divisor); break;
      case DT_E5M2: fold_op<e5m2>(a, to, get, operands, n, divisor); break;
    }
  }
};

// move_strip moves n bytes from `at` of a run.
//
//   in:  src and from, as the operation has them      out:  dst and to
template <class P, class R> KD_CALL bool move_strip(Thread &t, const abi_step &s, const Run &run, u64 at, u32 n) {
  u8 received[STRIP], reduced[STRIP];
  const u8 *src = at_address<const u8>(run.src) + at, *value = src;
  u8 *dst = at_address<u8>(run.dst) + at;
  if (run.from && !(value = P::take(t, run.from, at, n, t.received + 1, received))) return false;
  if (in(s.op, OPS_REDUCE)) {
    u8 *to = run.dst ? dst : reduced;
    R::run(t.a, to, Operands{src, value, nullptr, nullptr, nullptr, s.flags, 0, 0, 0}, 2, n, divisor(t.a, s));
    value = to;
  } else if (run.dst) {
    copy_bytes(dst, value, n);
  }
  if (run.to) P::put(run.to, at, value, n, t.sent + 1);
  return true;
}

// move_run moves one run of a step, each thread its strips. It returns false
// where a packet did not come.
template <class P, class R> KD_CALL bool move_run(Thread &t, const abi_step &s, const Run &run) {
  for (u64 at = (u64)tid() * STRIP; at < run.bytes; at += (u64)ntid() * STRIP)
    if (!move_strip<P, R>(t, s, run, at, (u32)least(STRIP, run.bytes - at))) return false;
  return true;
}

// reduce_run does one run of a chain of re: dst is read once, the sources are
// folded into it in the order of the steps, and it is written once.
template <class R>
KD_CALL void reduce_run(Thread &t, const abi_step *chain, const Tile &tile, u32 i, u64 to, u64 bytes) {
  const abi_launch &a = t.a;
  const u32 length = chain->chain;
  u8 *dst = at_address<u8>(to);
  for (u64 at = (u64)tid() * STRIP; at < bytes; at += (u64)ntid() * STRIP)
    R::run(a, dst + at, Operands{dst + at, nullptr, &a, t.at.rank, chain, 0, i, tile.at, at}, length + 1,
           (u32)least(STRIP, bytes - at), divisor(a, chain[length - 1]));
}
