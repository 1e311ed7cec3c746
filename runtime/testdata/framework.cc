// A part of a framework that uses NCCL, for tests of how NCCL is found. It calls what it is linked with, or with
// FRAMEWORK_OPENS functions that it looks up in a libnccl.so.2 of its own. framework_start makes two ranks, sums, and
// says what came of it; 0 is good.
#include "../src/front/abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef FRAMEWORK_OPENS
#define CALL(name) ((decltype(&nccl##name))dlsym(library(), "nccl" #name))
#else
#define CALL(name) nccl##name
#endif
#define NCCL(result, name, params) extern "C" result nccl##name params;
NCCL_CALLED(NCCL)

namespace {

typedef unsigned long long u64;

#ifdef FRAMEWORK_OPENS
void *library() {
  static void *h = dlopen(getenv("FRAMEWORK_NCCL"), RTLD_NOW | RTLD_LOCAL);
  return h;
}
#endif

struct Driver {
  int (*init)(unsigned), (*retain)(void **, int), (*use)(void *), (*stream)(void **, unsigned), (*sync)(void *);
  int (*alloc)(u64 *, size_t);
};

bool open_driver(Driver *d) {
  void *h = dlopen(getenv("MSCCLC_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);
  if (!h) return false;
  *(void **)&d->init = dlsym(h, "cuInit");
  *(void **)&d->retain = dlsym(h, "cuDevicePrimaryCtxRetain");
  *(void **)&d->use = dlsym(h, "cuCtxSetCurrent");
  *(void **)&d->stream = dlsym(h, "cuStreamCreate");
  *(void **)&d->sync = dlsym(h, "cuStreamSynchronize");
  *(void **)&d->alloc = dlsym(h, "cuMemAlloc_v2");
  return d->init && !d->init(0);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int framework_start() {
  enum { RANKS = 2, FLOAT = 7, SUM = 0, COUNT = 100 };
  Driver d = {};
  Comm comms[RANKS] = {};
  void *contexts[RANKS], *streams[RANKS];
  u64 buffers[RANKS];
  UniqueId id;
  int version = 0, ranks = 0;
  if (!open_driver(&d)) return puts("no driver"), 1;
  Result r = CALL(GetVersion)(&version);
  if (!r) r = CALL(GetUniqueId)(&id);
  if (!r) r = CALL(CommInitAll)(comms, RANKS, nullptr);
  if (!r) r = CALL(CommCount)(comms[1], &ranks);
  for (int i = 0; i < RANKS && !r; i++)
    if (d.retain(&contexts[i], i) || d.use(contexts[i]) || d.stream(&streams[i], 1) ||
        d.alloc(&buffers[i], 2 * 4 * COUNT))
      return puts("no GPU"), 1;
  if (!r) r = CALL(GroupStart)();
  for (int i = 0; i < RANKS && !r; i++)
    r = CALL(AllReduce)((void *)buffers[i], (void *)(buffers[i] + 4 * COUNT), COUNT, FLOAT, SUM, comms[i], streams[i]);
  if (!r) r = CALL(GroupEnd)();
  for (int i = 0; i < RANKS && !r; i++)
    if (d.use(contexts[i]) || d.sync(streams[i])) return puts("a stream fails"), 1;
  for (int i = 0; i < RANKS && !r; i++) r = CALL(CommDestroy)(comms[i]);
  printf("NCCL %d, %d ranks: %d\n", version, ranks, r);
  return r;
}
