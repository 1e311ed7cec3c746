// A communicator with the ranks of one of NCCL's: an ncclAllGather brings rank 0's unique id to all. NCCL is the one
// that the process has loaded, and is found when it is needed.
#include "handles.h"

#include <dlfcn.h>
#include <string.h>

namespace {

enum { NCCL_CHAR = 0, PIECE = sizeof(StarId) };

struct Nccl {
  int (*count)(const void *, int *);
  int (*rank)(const void *, int *);
  int (*gather)(const void *, void *, size_t, int, void *, void *);
};

bool find(Nccl *n, Why *why) {
  static const char *const names[] = {"ncclCommCount", "ncclCommUserRank", "ncclAllGather"};
  void *loaded = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD), *of[3];
  for (int i = 0; i < 3; i++) {
    of[i] = dlsym(RTLD_DEFAULT, names[i]);
    if (!of[i] && loaded) of[i] = dlsym(loaded, names[i]);
    if (!of[i]) return say(why, "the process has loaded no NCCL with %s", names[i]), false;
  }
  memcpy((void *)n, of, sizeof of);
  return true;
}

// A Gather is memory of the GPU for the ids of all ranks.
struct Gather {
  Gpu *gpu;
  mscclc_result result;
  Why why;
};

bool driver(Gather *g, int code, const char *what) {
  if (!code) return true;
  say(&g->why, "%s: %s", what, driver_text(code));
  g->result = MSCCLC_DEVICE;
  return false;
}

// gather runs the AllGather on the caller's stream, and waits for it.
void gather(Gather *g, const Nccl &n, void *comm, void *stream, const StarId &mine, StarId *all, int ranks) {
  const gpu_symbols *f = g->gpu->f;
  u64 at = 0;
  if (!driver(g, f->alloc(&at, (u64)(ranks + 1) * PIECE), "memory for unique ids")) return;
  const u64 to = at + PIECE;
  bool good = driver(g, f->put(at, &mine, PIECE, stream), "a copy") && driver(g, f->sync(stream), "a copy");
  const int code = good ? n.gather((void *)at, (void *)to, PIECE, NCCL_CHAR, comm, stream) : 0;
  if (code) say(&g->why, "ncclAllGather returned %d", code), g->result = MSCCLC_REMOTE, good = false;
  if (good) good = driver(g, f->sync(stream), "ncclAllGather") &&
                   driver(g, f->get(all, to, (u64)ranks * PIECE, stream), "a copy") &&
                   driver(g, f->sync(stream), "a copy");
  f->release(at);
}

// An Exchange is what mscclc_comm_by_exchange is given.
struct Exchange {
  Gather gather;
  const Nccl *nccl;
  void *comm, *stream;
  int ranks;
};

int exchange(void *user, const void *mine, void *all, size_t bytes) {
  Exchange *e = (Exchange *)user;
  StarId own;
  if (bytes != sizeof own) return 1;
  memcpy(&own, mine, sizeof own);
  gather(&e->gather, *e->nccl, e->comm, e->stream, own, (StarId *)all, e->ranks);
  return e->gather.result != MSCCLC_OK;
}

}  // namespace

extern "C" mscclc_result mscclc_comm_by_nccl(mscclc_comm *comm, void *nccl_comm, void *stream) {
  Exchange e = {};
  Nccl n;
  int rank = -1;
  begun();
  if (forked()) return MSCCLC_FORKED;
  if (!comm || !nccl_comm) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_comm_by_nccl: an argument is null");
  if (!find(&n, &e.gather.why)) return failed(MSCCLC_BAD_USE, "%s", e.gather.why.text);
  if (!(e.gather.gpu = gpu_of_thread(&e.gather.why))) return failed(MSCCLC_DEVICE, "%s", e.gather.why.text);
  const int counted = n.count(nccl_comm, &e.ranks), ranked = n.rank(nccl_comm, &rank);
  if (counted || ranked) return failed(MSCCLC_BAD_ARGUMENT, "NCCL does not know the communicator");
  e.nccl = &n, e.comm = nccl_comm, e.stream = stream;
  const mscclc_result r = mscclc_comm_by_exchange(comm, exchange, &e, e.ranks, rank, MSCCLC_GPU);
  return e.gather.result ? failed(e.gather.result, "%s", e.gather.why.text) : r;
}
