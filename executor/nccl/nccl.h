// NCCL as Go calls it. Functions give 0 or an error of NCCL, whose text
// mscclc_nccl_error has.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct nccl_library;
typedef struct {
  char bytes[128];
} nccl_id;

// The collectives that a call may be of.
enum nccl_kind {
  NCCL_ALLREDUCE,
  NCCL_ALLGATHER,
  NCCL_REDUCESCATTER,
  NCCL_ALLTOALL,
  NCCL_BROADCAST,
  NCCL_REDUCE,
  NCCL_GATHER,
  NCCL_SCATTER,
  NCCL_SENDRECV
};

struct nccl_call {
  uint64_t send, recv, stream;  // addresses
  size_t count, element;  // elements of a piece, bytes of an element
  int kind, type, op, root, to, from;
  int rank, ranks;
};

// mscclc_nccl_open opens a library by a path or a name. Where that fails, why has
// the reason, to be freed.
struct nccl_library *mscclc_nccl_open(const char *path, char **why);
const char *mscclc_nccl_error(struct nccl_library *lib, int code);
const char *mscclc_nccl_last_error(struct nccl_library *lib, void *comm);
int mscclc_nccl_version(struct nccl_library *lib, int *version);
int mscclc_nccl_has_alltoall(struct nccl_library *lib);

int mscclc_nccl_init_all(struct nccl_library *lib, void **comms, int count, const int *devices);
int mscclc_nccl_unique_id(struct nccl_library *lib, nccl_id *id);
int mscclc_nccl_init_rank(struct nccl_library *lib, void **comm, int ranks, const nccl_id *id, int rank);
int mscclc_nccl_destroy(struct nccl_library *lib, void *comm, int abort);
int mscclc_nccl_async_error(struct nccl_library *lib, void *comm, int *error);


// mscclc_nccl_alloc makes memory that can be a window, on the GPU that is current. It gives -1 where the library has no
// windows. mscclc_nccl_window makes memory a symmetric window of a communicator, with all other ranks.
int mscclc_nccl_alloc(struct nccl_library *lib, size_t bytes, uint64_t *address);
int mscclc_nccl_free(struct nccl_library *lib, uint64_t address);
int mscclc_nccl_window(struct nccl_library *lib, void *comm, uint64_t address, size_t bytes);

// mscclc_nccl_call starts a call a number of times.
int mscclc_nccl_call(struct nccl_library *lib, void *comm, const struct nccl_call *call, int times);
