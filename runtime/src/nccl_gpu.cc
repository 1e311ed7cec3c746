// The few calls of the driver that the front makes: memory and a stream for the agreement.
#include "nccl_front.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

namespace {

#define DRIVER(X)                                                              \
  X(cuInit, (unsigned))                                                        \
  X(cuDeviceGet, (int *, int))                                                 \
  X(cuDevicePrimaryCtxRetain, (void **, int))                                  \
  X(cuCtxGetCurrent, (void **))                                                \
  X(cuCtxSetCurrent, (void *))                                                 \
  X(cuCtxGetDevice, (int *))                                                   \
  X(cuStreamCreate, (void **, unsigned))                                       \
  X(cuStreamDestroy_v2, (void *))                                              \
  X(cuStreamQuery, (void *))                                                   \
  X(cuStreamGetCaptureInfo_v2, (void *, int *, u64 *, void **, void **, size_t *))  \
  X(cuMemAlloc_v2, (u64 *, size_t))                                            \
  X(cuMemFree_v2, (u64))                                                       \
  X(cuMemcpyHtoDAsync_v2, (u64, const void *, size_t, void *))                 \
  X(cuMemcpyDtoHAsync_v2, (void *, u64, size_t, void *))                       \
  X(cuMemcpyDtoDAsync_v2, (u64, u64, size_t, void *))                          \
  X(cuThreadExchangeStreamCaptureMode, (int *))

struct Driver {
#define X(name, params) int(*name) params;
  DRIVER(X)
#undef X
};
Driver driver;
bool found;
enum { GPUS = 64, NO_DRIVER = 100, RELAXED = 2, NON_BLOCKING = 1, NOT_READY = 600 };
void *contexts[GPUS];
pthread_once_t once = PTHREAD_ONCE_INIT;

void open_driver() {
  const char *path = getenv("MSCCLC_LIBCUDA");
  void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  bool all = true;
#define X(name, params)                                                \
  driver.name = (int(*) params)dlsym(library, #name);                  \
  if (!driver.name) all = false, warn("the driver has no " #name);
  DRIVER(X)
#undef X
  found = all && !driver.cuInit(0);
}

__thread int mode_before __attribute__((tls_model("initial-exec")));

}  // namespace

static int primary(int number, void **context) {
  pthread_once(&once, open_driver);
  if (!found || number < 0 || number >= GPUS) return NO_DRIVER;
  *context = __atomic_load_n(&contexts[number], __ATOMIC_ACQUIRE);
  if (*context) return 0;
  int device = 0;
  if (const int code = driver.cuDeviceGet(&device, number)) return code;
  if (const int code = driver.cuDevicePrimaryCtxRetain(context, device)) return code;
  __atomic_store_n(&contexts[number], *context, __ATOMIC_RELEASE);
  return 0;
}

// gpu_enter makes the GPU's primary context current, and has the thread do what it likes while others capture.
int gpu_enter(int number, void **before) {
  void *context;
  if (const int code = primary(number, &context)) return code;
  if (const int code = driver.cuCtxGetCurrent(before)) return code;
  if (const int code = driver.cuCtxSetCurrent(context)) return code;
  mode_before = RELAXED;
  return driver.cuThreadExchangeStreamCaptureMode(&mode_before);
}

bool gpu_foreign(int number) {
  void *context, *now = nullptr;
  int device = -1;
  if (primary(number, &context) || driver.cuCtxGetCurrent(&now) || !now || driver.cuCtxGetDevice(&device)) return false;
  return device == number && now != context;
}

int gpu_current(int *device) {
  pthread_once(&once, open_driver);
  return found ? driver.cuCtxGetDevice(device) : (int)NO_DRIVER;
}

void gpu_leave(void *before) {
  driver.cuThreadExchangeStreamCaptureMode(&mode_before);
  driver.cuCtxSetCurrent(before);
}

int gpu_stream(void **stream) { return driver.cuStreamCreate(stream, NON_BLOCKING); }
void gpu_stream_end(void *stream) { driver.cuStreamDestroy_v2(stream); }
int gpu_alloc(u64 *address, u64 bytes) { return driver.cuMemAlloc_v2(address, bytes); }
int gpu_free(u64 address) { return driver.cuMemFree_v2(address); }
int gpu_put(u64 to, const void *from, u64 bytes, void *stream) {
  return driver.cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
}
int gpu_get(void *to, u64 from, u64 bytes, void *stream) {
  return driver.cuMemcpyDtoHAsync_v2(to, from, bytes, stream);
}
int gpu_copy(u64 to, u64 from, u64 bytes, void *stream) {
  return driver.cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}
int gpu_busy(void *stream, bool *busy) {
  const int code = driver.cuStreamQuery(stream);
  *busy = code == NOT_READY;
  return *busy ? 0 : code;
}
int gpu_captured(void *stream, bool *captured) {
  int status = 0;
  u64 number;
  const int code = driver.cuStreamGetCaptureInfo_v2(stream, &status, &number, nullptr, nullptr, nullptr);
  *captured = status != 0;
  return code;
}
