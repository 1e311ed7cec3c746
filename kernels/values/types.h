// This file holds the element types: what an element is in memory, the type it
// is reduced in, and the way there and back. f16, bf16 and fp8 are reduced in
// f32 and rounded once, to nearest even; a float too large for f16, bf16 or f32
// becomes infinite, and one too large for fp8 the largest finite number, as
// the conversion instructions of GPUs have it. A NaN becomes the type's own
// quiet NaN, so that results have the same bits on every target.
#pragma once
#include "../abi/rows.h"

template <class A, class B> KD A bits(B b) {
  static_assert(sizeof(A) == sizeof(B), "bits changes no size");
  A a;
  __builtin_memcpy(&a, &b, sizeof a);
  return a;
}

struct f16 { u16 v; };
struct bf16 { u16 v; };
struct e4m3 { u8 v; };
struct e5m2 { u8 v; };

// pick chooses without a branch, which compilers would not undo: they keep
// floating-point operations on one side of a ?: after a jump, and then make no
// vectors of the loop.
KD u32 pick(bool first, u32 a, u32 b) {
  const u32 mask = 0u - (u32)first;
  return (a & mask) | (b & ~mask);
}

// Small is a float of E exponent and M mantissa bits, as the low bits of a u32.
template <int E, int M> struct Small {
  static const u32 BIAS = (1u << (E - 1)) - 1;
  static const u32 LIFT = (127 - BIAS) << 23;   // from its exponent to f32's
  static const u32 TINY = (128 - BIAS) << 23;   // the smallest normal number, as f32 bits
  static const u32 TOP = ((1u << E) - 1) << M;  // exponent all ones

  KD u32 magnitude(u32 x) {  // the f32 bits of a finite x without its sign; exact
    const u32 normal = (x << (23 - M)) + LIFT;
    const float denormal = (float)(i32)x * bits<float>((128 - BIAS - M) << 23);
    return pick(x < 1u << M, bits<u32>(denormal), normal);
  }
  KD u32 round(u32 x) {  // f32 bits without sign, finite and in range, to nearest even
    u32 normal = (x - LIFT + (1u << (22 - M)) - 1 + ((x >> (23 - M)) & 1)) >> (23 - M);
    // Adding a number whose last place is the smallest denormal lets the adder round.
    u32 magic = (127 - BIAS + 1 + 23 - M) << 23;
    u32 denormal = bits<u32>(bits<float>(x) + bits<float>(magic)) - magic;
    return pick(x < TINY, denormal, normal);
  }
};

KD float up(f16 x) {
#ifdef HARD_F16_UP
  return f16_up(x.v);
#else
  u32 m = x.v & 0x7fffu;
  u32 r = pick(m >= 0x7c00u, 0x7f800000u | m << 13, Small<5, 10>::magnitude(m));
  return bits<float>(r | (u32)(x.v & 0x8000u) << 16);
#endif
}
KD float up(bf16 x) { return bits<float>((u32)x.v << 16); }
KD float up(e4m3 x) {
  u32 m = x.v & 0x7fu;
  u32 r = pick(m == 0x7fu, 0x7fc00000u, Small<4, 3>::magnitude(m));
  return bits<float>(r | (u32)(x.v & 0x80u) << 24);
}
KD float up(e5m2 x) {
  f16 wide = {(u16)(x.v << 8)};
  return up(wide);
}
KD float up(float x) { return x; }
KD double up(double x) { return x; }
KD i8 up(i8 x) { return x; }
KD u8 up(u8 x) { return x; }
KD i32 up(i32 x) { return x; }
KD u32 up(u32 x) { return x; }
KD i64 up(i64 x) { return x; }
KD u64 up(u64 x) { return x; }

KD void down(f16 *to, float f) {
#ifdef HARD_F16
  to->v = f16_down(f);
#else
  u32 x = bits<u32>(f), m = x & 0x7fffffffu;
  u32 r = pick(m >= 0x477ff000u, 0x7c00u, Small<5, 10>::round(m));  // from half of the last place above 65504
  to->v = (u16)pick(m > 0x7f800000u, 0x7e00u, r | (x >> 16 & 0x8000u));
#endif
}
KD void down(bf16 *to, float f) {
#ifdef HARD_BF16
  to->v = bf16_down(f);
#else
  u32 x = bits<u32>(f);
  u32 r = (x + 0x7fffu + ((x >> 16) & 1)) >> 16;
  to->v = (u16)pick((x & 0x7fffffffu) > 0x7f800000u, 0x7fffu, r);
#endif
}
KD void down(e4m3 *to, float f) {
  u32 x = bits<u32>(f), m = x & 0x7fffffffu;
  u32 r = Small<4, 3>::round(pick(m > 0x43e00000u, 0x43e00000u, m));  // at most 448
  to->v = (u8)pick(m > 0x7f800000u, 0x7fu, r | (x >> 24 & 0x80u));
}
KD void down(e5m2 *to, float f) {
  u32 x = bits<u32>(f), m = x & 0x7fffffffu;
  u32 r = Small<5, 2>::round(pick(m > 0x47600000u, 0x47600000u, m));  // at most 57344
  to->v = (u8)pick(m > 0x7f800000u, 0x7fu, r | (x >> 24 & 0x80u));
}
template <class T> KD void down(T *to, T x) { *to = x; }
