// A rank in its meeting, without sockets: what it does at each event.
//
// A rank that has said that it is here waits for the hub's word. Where its connection is lost before, it cannot know
// what the others received, so the communicator has an error here; the hub sees the loss, too, and notifies the others.
// A rank whose connection is lost after the last yes (STAGE_LAST) closes the sockets to its peers without goodbye: then
// peers that received GO find its end as that of a dead process.
#include "meeting.h"

namespace {

Act ends(Stage *s, Stage as, Act act) { return *s = as, act; }

// waits_step is a stage in which the rank waits for the hub's word.
Act waits_step(Stage *s, Event event, Stage go, Stage no) {
  switch (event) {
    case EVENT_GO: return ends(s, go, go == STAGE_WORK ? ACT_WORK : ACT_NONE);
    case EVENT_NO: return ends(s, no, no == STAGE_MET ? ACT_NONE : ACT_CLOSE);
    case EVENT_OTHER: return ends(s, no == STAGE_NCCL ? STAGE_NCCL : STAGE_FAILED, ACT_CLOSE);
    case EVENT_ENDED: return ends(s, STAGE_NCCL, ACT_LEAVE);
    default: return ends(s, STAGE_FAILED, ACT_CLOSE);  // FAILED, LOST, LIMIT
  }
}

}  // namespace

Act rank_step(Stage *s, Event event) {
  if (event == EVENT_FORKED) return ends(s, STAGE_FAILED, ACT_CLOSE);  // of the child's copy, which nobody hears
  switch (*s) {
    case STAGE_CONNECT:
      if (event == EVENT_CONNECTED) return ends(s, STAGE_HERE, ACT_HERE);
      return ends(s, STAGE_NCCL, ACT_CLOSE);
    case STAGE_HERE: return waits_step(s, event, STAGE_WORK, STAGE_NCCL);
    case STAGE_WORK:
      if (event == EVENT_MORE || event == EVENT_CANNOT) return ends(s, STAGE_SAID, ACT_PART);
      if (event == EVENT_DONE) return ends(s, STAGE_LAST, ACT_PART);
      if (event == EVENT_ONLY) return ends(s, STAGE_MET, ACT_NONE);
      if (event == EVENT_ENDED) return ends(s, STAGE_NCCL, ACT_LEAVE);
      return ends(s, STAGE_FAILED, ACT_CLOSE);
    case STAGE_SAID: return waits_step(s, event, STAGE_WORK, STAGE_MET);
    case STAGE_LAST: return waits_step(s, event, STAGE_TEAM, STAGE_MET);
    default: return ACT_NONE;
  }
}

int later_step(bool last, Event event) {
  if (event == EVENT_GO) return 1;
  return last && (event == EVENT_LOST || event == EVENT_LIMIT) ? -1 : 0;
}
