// This file opens libcuda.so.1 and calls it. The names are the driver's ABI, with
// the versions that they have had since CUDA 3.2 to 7.
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef void *handle;
static struct {
  int (*init)(unsigned), (*driver)(int *), (*count)(int *), (*device)(int *, int), (*name)(char *, int, int), (*attribute)(int *, int, int);
  int (*text)(int, const char **);
  int (*retain)(handle *, int), (*current)(handle), (*can_peer)(int *, int, int), (*peer)(handle, unsigned);
  int (*alloc)(u64 *, u64), (*release)(u64), (*zero)(u64, unsigned char, u64, handle), (*put)(u64, const void *, u64, handle), (*get)(void *, u64, u64, handle);
  int (*stream)(handle *, unsigned), (*sync)(handle), (*query)(handle);
  int (*event)(handle *, unsigned), (*record)(handle, handle), (*elapsed)(float *, handle, handle);
  int (*load)(handle *, const void *, unsigned, int *, void **), (*unload)(handle), (*function)(handle *, handle, const char *);
  int (*occupancy)(int *, handle, int, u64);
  int (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);
} cu;

static const struct {
  void *to;
  const char *name;
} symbols[] = {
    {&cu.init, "cuInit"}, {&cu.driver, "cuDriverGetVersion"}, {&cu.count, "cuDeviceGetCount"}, {&cu.device, "cuDeviceGet"},
    {&cu.name, "cuDeviceGetName"}, {&cu.attribute, "cuDeviceGetAttribute"}, {&cu.text, "cuGetErrorString"},
    {&cu.retain, "cuDevicePrimaryCtxRetain"}, {&cu.current, "cuCtxSetCurrent"},
    {&cu.can_peer, "cuDeviceCanAccessPeer"}, {&cu.peer, "cuCtxEnablePeerAccess"},
    {&cu.alloc, "cuMemAlloc_v2"}, {&cu.release, "cuMemFree_v2"}, {&cu.zero, "cuMemsetD8Async"},
    {&cu.put, "cuMemcpyHtoDAsync_v2"}, {&cu.get, "cuMemcpyDtoHAsync_v2"},
    {&cu.stream, "cuStreamCreate"}, {&cu.sync, "cuStreamSynchronize"}, {&cu.query, "cuStreamQuery"},
    {&cu.event, "cuEventCreate"}, {&cu.record, "cuEventRecord"}, {&cu.elapsed, "cuEventElapsedTime"},
    {&cu.load, "cuModuleLoadDataEx"}, {&cu.unload, "cuModuleUnload"}, {&cu.function, "cuModuleGetFunction"},
    {&cu.occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor"}, {&cu.launch, "cuLaunchKernel"},
};

enum { NOT_READY = 600, PEER_ALREADY = 704, NON_BLOCKING = 1, LOG_BUFFER = 5, LOG_BYTES = 6 };
enum { NO_DRIVER = -2 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int opened;
static const char *missing;

// A kernel that is loaded only when it is launched would wait for the end of the
// one that spins for it: modules are loaded whole.
static void open_driver(void) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  opened = NO_DRIVER;
  handle library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    missing = dlerror();
    return;
  }
  for (unsigned i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *p = dlsym(library, symbols[i].name);
    if (!p) {
      missing = symbols[i].name;
      return;
    }
    *(void **)symbols[i].to = p;
  }
  opened = cu.init(0);
}

int mscclc_cuda_open(const char **why) {
  pthread_once(&once, open_driver);
  *why = missing;
  return opened;
}

const char *mscclc_cuda_error(int code) {
  const char *text = 0;
  if (code == CUDA_HUNG) return "the kernel does not end";
  if (code == NO_DRIVER) return "no driver";
  return cu.text && cu.text(code, &text) == 0 && text ? text : "an error without a name";
}

#define TRY(call)          \
  do {                     \
    int code = (call);     \
    if (code) return code; \
  } while (0)

int mscclc_cuda_version(int *version) { return cu.driver(version); }
int mscclc_cuda_count(int *count) { return cu.count(count); }

int mscclc_cuda_gpu(int number, struct cuda_gpu *gpu) {
  TRY(cu.device(&gpu->device, number));
  TRY(cu.retain(&gpu->context, gpu->device));
  TRY(cu.current(gpu->context));
  TRY(cu.stream(&gpu->stream, NON_BLOCKING));
  TRY(cu.stream(&gpu->side, NON_BLOCKING));
  TRY(cu.event(&gpu->begin, 0));
  return cu.event(&gpu->end, 0);
}

int mscclc_cuda_name(int number, char *name, int bytes) {
  int device;
  TRY(cu.device(&device, number));
  return cu.name(name, bytes, device);
}

int mscclc_cuda_facts(int number, int facts[FACT_COUNT]) {
  static const int attributes[FACT_COUNT] = {75, 76, 16};
  int device;
  TRY(cu.device(&device, number));
  for (int i = 0; i < FACT_COUNT; i++) TRY(cu.attribute(facts + i, attributes[i], device));
  return 0;
}

int mscclc_cuda_peer(struct cuda_gpu *gpu, struct cuda_gpu *to, int *can) {
  TRY(cu.can_peer(can, gpu->device, to->device));
  if (!*can) return 0;
  TRY(cu.current(gpu->context));
  const int code = cu.peer(to->context, 0);
  return code == PEER_ALREADY ? 0 : code;
}

int mscclc_cuda_alloc(struct cuda_gpu *gpu, u64 bytes, u64 *address) {
  TRY(cu.current(gpu->context));
  TRY(cu.alloc(address, bytes));
  return mscclc_cuda_zero(gpu, *address, bytes);
}
int mscclc_cuda_free(struct cuda_gpu *gpu, u64 address) {
  TRY(cu.current(gpu->context));
  return cu.release(address);
}
int mscclc_cuda_zero(struct cuda_gpu *gpu, u64 address, u64 bytes) {
  TRY(cu.current(gpu->context));
  TRY(cu.zero(address, 0, bytes, gpu->stream));
  return cu.sync(gpu->stream);
}
int mscclc_cuda_put(struct cuda_gpu *gpu, u64 address, const void *from, u64 bytes) {
  TRY(cu.current(gpu->context));
  TRY(cu.put(address, from, bytes, gpu->stream));
  return cu.sync(gpu->stream);
}
int mscclc_cuda_get(struct cuda_gpu *gpu, void *to, u64 address, u64 bytes) {
  TRY(cu.current(gpu->context));
  TRY(cu.get(to, address, bytes, gpu->stream));
  return cu.sync(gpu->stream);
}

int mscclc_cuda_module(struct cuda_gpu *gpu, const char *ptx, char *log, u32 log_bytes, void **module) {
  int options[] = {LOG_BUFFER, LOG_BYTES};
  void *values[] = {log, (void *)(u64)log_bytes};
  log[0] = 0;
  TRY(cu.current(gpu->context));
  return cu.load(module, ptx, 2, options, values);
}
int mscclc_cuda_unload(struct cuda_gpu *gpu, void *module) {
  TRY(cu.current(gpu->context));
  return cu.unload(module);
}
int mscclc_cuda_function(struct cuda_gpu *gpu, void *module, const char *name, void **function) {
  TRY(cu.current(gpu->context));
  return cu.function(function, module, name);
}
int mscclc_cuda_blocks(struct cuda_gpu *gpu, void *function, u32 threads, u32 *blocks) {
  TRY(cu.current(gpu->context));
  return cu.occupancy((int *)blocks, function, (int)threads, 0);
}

static u64 host_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

static int start(struct cuda_part *p) {
  struct cuda_gpu *g = p->gpu;
  void *args[] = {&p->launch, &p->numbers};
  TRY(cu.current(g->context));
  TRY(cu.put(p->launch.status, &p->status, sizeof p->status, g->stream));
  TRY(cu.record(g->begin, g->stream));
  TRY(cu.launch(p->function, p->blocks, 1, 1, p->threads, 1, 1, 0, g->stream, args, 0));
  return cu.record(g->end, g->stream);
}

// poll looks whether a part has ended, and how.
static int poll(struct cuda_part *p) {
  struct cuda_gpu *g = p->gpu;
  TRY(cu.current(g->context));
  const int code = cu.query(g->stream);
  if (code == NOT_READY) return 0;
  TRY(code);
  p->ended = 1;
  TRY(cu.get(&p->status, p->launch.status, sizeof p->status, g->stream));
  TRY(cu.sync(g->stream));
  return cu.elapsed(&p->ms, g->begin, g->end);
}

// leave tells all parts that still run to leave. The word goes beside the stream
// on which their kernels are.
static int leave(struct cuda_part *part, u32 parts) {
  static const u32 cancelled = STATUS_CANCELLED;
  for (u32 i = 0; i < parts; i++) {
    if (part[i].ended) continue;
    TRY(cu.current(part[i].gpu->context));
    TRY(cu.put(part[i].launch.status, &cancelled, sizeof cancelled, part[i].gpu->side));
  }
  return 0;
}

// A launch that was told to leave has so long to do so. Until then it may take
// any time: each of its waits has a limit, and work has none.
static const u64 GRACE_NS = 10000000000u;

int mscclc_cuda_launch(struct cuda_part *part, u32 parts, const u32 *cancel) {
  u64 left = 0;
  int failed = 0;
  u32 started = 0;
  for (; started < parts && !failed; started++) failed = start(part + started);
  started -= failed != 0;
  for (u32 polls = 0;; polls++) {
    u32 running = 0, stop = failed != 0 || __atomic_load_n(cancel, __ATOMIC_RELAXED);
    for (u32 i = 0; i < started; i++) {
      if (!part[i].ended) TRY(poll(part + i));
      running += !part[i].ended;
      stop |= part[i].ended && part[i].status.code != STATUS_OK;
    }
    if (!running) return failed;
    if (stop && !left) {
      TRY(leave(part, started));
      left = host_ns();
    }
    if (left && host_ns() - left > GRACE_NS) return CUDA_HUNG;
    if (polls > 2000) {
      const struct timespec nap = {0, 20000};
      nanosleep(&nap, 0);
    }
  }
}
