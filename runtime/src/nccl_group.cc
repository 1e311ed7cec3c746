// Groups. Native calls of a group launch at its outermost end, behind what NCCL launches of it. What runs a call may
// depend on how many calls the group has, so that all wait for that end. Communicators that a group makes agree there.
#include "nccl_front.h"

#include <stdlib.h>

namespace {

const char TOO_MANY[] = "no memory for the group", NO_TEAM[] = "the communicator's ranks do not use programs",
           ORDERED[] = "NCCL's alone";

Result end_nccl() {
  const Inside inside;
  return nccl()->GroupEnd ? nccl()->GroupEnd() : nccl_lacks("ncclGroupEnd");
}
Result start_nccl() {
  const Inside inside;
  return nccl()->GroupStart ? nccl()->GroupStart() : nccl_lacks("ncclGroupStart");
}

Result first(Result a, Result b) { return a != SUCCESS && a != IN_PROGRESS ? a : b != SUCCESS ? b : a; }

// never_captured settles a communicator whose first call is captured: its ranks cannot agree in a capture.
bool never_captured(Member *e) {
  for (u32 i = 0; i < own.op_count; i++)
    if (own.ops[i].member == e && capture_first(e, own.ops[i].stream)) return true;
  return false;
}

// agree_late has new communicators of the group agree: outside NCCL's group, which therefore ends before and starts
// anew.
Result agree_late() {
  Member *fresh[64];
  u32 count = 0;
  for (u32 i = 0; i < own.op_count; i++) {
    Member *e = own.ops[i].member;
    bool seen = e->state != STATE_NEW || own.ops[i].sent || count == 64;
    for (u32 k = 0; k < count; k++) seen |= fresh[k] == e;
    if (!seen) fresh[count++] = e;
  }
  if (!count) return SUCCESS;
  for (u32 i = 0; i < count; i++)
    if (never_captured(fresh[i])) fresh[i--] = fresh[--count];
  if (!count) return SUCCESS;
  Result r = end_nccl();
  for (u32 i = 0; i < own.op_count; i++)
    if (own.ops[i].sent) r = first(r, settle(own.ops[i].comm));
  if (r == SUCCESS || r == IN_PROGRESS) r = first(r, agree(fresh, count, FOREVER));
  const Result again = start_nccl();
  return r == IN_PROGRESS ? again : first(r, again);
}

// choose_all says of each call of the group what runs it, and hands NCCL its calls.
Result choose_all() {
  Result r = SUCCESS;
  for (u32 i = 0; i < own.op_count; i++) own.ops[i].member->group = 0;
  for (u32 i = 0; i < own.op_count; i++) own.ops[i].member->group++;
  for (u32 i = 0; i < own.op_count; i++) {
    Op &op = own.ops[i];
    Member *e = op.member;
    if (op.sent) continue;
    if (e->state == STATE_TEAM) {
      op.call.group = e->group;
      op.choice = choose(e, &op);
      if (op.choice.rule) continue;
    }
    count_call(op.fn, op.choice.why ? op.choice.why : e->why ? e->why : NO_TEAM);
    r = first(r, forward(op));
    op.sent = true;
  }
  return r;
}

// before and behind order NCCL's calls of a team's communicator with ours.
Result before() {
  for (u32 i = 0; i < own.op_count; i++) {
    const Op &op = own.ops[i];
    if (!op.sent || op.member->state != STATE_TEAM) continue;
    if (const int code = team_before(op.member->team, op.stream)) {
      member_text(op.member, "ncclGroupEnd: rank %u cannot wait for the calls before: %s", op.member->rank,
                 driver_text(code));
      return CUDA_ERROR;
    }
  }
  return SUCCESS;
}
Result behind(Result r) {
  for (u32 i = 0; i < own.op_count; i++) {
    const Op &op = own.ops[i];
    if (!op.sent || op.member->state != STATE_TEAM) continue;
    if (r == IN_PROGRESS) {
      const Result late = settle(op.comm);
      if (late != SUCCESS) return late;
    }
    team_behind(op.member->team, op.stream);
  }
  return r;
}

Result run() {
  Result r = agree_late();
  r = first(r, choose_all());
  r = first(r, before());
  r = first(r, end_nccl());
  if (r != SUCCESS && r != IN_PROGRESS) return r;
  r = behind(r);
  for (u32 i = 0; i < own.op_count && (r == SUCCESS || r == IN_PROGRESS); i++)
    if (!own.ops[i].sent && own.ops[i].member->state == STATE_TEAM) r = first(r, launch(own.ops[i].member, own.ops[i]));
  return r;
}

}  // namespace

// group_add keeps a call until the group's end. What is no team's goes to NCCL at once.
Result group_add(Op op) {
  const bool native = op.fn != FN_Send && op.fn != FN_Recv;
  Member *e = member_enter(op.comm);
  if (!e && native && op.comm) e = member_add(op.comm, 0, false);
  if (!e) return forward(op);
  op.member = e;
  if (e->state != STATE_TEAM && e->state != STATE_NEW) {
    count_call(op.fn, e->why ? e->why : NO_TEAM);
    member_leave(e);
    return forward(op);
  }
  Result r = SUCCESS;
  op.sent = !native || !fits_nccl(op, e);
  if (op.sent) count_call(op.fn, ORDERED), r = forward(op);
  else op.call = call_of(op);
  Op *kept = grow(&own.ops, &own.op_count, &own.op_room);
  if (kept) return *kept = op, r;
  member_leave(e);
  tell("%s", TOO_MANY);
  return SYSTEM_ERROR;
}

bool group_init(Comm *at, u32 ctas, bool blocking) {
  Init *kept = grow(&own.inits, &own.init_count, &own.init_room);
  if (kept) *kept = Init{at, ctas, blocking};
  return kept != nullptr;
}

EXPORT Result ncclGroupStart() {
  if (forked()) return after_fork();
  if (!nccl()) return INTERNAL_ERROR;
  if (!own.inside && !passive()) own.depth++;
  return start_nccl();
}

// close_group ends what the thread keeps of its outermost group.
static void close_group() {
  own.depth = 0;
  for (u32 i = 0; i < own.op_count; i++) member_leave(own.ops[i].member);
  own.op_count = 0;
  free(own.ops);
  own.ops = nullptr, own.op_room = 0;
}

EXPORT Result ncclGroupEnd() {
  if (forked()) return after_fork();
  if (!nccl()) return INTERNAL_ERROR;
  if (own.inside || passive() || !own.depth) return end_nccl();
  if (own.depth > 1) {
    own.depth--;
    return end_nccl();
  }
  Result r = run();
  close_group();
  Init *inits = own.inits;
  const u32 count = own.init_count;
  own.inits = nullptr, own.init_count = own.init_room = 0;
  for (u32 i = 0; i < count && r == IN_PROGRESS; i++) inits[i].blocking = false;
  if (r == SUCCESS || r == IN_PROGRESS) r = first(r, made(inits, count));
  free(inits);
  return windows_made(r);
}

// A group that is only simulated launches nothing: NCCL has all of it.
EXPORT Result ncclGroupSimulateEnd(void *about) {
  if (forked()) return after_fork();
  const Nccl *n = nccl();
  if (!n || !n->GroupSimulateEnd) return INVALID_USAGE;
  if (!own.inside && !passive() && own.depth && !--own.depth) {
    for (u32 i = 0; i < own.op_count; i++)
      if (!own.ops[i].sent) forward(own.ops[i]);
    close_group();
    free(own.inits);
    own.inits = nullptr, own.init_count = own.init_room = 0;
    windows_made(INVALID_USAGE);
  }
  const Inside inside;
  return n->GroupSimulateEnd(about);
}
