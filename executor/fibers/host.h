// The host side of the CPU device, as Go and the sanitizer driver call it.
#pragma once
#include "../../kernels/rows/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MSCCLC_STACK = 64 << 10 };  // bytes of a fiber's stack

// mscclc_cpu_map gives zeroed memory that takes space only where it is touched,
// or 0; mscclc_cpu_unmap gives it back.
u64 mscclc_cpu_map(u64 bytes);
void mscclc_cpu_unmap(u64 address, u64 bytes);

// A watch records a launch, and steers it. after has for each action the one
// that must have ended before it begins, or -1; who waits for that is let go when
// nobody else can go on. probe is where the chunk lies that the record is to show,
// or 0. The action numbered stale - 1 sees there what stale_value is, or, where that is
// last, its own store comes before that of stale_value; STALE_CALLER is who looks at the memory
// when the launch is over.
struct host_watch {
  u64 status;         // the launch's
  u64 actions;        // struct abi_action of all blocks
  u64 first;          // u64: where a block's begin
  u64 after;          // i32, or 0 where nothing is held
  u64 probe, first_seen;
  u64 scratch, scratch_words, poison;
  u64 clock;
  u64 stale, stale_value, stale_last;
  u64 stale_there, stale_shown;  // what is there while stale_value is shown
};
#define STALE_CALLER (~(u64)0)

// What a thread does whose blocks all wait: help returns whether it found something to do. It may be 0.
struct host_help {
  u64 call;  // int (*)(void *)
  u64 with;
};

// mscclc_cpu_fibers runs a launch with each block a fiber, spread over a number of
// threads. stacks has MSCCLC_STACK bytes for each block. watch is 0, or there is
// one thread, and a launch in which no block can go on ends as STATUS_STUCK. trace says what
// is recorded, or is 0.
void mscclc_cpu_fibers(const struct abi_launch *a, const struct abi_trace *trace, u32 threads, u64 stacks,
                       struct host_watch *watch);

// mscclc_cpu_threads runs a launch with a number of threads for each block.
void mscclc_cpu_threads(const struct abi_launch *a, const struct abi_trace *trace, u32 per_block);

// The same of a one-sided program: each replica of a block is a block.
void mscclc_cpu_fibers_onesided(const struct abi_one_launch *a, u32 threads, u64 stacks, struct host_watch *watch,
                                struct host_help help);
void mscclc_cpu_threads_onesided(const struct abi_one_launch *a, u32 per_block);

// The same of a program with an epilogue. room has mscclc_cpu_row_room bytes for each thread of each replica of a
// block, where a fiber is one thread.
u64 mscclc_cpu_row_room(u32 length);
void mscclc_cpu_fibers_rows(const struct abi_rows_launch *a, u32 threads, u64 stacks, u64 room);
void mscclc_cpu_threads_rows(const struct abi_rows_launch *a, u32 per_block, u64 room);

// mscclc_cpu_cell is where the kernel finds element `at` of a chunk.
u64 mscclc_cpu_cell(const struct abi_launch *a, const struct abi_rank *m, u32 buf, u32 index, u64 at);

// mscclc_cpu_stack_use is how much of a stack was ever written.
u64 mscclc_cpu_stack_use(u64 stack);

#ifdef __cplusplus
}
#endif
