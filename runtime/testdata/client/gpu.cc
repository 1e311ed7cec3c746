// What the test client does on a GPU only: what a call costs the host, and green contexts.
#include "client.h"

#include <chrono>
#include <dlfcn.h>

// measure calls AllReduce of all ranks of this thread in bursts that queues hold, as BenchLaunch does (gputest), and
// prints the time of a call in the fastest one.
void measure(Rank &r, int count, int bursts) {
  enum { BURST = 50, FLOAT = 7, SUM = 0 };
  u64 buffers[4];
  int ranks = 0;
  ncclCommCount(r.comms[0], &ranks);
  for (int i = 0; i < ranks; i++) side(r, gpu_of(i)), buffers[i] = take(r, 2 * (size_t)count * sizeof(float));
  double best = 1e9;
  for (int n = 0; n < bursts; n++) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < BURST; k++)
      for (int i = 0; i < ranks; i++)
        if (ncclAllReduce((void *)buffers[i], (void *)(buffers[i] + (u64)count * sizeof(float)), (size_t)count,
                          FLOAT, SUM, r.comms[i], r.streams[i]))
          fail(r, "ncclAllReduce: %s", ncclGetLastError(nullptr));
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (took.count() < best) best = took.count();
    for (int i = 0; i < ranks; i++)
      if (cu.sync(r.streams[i])) fail(r, "a stream fails");
  }
  for (int i = 0; i < ranks; i++) give(r, buffers[i]);
  printf("host: %.3f us/call\n", best / BURST / ranks);
}

// alone_on_green makes a green context of all SMs the thread's. It is 1 where the driver has none.
void alone_on_green(Rank &r) {
  enum { SM = 1, DEFAULT_STREAM = 1 };
  u8 resource[4096] = {};
  void *description = nullptr, *green = nullptr, *context = nullptr;
  int (*get)(int, void *, int), (*describe)(void **, void *, unsigned), (*make)(void **, void *, int, unsigned);
  int (*from)(void **, void *);
  *(void **)&get = dlsym(RTLD_DEFAULT, "cuDeviceGetDevResource");
  *(void **)&describe = dlsym(RTLD_DEFAULT, "cuDevResourceGenerateDesc");
  *(void **)&make = dlsym(RTLD_DEFAULT, "cuGreenCtxCreate");
  *(void **)&from = dlsym(RTLD_DEFAULT, "cuCtxFromGreenCtx");
  if (!get || !describe || !make || !from) fail(r, "the driver has no green contexts");
  const int gpu = gpu_of(r.rank);
  if (get(gpu, resource, SM) || describe(&description, resource, 1) || make(&green, description, gpu, DEFAULT_STREAM) ||
      from(&context, green) || cu.use(context))
    fail(r, "no green context");
}
