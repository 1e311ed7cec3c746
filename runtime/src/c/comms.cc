// Communicators: how they begin, fail and end.
#include "handles.h"

#include "../host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

const u64 LOOK_AGAIN = 100000, LEAVE_NS = STAR_SECOND / 5;

struct Lock {
  pthread_mutex_t *mu;
  explicit Lock(pthread_mutex_t *m) : mu(m) { pthread_mutex_lock(mu); }
  ~Lock() { pthread_mutex_unlock(mu); }
};

void notified(void *with, mscclc_result result, const char *text) { comm_fail((mscclc_comm_s *)with, result, text); }

// drop frees a communicator, in which nothing runs. Peers may run where they did not say goodbye.
void drop(mscclc_comm_s *c) {
  while (mscclc_programs_s *p = c->programs) {
    c->programs = p->next;
    team_end(p->team, false);
    free(p->list);
    free(p);
  }
  while (mscclc_window_s *w = c->windows) c->windows = w->next, free(w);
  if (c->line) line_free(c->line);
  if (c->host) host_gone(c->host);
  pthread_mutex_destroy(&c->mu);
  free(c);
}
void drop_last(void *with) { drop((mscclc_comm_s *)with); }

// check says what is wrong with the arguments of a new communicator.
mscclc_result check(const void *comm, int ranks, int rank, mscclc_device device) {
  begun();
  if (forked()) return MSCCLC_FORKED;
  if (!comm) return failed(MSCCLC_BAD_ARGUMENT, "a communicator: the place for its handle is null");
  if (ranks < 2 || ranks > MSCCLC_MAX_RANKS)
    return failed(MSCCLC_BAD_ARGUMENT, "a communicator of %d ranks: bundles are for 2 to %d", ranks, MSCCLC_MAX_RANKS);
  if (rank < 0 || rank >= ranks) return failed(MSCCLC_BAD_ARGUMENT, "there is no rank %d of %d", rank, ranks);
  if (device != MSCCLC_GPU && device != MSCCLC_CPU)
    return failed(MSCCLC_BAD_ARGUMENT, "no device is %d: give MSCCLC_GPU or MSCCLC_CPU", (int)device);
  return MSCCLC_OK;
}

// join makes a communicator of an id.
mscclc_result join(mscclc_comm *comm, const StarId &id, int ranks, int rank, mscclc_device device) {
  Why why = {};
  mscclc_comm_s *c = (mscclc_comm_s *)calloc(1, sizeof *c);
  if (!c) return failed(MSCCLC_SYSTEM, "no memory");
  c->ranks = (u32)ranks, c->rank = (u32)rank, c->device = device;
  pthread_mutex_init(&c->mu, nullptr);
  const bool able = device == MSCCLC_CPU ? (c->host = host_gpu(&why)) != nullptr : gpu_of_thread(&why) != nullptr;
  const Hello hello = {{}, MSCCLC_ABI, c->ranks, c->rank, (u32)device};
  Why line = {};
  mscclc_result r = line_open(id, hello, notified, c, &c->line, &line);
  if (r) why = line;
  else r = line_agree(c->line, ROUND_JOIN, able, MSCCLC_DEVICE, &why);  // all ranks come, and have devices
  if (!r) return *comm = c, MSCCLC_OK;
  drop(c);
  return failed(r, "rank %d of %d: %s", rank, ranks, why.text);
}

// idle waits until no launch of the rank runs, or the communicator has failed.
bool idle(mscclc_comm_s *c) {
  for (mscclc_programs_s *p = c->programs; p; p = p->next)
    while (team_busy(p->team)) {
      if (comm_looked(c)) return false;
      nap_of_engine(LOOK_AGAIN);
    }
  return true;
}

}  // namespace

void comm_fail(mscclc_comm_s *c, mscclc_result result, const char *text) {
  const Lock lock(&c->mu);
  if (c->state) return;
  // What a launch says begins with the rank.
  if (result == MSCCLC_TIMED_OUT || result == MSCCLC_DEVICE) snprintf(c->why, sizeof c->why, "%s", text);
  else snprintf(c->why, sizeof c->why, "rank %u: %s", c->rank, text);
  __atomic_store_n(&c->state, result, __ATOMIC_RELEASE);
  for (mscclc_programs_s *p = c->programs; p; p = p->next) team_abort(p->team);
}

mscclc_result comm_state(mscclc_comm_s *c) {
  if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == MSCCLC_OK) return MSCCLC_OK;
  const Lock lock(&c->mu);
  return failed(c->state, "%s", c->why);
}

mscclc_result comm_looked(mscclc_comm_s *c) {
  Why why = {};
  mscclc_result found = MSCCLC_OK;
  if (const mscclc_result r = comm_state(c)) return r;
  {
    const Lock lock(&c->mu);
    for (mscclc_programs_s *p = c->programs; p && !found; p = p->next) {
      if (!team_failed(p->team, &why)) continue;
      found = MSCCLC_DEVICE;
      for (u32 i = 0; i < p->team->set.row->programs; i++)
        if (p->team->statuses[i].code == STATUS_TIMEOUT) found = MSCCLC_TIMED_OUT;
    }
  }
  if (!found) return MSCCLC_OK;
  comm_fail(c, found, why.text);
  line_abort(c->line);
  return comm_state(c);
}

extern "C" {

mscclc_result mscclc_new_id(mscclc_unique_id *id) {
  Why why = {};
  begun();
  if (forked()) return MSCCLC_FORKED;
  if (!id) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_new_id: id is null");
  StarId made;
  if (const mscclc_result r = star_new(&made, &why)) return failed(r, "%s", why.text);
  memcpy(id, &made, sizeof *id);
  return MSCCLC_OK;
}

mscclc_result mscclc_comm_by_id(mscclc_comm *comm, const mscclc_unique_id *id, int ranks, int rank,
                                mscclc_device device) {
  StarId is;
  if (const mscclc_result r = check(comm, ranks, rank, device)) return r;
  if (!id) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_comm_by_id: id is null");
  memcpy(&is, id, sizeof is);
  return join(comm, is, ranks, rank, device);
}

mscclc_result mscclc_comm_by_exchange(mscclc_comm *comm, mscclc_exchange exchange, void *user, int ranks, int rank,
                                      mscclc_device device) {
  StarId mine = {}, all[MSCCLC_MAX_RANKS] = {};
  Why why = {};
  if (const mscclc_result r = check(comm, ranks, rank, device)) return r;
  if (!exchange) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_comm_by_exchange: the exchange is null");
  // All ranks call the exchange, also where rank 0 has no id to give: then they have no magic.
  const mscclc_result made = rank ? MSCCLC_OK : star_new(&mine, &why);
  if (made) mine = StarId{};
  const int code = exchange(user, &mine, all, sizeof mine);
  if (made) return failed(made, "%s", why.text);
  if (code) return failed(MSCCLC_SYSTEM, "the caller's exchange of bytes has failed: it returned %d", code);
  if (!all[0].port) return failed(MSCCLC_REMOTE, "rank 0 could not make a unique id, or the exchange did not bring it");
  return join(comm, all[0], ranks, rank, device);
}

mscclc_result mscclc_comm_ranks(mscclc_comm c, int *ranks, int *rank) {
  if (!c || !ranks || !rank) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_comm_ranks: an argument is null");
  *ranks = (int)c->ranks, *rank = (int)c->rank;
  return MSCCLC_OK;
}

mscclc_result mscclc_error(mscclc_comm c, mscclc_result *state) {
  if (forked()) return MSCCLC_FORKED;
  if (!c || !state) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_error: an argument is null");
  return *state = comm_looked(c), MSCCLC_OK;
}

mscclc_result mscclc_abort(mscclc_comm c) {
  if (forked()) return MSCCLC_FORKED;
  if (!c) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_abort: the communicator is null");
  comm_fail(c, MSCCLC_ABORTED, "the communicator was aborted");
  line_abort(c->line);
  return MSCCLC_OK;
}

mscclc_result mscclc_destroy(mscclc_comm c) {
  if (forked()) return MSCCLC_FORKED;
  if (!c) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_destroy: the communicator is null");
  idle(c);
  // Peers may still write to this rank's memory until they have left, too. Where they take longer, the line's thread
  // ends the communicator.
  if (line_leave(c->line, LEAVE_NS) || !line_last(c->line, drop_last, c)) drop(c);
  return MSCCLC_OK;
}
}
