// This file declares what the library needs of NCCL's binary interface: types, numbers, and the functions that it
// calls. NCCL keeps this interface from release to release.
#pragma once
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ncclComm *Comm;  // NCCL's, or an AloneComm of comms/alone.cc
typedef int Result;

enum {
  SUCCESS = 0,
  CUDA_ERROR = 1,
  SYSTEM_ERROR = 2,
  INTERNAL_ERROR = 3,
  INVALID_ARGUMENT = 4,
  INVALID_USAGE = 5,
  REMOTE_ERROR = 6,
  IN_PROGRESS = 7
};
enum { NCCL_TYPES = 12, NCCL_OPS = 5, NCCL_INT8 = 0, NCCL_UNDEF = INT_MIN, NCCL_NO_COLOR = -1, SHRINK_ABORT = 1 };
enum { NCCL_NAMES = 22700 };  // the first version whose configurations have names

struct UniqueId {
  char internal[128];
};

// The beginning of a configuration. Releases only add to its end; size says how long the caller's is.
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking, cga, min_ctas, max_ctas;
  const char *net_name;
  int split_share, traffic_class;
  const char *comm_name;  // since 2.27
};

// The configuration of one collective, which 2.31 has without launched. size says how long the caller's is.
struct CollConfig {
  size_t size;
  unsigned magic, version;
  const void *extensions;
  int min_ctas, max_ctas, nvls_ctas, cga;
  const char *algorithms;
  int forced, policy;
  uint64_t tag;
  const void *launched;
};
enum { COLL_CONFIG_231 = 64, COLL_CONFIG_232 = 72 };
const unsigned CONFIG_MAGIC = 0xcafebeef;

// NCCL_CALLED lists the functions of NCCL that this library calls: result, name, parameters.
#define NCCL_CALLED(X)                                                                          \
  X(Result, GetVersion, (int *))                                                   \
  X(Result, GetUniqueId, (UniqueId *))                                             \
  X(const char *, GetErrorString, (Result))                                        \
  X(const char *, GetLastError, (Comm))                                            \
  X(Result, CommInitRank, (Comm *, int, UniqueId, int))                            \
  X(Result, CommInitRankConfig, (Comm *, int, UniqueId, int, Config *))            \
  X(Result, CommInitRankScalable, (Comm *, int, int, int, UniqueId *, Config *))   \
  X(Result, CommInitAll, (Comm *, int, const int *))                               \
  X(Result, CommSplit, (Comm, int, int, Comm *, Config *))                         \
  X(Result, CommShrink, (Comm, int *, int, Comm *, Config *, int))                 \
  X(Result, CommGrow, (Comm, int, const UniqueId *, int, Comm *, Config *))        \
  X(Result, CommFinalize, (Comm))                                                  \
  X(Result, CommDestroy, (Comm))                                                   \
  X(Result, CommAbort, (Comm))                                                     \
  X(Result, CommRevoke, (Comm, int))                                               \
  X(Result, CommSuspend, (Comm, int))                                              \
  X(Result, CommResume, (Comm))                                                    \
  X(Result, CommGetAsyncError, (Comm, Result *))                                   \
  X(Result, CommCount, (Comm, int *))                                              \
  X(Result, CommCuDevice, (Comm, int *))                                           \
  X(Result, CommUserRank, (Comm, int *))                                           \
  X(Result, CommWindowRegister, (Comm, void *, size_t, void **, int))              \
  X(Result, CommWindowDeregister, (Comm, void *))                                  \
  X(Result, GroupStart, ())                                                        \
  X(Result, GroupEnd, ())                                                          \
  X(Result, GroupSimulateEnd, (void *))                                            \
  X(Result, AllReduce, (const void *, void *, size_t, int, int, Comm, void *))     \
  X(Result, AllGather, (const void *, void *, size_t, int, Comm, void *))          \
  X(Result, ReduceScatter, (const void *, void *, size_t, int, int, Comm, void *)) \
  X(Result, Broadcast, (const void *, void *, size_t, int, int, Comm, void *))     \
  X(Result, Bcast, (void *, size_t, int, int, Comm, void *))                       \
  X(Result, Reduce, (const void *, void *, size_t, int, int, int, Comm, void *))   \
  X(Result, AlltoAll, (const void *, void *, size_t, int, Comm, void *))           \
  X(Result, Gather, (const void *, void *, size_t, int, int, Comm, void *))        \
  X(Result, Scatter, (const void *, void *, size_t, int, int, Comm, void *))       \
  X(Result, AllReduceConfig, (const void *, void *, size_t, int, int, Comm, void *, const CollConfig *)) \
  X(Result, AllGatherConfig, (const void *, void *, size_t, int, Comm, void *, const CollConfig *)) \
  X(Result, ReduceScatterConfig, (const void *, void *, size_t, int, int, Comm, void *, const CollConfig *)) \
  X(Result, BroadcastConfig, (const void *, void *, size_t, int, int, Comm, void *, const CollConfig *)) \
  X(Result, ReduceConfig, (const void *, void *, size_t, int, int, int, Comm, void *, const CollConfig *)) \
  X(Result, AlltoAllConfig, (const void *, void *, size_t, int, Comm, void *, const CollConfig *)) \
  X(Result, GatherConfig, (const void *, void *, size_t, int, int, Comm, void *, const CollConfig *)) \
  X(Result, ScatterConfig, (const void *, void *, size_t, int, int, Comm, void *, const CollConfig *)) \
  X(Result, Send, (const void *, size_t, int, int, Comm, void *))                  \
  X(Result, Recv, (void *, size_t, int, int, Comm, void *))                       

enum Fn {
#define X(result, name, params) FN_##name,
  NCCL_CALLED(X)
#undef X
  FN_COUNT
};

// NCCL's functions. One that the release lacks is null.
struct Nccl {
#define X(result, name, params) result(*name) params;
  NCCL_CALLED(X)
#undef X
};
