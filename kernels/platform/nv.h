// This file is the platform layer of NVIDIA's GPUs. Every ordered access is
// written out in PTX: clang 19 has no release or acquire for it, and makes relaxed
// accesses of some that it accepts.
#pragma once
// Parameters of a kernel are in a memory that costs nothing to read.
#define NEAR_LAUNCH false
// A CTA of an image that is made with KERNEL_TOGETHER may hold up to MOST_GROUPS replicas of a block, each of which has
// a group of its threads (abi/rows_net.h).
#ifdef KERNEL_TOGETHER
enum { MOST_GROUPS = 4 };
#else
enum { MOST_GROUPS = 1 };
#endif
#include "gpu.h"

KD u32 thread_of_all() { return __nvvm_read_ptx_sreg_tid_x(); }
KD u32 threads_of_all() { return __nvvm_read_ptx_sreg_ntid_x(); }
KD u32 bid() { return __nvvm_read_ptx_sreg_ctaid_x(); }
KD u32 bid_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
enum { LANES = 32 };

// The most threads of a block: an SM has 128 registers for each of 512. That one block is
// enough for an SM must be said: else the assembler spills to make room for more.
#define KERNEL_BOUNDS __attribute__((launch_bounds(512, 1)))

#ifdef KERNEL_TOGETHER
// form_groups comes before all else. Each thread sees what it wrote itself, and all write the same.
__shared__ static struct {
  u32 threads, mask, shift;
} group_shape;
KD void form_groups(u32 groups) {
  const u32 threads = threads_of_all() / groups;
  group_shape.threads = threads;
  group_shape.mask = groups > 1 ? threads - 1 : 0xffffffff;
  group_shape.shift = groups > 1 ? 31 - (u32)__builtin_clz(threads) : 31;
}
KD u32 group() { return thread_of_all() >> group_shape.shift; }
KD u32 tid() { return thread_of_all() & group_shape.mask; }
KD u32 ntid() { return group_shape.threads; }

// A release after the barrier also covers what other threads wrote before it.
KD void bar() { asm volatile("bar.sync %0,%1;" ::"r"(group()), "r"(ntid()) : "memory"); }

// bar_any is a barrier that gives all threads whether some thread says so.
KD bool bar_any(bool here) {
  u32 some;
  asm volatile("{.reg .pred p,q; setp.ne.u32 p,%1,0; bar.red.or.pred q,%2,%3,p; selp.u32 %0,1,0,q;}"
               : "=r"(some)
               : "r"((u32)here), "r"(group()), "r"(ntid())
               : "memory");
  return some;
}
#else
KD u32 group() { return 0; }
KD u32 tid() { return thread_of_all(); }
KD u32 ntid() { return threads_of_all(); }
KD void bar() { __syncthreads(); }
KD bool bar_any(bool here) { return __nvvm_bar0_or(here); }
#endif
KD void bar_publish() { bar(); }

// load_stream loads what is read once: it stays out of the first cache.
KD v16 load_stream(const void *p) {
  v16 v;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0,%1,%2,%3},[%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(global_at((const u8 *)p))
               : "memory");
  return v;
}

// any gives all lanes whether some lane says so; gather waits for all lanes.
KD bool any(bool here) { return __nvvm_vote_any_sync(0xffffffffu, here); }
KD void gather() { __nvvm_bar_warp_sync(0xffffffffu); }

// lane_xor is v of the lane whose number differs in the bits of `apart`; all lanes ask at once.
KD u32 lane_xor(u32 v, u32 apart) { return (u32)__nvvm_shfl_sync_bfly_i32(0xffffffffu, (i32)v, (i32)apart, 0x1f); }

// raise32 has *p be v at least, set32 be v, and get32 looks, for the threads of the block.
KD void raise32(u32 *p, u32 v) {
  asm volatile("red.relaxed.cta.global.max.u32 [%0],%1;" ::"l"(global_at(p)), "r"(v) : "memory");
}
KD void set32(u32 *p, u32 v) {
  asm volatile("st.relaxed.cta.global.u32 [%0],%1;" ::"l"(global_at(p)), "r"(v) : "memory");
}
KD u32 get32(const u32 *p) {
  u32 v;
  asm volatile("ld.relaxed.cta.global.u32 %0,[%1];" : "=r"(v) : "l"(global_at(p)) : "memory");
  return v;
}

#define KERNEL_LOAD(name, T, ptx, c) \
  KD T name(const T *p) { T v; asm volatile(ptx " %0,[%1];" : "=" c(v) : "l"(global_at(p)) : "memory"); return v; }
#define KERNEL_STORE(name, T, ptx, c) \
  KD void name(T *p, T v) { asm volatile(ptx " [%0],%1;" ::"l"(global_at(p)), c(v) : "memory"); }
KERNEL_LOAD(ld_relaxed32, u32, "ld.relaxed.sys.global.u32", "r")
KERNEL_LOAD(ld_relaxed64, u64, "ld.relaxed.sys.global.u64", "l")
KERNEL_LOAD(ld_acquire64, u64, "ld.acquire.sys.global.u64", "l")
KERNEL_STORE(st_relaxed64, u64, "st.relaxed.sys.global.u64", "l")
KERNEL_STORE(st_release64, u64, "st.release.sys.global.u64", "l")
KERNEL_STORE(st_release64_device, u64, "st.release.gpu.global.u64", "l")
#undef KERNEL_LOAD
#undef KERNEL_STORE

KD bool claim32(u32 *p, u32 v) {
  u32 was;
  asm volatile("atom.acq_rel.sys.global.cas.b32 %0,[%1],0,%2;" : "=r"(was) : "l"(global_at(p)), "r"(v) : "memory");
  return was == 0;
}

KD v16 whole_words(v16 v) { return v; }
KD u64 whole_words(u64 v) { return v; }

// not_before has all that is made of v computed after this place.
KD void not_before(u64 *v) { asm volatile("" : "+l"(*v)); }

// Two 8-byte words at once, each of which arrives whole.
struct pair64 {
  u64 low, high;
};
KD pair64 ld_pair(const u8 *p) {
  pair64 v;
  asm volatile("ld.volatile.global.v2.u64 {%0,%1},[%2];" : "=l"(v.low), "=l"(v.high) : "l"(global_at(p)) : "memory");
  return v;
}
KD void st_pair(u8 *p, pair64 v) {
  asm volatile("st.volatile.global.v2.u64 [%0],{%1,%2};" ::"l"(global_at(p)), "l"(v.low), "l"(v.high) : "memory");
}

// A line of 128 bytes that eight lanes store at once arrives at once.
#define KERNEL_WHOLE_LINES 1

// Conversions by the hardware, which rounds to nearest even as values/types.h does. Two at once are done by what adds,
// one by what divides, which is slower. Those of GPUs before sm_80 are for one.
#define HARD_F16_UP 1
KD float f16_up(u16 v) {
  float f;
  asm("cvt.f32.f16 %0,%1;" : "=f"(f) : "h"(v));
  return f;
}
#if __CUDA_ARCH__ >= 800
#define HARD_F16 1
KD u16 f16_down(float f) {
  u32 v;
  asm("cvt.rn.f16x2.f32 %0,%1,%2;" : "=r"(v) : "f"(0.0f), "f"(f));
  return f == f ? (u16)v : 0x7e00;
}
#define HARD_BF16 1
KD u16 bf16_down(float f) {  // a NaN becomes 0x7fff
  u32 v;
  asm("cvt.rn.bf16x2.f32 %0,%1,%2;" : "=r"(v) : "f"(0.0f), "f"(f));
  return (u16)v;
}
// Two conversions in one; a NaN becomes 0x7fff.
#define HARD_PAIRS 1
KD u32 f16_pair(float low, float high) {
  u32 v;
  asm("cvt.rn.f16x2.f32 %0,%1,%2;" : "=r"(v) : "f"(high), "f"(low));
  return v;
}
KD u32 bf16_pair(float low, float high) {
  u32 v;
  asm("cvt.rn.bf16x2.f32 %0,%1,%2;" : "=r"(v) : "f"(high), "f"(low));
  return v;
}
#endif

// The smaller and the larger of two: a number wins over NaN, and -0 is below +0.
#define HARD_MIN 1
#define KERNEL_LESSER(name, T, ptx, c) \
  KD T name(T a, T b) { T v; asm(ptx " %0,%1,%2;" : "=" c(v) : c(a), c(b)); return v; }
KERNEL_LESSER(min_of, float, "min.f32", "f")
KERNEL_LESSER(max_of, float, "max.f32", "f")
KERNEL_LESSER(min_of, double, "min.f64", "d")
KERNEL_LESSER(max_of, double, "max.f64", "d")
#undef KERNEL_LESSER

KD u64 now() {
  u64 ns;
  asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(ns));
  return ns;
}
