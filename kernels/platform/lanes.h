// This file is the platform layer of a host that plays a GPU: the layer of the kernel that GPUs run
// (KERNEL_LANES), on the host's threads and with its atomics. Tests run it, so that what GPUs execute is executed where
// there is none; LANES are few, so that there are several bundles of them, and enough for two lines of eight.
//
// What is between two barriers goes in any order there as on a GPU: each access to memory is a place where another
// thread may go on, also between the two words of a pair.
#pragma once
#include "cpu.h"

#define KERNEL_LANES 1
enum { LANES = 16 };

void host_access();  // lets another thread go on, now and then

// Memory is accessed as what it is not declared as.
struct __attribute__((may_alias, aligned(16))) v16 {
  u32 x, y, z, w;
};
KD void must_be_aligned(const void *p, u64 to) {
  if ((u64)p % to) __builtin_trap();  // as a GPU would
}
template <class T> KD T load_global(const void *p) {
  typedef T __attribute__((may_alias)) any_type;
  must_be_aligned(p, sizeof(T));
  host_access();
  return *(const any_type *)p;
}
template <class T> KD void store_global(void *p, T v) {
  typedef T __attribute__((may_alias)) any_type;
  must_be_aligned(p, sizeof(T));
  host_access();
  *(any_type *)p = v;
}
KD v16 load_stream(const void *p) { return load_global<v16>(p); }
KD v16 whole_words(v16 v) { return v; }
KD u64 whole_words(u64 v) { return v; }
KD void not_before(u64 *) {}

// Two 8-byte words, each of which arrives whole.
struct pair64 {
  u64 low, high;
};
KD pair64 ld_pair(const u8 *p) {
  must_be_aligned(p, 16);
  pair64 v;
  v.low = ld_relaxed64((const u64 *)p);
  host_access();
  v.high = ld_relaxed64((const u64 *)p + 1);
  return v;
}
KD void st_pair(u8 *p, pair64 v) {
  must_be_aligned(p, 16);
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

// any gives all lanes of a bundle whether some lane says so, and gather waits for all. One vote takes its answer from
// the side that the next does not use.
struct bundle_vote {
  u32 arrived, votes, said[2];
  u32 words[LANES];  // of lane_xor
};
KD bundle_vote &vote_of_bundle();
KD bool any(bool here) {
  bundle_vote &b = vote_of_bundle();
  const u32 vote = __atomic_load_n(&b.votes, __ATOMIC_ACQUIRE), side = vote % 2;
  if (here) __atomic_store_n(&b.said[side], 1, __ATOMIC_RELAXED);
  if (__atomic_add_fetch(&b.arrived, 1, __ATOMIC_ACQ_REL) == LANES) {
    __atomic_store_n(&b.arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&b.said[1 - side], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&b.votes, vote + 1, __ATOMIC_RELEASE);
  } else {
    while (__atomic_load_n(&b.votes, __ATOMIC_ACQUIRE) == vote) host_pause();
  }
  return __atomic_load_n(&b.said[side], __ATOMIC_RELAXED);
}
KD void gather() { any(false); }

// lane_xor is v of the lane whose number differs in the bits of `apart`; all lanes ask at once.
KD u32 lane_xor(u32 v, u32 apart) {
  u32 *words = vote_of_bundle().words;
  __atomic_store_n(words + tid() % LANES, v, __ATOMIC_RELAXED);
  gather();
  v = __atomic_load_n(words + (tid() % LANES ^ apart), __ATOMIC_RELAXED);
  gather();
  return v;
}

// raise32 has *p be v at least, set32 be v, and get32 looks, for the threads of the block.
KD u32 get32(const u32 *p) {
  host_access();
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
KD void set32(u32 *p, u32 v) {
  host_access();
  __atomic_store_n(p, v, __ATOMIC_RELAXED);
}
KD void raise32(u32 *p, u32 v) {
  for (u32 was = get32(p); was < v;)
    if (__atomic_compare_exchange_n(p, &was, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
}

// What a block's threads share of a one-sided program follows block_shared.
KD struct one_near &near_of_block();
#define one_local near_of_block()
#include "../abi/tables_onesided.h"
enum { MOST_BUNDLES = 16, HOST_ROW_ROOM = 32 << 10 };  // of rows/room.h
struct lanes_shared {
  block_shared of_all;
  bundle_vote vote[MOST_BUNDLES];
  one_near near;
  u32 row_parts[2][MOST_BUNDLES];
  alignas(16) u8 row_table[512];  // near_rows of rows/reduce.h
  alignas(16) u8 row_room[HOST_ROW_ROOM];
};
KD one_near &near_of_block() { return ((lanes_shared *)shared())->near; }
#define HOST_ROW_PARTS 1
KD u32 *row_parts(u32 turn) { return ((lanes_shared *)shared())->row_parts[turn & 1]; }  // of rows/reduce.h
KD u8 *row_room_bytes() { return ((lanes_shared *)shared())->row_room; }
KD u8 *row_table() { return ((lanes_shared *)shared())->row_table; }
KD bundle_vote &vote_of_bundle() { return ((lanes_shared *)shared())->vote[tid() / LANES]; }
