// This file says what the stages of an epilogue do to the elements of a row, and how what they need of the whole row is
// gathered, for all devices. Everything is in f32. The meaning is ir/epilogue's (List.Apply).
#pragma once
#include "../values/types.h"
#include "abi.h"

// exp_of is e to the x, within a few units of the last place; infinite above, and 0 below.
KD float exp_of(float x) {
  const float rounds = 12582912.0f;  // adding it leaves no fraction
  x = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
  const float shifted = x * 1.44269504f + rounds, whole = shifted - rounds;
  const float r = (x - whole * 0.693145752f) - whole * 1.42860677e-6f;  // ln 2 in two parts; |r| < 0.35
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // 2 to the whole may be no normal number, and its two factors are.
  const i32 n = (i32)(bits<u32>(shifted) - bits<u32>(rounds)), half = n / 2;
  return p * bits<float>((u32)(half + 127) << 23) * bits<float>((u32)(n - half + 127) << 23);
}

// erfc_of is 1 - erf(t), of a t that is not negative, within some units of the last place: exp(-t t) times a function
// of 1 / (2 + t) that is nearly straight, of which this is a polynomial.
KD float erfc_of(float t) {
  t = t > 10.5f ? 10.5f : t;  // where f32 has no such small number
  const float s = 2.0f / (2.0f + t), v = s * 2.38095236f - 1.38095236f;
  float p = -5.81083114e-05f;
  p = p * v + 2.46817417e-05f;
  p = p * v + 0.000615388504f;
  p = p * v - 0.000686168612f;
  p = p * v - 0.0063246279f;
  p = p * v + 0.00631161779f;
  p = p * v + 0.103520788f;
  p = p * v + 0.327187657f;
  p = p * v + 0.569408715f;
  return p * s * exp_of(-(t * t));
}

KD float activate(u32 function, float x) {
  if (function == ROW_GELU) {
    const float below = 0.5f * erfc_of((x < 0 ? -x : x) * 0.707106781f);  // of a normal distribution, under -|x|
    return x < 0 ? x * below : x * (1.0f - below);
  }
  if (function == ROW_SILU) return x / (1.0f + exp_of(-x));
  return x < 0 ? 0.0f : x;
}

// What is gathered of a row, or of a block of it: sums, of elements or of the squares of their distances from a mean,
// and the largest magnitude. The first of each begins with 0. A largest magnitude is NaN where an element is.
struct GatherSum {
  KD float of(float so_far, float x, float) { return so_far + x; }
  KD float both(float a, float b) { return a + b; }
};
struct GatherSquares : GatherSum {
  KD float of(float so_far, float x, float mean) { return so_far + (x - mean) * (x - mean); }
};
struct GatherLargest {
  KD float both(float a, float b) { return b > a || b != b ? b : a; }
  KD float of(float so_far, float x, float) { return both(so_far, x < 0 ? -x : x); }
};

// norm_factor is what the distances from the mean are multiplied by, of a row of n elements.
KD float norm_factor(float squares, u32 n, float eps) {
  return 1.0f / __builtin_sqrtf(squares / (float)n + eps);
}

// scale_of is the scale of a block, by which its elements are divided. It is a normal number: devices may round smaller
// ones to 0.
KD float scale_of(float largest, u32 type) {
  const float most = type == DT_E4M3 ? 448.0f : type == DT_E5M2 ? 57344.0f : 127.0f, scale = largest / most;
  return largest == 0 ? 1.0f : scale < 1.17549435e-38f ? 1.17549435e-38f : scale;
}

// put_row writes an element of the output, of a type that down() has, or i8.
template <class T> KD void put_row(T *to, float x) { down(to, x); }
KD void put_row(i8 *to, float x) {
  const float rounds = 12582912.0f, within = x > 127.0f ? 127.0f : x < -127.0f ? -127.0f : x;
  *to = x == x ? (i8)(bits<u32>(within + rounds) - bits<u32>(rounds)) : 0;
}
