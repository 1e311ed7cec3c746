// This file is the platform layer of a host that plays a GPU: the layer of the kernel that GPUs run
// (KERNEL_LANES), on the host's threads and with its atomics. Tests run it, so that what GPUs execute is executed where
// there is none; LANES are few, so that there are several bundles of them.
//
// What is between two barriers goes in any order there as on a GPU: each access to memory is a place where another thread
// may go on, also between the two words of a pair.
#pragma once
#include "platform_cpu.h"

#define KERNEL_LANES 1
enum { LANES = 4 };

void host_access();  // lets another thread go on, now and then

// Memory is accessed as what it is not declared as.
struct __attribute__((may_alias, aligned(16))) v16 {
  u32 x, y, z, w;
};
template <class T> KD T load_global(const void *p) {
  typedef T __attribute__((may_alias)) any_type;
  host_access();
  return *(const any_type *)p;
}
template <class T> KD void store_global(void *p, T v) {
  typedef T __attribute__((may_alias)) any_type;
  host_access();
  *(any_type *)p = v;
}
KD v16 load_stream(const void *p) { return load_global<v16>(p); }
KD v16 whole_words(v16 v) { return v; }
KD u64 whole_words(u64 v) { return v; }

// Two 8-byte words, each of which arrives whole.
struct pair64 {
  u64 low, high;
};
KD pair64 ld_pair(const u8 *p) {
  pair64 v;
  v.low = ld_relaxed64((const u64 *)p);
  host_access();
  v.high = ld_relaxed64((const u64 *)p + 1);
  return v;
}
KD void st_pair(u8 *p, pair64 v) {
  st_relaxed64((u64 *)p, v.low);
  host_access();
  st_relaxed64((u64 *)p + 1, v.high);
}

// bar_any is a barrier that gives all threads whether some thread says so.
KD bool bar_any(bool here) {
  bar();
  if (tid() == 0) st_block32(&shared()->any, 0);
  bar();
  if (here) st_block32(&shared()->any, 1);
  bar();
  return ld_block32(&shared()->any);
}

// inverse_of is 1 / n, to the last place but one, as NVIDIA's GPUs have it.
KD double inverse_of(u32 n) {
  const double y = 1.0 / (double)n;
  u64 bits;
  __builtin_memcpy(&bits, &y, 8);
  bits--;
  double near;
  __builtin_memcpy(&near, &bits, 8);
  return near;
}

// What a block's threads share of a one-sided program is behind block_shared.
KD struct one_near &near_of_block();
#define one_local near_of_block()
#include "tables_onesided.h"
struct lanes_shared {
  block_shared of_all;
  one_near near;
};
KD one_near &near_of_block() { return ((lanes_shared *)shared())->near; }
