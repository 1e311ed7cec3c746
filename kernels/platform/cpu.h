// This file is the platform layer of the host. A thread block is a fiber with
// one thread, or several OS threads with real barriers; executor/fibers/host.cc
// runs either. A platform for another device defines the same names.
#pragma once
#include "../abi/tables.h"

// A host's steps can be traced at any time: it costs them a look at the launch.
#define KERNEL_TRACE 1

// KD is a function of the device that is always inlined, KD_MEMBER the same as a
// member, and KD_CALL one that may be called.
#define KD static inline __attribute__((always_inline))
#define KD_MEMBER inline __attribute__((always_inline))
#define KD_CALL static

// Pointers that were numbers in a table.
template <class T> KD T *at_address(u64 address) { return (T *)address; }

// What the threads of a block share. Only thread 0 writes stop, between two
// barriers; any thread writes late.
struct block_shared {
  u32 stop;  // leave at the next check
  u32 late;  // some thread gave up waiting for a packet
  u32 any;   // of bar_any (lanes.h)
  trace_rows trace;
};

// A thread as the host runs it.
struct host_thread {
  u32 tid, ntid;
  block_shared *shared;
  u64 moves;  // waits that have ended
  struct host_watch *watch;  // who watches the launch, or nullptr
  u64 action;  // the next, where that is so
  bool held;   // it could begin, if the watch let it
};
extern __thread host_thread *host_self;
void host_barrier();
void host_pause();  // lets other blocks run
u64 host_now();     // in nanoseconds
void host_begins();
void host_ended();

KD u32 tid() { return host_self->tid; }
KD u32 ntid() { return host_self->ntid; }
KD block_shared *shared() { return host_self->shared; }
KD trace_rows *rows_of_block() { return &shared()->trace; }

// bar makes what any thread of the block wrote before it visible to all of
// them after it, and ends their reads: a packet that is sent after it tells that
// they are over (ir.OpInfo). A block of one thread needs a fence for that, which
// the thread sanitizer does not know. bar_publish stands before one thread publishes what the whole
// block wrote, which on some devices takes more than a barrier.
//
// KERNEL_MUTATION breaks one ordering on purpose, to prove that the thread
// sanitizer would see it missing. KERNEL_PACKETS_ORDER makes packets order all
// that comes before them, which they do not: for the sanitizer alone, which does
// not know that a reader is done with what it read when its packet arrives.
KD void bar() {
#if KERNEL_MUTATION != 1
  if (ntid() > 1) host_barrier();
#ifndef __SANITIZE_THREAD__
  else __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
#endif
}
KD void bar_publish() {
#if KERNEL_MUTATION != 2
  if (ntid() > 1) host_barrier();
#ifndef __SANITIZE_THREAD__
  else __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
#endif
}
#if KERNEL_MUTATION == 3
#define KERNEL_RELEASE __ATOMIC_RELAXED
#else
#define KERNEL_RELEASE __ATOMIC_RELEASE
#endif
#if KERNEL_MUTATION == 4
#define KERNEL_ACQUIRE __ATOMIC_RELAXED
#else
#define KERNEL_ACQUIRE __ATOMIC_ACQUIRE
#endif
#ifdef KERNEL_PACKETS_ORDER
#define KERNEL_PACKET_LOAD __ATOMIC_ACQUIRE
#define KERNEL_PACKET_STORE __ATOMIC_RELEASE
#else
#define KERNEL_PACKET_LOAD __ATOMIC_RELAXED
#define KERNEL_PACKET_STORE __ATOMIC_RELAXED
#endif

// A driver that is to see threads in unlikely orders has each access that orders others come late, now and then.
#ifndef KERNEL_DELAY
#define KERNEL_DELAY()
#endif

KD u32 ld_block32(const u32 *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }  // of block_shared
KD void st_block32(u32 *p, u32 v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
KD u32 ld_relaxed32(const u32 *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
KD u64 ld_relaxed64(const u64 *p) {
  KERNEL_DELAY();
  return __atomic_load_n(p, KERNEL_PACKET_LOAD);
}
KD u64 ld_acquire64(const u64 *p) {
  KERNEL_DELAY();
  return __atomic_load_n(p, KERNEL_ACQUIRE);
}
KD void st_relaxed64(u64 *p, u64 v) {
  KERNEL_DELAY();
  __atomic_store_n(p, v, KERNEL_PACKET_STORE);
}
KD void st_release64(u64 *p, u64 v) {
  KERNEL_DELAY();
  __atomic_store_n(p, v, KERNEL_RELEASE);
}
KD void st_release64_device(u64 *p, u64 v) { st_release64(p, v); }  // for readers on the same device
KD bool claim32(u32 *p, u32 v) {  // 0 -> v, once
  u32 zero = 0;
  return __atomic_compare_exchange_n(p, &zero, v, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// stall is for a wait that cannot go on; moved says that one went on.
KD void stall() { host_pause(); }
KD u64 now() { return host_now(); }
KD void moved() { host_self->moves++; }

// An action (abi_action) begins when what it waits for is there, except for
// packets, and has ended when its messages are posted. Who watches may hold it
// back at its beginning. On a device without a watch these are empty.
KD bool watched() { return host_self->watch != nullptr; }
KD void action_begins() {
  if (host_self->watch) host_begins();
}
KD void action_ended() {
  if (host_self->watch) host_ended();
}

// A wait polls the abort word every ABORT_POLLS times, the clock every CLOCK_POLLS of these, and the word that asks it
// to leave as often as the clock.
enum { ABORT_POLLS = 1, CLOCK_POLLS = 32, FAR_CLOCKS = 1 };

// A block's tables are read where they are.
KD block_tables bring_near(const block_tables &far) { return far; }

// A thread works on strips of STRIP bytes: a multiple of all element sizes
// and of all packet payloads (4, 8, 120).
enum { STRIP = 3840 };

// The accumulators that a reduction keeps at once.
enum { FOLD = 512 };
