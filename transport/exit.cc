// This file tells peers that this process ends by exit(), and handles the same from them.
#include "job.h"

#include <string.h>

// An Exit is what mscclc_net_exit asks the thread for.
struct Exit {
  net_job *job;
  u64 launches;
  const u64 *marks;
  u32 count;
};
static int begin_exit(net_proxy *, void *with) {
  const Exit *e = (const Exit *)with;
  net_job *j = e->job;
  j->exit_count = e->count < WIRE_MARKS ? e->count : WIRE_MARKS;
  j->exit_launches = e->launches, j->exit_marks = e->marks;
  return 0;
}

void mscclc_net_exit(net_job *j, u64 launches, const u64 *marks, u32 count, uint64_t limit_ns) {
  Exit e = {j, launches, marks, count};
  on_thread(j->proxy, begin_exit, &e);
  mscclc_net_close(j, limit_ns);
}

u32 mscclc_net_exits(const net_job *j) { return (u32)net_word(&j->exits); }

// A peer that has exited tells nothing more, so its marks stay as they are.
u64 mscclc_net_exited(net_job *j, u32 number, u32 *process, u64 *marks, u32 most) {
  const Peer &q = j->peer[j->exit_order[number]];
  *process = q.process;
  memcpy(marks, q.marks, (q.mark_count < most ? q.mark_count : most) * sizeof *marks);
  return q.launches;
}
