// This file holds the waits. None lasts for ever: each polls the abort word and
// a clock, and the first that runs out of time says in the status what it
// waited for and what it saw.
#pragma once
#include "../abi/layout.h"

// What one thread of a block knows. sent and received count the messages of the
// block's connections since the last reset, tiles the tile iterations.
struct Thread {
  const abi_launch &a;
  block_tables at;
  abi_status *status;
  u32 block, step;
  bool gone;  // gave up waiting; waits for nothing any more
  u64 tiles, sent, received;
};

KD void say_where(abi_status *, const Thread &) {}

// asked_to_leave looks at the word by which the host has launches leave. The word may lie in memory of the host, which
// reads the looks of a GPU's warps one after the other, 1 us each: 64 blocks of 16 warps take a millisecond. If waits
// of less than that looked, each rank would wait for another that looks, and so on in all calls. So the first warp of a
// block looks seldom, and the others yet more seldom: who is asked first ends the waits of all by the abort word.
template <class T> KD_CALL bool asked_to_leave(T &t, u32 clocks) {
  const u32 apart = tid() < 32 ? FAR_CLOCKS : 16 * FAR_CLOCKS;
  if (clocks % apart != apart - 1) return false;
  const u64 leave = ld_relaxed64(&t.status->leave);
  return leave && ld_relaxed64(at_address<u64>(leave));
}

// expired polls the abort word, but not at first, since most waits are short and it lies far away,
// and now and then the clock. since is 0 until the wait has lasted for a while.
template <class T> KD_CALL bool expired(T &t, u32 polls, u64 *since, u32 what, u64 want, u64 have) {
  if (__builtin_expect(polls % ABORT_POLLS != ABORT_POLLS - 1, 1)) return false;
  if (ld_relaxed32(&t.status->code) != STATUS_OK) return true;
  const u32 looks = polls / ABORT_POLLS;
  if (looks % CLOCK_POLLS != CLOCK_POLLS - 1) return false;
  const u64 at = now();
  if (*since == 0) {
    *since = at;
    return false;
  }
  if (at - *since < ld_relaxed64(&t.status->limit_ns) && !asked_to_leave(t, looks / CLOCK_POLLS)) return false;
  if (claim32(&t.status->code, STATUS_TIMEOUT)) {
    abi_status *s = t.status;
    s->block = t.block, s->step = t.step, s->what = what;
    s->want = want, s->have = have, s->tile = t.tiles, s->waited_ns = at - *since;
    say_where(s, t);
  }
  return true;
}

// wait_until polls look, which gives true when the wait is over and else stores
// what it saw; false means that the launch is over.
template <class T, class Look> KD_CALL bool wait_until(T &t, u32 what, u64 want, Look look) {
  u64 have = 0, since = 0;
  if (look(&have)) {
    moved();
    return true;
  }
  for (u32 polls = 0;; polls++) {
    if (expired(t, polls, &since, what, want, have)) return false;
    stall();
    if (look(&have)) break;
  }
  moved();
  return true;
}

// wait_count waits until a counter has reached want.
template <class T> KD bool wait_count(T &t, u32 what, const u64 *counter, u64 want) {
  return wait_until(t, what, want, [=](u64 *have) { return (*have = ld_acquire64(counter)) >= want; });
}
