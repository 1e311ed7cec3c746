// This file is what the platform layers of all GPUs share. A thread block is one
// of the device's, whose threads come in bundles of LANES that run together
// (a warp, a wavefront).
#pragma once
#include "../abi/tables.h"

#define KERNEL_LANES 1
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

// Everything is inlined into the entry: what a thread knows stays in registers.
#define KD __device__ static inline __attribute__((always_inline))
#define KD_MEMBER __device__ inline __attribute__((always_inline))
#define KD_CALL KD

template <class T> KD T *at_address(u64 address) { return (T *)address; }

// Pointers that were numbers in a table could lead anywhere. Data and flags lie in
// global memory, and an access must say so itself: compilers fold a cast there
// and back away. Only numbers and vectors can be accessed so.
template <class T> using global = __attribute__((address_space(1))) T;
template <class T> KD global<T> *global_at(const T *p) { return (global<T> *)p; }

typedef u32 v16 __attribute__((ext_vector_type(4)));
template <class T> KD T load_global(const void *p) { return *global_at((const T *)p); }
template <class T> KD void store_global(void *p, T v) { *global_at((T *)p) = v; }

KD u32 tid();
KD u32 ntid();
KD void bar();

// What the threads of a block share, as in cpu.h. A thread block of the GPU may hold several, in groups of its threads.
KD u32 group();
struct block_shared {
  u32 stop, late;
};

// A block's rows of the tables are copied near it when it starts, with as many
// of its steps as there is room for: no step is then a trip to memory. NEAR_LAUNCH
// says whether the launch is copied too.
enum { NEAR_STEPS = 128 };
struct block_memory {
  abi_launch launch;
  abi_step steps[NEAR_STEPS];
  abi_block block;
  abi_rank rank;
  abi_conn out, in;
#ifdef KERNEL_TRACE
  trace_rows trace;
#endif
};
__shared__ static block_memory block_local;
#ifdef KERNEL_TRACE
KD trace_rows *rows_of_block() { return &block_local.trace; }
#endif
__shared__ static block_shared block_flags[MOST_GROUPS];
KD block_shared *shared() { return block_flags + group(); }
KD u32 ld_block32(const u32 *p) { return *(const volatile u32 *)p; }
KD void st_block32(u32 *p, u32 v) { *(volatile u32 *)p = v; }

// copy_near copies words with all threads of the block.
template <class T> KD void copy_near(T *to, const T *from, u32 count) {
  for (u32 i = tid(); i < sizeof(T) / 4 * count; i += ntid()) ((u32 *)to)[i] = load_global<u32>((const u32 *)from + i);
}

KD block_tables bring_near(const block_tables &far) {
  block_memory &m = block_local;
  if (NEAR_LAUNCH && tid() == 0) m.launch = *far.launch;
  const u32 steps = load_global<u32>(&far.block->steps);
  const bool fits = steps <= NEAR_STEPS;
  if (fits) copy_near(m.steps, far.steps, steps);
  copy_near(&m.block, far.block, 1);
  copy_near(&m.rank, far.rank, 1);
  if (far.out) copy_near(&m.out, far.out, 1);
  if (far.in) copy_near(&m.in, far.in, 1);
  if (tid() == 0) shared()->stop = shared()->late = 0;
  bar();
  return block_tables{
      NEAR_LAUNCH ? &m.launch : far.launch, &m.block, &m.rank, &m.out, &m.in, fits ? m.steps : far.steps};
}

// Nobody watches a launch on a GPU, and a wait has nobody to make way for.
KD void stall() {}
KD void moved() {}
KD bool watched() { return false; }
KD void action_begins() {}
KD void action_ended() {}

// A wait polls the abort word every ABORT_POLLS times, the clock every CLOCK_POLLS of these, and the word that asks it
// to leave every FAR_CLOCKS of those: some 40 us, 0.6 ms and 10 ms apart.
enum { ABORT_POLLS = 64, CLOCK_POLLS = 16, FAR_CLOCKS = 16 };
static_assert(ABORT_POLLS * CLOCK_POLLS * FAR_CLOCKS >= 8192, "a wait that looks there has lasted for 5 ms");
