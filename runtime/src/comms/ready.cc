// Communicators whose ranks have rules, and no memory for them yet: NCCL runs their calls. The first eager call of a
// collective that has rules asks for the memory. All ranks make such a call; each then goes to a second meeting, in a
// thread in the background, and makes its memory when all have come. No call waits for that. Programs run the calls
// from one on, by consensus/switch.h.
#include "agree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

const char NOT_YET[] = "the memory of the communicator's programs is not made yet";

// captures says whether a call is captured, as far as the driver can tell: only eager calls ask for memory.
bool captures(const Member *e, const Op &op) {
  void *before;
  bool captured = true;
  if (gpu_enter(e->device, &before)) return true;
  if (gpu_captured(op.stream, &captured)) captured = true;
  gpu_leave(before);
  return captured;
}

// settle has all calls be NCCL's, since a rank of it has no memory, has ended, or was lost.
void settle(Side *s) {
  Member *e = s->e;
  int is = STATE_READY;
  gate_outcome(&e->gate, 0, nullptr, 0);
  end_team(s);
  stream_close(e);
  e->dead = 0, e->explained = 0;
  const char *why = interned(s->why.text);
  if (!change(e, &is, STATE_NCCL)) return;  // it has ended here
  e->why = why;
  const bool unreached = s->stage == STAGE_NCCL, left = s->reason == NO_LEFT || (!s->came && !unreached);
  if (left) info("NCCL runs all calls of a communicator of %u ranks: %s", e->ranks, why);
  else if (unreached || e->rank == s->teller || warns()) tell_kept(e, why);
}

// finish has the ranks go over to their programs, or leaves all calls to NCCL. A communicator that has ended here since
// then waits for this, unless it has given up: then nobody else frees what was made.
void finish(Side *s) {
  Member *e = s->e;
  if (s->board >= 0) close(s->board), s->board = -1;  // all ranks have mapped it
  if (s->stage == STAGE_FAILED) return gate_outcome(&e->gate, -1, nullptr, 0), agree_fails(s, REMOTE_ERROR);
  if (s->stage != STAGE_TEAM || e->state != STATE_READY) return settle(s);
  e->team = s->team;
  if (e->dead) team_abort(e->team);
  gate_outcome(&e->gate, 1, s->promises, e->ranks);
  info("rank %u of %u uses the bundle's programs from call %llu on, with %u CTAs at most", e->rank, e->ranks,
       e->gate.from, e->ctas);
}

void *make(void *side) {
  Side *s = (Side *)side;
  Member *e = s->e;
  void *before;
  if (gpu_enter(e->device, &before)) before = nullptr;  // it is current until the thread ends
  s->came = come(s);
  if (s->came) make_all(s);
  finish(s);
  if (s->own) line_leave(s->own, s->stage != STAGE_FAILED);
  free(s);
  e->making = 0;
  member_leave(e);
  return nullptr;
}

}  // namespace

bool arena_at_init() {
  const char *at = getenv("MSCCLC_ARENA_AT");
  return alone() || invariant_bits() || (at && !strcmp(at, "init"));  // NCCL may not do first calls
}

void ready_begin(Side *s) {
  Member *e = s->e;
  int is = STATE_NEW;
  memcpy(e->second, s->all[0].second, sizeof e->second);
  e->plans_windows = team_wants_windows(s->team);
  e->why = NOT_YET;
  Plan *p = (Plan *)malloc(sizeof(Plan));
  if (!p) return end_team(s), keep_nccl(e, "no memory");
  *p = Plan{s->team, s->nodes, s->mine};
  e->plan = p;
  if (!change(e, &is, STATE_READY)) return ready_end(e);
  info("rank %u of %u has rules, and makes memory for them later", e->rank, e->ranks);
}

void ready_end(Member *e) {
  void *before;
  Plan *plan = __atomic_exchange_n(&e->plan.value, nullptr, __ATOMIC_ACQ_REL);
  if (plan && !gpu_enter(e->device, &before)) team_end(plan->team, false), gpu_leave(before);
  free(plan);
}

void ready_ask(Member *e) {
  Plan *plan = __atomic_exchange_n(&e->plan.value, nullptr, __ATOMIC_ACQ_REL);
  Side *s = plan ? (Side *)calloc(1, sizeof(Side)) : nullptr;
  if (s) {
    s->e = e, s->team = plan->team, s->nodes = plan->nodes, s->mine = plan->mine;
    s->line = &s->own, s->state = STATE_READY, s->later = true, s->board = -1;
    memcpy((void *)&s->init.tail, e->second, sizeof s->init.tail);
    member_stay(e);
    e->making = 1;
    if (thread_begin(make, s)) return free(plan);
    e->making = 0;
    member_leave(e);
    free(s);
  }
  if (!plan) return;
  tell("rank %u of %u has no memory or no thread to make the memory of its programs: NCCL runs all calls", e->rank,
       e->ranks);
  e->plan = plan;
  ready_end(e);
}

bool ready_turn(Member *e, const Op &op) {
  if (!fits_nccl(op, e)) return e->team;
  const u64 call = gate_call(&e->gate);
  const Plan *plan = e->plan;
  const Call c = call_of(op);
  const bool serves = plan && (team_serves(plan->team, c.kind, c.dtype) ||
                               (plan->nodes < 2 && learn_serves(e, plan->team, c)));
  if (serves && !captures(e, op)) ready_ask(e);
  Turn t;
  for (u64 pause = 2000; (t = gate_turn(&e->gate, call)) == TURN_WAIT && e->state == STATE_READY;
       pause = pause < 200000 ? pause * 2 : pause) nap(pause);
  int is = STATE_READY;
  if (t == TURN_PROGRAM && change(e, &is, STATE_TEAM)) e->why = nullptr;
  return teamed(e);
}
