// This file is the interpreter of one-sided programs: run_onesided runs one replica
// of one block: in each tile iteration, all steps in order.
//
// The threads of a block run the same steps and meet only where the program's order asks
// for it (ir.OneSided): before a step that is not Joint, if data was moved
// or a flag awaited since they met last. Thread i awaits and signals operand i of a
// step; where two Signals in a row have different threads signal one flag, they meet too. Whether a thread meets the
// others never depends on what it saw: one that gave up waiting does nothing any more, but goes to every barrier.
#pragma once
#include "../abi/tables_onesided.h"
#include "../protocol/wait_onesided.h"
#include "net.h"
#include "trace_onesided.h"
#ifdef KERNEL_LANES
#include "../moves/lanes_onesided.h"
#else
#include "../moves/strips_onesided.h"
#endif

// meet has the threads of a block meet; where the next step signals, what all of
// them wrote is then fit to be released by any.
KD_CALL void meet(One &t, bool publish) {
  if (publish) bar_publish();
  else bar();
  t.gone |= ld_block32(&shared()->late) != 0;
  t.dirty = t.owed = false;
}

// settle_and_meet waits for all that M has others do for the block, and then has its threads meet.
template <class M> KD_CALL void settle_and_meet(One &t, bool publish) {
  M::settle(t);
  meet(t, publish);
}

// flag_of is where a flag lies, of a replica.
KD u64 *flag_of(const One &t, u32 rank, u32 index) {
  return at_address<u64>(t.at.ranks[rank].flags) + (u64)t.replica * t.a.flags + index;
}

KD u64 near_where(const One &t, u32 i) {
#ifdef KERNEL_LANES
  (void)t;
  return one_local.where[i];
#else
  return t.at.where[i];
#endif
}

// flag_at is where the flag of operand i lies.
KD u64 *flag_at(const One &t, u32 i) {
  if (t.at.where) return at_address<u64>(near_where(t, i));
  const abi_one_operand &o = t.at.operands[i];
  if (NET && o.buf == BUF_INBOX_FLAGS) return at_address<u64>(inbox_flag(t, o));
  return flag_of(t, (u32)o.rank, o.index);
}

// flag_count is what an operand's flag is to be.
KD i64 flag_count(const One &t, const abi_one_step &s, const abi_one_operand &o) {
  const u64 before = s.flags & (STEP_ENTER | STEP_LEAVE) ? t.launches : t.tiles;
  return (i64)(before * o.b) + o.a;
}

// A flag has one block that signals it, which therefore stores the count.
KD_CALL void signal(One &t, const abi_one_step &s) {
  if (t.gone) return;
  for (u32 i = tid(); i < s.dsts; i += ntid()) {
    const u32 o = s.first + s.srcs + i;
    if (NET && net_posts(t, s, i, (u64)flag_count(t, s, t.at.operands[o]))) continue;
    st_release64(flag_at(t, o), (u64)flag_count(t, s, t.at.operands[o]));
  }
  if (NET) net_posted(t, s);
}

KD_CALL void await(One &t, const abi_one_step &s) {
  for (u32 i = tid(); i < s.srcs; i += ntid()) {
    const i64 want = flag_count(t, s, t.at.operands[s.first + i]);
    t.operand = i;
    if (want > 0) wait_flag(t, WAIT_FLAG, flag_at(t, s.first + i), (u64)want);
  }
}

// meet_all has all blocks of a replica, on all ranks, meet. round counts such meetings.
KD_CALL void meet_all(One &t, u64 round) {
  const u32 first = t.a.flags - t.a.all_blocks;
  meet(t, true);
  if (!t.gone)
    for (u32 r = tid(); r < t.a.rank_count; r += ntid()) {
      if (NET && net_away(t, r)) continue;
      st_release64(flag_of(t, r, first + t.block), round);
    }
  for (u32 b = tid(); b < t.a.all_blocks; b += ntid()) {
    t.operand = b;
    wait_flag(t, WAIT_MEET, flag_of(t, t.at.block->rank, first + b), round);
  }
  meet(t, false);
}

// A 64-bit division is a call on a GPU, before which every thread would save its registers.
// period_of is n / ONE_PERIOD and the rest, and rest_of is n % d, of a d below 65,536.
struct Period {
  u64 number;
  u32 rest;
};
KD Period period_of(u64 n) {
  u64 number = n >> 32, rest = number + (n & 0xffffffffu);
  for (u32 i = 0; i < 2; i++)
    if (rest >= ONE_PERIOD) rest -= ONE_PERIOD, number++;
  return Period{number, (u32)rest};
}
KD u32 rest_of(u64 n, u32 d) {
  if ((d & (d - 1)) == 0) return (u32)n & (d - 1);
  const u32 high = (u32)(n >> 32) % d, carry = 0xffffffffu % d + 1;
  return (high * carry + (u32)n % d) % d;
}

// renew clears the packets of a replica where their flags begin anew: a slot that is seldom
// written to its end may hold a flag of the period before. Everybody has taken
// the packets of that period before any are cleared, and nobody sends others before
// all are.
KD_CALL void renew(One &t) {
  const u64 round = period_of(t.tiles).number * 2;
  meet_all(t, round - 1);
  const u64 bytes = t.a.packet_copy * t.a.depth, base = t.at.ranks[t.at.block->rank].packets + t.replica * bytes;
  if (!t.gone)
    for (u64 i = (u64)tid() * 8; i < bytes; i += (u64)ntid() * 8) st_relaxed64(at_address<u64>(base + i), 0);
  meet_all(t, round);
}

// begin_iteration sets what a tile iteration has of its own.
template <class M> KD_CALL void begin_iteration(One &t, u64 iteration) {
  const abi_one_launch &a = t.a;
  t.iteration = iteration;
  t.flag = period_of(t.tiles).rest + 1;
  t.copy = (u64)t.replica * a.depth + rest_of(t.tiles, a.depth);
  t.first = t.replica * a.share + iteration * a.tile;
  t.end = least(t.first + a.tile, (t.replica + 1) * a.share);
  M::place(t);
  t.block = t.at.block->number;
  if (M::RENEWS && __builtin_expect(t.flag == 1 && t.tiles > 0, 0)) {
    M::settle(t);
    renew(t);
  }
}

// step_of is the row of the present step.
KD abi_one_step step_of(const One &t) {
#ifdef KERNEL_LANES
  v16 row;
  if (t.at.where) row = ((const v16 *)one_local.steps)[t.step];
  else row = load_global<v16>(t.at.steps + t.step);
  return same_bits<abi_one_step>(whole_words(row));
#else
  return t.at.steps[t.step];
#endif
}

// run_iteration runs all steps once, but for Signals and Awaits with a flag of absent.
template <class M> KD_CALL void run_iteration(One &t, u32 absent) {
  u32 next;
  for (t.step = 0; t.step < t.at.block->steps; t.step = next) {
    abi_one_step s = step_of(t);
    if (OP_MOVES(s.op)) s.group = (u16)trace_group(t, s);
    next = t.step + (OP_MOVES(s.op) ? s.group : 1);
    if (!(s.flags & STEP_JOINT)) t.owed |= t.dirty;
    const u64 begun = trace_begins(t);
    if (OP_MOVES(s.op)) {
      if (t.owed) settle_and_meet<M>(t, false);
      action_begins();
      M::move(t, s);
      t.dirty = true;
    } else if (s.flags & absent) {
      continue;
    } else if (s.op == OP_SIGNAL) {
      if (t.owed || s.flags & ONE_MEETS) settle_and_meet<M>(t, true);
      action_begins();
      signal(t, s);
    } else {
      await(t, s);
      action_begins();
      t.dirty = true;
    }
    action_ended();
    trace_ended(t, begun);
  }
}

// run_onesided runs one replica of a block. M moves data.
template <class M> KD_CALL void run_onesided(const abi_one_launch &launch, u32 block, u32 replica) {
  abi_one_state *state = at_address<abi_one_state>(launch.states) + (u64)block * launch.max_replicas + replica;
  const abi_one_state before = *state;
  One t = one_thread(bring_near(launch, block), replica, before);
  M::begin(t, block);
  if (NET) net_begins(t, block);
  const u64 iterations = launch.iterations;
  for (u64 i = 0; i < iterations; i++, t.tiles++) {
    begin_iteration<M>(t, i);
    run_iteration<M>(t, (i > 0 ? STEP_ENTER : 0) | (i + 1 < iterations ? STEP_LEAVE : 0));
  }
  settle_and_meet<M>(t, false);  // all threads have read the state
  if (tid() == 0 && !t.gone) {
    *state = abi_one_state{t.tiles, t.launches + 1};
    M::finish(t);
    if (NET) net_ends(t);
  }
}
