// This file has Signals reach ranks of other nodes, whose flags no kernel here can write, in images that are made with
// KERNEL_NET and where the launch has lanes. In other images it is nothing. A thread writes a row into the lane of its
// block instead of the flag (abi/rows_net.h), and the proxy does the rest. Moves need nothing: such a rank's inbox has
// a mirror on this node.
//
// Thread i of a block writes the row of destination i, as it stores the flag elsewhere. All threads count the rows of
// all destinations, so each knows the place of its own.
#pragma once
#include "../protocol/inbox.h"

#ifdef KERNEL_NET
KD abi_net_lane *net_lane(const One &t) { return at_address<abi_net_lane>(net_of(t.a).lanes) + t.net_lane; }
KD u64 *net_sent(const One &t) { return at_address<u64>(net_of(t.a).sent) + t.net_lane; }

KD_CALL void net_begins(One &t, u32 block) {
  if (!has_net(t.a)) return;
  t.net_lane = block * t.a.max_replicas + t.replica;
  t.rows = ld_relaxed64(net_sent(t));
}

// net_away says whether a rank is of another node. No packets leave a node, so where their flags begin anew, such a
// rank is not met: the flags that it would signal count as signalled from the beginning.
KD bool net_away(const One &t, u32 rank) { return !t.at.ranks[rank].flags; }

// net_to is destination i of a Signal.
KD const abi_one_operand &net_to(const One &t, const abi_one_step &s, u32 i) {
  return t.at.operands[s.first + s.srcs + i];
}

// net_count adds the rows of a Signal's destinations before i, beside those that it has added before.
KD_CALL void net_count(One &t, const abi_one_step &s, u32 i) {
  for (; t.counted < i; t.counted++) t.rows += net_away(t, (u32)net_to(t, s, t.counted).rank);
}

// net_pair is two neighbours of 32 bits as they lie in memory.
KD u64 net_pair(u32 low, u32 high) { return low | (u64)high << 32; }

// net_write writes the next row, of destination i. The count of a launch that has failed is not kept, so it writes no
// more.
KD_CALL void net_write(One &t, const abi_one_step &s, u32 i, u64 count) {
  const u64 n = t.rows;
  const abi_one_operand &to = net_to(t, s, i);
  abi_net_lane *lane = net_lane(t);
  t.operand = s.srcs + i;
  if (n >= NET_DEPTH) wait_flag(t, WAIT_NET, &lane->taken, n + 1 - NET_DEPTH);
  if (!t.gone && ld_relaxed32(&t.status->code) != STATUS_OK) give_up(t);
  if (t.gone) return;
  abi_net_row *row = lane->row + n % NET_DEPTH;
  st_relaxed64(&row->count, count);
  st_relaxed64(&row->first, t.first);
  st_relaxed64(&row->end, t.end);
  st_relaxed64(&row->elems, t.a.elems * t.a.elem_size);
  st_relaxed64(&row->chunk, t.a.chunk * t.a.elem_size);
  st_relaxed64((u64 *)&row->operand, net_pair(s.first + s.srcs + i, inbox_copy_of(t) | t.a.replicas << 16));
  st_relaxed64((u64 *)&row->rank, net_pair((u32)to.rank, to.index));
  st_release64(&row->seq, n + 1);
}

// net_posts tells destination i of a Signal what its flag is to be. It gives false where the rank is of this node: then
// the caller stores the flag. net_posted follows the last.
KD_CALL bool net_posts(One &t, const abi_one_step &s, u32 i, u64 count) {
  if (!has_net(t.a)) return false;
  net_count(t, s, i);
  if (!net_away(t, (u32)net_to(t, s, i).rank)) return t.gone;
  net_write(t, s, i, count);
  return true;
}
KD_CALL void net_posted(One &t, const abi_one_step &s) {
  if (!has_net(t.a)) return;
  net_count(t, s, s.dsts);
  t.counted = 0;
}

// net_ends keeps the count for the next launch.
KD_CALL void net_ends(const One &t) {
  if (has_net(t.a)) st_relaxed64(net_sent(t), t.rows);
}
#else
KD bool net_away(const One &, u32) { return false; }
KD void net_begins(One &, u32) {}
KD bool net_posts(One &, const abi_one_step &, u32, u64) { return false; }
KD void net_posted(One &, const abi_one_step &) {}
KD void net_ends(const One &) {}
#endif
