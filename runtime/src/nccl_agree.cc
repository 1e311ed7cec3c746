// The agreement of a communicator's ranks: all run programs of the bundle, or none. Two AllGathers of NCCL's on the new
// communicator carry it: what each rank has, and who succeeded. It runs in a thread for each communicator, so that it
// waits for no call of a peer on another communicator.
#include "nccl_agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

// How long a call that makes communicators waits for their agreement. Where a peer makes them in another order, the
// agreement needs later calls of this thread.
const u64 PATIENCE = 1000000000;

Atom<u32> late_ctas = {~0u};  // the fewest that a communicator asks for which is met late

bool facts(Member *e) {
  const Nccl *n = nccl();
  int rank = -1, ranks = 0;
  const Inside inside;
  if (n->CommUserRank(e->comm, &rank) || n->CommCount(e->comm, &ranks) || n->CommCuDevice(e->comm, &e->device))
    return false;
  e->rank = (u32)rank, e->ranks = (u32)ranks;
  return true;
}

// begin makes a rank's memory, or says why it cannot. It takes part in the AllGathers in either case.
void begin(Side *s) {
  Member *e = s->e;
  Hello *h = &s->mine;
  memset((void *)h, 0, sizeof *h);
  h->version = HELLO_VERSION;
  const char *no_bundle = nullptr;
  Bundle *b = the_bundle(&no_bundle);
  void *before;
  const bool foreign = gpu_foreign(e->device);
  const int code = gpu_enter(e->device, &before);
  if (code) {
    snprintf(h->offer.why, sizeof h->offer.why, "GPU %d: %s", e->device, driver_text(code));
    return;
  }
  if (!e->stream) snprintf(h->offer.why, sizeof h->offer.why, "no memory on GPU %d", e->device);
  else if (foreign) snprintf(h->offer.why, sizeof h->offer.why, "GPU %d: the context is not the primary one",
                             e->device);
  else if (!b) snprintf(h->offer.why, sizeof h->offer.why, "%.120s", no_bundle);
  else if (!peers_ready(&s->why) || !peers_expect(e))
    snprintf(h->offer.why, sizeof h->offer.why, "%.120s", s->why.text);
  else s->team = team_begin(b, e->ranks, e->rank, e->ctas, settings(e->ctas), nullptr, &h->offer);
  if (!s->team) h->offer.able = 0;
  if (s->team && !e->rank) s->board = board_make(e->secret);
  gpu_leave(before);
  memcpy(h->process, peers_process(), sizeof h->process);
  memcpy(h->secret, e->secret, sizeof h->secret);
}

bool all_fit(Side *s) {
  const u32 ranks = s->e->ranks;
  for (u32 i = 0; i < ranks; i++)
    if (s->all[i].version != HELLO_VERSION) return say(&s->why, "rank %u has another version of this library", i),
        false;
  for (u32 i = 0; i < ranks; i++)
    if (!s->all[i].offer.able)
      return say(&s->why, "rank %u: %.*s", i, (int)sizeof s->all[i].offer.why, s->all[i].offer.why), false;
  Offer offers[BUNDLE_RANKS];
  for (u32 i = 0; i < ranks; i++) offers[i] = s->all[i].offer;
  return team_fits(offers, ranks, &s->why);
}

bool all_done(const Side *s) {
  for (u32 i = 0; i < s->e->ranks; i++)
    if (!s->dones[i]) return false;
  return true;
}

bool join(Side *s) {
  Member *e = s->e;
  if (!all_fit(s)) return false;
  Offer offers[BUNDLE_RANKS];
  for (u32 i = 0; i < e->ranks; i++) {
    offers[i] = s->all[i].offer;
    memcpy(e->process[i], s->all[i].process, sizeof e->process[i]);
    e->pid[i] = s->all[i].offer.pid;
  }
  memcpy(e->family, s->all[0].secret, sizeof e->family);
  void *before;
  if (gpu_enter(e->device, &before)) return say(&s->why, "rank %u lost its GPU", e->rank), false;
  const bool joined = team_join(s->team, offers, &s->why);
  gpu_leave(before);
  board_open(e, e->family);
  return joined && peers_connect(e, s->all, &s->why);
}

void tell_kept(const Member *e, const char *why) {
  if (!alone()) tell("NCCL runs all calls of this communicator of %u ranks: %s", e->ranks, why);
  else tell("calls of this communicator of %u ranks fail with ncclInvalidUsage, since there is no NCCL: %s", e->ranks,
            why);
}

// finish makes a communicator the team's, or leaves it NCCL's, with one line. It is NCCL's already where another thread
// has ended it.
void finish(Side *s, bool heard) {
  Member *e = s->e;
  u32 failed = e->ranks;
  if (s->board >= 0) close(s->board), s->board = -1;  // all ranks have mapped it
  for (u32 i = 0; i < e->ranks; i++)
    if (failed == e->ranks && (!heard || !s->dones[i])) failed = i;
  int is = STATE_NEW;
  if (failed == e->ranks) e->team = s->team, e->why = nullptr;
  if (failed == e->ranks && change(e, &is, STATE_TEAM)) {
    info("rank %u of %u uses the bundle's programs, with %u CTAs at most", e->rank, e->ranks, e->ctas);
    if (!team_orders_graphs(e->team))
      info("rank %u of %u: the program orders launches of graphs on different streams", e->rank, e->ranks);
    return;
  }
  e->team = nullptr;
  e->spread = 0;
  if (is != STATE_NEW) say(&s->why, "the communicator was aborted");
  else if (s->done && s->why.text[0] == 0) say(&s->why, "rank %u could not reach the others", failed);
  if (s->team) {
    void *before;
    peers_leave(e, false);
    peers_close(e);
    board_close(e);
    if (!gpu_enter(e->device, &before)) team_end(s->team, false), gpu_leave(before);
  }
  keep_nccl(e, interned(s->why.text));
  if (e->rank == 0 || warns()) tell_kept(e, s->why.text);
  gather_close(e);
}

// ended frees what a communicator has for its agreement.
void ended(Side *s) {
  Member *e = s->e;
  free(s);
  e->agreeing = 0;
  member_leave(e);
}

// meet is the part of the agreement that waits for the other ranks. The GPU's context is current, as NCCL's callers
// have it.
void *meet(void *side) {
  Side *s = (Side *)side;
  Member *e = s->e;
  void *before, *all = s->all;
  const void *mine = &s->mine;
  Why why = {};
  const bool entered = !gpu_enter(e->device, &before);
  bool heard = gather(&e, 1, &mine, &all, sizeof(Hello), &why);
  if (heard && begin_over(s)) heard = gather(&e, 1, &mine, &all, sizeof(Hello), &why);
  if (heard) {
    s->done = join(s);
    mine = &s->done, all = s->dones;
    heard = gather(&e, 1, &mine, &all, sizeof(u32), &why);
  }
  if (heard && all_done(s)) {
    peers_admitted(e);
    if (team_links(s->team)) {
      s->done = connect_links(s);
      heard = gather(&e, 1, &mine, &all, sizeof(u32), &why);
    }
  }
  if (!heard) say(&s->why, "the ranks could not agree: %.400s", why.text);
  finish(s, heard);
  if (entered) gpu_leave(before);
  ended(s);
  return nullptr;
}

}  // namespace

void keep_nccl(Member *e, const char *why) {
  e->why = why;
  e->state = STATE_NCCL;
}

bool capture_first(Member *e, void *stream) {
  bool captured = false;
  void *before;
  if (!facts(e)) return keep_nccl(e, "NCCL does not know the communicator"), true;
  if (gpu_enter(e->device, &before)) return keep_nccl(e, "no driver"), true;
  const int code = gpu_captured(stream, &captured);
  gpu_leave(before);
  if (!code && !captured) return false;
  keep_nccl(e, "the communicator's first call was captured");
  return true;
}

// absent leaves a communicator that this rank cannot agree on. The other ranks wait for it: its program must end.
static Result absent(Member *e, const char *why) {
  keep_nccl(e, interned(why));
  member_text(e, "rank %u of %u cannot agree with the others, who wait for it: %s", e->rank, e->ranks, why);
  tell("%s", e->text);
  return CUDA_ERROR;
}

// prepare makes what a communicator needs to agree. It gives null where it is NCCL's alone, or where this rank cannot
// take part: then *r says so.
static Side *prepare(Member *e, Result *r) {
  if (!e->ctas) e->ctas = late_ctas < ctas_of(nullptr) ? (u32)late_ctas : ctas_of(nullptr);
  if (!facts(e)) return keep_nccl(e, "NCCL does not know the communicator"), nullptr;
  if (e->ranks < 2 || e->ranks > BUNDLE_RANKS) return keep_nccl(e, "bundles have no such number of ranks"), nullptr;
  Side *s = (Side *)calloc(1, sizeof(Side));
  if (!s) return *r = absent(e, "no memory"), nullptr;
  s->e = e, s->board = -1;
  if (!gather_open(e, &s->why) && !alone()) return *r = absent(e, s->why.text), free(s), nullptr;
  begin(s);
  e->agreeing = 1;
  member_stay(e);
  return s;
}

Result agree(Member **list, u32 count, u64 patience) {
  Result r = SUCCESS;
  Side *sides = nullptr, **end = &sides;
  fork_watch();
  for (u32 i = 0; i < count; i++)
    if (Side *s = prepare(list[i], &r)) *end = s, end = &s->next;
  while (Side *s = sides) {
    sides = s->next;
    if (!r && thread_begin(meet, s)) continue;
    say(&s->why, r ? "another rank of this thread cannot take part" : "the system gives no thread");
    finish(s, false);
    if (!r) r = absent(s->e, s->why.text);
    ended(s);
  }
  for (const u64 begin = now_ns(); count; count--) {
    const u64 passed = now_ns() - begin;
    member_agreed(list[count - 1], passed < patience ? patience - passed : 0);
  }
  return r;
}

Result made(const Init *list, u32 count) {
  Member **fresh = (Member **)calloc(count ? count : 1, sizeof(Member *));
  u32 n = 0;
  for (u32 i = 0; fresh && i < count; i++) {
    if (!*list[i].at) {  // a split that goes on: its communicator is met when it is used
      if (!list[i].blocking && list[i].ctas && list[i].ctas < late_ctas) late_ctas = list[i].ctas;
      continue;
    }
    Member *e = member_add(*list[i].at, list[i].ctas, list[i].blocking);
    if (e && list[i].blocking) fresh[n++] = e;
    else if (e) member_leave(e);
  }
  reap();
  const Result r = n ? agree(fresh, n, PATIENCE) : SUCCESS;
  for (u32 i = 0; i < n; i++) member_leave(fresh[i]);
  free(fresh);
  return r;
}
