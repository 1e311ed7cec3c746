// This file copies bytes that have no alignment, in a thread's own way.
#pragma once
#include "../abi/rows.h"

KD void copy_bytes(void *to, const void *from, u64 n) { __builtin_memcpy(to, from, n); }
template <class T> KD T load_bytes(const void *p, u32 n) {  // the first n bytes of a T, at any alignment
  T v = 0;
  if (n >= sizeof(T)) __builtin_memcpy(&v, p, sizeof(T));
  else __builtin_memcpy(&v, p, n);
  return v;
}
template <class T> KD void store_bytes(void *p, T v, u32 n) {
  if (n >= sizeof(T)) __builtin_memcpy(p, &v, sizeof(T));
  else __builtin_memcpy(p, &v, n);
}
