// This file has a port make the copies of a one-sided program that ask for one (ONE_PORT). A block
// hands each to the host's proxy, in a lane of its own, and waits for their ends where its threads meet: so
// nobody is notified of data that has not arrived, and a launch ends after its copies. The first thread of a
// block writes the lane and waits; all count, so that they know what is owed.
#pragma once
#include "cells.h"

KD abi_port_lane *port_lane(const One &t) { return at_address<abi_port_lane>(t.a.port) + t.lane; }
KD abi_port_ends *port_ends(const One &t) { return at_address<abi_port_ends>(t.a.port_ends) + t.lane; }

// PortMoves leaves to Moves what no port does, and all where the launch has no port.
template <class Moves> struct PortMoves : Moves {
  KD_CALL void begin(One &t, u32 block) {
    if (!t.a.port) return;
    t.lane = block * t.a.max_replicas + t.replica;
    t.sent = t.settled = ld_relaxed64(&port_ends(t)->sent);
  }

  KD_CALL void move(One &t, const abi_one_step &s) {
    if (!t.a.port || !(s.flags & ONE_PORT)) {
      Moves::move(t, s);
      return;
    }
    bar_publish();  // what the threads wrote is fit to be read by others
    for (u32 o = s.first + s.srcs; o < s.first + s.srcs + s.dsts; o++)
      for (u32 i = 0; i < s.count; i++) push(t, s, o, i);
  }

  // push hands over the copy of chunk i to operand o.
  KD_CALL void push(One &t, const abi_one_step &s, u32 o, u32 i) {
    const u64 bytes = iteration_bytes(t, class_of(t, s, i));
    if (bytes == 0) return;
    const u64 n = t.sent++;
    if (tid() != 0 || t.gone || (n >= PORT_DEPTH && !ended(t, n - PORT_DEPTH))) return;
    // The count of a launch that has failed is not kept: no other may use the lane.
    if (ld_relaxed32(&t.status->code) != STATUS_OK) {
      give_up(t);
      return;
    }
    const abi_one_operand &from = t.at.operands[s.first], &to = t.at.operands[o];
    const u32 own = t.at.block->rank, peer = (u32)to.rank != own ? (u32)to.rank : (u32)from.rank;
    abi_port_copy *c = port_lane(t)->copy + n % PORT_DEPTH;
    st_relaxed64(&c->src, one_cell(t, from, t.at.ranks[from.rank], i));
    st_relaxed64(&c->dst, one_cell(t, to, t.at.ranks[to.rank], i));
    st_relaxed64(&c->bytes, bytes);
    st_relaxed64(&c->peer, peer);
    st_relaxed64(&port_ends(t)->pushed_by[n % PORT_DEPTH], (u64)(o - s.first) << 32 | t.step);
    st_release64(&port_lane(t)->pushed, n + 1);
  }

  // ended waits for copy n of the lane, one of the last PORT_DEPTH.
  KD_CALL bool ended(One &t, u64 n) {
    abi_port_ends *e = port_ends(t);
    const u32 step = t.step;
    const u64 by = ld_relaxed64(&e->pushed_by[n % PORT_DEPTH]);
    t.step = (u32)by, t.operand = (u32)(by >> 32);
    const bool good = wait_count(t, WAIT_PORT, &e->done[n % PORT_DEPTH], n + 1);
    t.step = step;
    if (!good) give_up(t);
    return good;
  }

  // settle waits for all copies of the block; the threads are to meet after it.
  KD_CALL void settle(One &t) {
    if (!t.a.port) return;
    for (u64 n = t.sent - least(t.sent - t.settled, PORT_DEPTH); tid() == 0 && n < t.sent && !t.gone; n++) ended(t, n);
    t.settled = t.sent;
  }

  // finish keeps the count for the next launch.
  KD_CALL void finish(const One &t) {
    if (t.a.port) st_relaxed64(&port_ends(t)->sent, t.sent);
  }
};
