// This file sees and steers a launch whose blocks are the fibers of one thread.
// One thread makes it exact: between two waits a block is alone, so that actions
// happen one after the other, in the order of their ends, and a round in which
// no block has moved shows that none can.
#pragma once
#include "host.h"

static abi_action *action_at(const host_watch *w, u64 n) { return at_address<abi_action>(w->actions) + n; }

// holds says whether an action must not begin yet.
static bool holds(const host_watch *w, u64 n) {
  const i32 *after = at_address<const i32>(w->after);
  return after && after[n] >= 0 && !action_at(w, (u64)after[n])->end;
}

static u64 probed(const host_watch *w) { return w->probe ? load_bytes<u64>(at_address<const u8>(w->probe), 8) : 0; }

// A stale action runs with another value at the probe, as if a store had not come yet. Others, which run while it
// waits, see what is there.
static bool is_stale(const host_thread *t) { return t->watch->stale == t->action + 1 && t->watch->probe; }

static void put_probed(const host_watch *w, u64 value) { __builtin_memcpy(at_address<u8>(w->probe), &value, 8); }

static void show_stale(host_watch *w) {
  w->stale_there = probed(w);
  w->stale_shown = 1;
  put_probed(w, w->stale_value);
}

// hide_stale puts back what was there, unless the action has written since.
static void hide_stale(host_watch *w) {
  if (w->stale_shown && probed(w) == w->stale_value) put_probed(w, w->stale_there);
  w->stale_shown = 0;
}

// end_watch lets the caller see what it is to see.
static void end_watch(host_watch *w) {
  if (w->stale == STALE_CALLER && w->probe) put_probed(w, w->stale_value);
}

// begin_watch fills the scratch with poison, and looks at the probe.
static void begin_watch(host_watch *w) {
  u64 *scratch = at_address<u64>(w->scratch);
  for (u64 i = 0; i < w->scratch_words; i++) scratch[i] = w->poison;
  w->first_seen = probed(w);
}

// watch_block sets what a thread counts its actions from.
static void watch_block(host_thread *t, host_watch *w, u32 block) {
  t->watch = w;
  if (w) t->action = at_address<const u64>(w->first)[block];
}

// over says whether the launch has been stopped. What blocks do on their way out
// is not recorded: a packet that never came ends its wait.
static bool over(const host_watch *w) { return ld_relaxed32(&at_address<abi_status>(w->status)->code) != STATUS_OK; }

void host_begins() {
  host_thread *t = host_self;
  host_watch *w = t->watch;
  while (holds(w, t->action) && !over(w)) {
    t->held = true;
    host_pause();
  }
  t->held = false;
  if (over(w)) return;
  action_at(w, t->action)->begin = ++w->clock;
  if (is_stale(t) && !w->stale_last) show_stale(w);
  moved();
}

void host_ended() {
  host_watch *w = host_self->watch;
  if (over(w)) return;
  if (is_stale(host_self)) {
    if (w->stale_last) put_probed(w, w->stale_value);
    else hide_stale(w);
  }
  abi_action *a = action_at(w, host_self->action++);
  a->end = ++w->clock;
  a->seen = probed(w);
  moved();
}

// let_go ends what holds a thread back. Where nothing does, it returns false.
static bool let_go(host_thread *t) {
  if (t->held) at_address<i32>(t->watch->after)[t->action] = -1;
  return t->held;
}
