// The functions that end communicators, and those that tell how they are. Ours ends before NCCL's. Memory that a peer
// may still write to stays until all ranks have left.
#include "../front/front.h"

#include <pthread.h>
#include <string.h>

namespace {

// Why a member that is gone has not ended: LATE: not all launches have left; IN_USE: a thread is in a call or in its
// agreement; LOOKED_AT: a thread looks whether this has changed.
enum { ON_TIME, LATE, LOOKED_AT, IN_USE };

pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;  // of what is gone; not held in calls of the driver

// last_here says whether all other ranks of a communicator are in other processes, or have ended.
bool last_here(Member *e) {
  Member *other;
  for (u32 i = 0; (other = member_at(i)); i++)
    if (other != e && other->team && (other->state != STATE_GONE || other->late) && other->family == e->family)
      return false;
  return true;
}

// all_gone says whether no rank of a communicator that has ended here can write to its memory any more.
bool all_gone(Member *e) { return !e->late && peers_left(e) && last_here(e); }

// others_run says whether calls of another communicator run on the GPU of e. Some drivers free memory only once the GPU
// has nothing to do.
bool others_run(Member *e) {
  bool run = false;
  Member *other;
  for (u32 i = 0; !run && (other = member_at(i)); i++) {
    const Comm comm = other->comm;
    if (other == e || !comm || !(other = member_peek(comm))) continue;
    run = (other->state == STATE_TEAM || other->state == STATE_PAUSED) && other->device == e->device &&
          team_busy(other->team);
    member_leave(other);
  }
  return run;
}

void end(Member *e) {
  void *before;
  Team *t = e->team;
  e->team = nullptr;
  peers_close(e);
  learn_end(e);
  board_close(e);
  if (!gpu_enter(e->device, &before)) {
    team_end(t, false);
    gpu_leave(before);
  }
  stream_close(e);
  member_forget(e);
}

// left waits until all launches of a team have left, or for so long. A GPU with a fault runs nothing. With hope, it
// gives up where a rank is dead.
bool left(Member *e, u64 limit_ns, bool hope, int *fault) {
  void *before;
  *fault = 0;
  if (!e->stream || gpu_enter(e->device, &before)) return true;
  bool busy = true;
  int code = team_before(e->team, e->stream);
  const u64 begin = now_ns();
  for (u64 pause = 2000; !code && busy && !(hope && e->dead); pause = pause < 1000000 ? pause * 2 : pause) {
    code = gpu_busy(e->stream, &busy);
    if (!code && busy && now_ns() - begin > limit_ns) break;
    if (!code && busy) nap(pause);
  }
  gpu_leave(before);
  *fault = code;
  return code || !busy;
}

// idle waits for calls to end as they should.
bool idle(Member *e, u64 limit_ns) {
  int fault;
  return left(e, limit_ns, true, &fault) && !fault;
}

// cleared waits until launches that were asked to leave have left. They may wait for others in the caller's streams.
bool cleared(Member *e, u64 limit_ns) {
  int fault;
  return left(e, limit_ns, false, &fault);
}

// stop has the launches of a team leave, and says whose calls did not match if they waited for each other.
void stop(Member *e) {
  char text[400];
  if (!e->dead && !idle(e, 0) && board_says(e, text, sizeof text)) {
    member_text(e, "rank %u of %u: %s", e->rank, e->ranks, text);
    tell("%s", e->text);
    member_failed(e, FAILED_ABORTED);
  }
  team_stop(e->team, "its communicator was aborted");
  team_abort(e->team);
}

// postpone has reap end a communicator that another thread uses.
void postpone(Member *e) {
  e->late = IN_USE;
  e->state = STATE_GONE;
  member_leave(e);
}

// end_rest ends what a communicator without a team has.
void end_rest(Member *e) {
  ready_end(e);
  stream_close(e);
  e->late = ON_TIME;
}

// leave takes a communicator out of the table, and ends our part of it. The caller has entered it. An agreement that an
// abort meets ends soon, unless it is in a call of NCCL's, which NCCL's abort ends.
void leave(Member *e, bool aborted) {
  const Where where(e);
  if (e->agreeing || e->making) {
    e->state = STATE_NCCL;
    member_hide(e);
    if (!member_agreed(e, SECOND) || !member_made(e, SECOND)) return postpone(e);
  }
  part(e);
  const bool with_team = e->team != nullptr;
  bool over = with_team && !aborted && idle(e, FOREVER);
  e->state = STATE_NCCL;
  if (with_team && !over) stop(e);
  member_hide(e);
  if (!with_team && !e->plan && !e->stream) return member_leave(e);
  if (!member_settled(e, SECOND)) {
    if (with_team) warn("rank %u: another thread is in a call of a communicator that ends: its memory is kept until "
                        "that call returns", e->rank), peers_leave(e, true);
    return postpone(e);
  }
  if (!with_team) return end_rest(e), member_leave(e);
  // Calls of other communicators may wait for ranks that never come, until these communicators are aborted, too. The
  // abort of the last one frees what all have.
  const bool beside = aborted && others_run(e);
  const u64 patience = beside ? 0 : over ? SECOND / 2 : SECOND / 5;
  if (!over) over = cleared(e, beside ? 0 : SECOND / 2);
  if (over) team_leave(e->team);
  peers_leave(e, !over);
  e->late = over ? ON_TIME : LATE;
  e->state = STATE_GONE;
  // The others mostly leave now, too. What is left when they do not is freed by a later call.
  for (const u64 limit = now_ns() + patience; over && last_here(e) && !peers_left(e) && now_ns() < limit;) nap(100000);
  if (!beside) reap();
  member_leave(e);
}

// finish ends our part before NCCL's.
void finish(Comm c, bool aborted) {
  Member *e = aborted ? member_peek(c) : member_enter(c);
  if (!e) return;
  leave(e, aborted);
  stats_write();
  record_await();
}

void pause_team(Comm c, int from, int to) {
  Member *e = member_enter(c);
  if (!e) return;
  change(e, &from, to);
  member_leave(e);
}

}  // namespace

// released sees to a member that another thread used when it ended, if none does now. Its communicator is found no
// more, so that none will.
static void released(Member *e) {
  int is = IN_USE;
  if (e->state != STATE_GONE || __atomic_load_n(&e->users, __ATOMIC_SEQ_CST) ||
      !__atomic_compare_exchange_n(&e->late.value, &is, (int)LOOKED_AT, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return;
  part(e);
  if (e->team) return (void)(e->late = LATE);
  end_rest(e);
  member_forget(e);
}

// reap frees what has ended here where all ranks have left since: first it looks whose launches have left by now.
void reap() {
  Member *late;
  for (u32 i = 0; (late = member_at(i)); i++) released(late);
  for (u32 i = 0; (late = member_at(i)); i++) {
    int is = LATE;
    if (late->state != STATE_GONE || !__atomic_compare_exchange_n(&late->late.value, &is, (int)LOOKED_AT, false,
        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    const bool over = cleared(late, SECOND / 1000);  // the stream has just begun to wait
    if (over) peers_leave(late, false);
    late->late = over ? ON_TIME : LATE;
  }
  for (;;) {
    pthread_mutex_lock(&mu);
    Member *e, *found = nullptr;
    for (u32 i = 0; !found && (e = member_at(i)); i++)
      if (e->state == STATE_GONE && e->team && all_gone(e)) found = e, e->state = STATE_NCCL, member_stay(e);
    // Those of the same communicator in this process are all gone, too: their turn comes next.
    pthread_mutex_unlock(&mu);
    if (!found) return;
    end(found);
    member_leave(found);
  }
}

void abort_team(Comm c, const char *why) {
  Member *e = member_peek(c);
  if (!e) return;
  int is = STATE_NEW;
  if (change(e, &is, STATE_NCCL)) {  // an agreement ends by it
    if (!e->agreeing) e->why = why;
  } else if (is == STATE_READY && change(e, &is, STATE_NCCL)) {
    if (e->team) stop(e);
    e->why = why;
  } else if (is == STATE_TEAM || is == STATE_PAUSED) {
    stop(e);
    keep_nccl(e, why);
  }
  member_leave(e);
}

void drop_comm(Comm comm) {
  finish(comm, true);
  const Inside inside;
  nccl()->CommDestroy(comm);
}

// What is ours ends even if NCCL lacks the function.
EXPORT Result ncclCommDestroy(Comm comm) {
  if (!forked() && !direct()) finish(comm, false);
  BEGIN(CommDestroy);
  const Inside inside;
  return n->CommDestroy(comm);
}

EXPORT Result ncclCommAbort(Comm comm) {
  if (!forked() && !direct()) finish(comm, true);
  BEGIN(CommAbort);
  const Inside inside;
  return n->CommAbort(comm);
}

EXPORT Result ncclCommFinalize(Comm comm) {
  BEGIN(CommFinalize);
  if (!direct()) {
    Member *e = member_enter(comm);
    if (e && e->state == STATE_TEAM) {
      if (e->blocking) idle(e, FOREVER);
      e->state = STATE_PAUSED;
    }
    if (e) member_leave(e);
  }
  const Inside inside;
  return n->CommFinalize(comm);
}

EXPORT Result ncclCommRevoke(Comm comm, int flags) {
  BEGIN(CommRevoke);
  if (!direct()) abort_team(comm, "revoked");
  const Inside inside;
  return n->CommRevoke(comm, flags);
}

EXPORT Result ncclCommSuspend(Comm comm, int flags) {
  BEGIN(CommSuspend);
  if (!direct()) pause_team(comm, STATE_TEAM, STATE_PAUSED);
  const Inside inside;
  return n->CommSuspend(comm, flags);
}

EXPORT Result ncclCommResume(Comm comm) {
  BEGIN(CommResume);
  Result r;
  {
    const Inside inside;
    r = n->CommResume(comm);
  }
  if (!direct() && (r == SUCCESS || r == IN_PROGRESS)) pause_team(comm, STATE_PAUSED, STATE_TEAM);
  return r;
}

EXPORT Result ncclCommGetAsyncError(Comm comm, Result *state) {
  BEGIN(CommGetAsyncError);
  Member *e = direct() ? nullptr : member_peek(comm);
  const Result r = nccl_state(comm, e && e->agreeing, state);
  if (!e) return r;
  if (r != SUCCESS || (*state != SUCCESS && *state != IN_PROGRESS)) {
    if (r == SUCCESS) member_failed(e, FAILED_NCCL);
    member_leave(e);
    return record_await(), r;
  }
  if (*state == SUCCESS) splits_made(e);
  if (e->agreeing && !e->blocking) *state = IN_PROGRESS;
  else if (e->state == STATE_FAILED) *state = e->error, member_failed(e, FAILED_AGREEMENT);
  else if (teamed(e) || e->state == STATE_PAUSED) {
    Why why = {};
    if (e->dead) {  // soon its text says where launches waited
      if (e->explained || now_ns() - e->died > SECOND) *state = REMOTE_ERROR, member_failed(e, FAILED_PEER);
    } else if (team_failed(e->team, &why) && !team_outlived(e->team)) {  // else peers/exit.cc finds out which call
      char calls[400];
      const bool differ = board_says(e, calls, sizeof calls);
      member_text(e, "%.*s%s%s", differ ? 300 : 600, why.text, differ ? "; " : "", differ ? calls : "");
      *state = REMOTE_ERROR;
      member_failed(e, FAILED_WAIT);
    }
  }
  member_leave(e);
  return answered(*state), r;
}

EXPORT const char *ncclGetLastError(Comm comm) {
  if (forked()) return "this process was forked after NCCL was used";
  const Nccl *n = nccl();
  if (!direct()) {
    const char *text = last_text(comm);
    if (text && *text) return text;
  }
  if (!n || !n->GetLastError) return "there is no NCCL here";
  const Inside inside;
  return n->GetLastError(comm);
}
