// The agreement of a communicator's ranks: all run programs of the bundle, or none. They meet at the hub of the
// communicator (consensus/meeting.h) once NCCL has made it, and tell what each has. It runs in a thread for each
// communicator, so that it waits for no call of a peer on another communicator.
#include "agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

// later_stage is what a rank's stage becomes by an answer of a later meeting. Where a round comes to nothing, all calls
// stay NCCL's.
Stage later_stage(int step, bool last) {
  return step > 0 ? last ? STAGE_TEAM : STAGE_WORK : step < 0 ? STAGE_FAILED : STAGE_MET;
}

// tell_family has the ranks of this process that were notified that all agree fail, too. Those of others find that the
// sockets to this rank close without goodbye.
void tell_family(const Member *e) {
  Member *other;
  for (u32 i = 0; (other = member_at(i)); i++) {
    const Comm comm = other->comm;
    if (other == e || !comm || !member_hold(other, comm)) continue;
    if (teamed(other) && !other->dead && other->family == e->family) {
      member_text(other, "%s", e->text);
      other->died = now_ns(), other->dead = 1 + (int)e->rank;
      team_abort(other->team);
      other->explained = 1;
    }
    member_leave(other);
  }
}

}  // namespace

void act(Side *s, Act what) {
  if ((what != ACT_LEAVE && what != ACT_CLOSE) || !*s->line) return;
  Line *line = *s->line;
  *s->line = nullptr;
  line_leave(line, what == ACT_LEAVE);
}

bool hear(Side *s, u64 limit, const char *what, Answer *a) {
  const Wait wait = {s->e, s->state, what, limit, s->pending ? &s->pending->soon : nullptr, s->stage == STAGE_HERE};
  const Event event = line_answer(*s->line, wait, a, &s->why);
  if (event == EVENT_NO || event == EVENT_FAILED) s->reason = a->word.reason, s->teller = a->word.teller;
  const bool last = s->stage == STAGE_LAST;
  if (s->later) s->stage = later_stage(later_step(last, event), last);
  else act(s, rank_step(&s->stage, event));
  s->bound = last && event != EVENT_FAILED && s->stage == STAGE_FAILED;
  const bool goes_on = s->stage == STAGE_WORK || s->stage == STAGE_TEAM;
  if (!goes_on) free(a->body);
  return goes_on;
}

bool come(Side *s) {
  Member *e = s->e;
  Answer a;
  s->stage = STAGE_CONNECT;
  const Wait wait = {e, s->state, "the process that made the ncclUniqueId to take its connection", meet_limit()};
  Event event = line_open(s->init.tail, wait, s->line, &s->why);
  if (event == EVENT_CONNECTED && hub_full(s->init.tail)) {  // this line may have the hub's last descriptor
    act(s, ACT_CLOSE);
    say(&s->why, "its process has no descriptor left (ulimit -n)");
    event = EVENT_UNREACHED;
  }
  if (event == EVENT_UNREACHED) s->teller = hub_cannot(s->init.tail, e->rank, e->ranks, s->why.text);
  if (rank_step(&s->stage, event) != ACT_HERE) return false;
  line_here(*s->line, e->rank, e->ranks);  // where that fails, no answer comes
  const u64 limit = s->later ? FOREVER : wait_limit();
  if (!hear(s, limit == FOREVER ? limit : limit + meet_limit(), s->later ? nullptr : "the other ranks to come", &a))
    return false;
  if (s->pending) s->pending->soon = 0;  // all are here
  return free(a.body), true;
}

void tell_kept(const Member *e, const char *why) {
  if (!alone()) tell("NCCL runs all calls of this communicator of %u ranks: %s", e->ranks, why);
  else tell("calls of this communicator of %u ranks fail with ncclInvalidUsage, since there is no NCCL: %s", e->ranks,
            why);
}

void end_team(Side *s) {
  Member *e = s->e;
  void *before;
  e->team = nullptr;
  e->spread = 0;
  if (!s->team) return;
  peers_leave(e, false);
  peers_close(e);
  learn_end(e);
  board_close(e);
  if (!gpu_enter(e->device, &before)) team_end(s->team, false), gpu_leave(before);
  s->team = nullptr;
}

// hold gives a communicator that fails the team whose arena others may write to. They find that its sockets end, as
// those of a dead process, and close theirs when their launches have left. Then the communicator's end frees the team.
static void hold(Side *s) {
  team_stop(s->team, "the ranks could not agree");
  peers_hush(s->e);
  s->e->team = s->team;
  s->team = nullptr;
}

void agree_fails(Side *s, Result error) {
  Member *e = s->e;
  int is = s->state;
  e->error = error, e->why = "the ranks could not agree";
  if (e->ranks) member_text(e, "rank %u of %u: the ranks could not agree: %.400s", e->rank, e->ranks, s->why.text);
  else member_text(e, "a communicator that is split: the ranks could not agree: %.400s", s->why.text);
  if (s->bound) tell_family(e);
  if (!s->bound) end_team(s);
  const bool failed = change(e, &is, STATE_FAILED);
  if (s->team) hold(s);
  if (!failed) return;
  tell("%s", e->text);
  member_failed(e, FAILED_AGREEMENT);
}

bool stream_open(Member *e) {
  if (e->stream) return true;
  const int code = gpu_stream(&e->stream);
  if (code) e->stream = nullptr;
  return !code;
}

void stream_close(Member *e) {
  void *before;
  if (!e->stream || gpu_enter(e->device, &before)) return;
  gpu_stream_end(e->stream);
  e->stream = nullptr;
  gpu_leave(before);
}

bool tell_all(Side *s, Event how, const void *mine, u32 bytes, void *all, const char *what) {
  Answer a;
  const bool can = how != EVENT_CANNOT;
  const u64 limit = wait_limit();
  if (!can) say_files(&s->why, s->e->rank);
  rank_step(&s->stage, how);
  line_say(*s->line, ROUND_DATA, nullptr, 0, can, can ? mine : s->why.text, can ? bytes : (u32)strlen(s->why.text));
  if (!hear(s, limit == FOREVER ? limit : limit + meet_limit(), what, &a)) return false;
  const bool whole = a.bytes == bytes * s->e->ranks;
  if (!whole) s->stage = STAGE_FAILED, say(&s->why, "the hub's answer has %u bytes", a.bytes);
  if (whole && all) memcpy(all, a.body, a.bytes);
  return free(a.body), whole;
}

void agree_ranks(Side *s) {
  if (come(s)) agree_all(s);
}

// warns_of says whether this rank warns that NCCL runs its communicator's calls: one rank does for all, and none where
// that follows from another communicator. A rank that the hub has sent nothing has a reason of its own. Where the
// ncclUniqueId says nothing of a meeting, rank 0, which mostly made it, mostly has no library.
static bool warns_of(const Side *s) {
  const Init &i = s->init;
  const u32 rank = s->e->rank;
  if (i.nccl || (i.of && !i.parent && !i.has_tail)) return false;
  if (!i.of && !i.has_tail) return rank == (getenv("NCCL_COMM_ID") ? 0 : 1);
  return rank == s->teller || (warns() && s->stage == STAGE_NCCL && !s->reason && s->teller != NOBODY);
}

// agree_ends makes a communicator the team's, or leaves it NCCL's, with one line, or has it fail. It is NCCL's already
// where another thread has ended it.
void agree_ends(Side *s) {
  Member *e = s->e;
  if (s->board >= 0) close(s->board), s->board = -1;  // all ranks have mapped it
  int is = STATE_NEW;
  if (s->stage == STAGE_MET && s->ready) return ready_begin(s);
  if (s->stage == STAGE_TEAM) e->team = s->team, e->why = nullptr;
  if (s->stage == STAGE_TEAM && change(e, &is, STATE_TEAM)) {
    info("rank %u of %u uses the bundle's programs, with %u CTAs at most", e->rank, e->ranks, e->ctas);
    if (!team_orders_graphs(e->team))
      info("rank %u of %u: the program orders launches of graphs on different streams", e->rank, e->ranks);
    return;
  }
  const bool ended = e->state != STATE_NEW;
  if (s->stage == STAGE_FAILED && !ended) return agree_fails(s, REMOTE_ERROR);
  if (alone() && s->stage == STAGE_NCCL && e->ranks != 1 && !ended)
    return agree_fails(s, !s->init.has_tail ? REMOTE_ERROR : s->reason == NO_FIT ? INVALID_ARGUMENT : INVALID_USAGE);
  if (s->bound && s->team) hold(s);
  else end_team(s);
  if (ended) say(&s->why, "the communicator was aborted"), part(e);
  keep_nccl(e, interned(s->why.text));
  if (warns_of(s)) tell_kept(e, s->why.text);
  else info("NCCL runs all calls of a communicator of %u ranks: %s", e->ranks, s->why.text);
  stream_close(e);
}
