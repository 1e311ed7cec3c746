// Calls that wait for each other. A GPU with more communicators than have room runs their calls in the order of the
// host (team/admission.cc). If ranks use communicators in different orders, each waits for the other, as it can with
// NCCL. Each rank puts on the boards which call its GPU is at. Who waits for some seconds looks which call the GPU of
// another rank is at, and says so once.
#include "board.h"

#include <stdio.h>
#include <string.h>

namespace {

const u64 SAY_AFTER = 5 * SECOND;

// A Waiting is a communicator of this process with a call that has not ended.
struct Waiting {
  Member *member;
  Note call;
};
enum { MOST_WAITING = 256 };
Waiting list[MOST_WAITING];
u32 count;

int name(char *to, size_t size, u64 family) { return snprintf(to, size, "communicator %08x", (u32)(family >> 32)); }

// first finds the call of a communicator that has not ended. Launches of graphs are no calls of the board.
bool first(Member *e, Note *call) {
  Row &own = board_rows(e)[e->rank];
  u64 ended = 0;
  const u64 calls = __atomic_load_n(&own.calls, __ATOMIC_ACQUIRE);
  if (!team_busy(e->team)) ended = calls;
  else if (!team_progress(e->team, &ended)) return false;
  __atomic_store_n(&own.ended, ended, __ATOMIC_RELEASE);
  const Note *n = board_find(own, ended + 1);
  if (!n) return false;
  *call = *n;
  return n->turn != 0;
}

// put has other ranks see which call the GPU is at, on the board of a communicator.
void put(Member *e, const Waiting *runs) {
  Place &p = board_rows(e)[e->rank].runs;
  __atomic_fetch_add(&p.version, 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);  // who sees a new field sees the odd version, too
  p.family = runs ? (u64)runs->member->family : 0;
  if (runs) p.call = runs->call;
  __atomic_fetch_add(&p.version, 1, __ATOMIC_RELEASE);
}

bool get(const Row &r, Place *to) {
  const u64 before = __atomic_load_n(&r.runs.version, __ATOMIC_ACQUIRE);
  *to = r.runs;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);  // the version is read after the fields
  return !(before & 1) && before == __atomic_load_n(&r.runs.version, __ATOMIC_RELAXED) && to->family;
}

// one_gpu says whether calls of two communicators follow each other: they are of one GPU and, where ranks share it, of
// one rank number.
bool one_gpu(const Member *a, const Member *b) { return a->device == b->device && a->rank == b->rank; }

// runner is the call that the GPU of a communicator is at.
const Waiting *runner(const Member *e) {
  const Waiting *least = nullptr;
  for (u32 i = 0; i < count; i++)
    if (list[i].member->device == e->device && (!least || list[i].call.turn < least->call.turn))
      if (!gpu_shared() || one_gpu(list[i].member, e)) least = list + i;
  return least;
}

// say_why says which rank runs the call that w waits for after another one, if there is one.
bool say_why(const Waiting &w) {
  Member *e = w.member;
  for (u32 r = 0; r < e->ranks; r++) {
    Place p;
    const Row &row = board_rows(e)[r];
    if (r == e->rank || !get(row, &p) || p.family == e->family) continue;
    if (__atomic_load_n(&row.ended, __ATOMIC_ACQUIRE) >= w.call.number || !board_find(row, w.call.number)) continue;
    char mine[64], other[64], call[96], before[96];
    name(mine, sizeof mine, e->family), name(other, sizeof other, p.family);
    board_put(call, sizeof call, w.call), board_put(before, sizeof before, p.call);
    tell("rank %u of %u has waited for %llu s in %s, of %s: rank %u runs this call after %s, of %s. Each waits for the "
         "other: GPUs whose communicators do not fit together run calls in the order of the host. Use communicators in "
         "one order on all ranks", e->rank, e->ranks, SAY_AFTER / SECOND, call, mine, r, before, other);
    return true;
  }
  return false;
}

// watch notes since when a communicator is at a call, and says after a time why.
void watch(const Waiting &w) {
  Member *e = w.member;
  if (e->at_call != w.call.number) {
    e->at_call = w.call.number, e->at_since = now_ns(), e->at_warned = false;
    return;
  }
  if (e->at_warned || now_ns() - e->at_since < SAY_AFTER || runner(e)->member != e) return;
  e->at_warned = say_why(w);
}

}  // namespace

bool board_look() {
  bool again = false;
  Member *e;
  count = 0;
  for (u32 i = 0; (e = member_at(i)); i++) {
    const Comm comm = e->comm;
    if (!comm || e->state != STATE_TEAM || !(e = member_peek(comm))) continue;
    Note call;
    const bool looks = e->state == STATE_TEAM && e->board && !e->dead && team_oversubscribed(e->team);
    again |= looks;
    if (looks && count < MOST_WAITING && first(e, &call)) list[count++] = Waiting{e, call};
    else member_leave(e);
  }
  for (u32 i = 0; i < count; i++) put(list[i].member, runner(list[i].member));
  for (u32 i = 0; i < count; i++) watch(list[i]);
  for (u32 i = 0; i < count; i++) member_leave(list[i].member);
  return again;
}
