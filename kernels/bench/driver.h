// This file is what of CUDA's driver and of NCCL the programs here call, by their ABI, opened at run time.
#pragma once
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *handle;
typedef unsigned long long u64_t;

#define CU_FUNCTIONS(F)                                                                                       \
  F(init, "cuInit", (unsigned))                                                                               \
  F(count, "cuDeviceGetCount", (int *))                                                                       \
  F(device, "cuDeviceGet", (int *, int))                                                                      \
  F(attribute, "cuDeviceGetAttribute", (int *, int, int))                                                     \
  F(text, "cuGetErrorString", (int, const char **))                                                           \
  F(retain, "cuDevicePrimaryCtxRetain", (handle *, int))                                                      \
  F(current, "cuCtxSetCurrent", (handle))                                                                     \
  F(peer, "cuCtxEnablePeerAccess", (handle, unsigned))                                                        \
  F(alloc, "cuMemAlloc_v2", (u64_t *, size_t))                                                                \
  F(set8, "cuMemsetD8Async", (u64_t, unsigned char, size_t, handle))                                          \
  F(put, "cuMemcpyHtoDAsync_v2", (u64_t, const void *, size_t, handle))                                       \
  F(get, "cuMemcpyDtoHAsync_v2", (void *, u64_t, size_t, handle))                                             \
  F(stream, "cuStreamCreate", (handle *, unsigned))                                                           \
  F(sync, "cuStreamSynchronize", (handle))                                                                    \
  F(event, "cuEventCreate", (handle *, unsigned))                                                             \
  F(record, "cuEventRecord", (handle, handle))                                                                \
  F(elapsed, "cuEventElapsedTime", (float *, handle, handle))                                                 \
  F(load, "cuModuleLoadData", (handle *, const void *))                                                       \
  F(function, "cuModuleGetFunction", (handle *, handle, const char *))                                        \
  F(function_set, "cuFuncSetAttribute", (handle, int, int))                                                   \
  F(function_get, "cuFuncGetAttribute", (int *, int, handle))                                                 \
  F(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *, handle, int, size_t))                   \
  F(launch, "cuLaunchKernel",                                                                                 \
    (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **)) \
  F(capture, "cuStreamBeginCapture_v2", (handle, int))                                                        \
  F(captured, "cuStreamEndCapture", (handle, handle *))                                                       \
  F(instantiate, "cuGraphInstantiateWithFlags", (handle *, handle, u64_t))                                    \
  F(upload, "cuGraphUpload", (handle, handle))                                                                \
  F(replay, "cuGraphLaunch", (handle, handle))                                                                \
  F(free_exec, "cuGraphExecDestroy", (handle))                                                                \
  F(free_graph, "cuGraphDestroy", (handle))

#define NCCL_FUNCTIONS(F)                                                                    \
  F(init_all, "ncclCommInitAll", (handle *, int, const int *))                               \
  F(allreduce, "ncclAllReduce", (const void *, void *, size_t, int, int, handle, handle))    \
  F(allgather, "ncclAllGather", (const void *, void *, size_t, int, handle, handle))         \
  F(reducescatter, "ncclReduceScatter", (const void *, void *, size_t, int, int, handle, handle)) \
  F(send, "ncclSend", (const void *, size_t, int, int, handle, handle))                      \
  F(recv, "ncclRecv", (void *, size_t, int, int, handle, handle))                            \
  F(begin, "ncclGroupStart", ())                                                             \
  F(end, "ncclGroupEnd", ())                                                                 \
  F(version, "ncclGetVersion", (int *))

#define MEMBER(name, symbol, args) int(*name) args;
static struct { CU_FUNCTIONS(MEMBER) } cu;
static struct { NCCL_FUNCTIONS(MEMBER) } nccl;

#define OPEN(name, symbol, args) \
  if (!(*(void **)&table.name = dlsym(library, symbol))) { fprintf(stderr, "no %s\n", symbol); return false; }
static bool open_cuda() {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  auto &table = cu;
  if (!library) { fprintf(stderr, "%s\n", dlerror()); return false; }
  CU_FUNCTIONS(OPEN)
  return cu.init(0) == 0;
}
static bool open_nccl(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  auto &table = nccl;
  if (!library) { fprintf(stderr, "%s\n", dlerror()); return false; }
  NCCL_FUNCTIONS(OPEN)
  return true;
}

#define CU(call)                                                                             \
  do {                                                                                       \
    const int code = (call);                                                                 \
    if (code) {                                                                              \
      const char *text = "?";                                                                \
      cu.text(code, &text);                                                                  \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, text);                   \
      _Exit(1);                                                                              \
    }                                                                                        \
  } while (0)
#define NC(call)                                                                             \
  do {                                                                                       \
    const int code = (call);                                                                 \
    if (code) {                                                                              \
      fprintf(stderr, "%s:%d: %s: NCCL's error %d\n", __FILE__, __LINE__, #call, code);      \
      _Exit(1);                                                                              \
    }                                                                                        \
  } while (0)
