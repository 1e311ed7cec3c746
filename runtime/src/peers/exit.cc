// How communicators fail whose ranks end, or whose network fails. A process that ends by exit() while it has
// communicators, as after an exception of Python that nobody catches, tells the other ranks which launches it has
// finished. These end as they should with them. Later ones cannot end: they fail, and a text names the rank and the
// call.
#include "../front/front.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

const u64 PATIENCE = SECOND / 20;  // for what runs at exit to end, of all communicators together
const u64 UNKNOWN = ~0ull;
enum { DEINITIALIZED = 4 };

size_t bytes_of(const ExitNote &n) { return offsetof(ExitNote, mark) + n.count * sizeof n.mark[0]; }

// tell tells a peer what this rank has finished, in as many notes as that takes.
void tell_peer(int fd, ExitNote *n, const u64 *marks, u32 count) {
  for (u32 first = 0; first < count || first == 0; first += EXIT_MARKS) {
    n->first = first, n->count = count - first < EXIT_MARKS ? count - first : (u32)EXIT_MARKS;
    if (n->count) memcpy(n->mark, marks + first, n->count * sizeof *marks);
    if (sys_send_now(fd, n, bytes_of(*n)) < 0) return;
  }
}

// leave tells all peers of a communicator. A driver that has ended before this says nothing any more.
void leave(Member *e, u64 end) {
  static ExitNote note;
  const u64 now = now_ns();
  const u32 count = team_marks(e->team);
  u64 *marks = (u64 *)calloc(count + 1, sizeof *marks);
  if (!marks) return;
  note = ExitNote{};
  note.what = EXITS, note.code = team_finished(e->team, marks, now < end ? end - now : 0);
  if (note.code == DEINITIALIZED) return team_leave(e->team), free(marks);
  e->goodbye = 1;
  note.launches = team_launches(e->team, marks);
  for (int fd : e->peer)
    if (fd >= 0) tell_peer(fd, &note, marks, note.code ? 0 : count);
  if (note.code) team_stop(e->team, "the process exits, and its GPU has failed");
  else team_exit(e->team, marks);
  free(marks);
}

// fails has a communicator fail whose launch could not end, or was refused.
void fails(Member *e, const Outrun &is, u64 call, const char *where) {
  char text[160], name[96];
  int none = 0;
  if (e->dead) return;
  e->died = now_ns();  // before dead: who asks has a second of patience from then on, and the text comes within it
  if (!__atomic_compare_exchange_n(&e->dead.value, &none, 1 + (int)is.rank, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return;
  snprintf(text, sizeof text, "the process of rank %u (%llu) exited without ncclCommDestroy after %llu native %s",
           is.rank, e->pid[is.rank], is.finished, is.graphs ? "launches" : "calls");
  if (is.graphs && call) snprintf(name, sizeof name, "launch %llu, counting those of graphs,", call);
  else board_call(e, call, name, sizeof name);
  snprintf(e->cause, sizeof e->cause, "%s", text);
  member_text(e, "rank %u of %u: %s; %s cannot end%s%.300s", e->rank, e->ranks, text, name, *where ? "; " : "", where);
  e->explained = 1;
  const Where where_is(e);
  warn("%s", e->text);
  member_failed(e, FAILED_PEER);
}

// look sees to one communicator, and returns whether it must be looked at again.
bool look(Member *e) {
  Outrun is = {};
  Why why = {};
  if (!teamed(e) || !team_outrun(e->team, &is)) return false;
  const bool failed = team_failed(e->team, &why);
  if (failed && !e->dead && team_outlived(e->team)) {
    if (is.ended == UNKNOWN) team_outrun(e->team, &is);  // it has failed since
    fails(e, is, is.ended == UNKNOWN ? 0 : is.ended + 1, why.text);
  }
  if (!e->dead || e->lost) return !e->lost;
  e->lost = true;
  team_abort(e->team);
  team_stop(e->team, e->cause);
  return false;
}

}  // namespace

bool exit_watch() { return !atexit(exit_goodbye); }

void exit_goodbye() {
  if (forked()) return;
  const u64 end = now_ns() + PATIENCE;
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++) {
    const Comm comm = e->comm;
    if (!comm || !(e = member_peek(comm))) continue;
    if ((teamed(e) || e->state == STATE_PAUSED) && !e->goodbye) leave(e, end);
    member_leave(e);
  }
  peers_rest();
}

// All notes of a rank follow each other at once.
bool exit_hear(Member *e, u32 rank, const ExitNote *note, ssize_t bytes) {
  static ExitNote more;
  Team *t = e->team;
  const u32 count = t ? team_marks(t) : 0;
  u64 *marks = (u64 *)calloc(count + 1, sizeof *marks);
  u32 have = 0;
  bool good = marks != nullptr;
  for (; good && !note->code; note = &more, bytes = sys_recv_now(e->peer[rank], &more, sizeof more)) {
    good = bytes >= (ssize_t)offsetof(ExitNote, mark) && bytes == (ssize_t)bytes_of(*note) && note->what == EXITS &&
           note->first == have && note->count <= count - have;
    if (good && note->count) memcpy(marks + have, note->mark, note->count * sizeof *marks);
    if (good) have += note->count;
    if (have == count) break;
  }
  if (good && t && note->code) {
    char text[160];
    snprintf(text, sizeof text, "the process of rank %u (%llu) exited without ncclCommDestroy, and its GPU fails: %s",
             rank, e->pid[rank], driver_text(note->code));
    if (!e->dead && teamed(e)) peers_fail(e, rank, text);
  } else if (good && t && count) {
    good = team_exits(t, rank, note->launches, marks);
    e->exits = e->exits + 1;
  }
  free(marks);
  return good;
}

// exit_stop has launches leave that wait for a dead rank, and says where they waited.
void exit_stop(Comm c) {
  Member *e = member_peek(c);
  if (!e) return;
  const Where where(e);
  Why why = {};
  if (teamed(e)) {
    team_abort(e->team);
    if (team_failed(e->team, &why))
      member_text(e, "rank %u of %u: %s; %.440s", e->rank, e->ranks, e->cause, why.text);
    team_stop(e->team, e->cause);
  }
  member_failed(e, FAILED_PEER);
  e->explained = 1;
  warn("%s", e->text);
  member_leave(e);
}

// networks_look has communicators fail whose network has failed: their launches would wait. It says whether there
// are some that it must look at again.
bool networks_look() {
  Member *e;
  bool some = false;
  for (u32 i = 0; (e = member_at(i)); i++) {
    const Comm c = e->comm;
    if (!c || !e->spread) continue;
    some = true;
    if (!member_hold(e, c)) continue;
    Why why = {};
    if (e->comm == c && teamed(e) && !e->lost && team_lost(e->team) && team_failed(e->team, &why)) {
      e->lost = true;
      const Where where(e);
      warn("%s", why.text);
      member_failed(e, FAILED_NETWORK);
      team_stop(e->team, why.text), team_abort(e->team);
    }
    member_leave(e);
  }
  return some;
}

bool exit_look() {
  bool again = false;
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++) {
    const Comm comm = e->comm;
    if (!comm || !(e->exits || e->spread) || !(e = member_peek(comm))) continue;
    again |= look(e);
    member_leave(e);
  }
  return again;
}

// The call is the last one on the board.
bool exit_refuses(Member *e) {
  if (!team_over(e->team)) return false;
  fails(e, team_exited(e->team), 0, "");
  return true;
}
