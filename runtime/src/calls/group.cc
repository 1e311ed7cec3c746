// Groups. Native calls of a group launch at its outermost end, after what NCCL launches of it. What runs a call may
// depend on how many calls the group has, so that all wait for that end. Communicators that a group makes agree there.
#include "../front/front.h"

#include <stdlib.h>

namespace {

const char TOO_MANY[] = "no memory for the group", NO_TEAM[] = "the communicator's ranks do not use programs",
           ORDERED[] = "NCCL's alone";

Result end_nccl() {
  const Inside inside;
  const Unbound unbound(own.captured);
  return nccl()->GroupEnd ? nccl()->GroupEnd() : nccl_lacks("ncclGroupEnd");
}
Result start_nccl() {
  const Inside inside;
  return nccl()->GroupStart ? nccl()->GroupStart() : nccl_lacks("ncclGroupStart");
}

Result first(Result a, Result b) { return a != SUCCESS && a != IN_PROGRESS ? a : b != SUCCESS ? b : a; }

// choose_all says of each call of the group what runs it, and hands NCCL its calls.
Result choose_all() {
  Result r = SUCCESS;
  for (u32 i = 0; i < own.op_count; i++) own.ops[i].member->group = 0;
  for (u32 i = 0; i < own.op_count; i++) own.ops[i].member->group++;
  for (u32 i = 0; i < own.op_count; i++) {
    Op &op = own.ops[i];
    Member *e = op.member;
    if (op.sent) continue;
    turn(e, op);
    if (e->state == STATE_FAILED) {
      r = first(r, e->error), op.sent = true;
      continue;
    }
    if (e->state == STATE_TEAM) {
      op.call.group = e->group;
      if (const Result failed = choose(e, &op)) {
        r = first(r, failed), op.sent = true;
        continue;
      }
      if (op.choice.rule) continue;
    }
    note_call(e, op, op.choice.why ? op.choice.why : e->why ? e->why : NO_TEAM);
    r = first(r, forward(op));
    op.sent = true;
  }
  return r;
}

// before and after order NCCL's calls of a team's communicator with ours.
Result before() {
  for (u32 i = 0; i < own.op_count; i++) {
    const Op &op = own.ops[i];
    if (!op.sent || !teamed(op.member)) continue;
    bool captured = false;
    const int code = team_before(op.member->team, op.stream, &captured);
    own.captured |= captured;
    if (code) return cannot(op.member, op, "wait for the calls before", code);
    if (op.learns) own.ops[i].slot = learn_start(op.member, op);
  }
  return SUCCESS;
}
Result after(Result r) {
  for (u32 i = 0; i < own.op_count; i++) {
    const Op &op = own.ops[i];
    if (!op.sent || !teamed(op.member)) continue;
    if (r == IN_PROGRESS) {
      const Result late = settle(op.comm);
      if (late != SUCCESS) return late;
    }
    if (op.slot) learn_stop(op.member, op.slot);
    if (const int code = team_after(op.member->team, op.stream))
      return cannot(op.member, op, "have later calls wait for it", code);
  }
  return r;
}

Result run() {
  Result r = choose_all();
  r = first(r, before());
  {
    const Timing timing;
    r = first(r, end_nccl());
  }
  if (r != SUCCESS && r != IN_PROGRESS) return r;
  r = after(r);
  for (u32 i = 0; i < own.op_count && (r == SUCCESS || r == IN_PROGRESS); i++)
    if (!own.ops[i].sent && own.ops[i].member->state == STATE_TEAM) r = first(r, launch(own.ops[i].member, own.ops[i]));
  return r;
}

}  // namespace

// group_add keeps a call until the group's end. What is no team's goes to NCCL at once.
Result group_add(Op op) {
  const bool native = kind_of(op.fn) != KIND_NONE;
  Result r = SUCCESS;
  Member *e = member_use(op.comm, &r);
  if (!e) return r ? r : forward(op);
  op.member = e;
  if (e->state != STATE_TEAM && e->state != STATE_READY) {
    note_call(e, op, e->why ? e->why : NO_TEAM);
    own.captured |= captured_now(e, op.stream);
    member_leave(e);
    return forward(op);
  }
  op.sent = !native || !fits_nccl(op, e);
  if (op.sent) note_call(e, op, ORDERED), r = forward(op);
  else op.call = call_of(op);
  if (op.sent) op.config = nullptr;
  Op *kept = !config_keep(&op) ? nullptr : grow(&own.ops, &own.op_count, &own.op_room);
  if (kept) return *kept = op, r;
  free((void *)op.config);
  member_leave(e);
  return system_fails("%s in a group: %s", fn_name(op.fn), TOO_MANY);
}

EXPORT Result ncclGroupStart() {
  if (forked()) return after_fork();
  if (!nccl()) return INTERNAL_ERROR;
  if (!own.inside && !passive()) own.depth++;
  return start_nccl();
}

// close_group ends what the thread keeps of its outermost group.
static void close_group() {
  own.depth = 0, own.grouped = 0;
  own.captured = false;
  for (u32 i = 0; i < own.op_count; i++) {
    member_leave(own.ops[i].member);
    free((void *)own.ops[i].config);
  }
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
  inits_soon();
  Result r = run();
  close_group();
  return answered(windows_made(inits_made(r)));
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
    inits_made(INVALID_USAGE);
    windows_made(INVALID_USAGE);
  }
  const Inside inside;
  return n->GroupSimulateEnd(about);
}
