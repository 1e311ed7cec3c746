// The agreement of a communicator's ranks: all run programs of the bundle, or none. Two AllGathers of NCCL's on the new
// communicator carry it: what each rank has, and who succeeded.
#include "nccl_front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

enum { HELLO_VERSION = 1, FNV_OFFSET = 2166136261u, FNV_PRIME = 16777619u };

// A Side is one communicator of this thread while its ranks agree.
struct Side {
  Member *e;
  Hello mine, all[BUNDLE_RANKS];
  u32 done, dones[BUNDLE_RANKS];
  Team *team;
  void *before;
  bool in;  // it takes part
  Why why;
};

Atom<u32> late_ctas = {~0u};  // the fewest that a communicator asks for which is met late

// settings is a hash of all that must be equal on all ranks beside the bundle.
u32 settings(u32 ctas) {
  u32 h = (u32)FNV_OFFSET ^ ctas;
  static const char *const names[] = {"MSCCLC_TIMEOUT", "MSCCLC_FEW"};
  for (const char *name : names) {
    const char *text = getenv(name);
    for (; text && *text; text++) h = (h ^ (u8)*text) * (u32)FNV_PRIME;
    h = (h ^ 256u) * (u32)FNV_PRIME;
  }
  return h;
}

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
  else s->team = team_begin(b, e->ranks, e->rank, e->ctas, settings(e->ctas), &h->offer);
  if (!s->team) h->offer.able = 0;
  if (s->team && !e->rank) board_make(e->secret);
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

// finish makes a communicator the team's, or leaves it NCCL's, with one line.
void finish(Side *s, bool heard) {
  Member *e = s->e;
  u32 failed = e->ranks;
  if (!e->rank && s->team) board_unlink(e->secret);
  for (u32 i = 0; i < e->ranks; i++)
    if (failed == e->ranks && (!heard || !s->dones[i])) failed = i;
  if (failed == e->ranks) {
    e->team = s->team;
    e->why = nullptr;
    e->state = STATE_TEAM;
    info("rank %u of %u uses the bundle's programs, with %u CTAs at most", e->rank, e->ranks, e->ctas);
    if (!team_orders_graphs(e->team))
      info("rank %u of %u: the program orders launches of graphs on different streams", e->rank, e->ranks);
    return;
  }
  if (s->done && s->why.text[0] == 0) say(&s->why, "rank %u could not reach the others", failed);
  if (s->team) {
    void *before;
    peers_leave(e, false);
    peers_close(e);
    board_close(e);
    if (!gpu_enter(e->device, &before)) team_end(s->team, false), gpu_leave(before);
  }
  keep_nccl(e, interned(s->why.text));
  if (e->rank == 0 || warns()) tell_kept(e, s->why.text);
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

Result agree(Member **list, u32 count) {
  Side *sides = (Side *)calloc(count, sizeof(Side));
  Member **in = (Member **)calloc(count, sizeof(Member *));
  Side **of = (Side **)calloc(count, sizeof(Side *));
  const void **mine = (const void **)calloc(count, sizeof(void *));
  void **all = (void **)calloc(count, sizeof(void *));
  u32 n = 0;
  Result r = SUCCESS;
  if (sides && in && of && mine && all) {
    fork_watch();
    for (u32 i = 0; i < count; i++) {
      Member *e = list[i];
      Side *s = &sides[i];
      s->e = e;
      if (!e->ctas) e->ctas = late_ctas < ctas_of(nullptr) ? (u32)late_ctas : ctas_of(nullptr);
      if (!facts(e)) keep_nccl(e, "NCCL does not know the communicator");
      else if (e->ranks < 2 || e->ranks > BUNDLE_RANKS) keep_nccl(e, "bundles have no such number of ranks");
      else if (!gather_open(e, &s->why) && !alone()) r = absent(e, s->why.text);
      else begin(s), of[n] = s, in[n] = e, mine[n] = &s->mine, all[n++] = s->all;
    }
    Why why = {};
    if (r) say(&why, "another rank of this thread cannot take part");
    bool heard = !r && n && gather(in, n, mine, all, sizeof(Hello), &why);
    for (u32 i = 0; heard && i < n; i++) {
      of[i]->done = join(of[i]);
      mine[i] = &of[i]->done, all[i] = of[i]->dones;
    }
    heard = heard && gather(in, n, mine, all, sizeof(u32), &why);
    for (u32 i = 0; i < n; i++) {
      if (!heard) say(&of[i]->why, "the ranks could not agree: %.400s", why.text);
      finish(of[i], heard);
      if (in[i]->state != STATE_TEAM) gather_close(in[i]);
    }
  } else {
    for (u32 i = 0; i < count; i++) r = absent(list[i], "no memory");
  }
  free(sides), free(in), free(of), free(mine), free(all);
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
  const Result r = n ? agree(fresh, n) : SUCCESS;
  for (u32 i = 0; i < n; i++) member_leave(fresh[i]);
  free(fresh);
  return r;
}
