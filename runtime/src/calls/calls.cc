// The collectives. Each runs by a program of the bundle where its communicator is a team and a rule says so; NCCL runs
// all others, in the order of the communicator's calls.
#include "../front/front.h"

#include <stdio.h>

namespace {

// What a call that NCCL runs has as its reason, beside those of team_choose.
const char NOT_OURS[] = "NCCL's alone", ARGUMENTS[] = "empty, or not a built-in type or operation",
           NO_TEAM[] = "the communicator's ranks do not use programs", PASSES[] = "suspended",
           CONNECTS[] = "the first of its kind, for which NCCL connects ranks";

// configured is the function with a configuration of a collective.
Fn configured(Fn fn) {
  switch (fn) {
#define ROW(name, kind, shape, X) \
  case FN_##name: return FN_##name##Config;
    COLLECTIVES(ROW, )
#undef ROW
    default: return fn;
  }
}

Result lacks(const Op &op) {
  const char *name = fn_name(op.config ? configured(op.fn) : op.fn);
  if (op.member) member_text(op.member, "this NCCL has no %s", name);
  return nccl_lacks(name);
}

Result send_on(const Nccl &n, const Op &o) {
  switch (o.fn) {
#define ROW(name, kind, shape, X) \
  case FN_##name: return n.name(GIVES_##shape(o), o.comm, o.stream);
    CALLS(ROW, )
#undef ROW
    default: return INTERNAL_ERROR;
  }
}

Result send_config(const Nccl &n, const Op &o) {
  switch (o.fn) {
#define ROW(name, kind, shape, X) \
  case FN_##name: return n.name##Config(GIVES_##shape(o), o.comm, o.stream, o.config);
    COLLECTIVES(ROW, )
#undef ROW
    default: return INTERNAL_ERROR;
  }
}

bool has(const Nccl &n, Fn fn) {
  switch (fn) {
#define X(result, name, params) \
  case FN_##name: return n.name != nullptr;
    NCCL_CALLED(X)
#undef X
    default: return false;
  }
}

// refuses says whether NCCL may not do a call, since the bits of its result may not depend on its size.
bool refuses(const Nccl &n, const Op &op) {
  const u32 dtype = dtype_of(op.type), redop = redop_of(op.op);  // RED_COUNT is of NCCL's caller
  if (!invariant_bits() || own.inside || second() || !op.count || dtype == DT_COUNT) return false;
  int ranks = op.member ? (int)op.member->ranks : 0;
  const Inside inside;
  if (!ranks && (!n.CommCount || n.CommCount(op.comm, &ranks))) ranks = 3;  // perhaps: NCCL may have none of it
  return order_matters(kind_of(op.fn), dtype, redop, (u32)ranks);
}

// refused is the error of such a call, which no program runs.
Result refused(const Op &op) {
  Member *e = op.member;
  const char *why = op.choice.why ? op.choice.why : e && e->why ? e->why : "no rule can be for such a call";
  char text[400];
  snprintf(text, sizeof text, "%s: with MSCCLC_BITS=invariant NCCL adds no floats, and no program runs this call: "
           "%s", fn_name(op.fn), why);
  if (e) member_text(e, "%s", text);
  warn("%s", text);
  return INVALID_USAGE;
}

}  // namespace

// forward has NCCL do a call. An older NCCL does one with a configuration that asks for nothing of NCCL's.
Result forward(const Op &op) {
  const Nccl *n = nccl();
  if (!n) return INTERNAL_ERROR;
  if (refuses(*n, op)) return refused(op);
  const bool with = op.config && has(*n, configured(op.fn));
  if (!with && (!has(*n, op.fn) || !config_plain(op.config))) return lacks(op);
  const Inside inside;
  return with ? send_config(*n, op) : send_on(*n, op);
}

// fits_nccl says whether NCCL would take a call's arguments, and it is one that rules can be of. NCCL says what is
// wrong.
bool fits_nccl(const Op &op, const Member *e) {
  const u32 kind = kind_of(op.fn);
  if (kind == KIND_NONE || !op.count || !config_plain(op.config) || dtype_of(op.type) == DT_COUNT) return false;
  if (kind_reduces(kind) && redop_of(op.op) == RED_COUNT) return false;
  if (kind_rooted(kind) && (op.root < 0 || (u32)op.root >= e->ranks)) return false;
  const bool root = (u32)op.root == e->rank;
  return !(kind_reads(kind, root) && !op.send) && !(kind_writes(kind, root) && !op.recv);
}

Call call_of(const Op &op) {
  Call c = {};
  c.kind = kind_of(op.fn);
  c.root = kind_rooted(c.kind) ? (u32)op.root : 0;
  c.dtype = dtype_of(op.type);
  c.redop = kind_reduces(c.kind) ? redop_of(op.op) : (u32)RED_SUM;
  c.count = op.count;
  c.send = op.send;
  c.recv = op.recv;
  c.group = 1;
  if (op.config && op.config->max_ctas != NCCL_UNDEF) c.ctas = (u32)op.config->max_ctas;
  return c;
}

// cannot is the error of a call that the driver does not let this rank make. The other ranks may have made theirs, so
// that it is no call for NCCL.
Result cannot(Member *e, const Op &op, const char *what, int code) {
  member_text(e, "%s: rank %u cannot %s: %s", fn_name(op.fn), e->rank, what, driver_text(code));
  warn("%s", e->text);
  member_failed(e, FAILED_LAUNCH);
  return CUDA_ERROR;
}

// choose says what runs a call of a team.
Result choose(Member *e, Op *op) {
  if (const int code = team_captured(e->team, op->stream, &op->captured))
    return cannot(e, *op, "see whether its stream is captured", code);
  op->call.windows = team_windows(e->team, &op->call);
  op->choice = team_choose(e->team, &op->call, op->captured);
  learn_choose(e, op);
  if (op->choice.rule && !op->captured && first_of_kind(e, *op) && !refuses(*nccl(), *op))
    op->choice = Choice{nullptr, CONNECTS}, op->learns = nullptr;  // a trial has no time then
  return SUCCESS;
}

bool captured_now(const Member *e, void *stream) {
  bool captured = false;
  return e->team && !gpu_captured(stream, &captured) && captured;
}

// launch starts a native call.
Result launch(Member *e, const Op &op) {
  board_note(e, &op.call);
  note_call(e, op, nullptr);
  int code;
  {
    const Range range(e, op);
    const Timing timing(e, op.fn, op.stream, true);
    const Trial trial(e, op);
    code = team_launch(e->team, &op.choice, &op.call, op.stream);
  }
  noted_launch(e);
  if (!code) return board_turn(e, team_turn(e->team)), SUCCESS;
  if (e->dead || exit_refuses(e)) return member_failed(e, FAILED_PEER), REMOTE_ERROR;  // the text says which rank
  return cannot(e, op, "launch its kernel", code);
}

namespace {

// timed has NCCL do a call, whose time may be taken.
Result timed(Member *e, const Op &op) {
  const Timing timing(e, op.fn, op.stream, false);
  const Trial trial(e, op);
  return forward(op);
}

// in_order has NCCL do a call of a team's communicator, after what ran before it.
Result in_order(Member *e, const Op &op) {
  bool captured = false;
  if (const int code = team_before(e->team, op.stream, &captured))
    return cannot(e, op, "wait for the calls before", code);
  const Unbound unbound(captured);
  Result r = timed(e, op);
  if (r == IN_PROGRESS) r = settle(op.comm);
  if (r != SUCCESS) return r;
  const int code = team_after(e->team, op.stream);
  return code ? cannot(e, op, "have later calls wait for it", code) : SUCCESS;
}

// beside has NCCL do a call of a communicator whose team runs none now, or that has none.
Result beside(Member *e, const Op &op) {
  const Unbound unbound(captured_now(e, op.stream));
  return timed(e, op);
}

Result run(Member *e, Op &op) {
  op.member = e;
  const bool ordered = turn(e, op);
  if (e->state == STATE_FAILED) return member_failed(e, FAILED_AGREEMENT), e->error;
  if (!fits_nccl(op, e)) {
    note_call(e, op, kind_of(op.fn) == KIND_NONE ? NOT_OURS : ARGUMENTS);
    return ordered ? in_order(e, op) : beside(e, op);
  }
  if (e->state != STATE_TEAM) {
    note_call(e, op, e->why ? e->why : e->state == STATE_PAUSED ? PASSES : NO_TEAM);
    return ordered ? in_order(e, op) : beside(e, op);
  }
  op.call = call_of(op);
  if (const Result r = choose(e, &op)) return r;
  if (op.choice.rule) return launch(e, op);
  note_call(e, op, op.choice.why);
  return in_order(e, op);
}

}  // namespace

Result settle(Comm comm) {
  const Nccl *n = nccl();
  Result r = IN_PROGRESS;
  for (u64 wait = 1000; r == IN_PROGRESS; wait = wait < 200000 ? wait * 2 : wait) {
    const Inside inside;
    if (const Result failed = n->CommGetAsyncError(comm, &r)) return failed;
    if (r == IN_PROGRESS) nap(wait);
  }
  return r;
}

// collective is all collectives, and Send and Recv.
Result collective(Op op) {
  if (forked()) return after_fork();
  if (own.inside || passive() || !nccl()) return forward(op);
  if (own.depth) return group_add(op);
  Result r = SUCCESS;
  Member *e = member_use(op.comm, &r);
  if (!e) return r ? answered(r) : forward(op);
  {
    const Where where(e);
    r = run(e, op);
  }
  member_leave(e);
  return answered(r);
}

#define ROW(name, kind, shape, X)                                    \
  EXPORT Result nccl##name(TAKES_##shape, Comm comm, void *stream) { \
    OP(name, shape);                                                 \
    return collective(o);                                            \
  }
CALLS(ROW, )
#undef ROW
