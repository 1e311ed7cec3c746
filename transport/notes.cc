// This file notes when messages are sent and received, for traces.
#include "job.h"

#include <stdlib.h>
#include <string.h>

u64 note_time(const net_job *j) { return j->notes.count < j->notes.most ? net_now() : 0; }

u64 note(net_job *j, const Peer *q, const wire_post &post, u64 bytes, bool received, u64 begin) {
  Notes &n = j->notes;
  const wire_header &h = post.h;
  if (n.count == n.most) return UNNOTED;
  n.note[n.count] = net_note{begin,   0,         bytes,  post.part[0].count, q->process, h.rank,
                             h.block, h.operand, h.flag, h.replica,           h.replicas,  received};
  return n.first + n.count++;
}

void note_end(net_job *j, u64 number) {
  const Notes &n = j->notes;
  if (number >= n.first && number - n.first < n.count) n.note[number - n.first].end = net_now();
}

// What another thread asks for: room for notes, or notes.
struct Asked {
  net_job *job;
  net_note *note;
  u32 most, count;
};

static int begin_notes(net_proxy *, void *with) {
  Asked *a = (Asked *)with;
  Notes &n = a->job->notes;
  net_note *const before = n.note;
  n = Notes{a->note, n.first + n.count, 0, a->most};
  a->note = before;
  return 0;
}

int mscclc_net_note(net_job *j, u32 most) {
  Asked a = {j, nullptr, most, 0};
  if (most && !(a.note = (net_note *)malloc(most * sizeof *a.note))) return 1;
  on_thread(j->proxy, begin_notes, &a);
  free(a.note);
  return 0;
}

static int give_notes(net_proxy *, void *with) {
  Asked *a = (Asked *)with;
  const Notes &n = a->job->notes;
  a->count = n.count;
  if (n.count && a->most) memcpy(a->note, n.note, (n.count < a->most ? n.count : a->most) * sizeof *n.note);
  return 0;
}

u32 mscclc_net_noted(net_job *j, net_note *to, u32 most) {
  Asked a = {j, to, most, 0};
  on_thread(j->proxy, give_notes, &a);
  return a.count;
}
