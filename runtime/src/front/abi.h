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
enum { NCCL_INT8 = 0, NCCL_UNDEF = INT_MIN, NCCL_NO_COLOR = -1, SHRINK_ABORT = 1 };
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

// COLLECTIVES lists the collectives that NCCL also has with a configuration: the name, the kind of their rules, and the
// shape of their parameters. CALLS adds the functions without one. The two lists make the functions that the library
// exports, their types, and the calls of NCCL. X is for the row: NCCL_CALLED hands on its own.
#define COLLECTIVES(ROW, X)                      \
  ROW(AllReduce, KIND_ALLREDUCE, SUM, X)         \
  ROW(AllGather, KIND_ALLGATHER, PLAIN, X)       \
  ROW(ReduceScatter, KIND_REDUCESCATTER, SUM, X) \
  ROW(Broadcast, KIND_BROADCAST, ROOT, X)        \
  ROW(Reduce, KIND_REDUCE, SUM_ROOT, X)          \
  ROW(AlltoAll, KIND_ALLTOALL, PLAIN, X)         \
  ROW(Gather, KIND_GATHER, ROOT, X)              \
  ROW(Scatter, KIND_SCATTER, ROOT, X)
#define CALLS(ROW, X)                 \
  COLLECTIVES(ROW, X)                 \
  ROW(Bcast, KIND_BROADCAST, BOTH, X) \
  ROW(Send, KIND_NONE, SEND, X)       \
  ROW(Recv, KIND_NONE, RECV, X)

// The shapes. A function takes these parameters, before the communicator and the stream; they set an Op's fields; and
// an Op gives them to NCCL.
#define TAKES_PLAIN const void *send, void *recv, size_t count, int type
#define TAKES_SUM TAKES_PLAIN, int op
#define TAKES_ROOT TAKES_PLAIN, int root
#define TAKES_SUM_ROOT TAKES_SUM, int root
#define TAKES_BOTH void *buffer, size_t count, int type, int root
#define TAKES_SEND const void *send, size_t count, int type, int root
#define TAKES_RECV void *recv, size_t count, int type, int root

#define SETS_PLAIN(o) (o).send = send, (o).recv = recv, (o).count = count, (o).type = type
#define SETS_SUM(o) SETS_PLAIN(o), (o).op = op
#define SETS_ROOT(o) SETS_PLAIN(o), (o).root = root
#define SETS_SUM_ROOT(o) SETS_SUM(o), (o).root = root
#define SETS_BOTH(o) (o).send = buffer, (o).recv = buffer, (o).count = count, (o).type = type, (o).root = root
#define SETS_SEND(o) (o).send = send, (o).count = count, (o).type = type, (o).root = root
#define SETS_RECV(o) (o).recv = recv, (o).count = count, (o).type = type, (o).root = root

#define GIVES_PLAIN(o) (o).send, (o).recv, (o).count, (o).type
#define GIVES_SUM(o) GIVES_PLAIN(o), (o).op
#define GIVES_ROOT(o) GIVES_PLAIN(o), (o).root
#define GIVES_SUM_ROOT(o) GIVES_SUM(o), (o).root
#define GIVES_BOTH(o) (o).recv, (o).count, (o).type, (o).root
#define GIVES_SEND(o) (o).send, (o).count, (o).type, (o).root
#define GIVES_RECV(o) (o).recv, (o).count, (o).type, (o).root

// NCCL_CALLED lists the functions of NCCL that this library calls: result, name, parameters.
#define NCCL_CALLED(X)                                                             \
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
  CALLS(CALL_ROW, X)                                                               \
  COLLECTIVES(CONFIG_ROW, X)
#define CALL_ROW(name, kind, shape, X) X(Result, name, (TAKES_##shape, Comm comm, void *stream))
#define CONFIG_ROW(name, kind, shape, X) \
  X(Result, name##Config, (TAKES_##shape, Comm comm, void *stream, const CollConfig *config))

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
