// Communicators without NCCL (MSCCLC_NCCL=none): NCCL's functions, with errors for all that no program runs. Their
// ranks meet as those of NCCL's communicators do.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../meeting/meet.h"

namespace {

struct AloneComm {
  Atom<int> rank, ranks;  // of a split they are known once all have split
  int device;
  AloneComm *next;        // of all in this process
  char text[256];
};

// All communicators of this process, so that what is none is known.
AloneComm *comms;
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
__thread u32 depth __attribute__((tls_model("initial-exec")));  // of the thread's groups

AloneComm *valid(Comm comm) {
  pthread_mutex_lock(&mu);
  AloneComm *c = comms;
  while (c && c != (AloneComm *)comm) c = c->next;
  pthread_mutex_unlock(&mu);
  return c;
}

void end(AloneComm *c) {
  pthread_mutex_lock(&mu);
  AloneComm **at = &comms;
  while (*at && *at != c) at = &(*at)->next;
  if (*at) *at = c->next;
  pthread_mutex_unlock(&mu);
  free(c);
}

Result make(Comm *comm, int rank, int ranks, int device, bool blocking) {
  AloneComm *c = (AloneComm *)calloc(1, sizeof(AloneComm));
  if (!c) return no_memory("a communicator");
  c->rank = rank, c->ranks = ranks, c->device = device;
  pthread_mutex_lock(&mu);
  c->next = comms, comms = c;
  pthread_mutex_unlock(&mu);
  *comm = (Comm)c;
  return blocking ? SUCCESS : IN_PROGRESS;
}

// current_device is the GPU of the thread's context, or GPU 0 if it has none.
Result current_device(int *device) {
  enum { NO_DRIVER = 100, NO_CONTEXT = 201 };
  const int code = gpu_current(device);
  if (code) *device = 0;
  if (!code || code == NO_DRIVER || code == NO_CONTEXT) return SUCCESS;
  system_fails("a communicator: the driver does not name the GPU of the thread: %s", driver_text(code));
  return CUDA_ERROR;
}

bool blocks(const Config *c) { return !c || c->size < offsetof(Config, net_name) || c->blocking; }
Result get_version(int *version) { return version ? (*version = 22809, SUCCESS) : INVALID_ARGUMENT; }
Result get_id(UniqueId *id) { return id ? (memset(id, 0, sizeof *id), SUCCESS) : INVALID_ARGUMENT; }

// init makes a communicator. A rank that is out of range goes to the others, too, so that they do not wait for it. Of
// more ranks than bundles have, each rank knows by itself.
Result init(Comm *comm, int ranks, const UniqueId *id, int rank, const Config *config) {
  Tail tail;
  if (!comm || !id) return INVALID_ARGUMENT;
  *comm = nullptr;
  if (ranks > (int)BUNDLE_RANKS)
    return warn("a communicator of %d ranks: bundles are for %d at most", ranks, (int)BUNDLE_RANKS), INVALID_ARGUMENT;
  memcpy((void *)&tail, id->internal + sizeof tail, sizeof tail);
  const bool single = ranks == 1 && rank == 0;
  int device;
  if (!single && !tail_good(tail)) return INVALID_ARGUMENT;
  if (const Result r = current_device(&device)) return r;
  return make(comm, rank, ranks, device, blocks(config));
}
Result init_rank(Comm *comm, int ranks, UniqueId id, int rank) { return init(comm, ranks, &id, rank, nullptr); }
Result init_config(Comm *comm, int ranks, UniqueId id, int rank, Config *config) {
  return init(comm, ranks, &id, rank, config);
}
Result init_scalable(Comm *comm, int ranks, int rank, int, UniqueId *ids, Config *config) {
  return init(comm, ranks, ids, rank, config);
}
Result init_all(Comm *list, int count, const int *devices) {
  if (!list || count < 1 || count > (int)BUNDLE_RANKS) return INVALID_ARGUMENT;
  Result r = SUCCESS;
  int made = 0;
  for (; made < count && !r; made += !r) r = make(&list[made], made, count, devices ? devices[made] : made, true);
  for (int i = 0; r && i < made; i++) end((AloneComm *)list[i]);
  return r;
}
Result destroy(Comm comm) {
  AloneComm *c = valid(comm);
  if (!c) return INVALID_ARGUMENT;
  return end(c), SUCCESS;
}

Result split(Comm comm, int color, int, Comm *made, Config *config) {
  const AloneComm *c = valid(comm);
  if (!c || !made) return INVALID_ARGUMENT;
  *made = nullptr;
  return color == NCCL_NO_COLOR ? SUCCESS : make(made, -1, 0, c->device, blocks(config));
}

Result group_start() { return depth++, SUCCESS; }
Result group_end() { return depth ? (depth--, SUCCESS) : INVALID_USAGE; }

Result count_of(Comm comm, int *count) {
  const AloneComm *c = valid(comm);
  return c && count ? (*count = c->ranks, SUCCESS) : INVALID_ARGUMENT;
}
Result rank_of(Comm comm, int *rank) {
  const AloneComm *c = valid(comm);
  return c && rank ? (*rank = c->rank, SUCCESS) : INVALID_ARGUMENT;
}
Result device_of(Comm comm, int *gpu) {
  const AloneComm *c = valid(comm);
  return c && gpu ? (*gpu = c->device, SUCCESS) : INVALID_ARGUMENT;
}
Result error_of(Comm comm, Result *r) { return valid(comm) && r ? (*r = SUCCESS, SUCCESS) : INVALID_ARGUMENT; }
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

// wrong says what is wrong with the arguments of a call, as NCCL does, or gives null.
const char *wrong(const AloneComm *c, const Op &m) {
  const int ranks = c->ranks ? (int)c->ranks : 1;
  if (m.root < 0 || m.root >= ranks) return "there is no such root or peer";
  if (dtype_of(m.type) == DT_COUNT) return "there is no such type";
  if (redop_of(m.op) == RED_COUNT) return "there is no such operation";
  if (m.count > ~0ull / 2 / size_of(dtype_of(m.type)) / (size_t)ranks) return "the count is too large";
  const bool root = m.root == c->rank;
  const u32 kind = kind_of(m.fn);
  const bool reads = m.fn != FN_Recv && kind_reads(kind, root), writes = m.fn != FN_Send && kind_writes(kind, root);
  if (m.count && ((reads && !m.send) || (writes && !m.recv))) return "a buffer is null";
  return nullptr;
}

Result copy(AloneComm *c, const Op &m) {
  void *before;
  if (m.send == m.recv) return SUCCESS;
  int code = gpu_enter(c->device, &before);
  const u64 bytes = m.count * size_of(dtype_of(m.type));
  if (!code) code = gpu_copy((u64)m.recv, (u64)m.send, bytes, m.stream), gpu_leave(before);
  if (!code) return SUCCESS;
  system_fails("%s of one rank on GPU %d: %s", fn_name(m.fn), c->device, driver_text(code));
  return CUDA_ERROR;
}

// none is what a call gives that no program runs.
Result none(const Op &m) {
  AloneComm *c = valid(m.comm);
  if (!c) return INVALID_ARGUMENT;
  const char *why = wrong(c, m);
  const Result r = why ? INVALID_ARGUMENT : INVALID_USAGE;
  if (!why && !m.count) return SUCCESS;
  if (!why && c->ranks == 1 && kind_of(m.fn) != KIND_NONE) return copy(c, m);
  Member *e = member_peek(m.comm);
  if (!why) why = e && e->why ? e->why : "no rule of the bundle has such a call";
  snprintf(c->text, sizeof c->text, "%s without NCCL (MSCCLC_NCCL=none): %s", fn_name(m.fn), why);
  if (e) {
    member_text(e, "%s", c->text);
    member_leave(e);
  } else {
    system_fails("%s", c->text);
  }
  return r;
}

const char *error_text(Result r) {
  static const char *const texts[] = {"no error", "error of the GPU's driver", "error of the system", "internal error",
                                      "an argument is not valid", "the call is not valid here",
                                      "another rank has failed or ended", "in progress", "time is up"};
  return r >= 0 && r < 9 ? texts[r] : "unknown result";
}

void collectives(Nccl &n) {
#define ROW(name, kind, shape, X)                                 \
  n.name = [](TAKES_##shape, Comm comm, void *stream) -> Result { \
    OP(name, shape);                                              \
    return none(o);                                               \
  };
  CALLS(ROW, )
#undef ROW
}

Nccl table() {
  Nccl n = {};
  n.GetVersion = get_version, n.GetUniqueId = get_id, n.GetErrorString = error_text, n.GetLastError = last_of;
  n.CommInitRank = init_rank, n.CommInitRankConfig = init_config, n.CommInitRankScalable = init_scalable;
  n.CommInitAll = init_all, n.CommSplit = split;
  n.CommFinalize = fine, n.CommDestroy = destroy, n.CommAbort = destroy, n.CommGetAsyncError = error_of;
  n.CommCount = count_of, n.CommCuDevice = device_of, n.CommUserRank = rank_of;
  n.CommWindowRegister = window_register, n.CommWindowDeregister = window_deregister;
  n.GroupStart = group_start, n.GroupEnd = group_end;
  collectives(n);
  return n;
}

}  // namespace

const Nccl *alone_functions() {
  static Nccl functions;
  functions = table();
  return &functions;
}

void alone_placed(Comm comm, u32 rank, u32 ranks) {
  if (AloneComm *c = valid(comm)) c->rank = (int)rank, c->ranks = (int)ranks;
}
