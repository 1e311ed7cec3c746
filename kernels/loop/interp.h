// This file is the interpreter: interpret runs one thread block of a program.
// For every tile of the chunks it runs all steps of the block, in order.
//
// A step that transfers is cut into messages. For each, thread 0 waits for what
// the block needs, a barrier hands that on to all threads, all move their strips,
// and after a second barrier thread 0 posts what was sent and frees what was
// received. The second barrier also orders one step after the other.
#pragma once
#include "../moves/run.h"
#include "trace.h"
#ifdef KERNEL_LANES
#include "../moves/lanes.h"
#else
#include "../moves/strips.h"
#endif

KD abi_state *state_of(const Thread &t, u32 block) { return at_address<abi_state>(t.a.states) + block; }

// slot_of is where message number n (from 0) of a connection lies. Slots are a power of two, or
// counts start anew before they have 32 bits.
KD u8 *slot_of(const Thread &t, const abi_conn *c, u64 n) {
  return at_address<u8>(c->slots) + (u32)n % t.a.slots * t.a.slot_stride;
}

// ready waits, as thread 0, for the step's flag (if flag), a free slot and,
// where messages are posted, the message.
template <class P> KD_CALL bool ready(Thread &t, const abi_step &s, bool flag, bool sends, bool receives) {
  if (flag) {
    const u32 other = t.at.block->first_block + (u32)s.dep_block;
    const u64 steps = at_address<const abi_block>(t.a.blocks)[other].steps;
    if (!wait_count(t, WAIT_FLAG, &state_of(t, other)->flag, t.tiles * steps + (u64)s.dep_step + 1)) return false;
  }
  if (sends && t.sent >= t.a.slots &&
      !wait_count(t, WAIT_SLOT, at_address<u64>(t.at.out->head), t.sent + 1 - t.a.slots))
    return false;
  if (receives && P::POSTED && !wait_count(t, WAIT_MESSAGE, at_address<u64>(t.at.in->tail), t.received + 1))
    return false;
  return true;
}

// begin waits for what a message needs, and returns false where the block must
// leave. All threads get the same answer: stop changes only between the last
// barrier of one message and the first of the next.
template <class P> KD_CALL bool begin(Thread &t, const abi_step &s, bool flag, bool sends, bool receives) {
  if (!flag && !sends && !(receives && P::POSTED)) return true;
  if (tid() == 0 && (ld_block32(&shared()->late) || !ready<P>(t, s, flag, sends, receives)))
    st_block32(&shared()->stop, 1);
  bar();  // hands on what thread 0 acquired: the message, the slot, other blocks' writes
  return ld_block32(&shared()->stop) == 0;
}

// Packets of some protocols carry 32 bits of their message's number. So that none is taken for one that the same
// number was written in long ago, or for memory that was never written (0), each slot is written all over
// once in RENEW messages, when it was read: with the number of the message that was there.
enum { RENEW = 1 << 30 };
template <class P> KD bool renews(const Thread &t) {
  return P::WRAPS && (((u32)t.received + RENEW / 2) & (RENEW - 1)) < t.a.slots;
}
template <class P> KD_CALL void renew(Thread &t) {
  bar();  // all have read it
  u64 *slot = (u64 *)slot_of(t, t.at.in, t.received);
  for (u64 i = tid(); i < t.a.slot_stride / 8; i += ntid()) st_relaxed64(slot + i, (u64)(u32)(t.received + 1) << 32);
}

// finish ends a message.
template <class P> KD_CALL void finish(Thread &t, bool sends, bool receives) {
  if (receives && renews<P>(t)) renew<P>(t);
  bar_publish();  // all strips are moved: readers of the slots are done, and writes are there
  if (tid() == 0 && !ld_block32(&shared()->late)) {
    if (sends && P::POSTED) st_release64(at_address<u64>(t.at.out->tail), t.sent + 1);
    if (receives) st_release64(at_address<u64>(t.at.in->head), t.received + 1);
  }
  t.sent += sends;
  t.received += receives;
}

// move moves chunks [i, end) of a step.
template <class P, class R> KD_CALL void move(Thread &t, const abi_step &s, const Tile &tile, u32 i, u32 end) {
  const abi_rank &m = *t.at.rank;
  const u8 *from = in(s.op, OPS_RECEIVE) ? slot_of(t, t.at.in, t.received) : nullptr;
  u8 *to = in(s.op, OPS_SEND) ? slot_of(t, t.at.out, t.sent) : nullptr;
  while (i < end) {
    u64 elems;
    const u32 next = next_run(t.a, tile, s, i, end, &elems);
    Run run = {0, 0, from, to, elems * t.a.elem_size};
    if (in(s.op, OPS_READ_SRC)) run.src = cell(t.a, m, s.src_buf, s.src + i, tile.at);
    if (in(s.op, OPS_WRITE)) run.dst = cell(t.a, m, s.dst_buf, s.dst + i, tile.at);
    if (!move_run<P, R>(t, s, run)) {
      t.gone = true;
      st_block32(&shared()->late, 1);
      return;
    }
    if (from) from += P::wire(run.bytes);
    if (to) to += P::wire(run.bytes);
    i = next;
  }
}

// reduce does a chain of re at once.
template <class R> KD_CALL void reduce(Thread &t, const abi_step *chain, const Tile &tile) {
  const abi_step &s = chain[0];
  for (u32 i = 0, next; i < s.count; i = next) {
    u64 elems;
    next = next_run(t.a, tile, s, i, s.count, &elems);
    reduce_run<R>(t, chain, tile, i, cell(t.a, *t.at.rank, s.dst_buf, s.dst + i, tile.at), elems * t.a.elem_size);
  }
}

// run_step runs one step, or a chain of re. It returns false where the launch is
// over.
template <class P, class R> KD_CALL bool run_step(Thread &t, const abi_step *s, const Tile &tile) {
  const bool sends = in(s->op, OPS_SEND) && s->count, receives = in(s->op, OPS_RECEIVE) && s->count;
  bool flag = s->dep_block >= 0;
  for (u32 i = 0; ; flag = false) {
    const u32 end = sends || receives ? (u32)least(i + (u64)tile.group, s->count) : s->count;
    if (!begin<P>(t, *s, flag, sends, receives)) return false;
    action_begins();
    trace_begins();
    if (s->op == OP_REDUCE) reduce<R>(t, s, tile);
    else if (s->op != OP_NOP) move<P, R>(t, *s, tile, i, end);
    finish<P>(t, sends, receives);
    action_ended();
    trace_ended();
    if ((i = end) >= s->count) break;
  }
  const u32 last = t.step + s->chain - 1;
  // Every thread's writes come before the barrier of the last finish, and so before the flag.
  if (tid() == 0 && s[s->chain - 1].flags & STEP_HAS_DEP && !ld_block32(&shared()->late))
    st_release64_device(&state_of(t, t.block)->flag, t.tiles * t.at.block->steps + last + 1);
  return true;
}

KD block_tables tables_of(const abi_launch &a, u32 block) {
  const abi_block *b = at_address<const abi_block>(a.blocks) + block;
  const abi_conn *conns = at_address<const abi_conn>(a.conns);
  return block_tables{&a, b, at_address<const abi_rank>(a.ranks) + b->rank, b->send < 0 ? nullptr : conns + b->send,
                      b->recv < 0 ? nullptr : conns + b->recv, at_address<const abi_step>(a.steps) + b->first_step};
}

// interpret runs one block. P is the protocol and R the reduction.
template <class P, class R> KD_CALL void interpret(const abi_launch &a, u32 block) {
  const block_tables near = bring_near(tables_of(a, block));
  abi_state *state = at_address<abi_state>(a.states) + block;
  Thread t = {*near.launch, near,           at_address<abi_status>(a.status), block, 0, false, state->tiles,
              state->sent,  state->received};
  const u64 longest = chunk_length(a, 0);
  for (u64 at = 0; at < longest; at += a.tile, t.tiles++) {
    const Tile tile = tile_at(a, at);
    for (t.step = 0; t.step < t.at.block->steps; t.step += t.at.steps[t.step].chain)
      if (!run_step<P, R>(t, t.at.steps + t.step, tile)) return;
  }
  bar();  // all threads have read the state
  if (tid() == 0 && !ld_block32(&shared()->late))
    state->tiles = t.tiles, state->sent = t.sent, state->received = t.received;
}

#ifndef KERNEL_LANES
// interpret_any chooses the protocol.
template <class R> KD void interpret_any(const abi_launch &a, u32 block) {
  switch (a.proto) {
    case PROTO_SIMPLE: interpret<Simple, R>(a, block); break;
    case PROTO_LL: interpret<LL, R>(a, block); break;
    case PROTO_LL16: interpret<LL16, R>(a, block); break;
    case PROTO_LL128: interpret<LL128, R>(a, block); break;
  }
}
#endif
