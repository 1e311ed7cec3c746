// This file is the platform layer of AMD's GPUs (gfx90a, gfx942), whose atomics
// clang knows.
#pragma once
// The launch is copied near the block: as scalars its numbers would be spilled.
#define NEAR_LAUNCH true
enum { MOST_GROUPS = 1 };  // a barrier is for all threads
#include "gpu.h"

KD u32 group() { return 0; }
KD u32 tid() { return __builtin_amdgcn_workitem_id_x(); }
KD u32 ntid() { return __builtin_amdgcn_workgroup_size_x(); }
KD u32 bid() { return __builtin_amdgcn_workgroup_id_x(); }
KD u32 bid_y() { return __builtin_amdgcn_workgroup_id_y(); }
enum { LANES = 64 };

// The most threads of a block: a compute unit has 256 registers for each of 512.
#define KERNEL_BOUNDS __attribute__((amdgpu_flat_work_group_size(64, 512)))

KD void bar() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

KD v16 load_stream(const void *p) { return load_global<v16>(p); }

// any gives all lanes whether some lane says so; lanes go together anyway, so that gather is for the compiler.
KD bool any(bool here) { return __builtin_amdgcn_ballot_w64(here) != 0; }
KD void gather() { __builtin_amdgcn_wave_barrier(); }

// lane_xor is v of the lane whose number differs in the bits of `apart`; all lanes ask at once.
KD u32 lane_xor(u32 v, u32 apart) {
  return (u32)__builtin_amdgcn_ds_bpermute((int)((tid() % LANES ^ apart) * 4), (int)v);
}

// raise32 has *p be v at least, set32 be v, and get32 looks, for the threads of the block.
KD void raise32(u32 *p, u32 v) {
  __scoped_atomic_fetch_max(global_at(p), v, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}
KD void set32(u32 *p, u32 v) {
  __scoped_atomic_store_n(global_at(p), v, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}
KD u32 get32(const u32 *p) {
  return __scoped_atomic_load_n(global_at(p), __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}

// bar_any is a barrier that gives all threads whether some thread says so.
__shared__ static u32 block_any;
KD bool bar_any(bool here) {
  bar();
  if (tid() == 0) block_any = 0;
  bar();
  if (here) block_any = 1;
  bar();
  return block_any;
}

// A barrier does not wait for other wavefronts' stores to global memory, and the
// release of the one that publishes covers its own only: each waits for its
// stores (vmcnt(0), the other counters as they are) before the barrier.
KD void bar_publish() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_waitcnt(0x0f70);
  bar();
}

KD u32 ld_relaxed32(const u32 *p) {
  return __scoped_atomic_load_n(global_at(p), __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}
KD u64 ld_relaxed64(const u64 *p) {
  return __scoped_atomic_load_n(global_at(p), __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}
KD u64 ld_acquire64(const u64 *p) {
  return __scoped_atomic_load_n(global_at(p), __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM);
}
KD void st_relaxed64(u64 *p, u64 v) {
  __scoped_atomic_store_n(global_at(p), v, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}
KD void st_release64(u64 *p, u64 v) {
  __scoped_atomic_store_n(global_at(p), v, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
}
KD void st_release64_device(u64 *p, u64 v) {
  __scoped_atomic_store_n(global_at(p), v, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}
KD bool claim32(u32 *p, u32 v) {
  u32 zero = 0;
  return __scoped_atomic_compare_exchange_n(global_at(p), &zero, v, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED,
                                            __MEMORY_SCOPE_SYSTEM);
}

// whole_words keeps the compiler from holding a unit as 16 bytes from one block of code to the next: what
// clang 19 makes of that (AMDGPULateCodeGenPrepare) differs from run to run, and is sometimes wrong.
KD v16 whole_words(v16 v) {
  asm("" : "+v"(v));
  return v;
}
KD u64 whole_words(u64 v) {
  asm("" : "+v"(v));
  return v;
}

// not_before has all that is made of v computed after this place.
KD void not_before(u64 *v) { asm volatile("" : "+v"(*v)); }

// Two 8-byte words, each of which arrives whole.
struct pair64 {
  u64 low, high;
};
KD pair64 ld_pair(const u8 *p) { return pair64{ld_relaxed64((const u64 *)p), ld_relaxed64((const u64 *)p + 1)}; }
KD void st_pair(u8 *p, pair64 v) {
  st_relaxed64((u64 *)p, v.low);
  st_relaxed64((u64 *)p + 1, v.high);
}

// The clock counts 100 MHz.
KD u64 now() { return __builtin_amdgcn_s_memrealtime() * 10; }
