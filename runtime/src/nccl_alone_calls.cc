// NCCL's functions without NCCL: communicators, and errors for all that no program runs.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl_alone.h"

namespace {

// All communicators of this process, so that what is none is known.
AloneComm *comms;
const int MOST = BUNDLE_RANKS;
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
__thread u32 depth __attribute__((tls_model("initial-exec")));  // of the thread's groups

// find gives the first communicator that is so.
template <typename F>
AloneComm *find(F is) {
  pthread_mutex_lock(&mu);
  AloneComm *c = comms;
  while (c && !is(c)) c = c->next;
  pthread_mutex_unlock(&mu);
  return c;
}
const void *read_group(const AloneComm *c) { return __atomic_load_n(&c->group, __ATOMIC_RELAXED); }
AloneComm *valid(Comm comm) {
  return find([=](const AloneComm *c) { return c == (const AloneComm *)comm; });
}

void end(AloneComm *c) {
  pthread_mutex_lock(&mu);
  AloneComm **at = &comms;
  while (*at && *at != c) at = &(*at)->next;
  if (*at) *at = c->next;
  pthread_mutex_unlock(&mu);
  if (c->fd >= 0) close(c->fd);
  free(c);
}

}  // namespace

Result alone_make(Comm *comm, int ranks, const UniqueId *id, int rank, int device, bool blocking) {
  if (!comm) return INVALID_ARGUMENT;
  *comm = nullptr;
  AloneComm *c = (AloneComm *)calloc(1, sizeof(AloneComm));
  if (!c) return SYSTEM_ERROR;
  *c = AloneComm{-1, rank, ranks, device, {IN_PROGRESS}, {}, depth && blocking ? &depth : nullptr, nullptr, ""};
  Result r = alone_connect(c, id);
  if (r) tell("rank %d cannot reach the process that made the communicator's identity, or it was used before", rank);
  const bool wrong = ranks < 1 || ranks > MOST || rank < 0 || rank >= ranks;
  if (!r && (wrong || (!depth && blocking))) r = alone_settle(c, true);
  if (r) return end(c), r;
  pthread_mutex_lock(&mu);
  c->next = comms, comms = c;
  pthread_mutex_unlock(&mu);
  *comm = (Comm)c;
  return blocking ? SUCCESS : IN_PROGRESS;
}

namespace {

int current_device() {
  int device = 0;
  return gpu_current(&device) ? 0 : device;
}

bool blocks(const Config *c) { return !c || c->size < sizeof *c || c->blocking; }
Result get_version(int *version) { return version ? (*version = 22809, SUCCESS) : INVALID_ARGUMENT; }
Result init_rank(Comm *comm, int ranks, UniqueId id, int rank) {
  return alone_make(comm, ranks, &id, rank, current_device());
}
Result init_config(Comm *comm, int ranks, UniqueId id, int rank, Config *config) {
  return alone_make(comm, ranks, &id, rank, current_device(), blocks(config));
}
Result init_scalable(Comm *comm, int ranks, int rank, int, UniqueId *ids, Config *config) {
  return ids ? alone_make(comm, ranks, ids, rank, current_device(), blocks(config)) : INVALID_ARGUMENT;
}
Result destroy(Comm comm) {
  AloneComm *c = valid(comm);
  if (!c) return INVALID_ARGUMENT;
  return end(c), SUCCESS;
}

Result split(Comm comm, int color, int key, Comm *made, Config *) {
  AloneComm *c = valid(comm);
  return c && made ? alone_split(c, color, key, made, depth != 0) : INVALID_ARGUMENT;
}

Result group_start() { return depth++, SUCCESS; }
Result group_end() {
  if (!depth) return INVALID_USAGE;
  Result r = depth == 1 ? alone_split_group() : SUCCESS;
  if (--depth) return r;
  while (AloneComm *c = find([](const AloneComm *a) { return read_group(a) == &depth; })) {
    const Result one = alone_settle(c, true);
    __atomic_store_n(&c->group, nullptr, __ATOMIC_RELAXED);  // other threads look through the list
    if (!r) r = one;
  }
  return r;
}

Result init_all(Comm *list, int count, const int *devices) {
  UniqueId id;
  if (!list || count < 1 || count > MOST) return INVALID_ARGUMENT;
  Result r = alone_id(&id);
  group_start();
  for (int i = 0; i < count && !r; i++) r = alone_make(&list[i], count, &id, i, devices ? devices[i] : i);
  const Result late = group_end();
  return r ? r : late;
}

// fact gives a number of a communicator.
Result fact(Comm comm, int AloneComm::*what, int *to) {
  const AloneComm *c = valid(comm);
  return c && to ? (*to = c->*what, SUCCESS) : INVALID_ARGUMENT;
}
Result count_of(Comm comm, int *count) { return fact(comm, &AloneComm::ranks, count); }
Result rank_of(Comm comm, int *rank) { return fact(comm, &AloneComm::rank, rank); }
Result device_of(Comm comm, int *gpu) { return fact(comm, &AloneComm::device, gpu); }
Result error_of(Comm comm, Result *r) {
  AloneComm *c = valid(comm);
  return c && r ? (*r = alone_settle(c, false), SUCCESS) : INVALID_ARGUMENT;
}
const char *last_of(Comm comm) {
  const AloneComm *c = valid(comm);
  return c ? c->text : "";
}
Result fine(Comm comm) { return valid(comm) ? SUCCESS : INVALID_ARGUMENT; }

// Windows are only numbers.
Result window_register(Comm comm, void *buffer, size_t bytes, void **window, int) {
  static u64 last;
  if (!window) return INVALID_ARGUMENT;
  *window = nullptr;
  if (!valid(comm) || !buffer || !bytes) return INVALID_ARGUMENT;
  return *window = (void *)__atomic_add_fetch(&last, 1, __ATOMIC_RELAXED), SUCCESS;
}
Result window_deregister(Comm comm, void *) { return fine(comm); }

// A Move is what a collective of one rank does.
struct Move {
  const void *send;
  void *recv;
  int type;
  void *stream;
};
Result copy(AloneComm *c, const Move &m, size_t count) {
  static const u8 sizes[NCCL_TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  void *before;
  if (m.send == m.recv) return SUCCESS;
  if (gpu_enter(c->device, &before)) return CUDA_ERROR;
  const int code = gpu_copy((u64)m.recv, (u64)m.send, count * sizes[m.type], m.stream);
  gpu_leave(before);
  return code ? CUDA_ERROR : SUCCESS;
}

// none is what a collective gives that no program runs.
Result none(Comm comm, Fn fn, size_t count, const Move *only = nullptr) {
  AloneComm *c = valid(comm);
  if (!c) return INVALID_ARGUMENT;
  if (!count && fn != FN_Send && fn != FN_Recv) return SUCCESS;
  if (only && c->ranks == 1 && only->type >= 0 && only->type < NCCL_TYPES) return copy(c, *only, count);
  Member *e = member_enter(comm);
  const char *why = e && e->why ? e->why : "no rule of the bundle has such a call";
  snprintf(c->text, sizeof c->text, "nccl%s without NCCL (MSCCLC_NCCL=none): %s", fn_name(fn), why);
  if (e) {
    member_text(e, "%s", c->text);
    member_leave(e);
  }
  return INVALID_USAGE;
}

const char *error_text(Result r) {
  static const char *const texts[] = {"no error", "error of the GPU's driver", "error of the system", "internal error",
                                      "an argument is not valid", "the call is not valid here",
                                      "another rank has failed or ended", "in progress", "time is up"};
  return r >= 0 && r < 9 ? texts[r] : "unknown result";
}

Nccl table() {
  Nccl n = {};
  n.GetVersion = get_version, n.GetUniqueId = alone_id, n.GetErrorString = error_text, n.GetLastError = last_of;
  n.CommInitRank = init_rank, n.CommInitRankConfig = init_config, n.CommInitRankScalable = init_scalable;
  n.CommInitAll = init_all, n.CommSplit = split;
  n.CommFinalize = fine, n.CommDestroy = destroy, n.CommAbort = destroy, n.CommGetAsyncError = error_of;
  n.CommCount = count_of, n.CommCuDevice = device_of, n.CommUserRank = rank_of;
  n.CommWindowRegister = window_register, n.CommWindowDeregister = window_deregister;
  n.GroupStart = group_start, n.GroupEnd = group_end;
#define COLLECTIVE(name, ...)                                                                        \
  n.name = [](const void *send, void *recv, size_t k, int t, __VA_ARGS__ Comm c, void *stream) { \
    const Move only = {send, recv, t, stream};                                                       \
    return none(c, FN_##name, k, &only);                                                             \
  }
  COLLECTIVE(AllReduce, int, );
  COLLECTIVE(AllGather, );
  COLLECTIVE(ReduceScatter, int, );
  COLLECTIVE(Broadcast, int, );
  COLLECTIVE(Reduce, int, int, );
  COLLECTIVE(AlltoAll, );
  COLLECTIVE(Gather, int, );
  COLLECTIVE(Scatter, int, );
#undef COLLECTIVE
  n.Bcast = [](void *, size_t k, int, int, Comm c, void *) {
    const Move only = {nullptr, nullptr, NCCL_INT8, nullptr};  // it is where it has to be
    return none(c, FN_Bcast, k, &only);
  };
  n.Send = [](const void *, size_t k, int, int, Comm c, void *) { return none(c, FN_Send, k); };
  n.Recv = [](void *, size_t k, int, int, Comm c, void *) { return none(c, FN_Recv, k); };
  return n;
}

}  // namespace

const Nccl *alone_functions() {
  static Nccl functions;
  functions = table();
  return &functions;
}
