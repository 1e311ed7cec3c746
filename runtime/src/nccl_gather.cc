// AllGathers of the agreement: by NCCL, in memory of the GPU and on a stream of our own.
#include "nccl_front.h"

#include <pthread.h>
#include <string.h>

namespace {

// What communicators have made, for those that follow.
struct Kept {
  bool taken;
  int device;
  void *stream;
  u64 buffer;
  bool on_host;
};
Kept kept[64];
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

bool take_kept(Member *e) {
  pthread_mutex_lock(&mu);
  bool found = false;
  for (Kept &k : kept) {
    if (found || !k.stream || k.taken || k.device != e->device) continue;
    k.taken = found = true;
    e->stream = k.stream, e->buffer = k.buffer, e->on_host = k.on_host;
  }
  pthread_mutex_unlock(&mu);
  return found;
}

enum { BYTES = (BUNDLE_RANKS + 1) * GATHER_ROOM };

bool failed(Why *why, Member *e, const char *what, int code) {
  if (code) say(why, "rank %u: %s: %s", e->rank, what, driver_text(code));
  return code != 0;
}

bool wait(Member *e, Why *why) {
  for (u64 pause = 2000;; pause = pause < 100000 ? pause * 2 : pause) {
    bool busy = true;
    if (failed(why, e, "an AllGather", gpu_busy(e->stream, &busy))) return false;
    if (!busy) return true;
    if (!e->comm || (e->agreeing && e->state != STATE_NEW)) return say(why, "the communicator was aborted"), false;
    if (e->state == STATE_TEAM && peers_gone(e)) return say(why, "a rank has left or ended"), false;
    Result state = SUCCESS;
    {
      const Inside inside;
      nccl()->CommGetAsyncError(e->comm, &state);
    }
    if (state != SUCCESS && state != IN_PROGRESS)
      return say(why, "rank %u: an AllGather of NCCL's gives error %d", e->rank, state), false;
    nap(pause);
  }
}

bool start(Member **list, u32 count, u32 bytes, Why *why) {
  const Nccl *n = nccl();
  const Inside inside;
  Result r = n->GroupStart();
  for (u32 i = 0; i < count && r == SUCCESS; i++) {
    const u64 at = list[i]->buffer;
    r = n->AllGather((void *)at, (void *)(at + GATHER_ROOM), bytes, NCCL_INT8, list[i]->comm, list[i]->stream);
    if (r == IN_PROGRESS) r = SUCCESS;
  }
  const Result end = n->GroupEnd();
  if (r == SUCCESS) r = end;
  for (u32 i = 0; i < count && r == IN_PROGRESS; i++) {
    const Result late = settle(list[i]->comm);
    if (late != SUCCESS || i + 1 == count) r = late;
  }
  if (r != SUCCESS) say(why, "an AllGather of NCCL's gives error %d", r);
  return r == SUCCESS;
}

// each does something on each communicator's GPU.
template <typename F>
bool each(Member **list, u32 count, Why *why, F f) {
  for (u32 i = 0; i < count; i++) {
    void *before;
    if (failed(why, list[i], "its GPU", gpu_enter(list[i]->device, &before))) return false;
    const bool ok = f(i);
    gpu_leave(before);
    if (!ok) return false;
  }
  return true;
}

// put and get copy what a rank sends, and what it has got.
int put(Member *e, const void *from, u32 bytes) {
  if (!e->on_host) return gpu_put(e->buffer, from, bytes, e->stream);
  return memcpy((void *)e->buffer, from, bytes), 0;
}
int get(void *to, Member *e, u32 bytes) {
  if (!e->on_host) return gpu_get(to, e->buffer + GATHER_ROOM, bytes, e->stream);
  return memcpy(to, (const void *)(e->buffer + GATHER_ROOM), bytes), 0;
}

}  // namespace

// gather_open gives a communicator a stream and a buffer of its GPU. They are kept for the next one: to free memory may
// wait for all that runs. A GPU that has no memory left reaches a buffer of the host, which NCCL takes, too: the other
// ranks must hear that this one has none.
bool gather_open(Member *e, Why *why) {
  if (take_kept(e)) return true;
  void *before;
  if (failed(why, e, "its GPU", gpu_enter(e->device, &before))) return false;
  bool ok = !failed(why, e, "a stream", gpu_stream(&e->stream));
  if (ok && gpu_alloc(&e->buffer, BYTES)) {
    e->on_host = ok = !failed(why, e, "memory", gpu_host_alloc(&e->buffer, BYTES));
    if (!ok) gpu_stream_end(e->stream), e->stream = nullptr;
  }
  gpu_leave(before);
  return ok;
}

void gather_close(Member *e) {
  if (!e->stream) return;
  pthread_mutex_lock(&mu);
  Kept *row = nullptr;
  for (Kept &k : kept)
    if (k.stream == e->stream || (!k.stream && !row)) row = &k;
  if (row) *row = Kept{false, e->device, e->stream, e->buffer, e->on_host};
  pthread_mutex_unlock(&mu);
  e->buffer = 0, e->stream = nullptr, e->on_host = false;
}

bool gather(Member **list, u32 count, const void *const *mine, void *const *all, u32 bytes, Why *why) {
  if (alone()) {
    bool ok = true;
    for (u32 i = 0; i < count; i++) ok &= alone_send(list[i]->comm, mine[i], bytes);
    for (u32 i = 0; i < count; i++) ok &= alone_recv(list[i]->comm, all[i], bytes);
    if (!ok) say(why, "a rank has closed its connection");
    return ok;
  }
  return each(list, count, why, [&](u32 i) {
    return !failed(why, list[i], "a copy", put(list[i], mine[i], bytes));
  }) && start(list, count, bytes, why) && each(list, count, why, [&](u32 i) {
    Member *e = list[i];
    return wait(e, why) && !failed(why, e, "a copy", get(all[i], e, bytes * e->ranks)) && wait(e, why);
  });
}
