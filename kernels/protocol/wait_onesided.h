// This file says what one thread of a one-sided program knows, and how it waits.
#pragma once
#include "../abi/tables_onesided.h"
#include "wait.h"

// tiles counts tile iterations since the last reset, launches those before this one.
// [first, end) are the bytes of each chunk that this iteration moves, flag is what its
// packets carry, and copy the number of its copy of scratch and packets.
struct One {
  const abi_one_launch &a;
  one_tables at;
  abi_status *status;
  u32 block, replica, step, operand;
  bool gone;         // gave up waiting; does nothing any more
  bool dirty,
      owed;  // data was moved or a flag awaited since the threads met; they are to meet before the next move or signal
  u64 tiles, launches;
  u64 first, end, copy;
  u32 flag;
  u64 iteration;  // of this launch
  bool quick;  // on a GPU: all that this iteration moves is aligned, and `length` bytes of every chunk
  u32 length;
  u32 lane;           // of the port, whose copies this block has `sent`; those before `settled` are known to be over
  u64 sent, settled;
  u32 net_lane;  // of the proxy, where this block has written `rows` for the first `counted` destinations of the step
  u32 counted;
  u64 rows;
};

KD One one_thread(const one_tables &at, u32 replica, const abi_one_state &state) {
  return One{*at.launch, at, at_address<abi_status>(at.launch->status), 0, replica, 0, 0, false, false, false,
             state.iterations, state.launches, 0, 0, 0, 0, 0, false, 0, 0, 0, 0, 0, 0, 0};
}

KD void say_where(abi_status *s, const One &t) { s->replica = t.replica, s->operand = t.operand; }

// give_up ends what a thread does in this launch, and lets its block know.
KD_CALL void give_up(One &t) {
  t.gone = true;
  st_block32(&shared()->late, 1);
}

KD_CALL void wait_flag(One &t, u32 what, const u64 *flag, u64 want) {
  if (!t.gone && !wait_count(t, what, flag, want)) give_up(t);
}
