// Rounds of communicators whose ranks have met, over their lines: of windows.
#include "meet.h"

#include <stdlib.h>
#include <string.h>

namespace {

// state_of is the state of a communicator that has a team, whose programs may run only from a later call on.
int state_of(const Member *e) { return e->state == STATE_READY ? STATE_READY : STATE_TEAM; }

// failed has a communicator fail whose ranks may use what this one does not. Peers find that its sockets end without
// goodbye.
void failed(Saying *s) {
  Member *e = s->e;
  int is = state_of(e);
  e->error = REMOTE_ERROR, e->why = "the ranks could not agree";
  member_text(e, "rank %u of %u: the ranks could not agree: %.400s", e->rank, e->ranks, s->why.text);
  if (!change(e, &is, STATE_FAILED)) return;
  tell("%s", e->text);
  member_failed(e, FAILED_AGREEMENT);
  team_stop(e->team, e->text);
  team_abort(e->team);
  peers_hush(e);
}

Wait wait_of(const Member *e, const char *what) { return Wait{e, state_of(e), what, wait_limit()}; }

void answer(Saying *s, bool last, const char *what) {
  Member *e = s->e;
  Answer a = {};
  const Event event = line_answer(e->line, wait_of(e, what), &a, &s->why);
  s->outcome = later_step(last && s->ok, event);
  const bool whole = s->outcome == 1 && a.bytes == (s->all ? s->bytes * e->ranks : 0);
  if (whole && s->all) memcpy(s->all, a.body, a.bytes);
  if (s->outcome == 1 && !whole) s->outcome = last ? -1 : 0, say(&s->why, "the hub's answer has %u bytes", a.bytes);
  free(a.body);
  if (event == EVENT_ENDED) line_shut(e->line);
  line_next(e->line);
  if (s->outcome < 0) failed(s);
}

}  // namespace

void gather(Saying *list, u32 count, bool last, const char *what) {
  for (u32 i = 0; i < count; i++) {
    Saying *s = &list[i];
    Member *e = s->e;
    s->outcome = 0;
    const bool turn = e->line && line_turn(e->line, line_ticket(e->line), wait_of(e, what));
    if (!turn && !s->why.text[0]) say(&s->why, "the connection to the process that made the ncclUniqueId is lost");
    if (!s->ok) say_files(&s->why, e->rank);
    if (turn) s->outcome = 2, line_say(e->line, ROUND_DATA, nullptr, 0, s->ok, s->ok ? s->mine : s->why.text,
                                     s->ok ? s->bytes : (u32)strlen(s->why.text));
  }
  for (u32 i = 0; i < count; i++)
    if (list[i].outcome == 2) answer(&list[i], last, what);
}
