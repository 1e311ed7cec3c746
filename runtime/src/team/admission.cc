// This file keeps teams apart whose launches do not fit together on a GPU. Blocks of a launch wait for those of other
// ranks, so launches of several communicators can wait for each other for ever if each has a part of the GPUs. Teams of
// one communicator follow each other, and count as the one that has most CTAs. NCCL's kernels and those of three teams
// have room beside each other. Where a GPU has more teams, eager calls of all of them start one
// after the other in the order of the host, and a team that found others there leaves captured calls to NCCL: the host
// does not see when graphs are launched.
//
// Where ranks may share a GPU (MSCCLC_SHARED_GPU), each rank number has an equal part of the GPU, and an Admission
// of its own. So ranks of one communicator never wait for each other to start.
#include "team.h"

#include <stdlib.h>
#include <string.h>

enum { NO_TIMING = 2, NCCL_CTAS = 32 };

namespace {

const u64 LOOK_AGAIN = 5000000;  // ns: after which a team that waits for its turn looks whether it was aborted

// take_turn waits until no other team on the GPU starts a call. The turn is no lock: who waits for it can be aborted,
// and who has it may wait for a full queue.
int take_turn(Team *t) {
  Admission &c = *t->admission;
  int code = 0;
  pthread_mutex_lock(&c.mu);
  while (c.starting && !(code = __atomic_load_n(&t->aborted, __ATOMIC_ACQUIRE) ? ENGINE_ABORTED : 0)) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    const u64 ns = (u64)until.tv_nsec + LOOK_AGAIN;
    until.tv_sec += (time_t)(ns / 1000000000), until.tv_nsec = (long)(ns % 1000000000);
    pthread_cond_timedwait(&c.changed, &c.mu, &until);
  }
  if (!code) c.starting = true, t->turn = ++c.turns;
  pthread_mutex_unlock(&c.mu);
  return code;
}

void end_turn(Admission *c, bool any) {
  pthread_mutex_lock(&c->mu);
  c->starting = false, c->any |= any;
  pthread_cond_signal(&c->changed);
  pthread_mutex_unlock(&c->mu);
}

}  // namespace

// Real NCCL refuses ranks that share a GPU.
bool gpu_shared() {
  const char *shared = getenv("MSCCLC_SHARED_GPU"), *nccl = getenv("MSCCLC_NCCL");
  return shared && nccl && !strcmp(shared, "1") && !strcmp(nccl, "none");
}

int admission_join(Team *t) {
  t->shared = gpu_shared();
  t->admission = t->gpu->admission + (t->shared ? t->rank : 0);
  Admission &c = *t->admission;
  int code = 0;
  pthread_mutex_lock(&c.mu);
  if (!c.last) code = t->gpu->f->event(&c.last, NO_TIMING);
  pthread_mutex_unlock(&c.mu);
  if (code) return code;
  const u32 ctas = t->ctas < t->set.row->ctas ? t->ctas : t->set.row->ctas;
  Order &o = *t->order;
  if (!o.ctas) __atomic_fetch_add(&c.orders, 1, __ATOMIC_ACQ_REL);
  if (ctas > o.ctas) __atomic_fetch_add(&c.ctas, ctas - o.ctas, __ATOMIC_ACQ_REL), o.ctas = ctas;
  return 0;
}

void admission_leave(Team *t) {
  Order *o = t->order;
  if (!o || !o->ctas || o->teams != t || t->beside) return;  // another team needs its room
  __atomic_fetch_sub(&t->admission->orders, 1, __ATOMIC_ACQ_REL);
  __atomic_fetch_sub(&t->admission->ctas, o->ctas, __ATOMIC_ACQ_REL);
  o->ctas = 0;
}

// oversubscribed says whether the launches of all teams on a GPU do not fit together. All ranks may be on one shared
// GPU.
bool oversubscribed(const Team *t) {
  const u32 sms = (u32)t->gpu->sms, ctas = __atomic_load_n(&t->admission->ctas, __ATOMIC_ACQUIRE);
  if (__atomic_load_n(&t->admission->orders, __ATOMIC_ACQUIRE) < 2) return false;
  return t->shared ? ctas > sms / t->ranks : ctas + NCCL_CTAS > sms;
}

bool team_oversubscribed(const Team *t) { return oversubscribed(t); }
u64 team_turn(const Team *t) { return t->turn; }

int admission_before(Team *t, void *stream) {
  TRY(take_turn(t));
  const Admission &c = *t->admission;
  const int code = c.any ? t->gpu->f->await(stream, c.last, 0) : 0;
  if (code) end_turn(t->admission, false);
  return code;
}

int admission_after(Team *t, void *stream, int code) {
  if (!code) code = order_record(t, t->admission->last, stream);
  end_turn(t->admission, code == 0);
  return code;
}
