// This file keeps teams apart that have no room on a GPU together. Blocks of a launch wait for those of other ranks, so
// launches of several communicators can wait for each other for ever if each has a part of the GPUs. NCCL's kernels and
// those of three teams have room beside each other. Where a GPU has more teams, eager calls of all of them start one
// after the other in the order of the host, and a team that found others there leaves captured calls to NCCL: the host
// does not see when graphs are launched.
#include "team.h"

enum { NO_TIMING = 2, NCCL_CTAS = 32 };

int crowd_join(Team *t) {
  Crowd &c = t->gpu->crowd;
  int code = 0;
  pthread_mutex_lock(&c.mu);
  if (!c.last) code = t->gpu->f->event(&c.last, NO_TIMING);
  pthread_mutex_unlock(&c.mu);
  if (code) return code;
  t->counted = t->ctas < t->set.row->ctas ? t->ctas : t->set.row->ctas;
  __atomic_fetch_add(&c.teams, 1, __ATOMIC_ACQ_REL);
  __atomic_fetch_add(&c.ctas, t->counted, __ATOMIC_ACQ_REL);
  return 0;
}

void crowd_leave(Team *t) {
  if (!t->counted) return;
  __atomic_fetch_sub(&t->gpu->crowd.teams, 1, __ATOMIC_ACQ_REL);
  __atomic_fetch_sub(&t->gpu->crowd.ctas, t->counted, __ATOMIC_ACQ_REL);
  t->counted = 0;
}

bool crowded(const Gpu *g) {
  return __atomic_load_n(&g->crowd.ctas, __ATOMIC_ACQUIRE) + NCCL_CTAS > (u32)g->sms &&
         __atomic_load_n(&g->crowd.teams, __ATOMIC_ACQUIRE) > 1;
}

int crowd_before(Gpu *g, void *stream) {
  pthread_mutex_lock(&g->crowd.mu);
  return g->crowd.any ? g->f->await(stream, g->crowd.last, 0) : 0;
}

int crowd_behind(Gpu *g, void *stream, int code) {
  if (!code) code = g->f->record(g->crowd.last, stream), g->crowd.any = code == 0;
  pthread_mutex_unlock(&g->crowd.mu);
  return code;
}
