// This file opens libnccl.so.2 and calls it. The names and signatures are those of
// NCCL 2.10 and later.
#include "nccl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef void *comm_t, *stream_t;
struct nccl_library {
  const char *(*text)(int), *(*last)(comm_t);
  int (*version)(int *), (*unique)(nccl_id *), (*init_all)(comm_t *, int, const int *),
      (*init_rank)(comm_t *, int, nccl_id, int);
  int (*destroy)(comm_t), (*abort)(comm_t), (*async)(comm_t, int *);
  int (*allreduce)(const void *, void *, size_t, int, int, comm_t, stream_t);
  int (*reducescatter)(const void *, void *, size_t, int, int, comm_t, stream_t);
  int (*allgather)(const void *, void *, size_t, int, comm_t, stream_t);
  int (*alltoall)(const void *, void *, size_t, int, comm_t, stream_t);
  int (*broadcast)(const void *, void *, size_t, int, int, comm_t, stream_t);
  int (*reduce)(const void *, void *, size_t, int, int, int, comm_t, stream_t);
  int (*gather)(const void *, void *, size_t, int, int, comm_t, stream_t);
  int (*scatter)(const void *, void *, size_t, int, int, comm_t, stream_t);
  int (*send)(const void *, size_t, int, int, comm_t, stream_t), (*recv)(void *, size_t, int, int, comm_t, stream_t);
  int (*begin)(void), (*end)(void);
  int (*alloc)(void **, size_t), (*release)(void *), (*window)(comm_t, void *, size_t, void **, int);
};

#define AT(field) offsetof(struct nccl_library, field)
static const struct {
  size_t at;
  const char *name;
  int optional;
} symbols[] = {
    {AT(text), "ncclGetErrorString", 0},
    {AT(last), "ncclGetLastError", 1},
    {AT(version), "ncclGetVersion", 0},
    {AT(unique), "ncclGetUniqueId", 0},
    {AT(init_all), "ncclCommInitAll", 0},
    {AT(init_rank), "ncclCommInitRank", 0},
    {AT(destroy), "ncclCommDestroy", 0},
    {AT(abort), "ncclCommAbort", 0},
    {AT(async), "ncclCommGetAsyncError", 0},
    {AT(allreduce), "ncclAllReduce", 0},
    {AT(reducescatter), "ncclReduceScatter", 0},
    {AT(allgather), "ncclAllGather", 0},
    {AT(alltoall), "ncclAlltoAll", 1},
    {AT(broadcast), "ncclBroadcast", 0},
    {AT(reduce), "ncclReduce", 0},
    {AT(gather), "ncclGather", 1},
    {AT(scatter), "ncclScatter", 1},
    {AT(send), "ncclSend", 0},
    {AT(recv), "ncclRecv", 0},
    {AT(begin), "ncclGroupStart", 0},
    {AT(end), "ncclGroupEnd", 0},
    {AT(alloc), "ncclMemAlloc", 1},
    {AT(release), "ncclMemFree", 1},
    {AT(window), "ncclCommWindowRegister", 1},
};

struct nccl_library *mscclc_nccl_open(const char *path, char **why) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    *why = strdup(dlerror());
    return 0;
  }
  struct nccl_library *lib = calloc(1, sizeof *lib);
  for (unsigned i = 0; lib && i < sizeof symbols / sizeof *symbols; i++) {
    void *p = dlsym(handle, symbols[i].name);
    if (!p && !symbols[i].optional) {
      *why = strdup(symbols[i].name);
      free(lib);
      dlclose(handle);
      return 0;
    }
    memcpy((char *)lib + symbols[i].at, &p, sizeof p);
  }
  return lib;
}

const char *mscclc_nccl_error(struct nccl_library *lib, int code) { return lib->text(code); }
const char *mscclc_nccl_last_error(struct nccl_library *lib, void *comm) { return lib->last ? lib->last(comm) : 0; }
int mscclc_nccl_version(struct nccl_library *lib, int *version) { return lib->version(version); }
int mscclc_nccl_has_alltoall(struct nccl_library *lib) { return lib->alltoall != 0; }
int mscclc_nccl_init_all(struct nccl_library *lib, void **comms, int count, const int *devices) {
  return lib->init_all(comms, count, devices);
}
int mscclc_nccl_unique_id(struct nccl_library *lib, nccl_id *id) { return lib->unique(id); }
int mscclc_nccl_init_rank(struct nccl_library *lib, void **comm, int ranks, const nccl_id *id, int rank) {
  return lib->init_rank(comm, ranks, *id, rank);
}
int mscclc_nccl_destroy(struct nccl_library *lib, void *comm, int abort) {
  return abort ? lib->abort(comm) : lib->destroy(comm);
}
int mscclc_nccl_async_error(struct nccl_library *lib, void *comm, int *error) { return lib->async(comm, error); }

static void *address(uint64_t a) { return (void *)(uintptr_t)a; }

int mscclc_nccl_alloc(struct nccl_library *lib, size_t bytes, uint64_t *where) {
  void *p = 0;
  if (!lib->alloc || !lib->release) return -1;
  const int code = lib->alloc(&p, bytes);
  *where = (uint64_t)(uintptr_t)p;
  return code;
}
int mscclc_nccl_free(struct nccl_library *lib, uint64_t where) { return lib->release(address(where)); }

// NCCL keeps the window until the communicator ends.
int mscclc_nccl_window(struct nccl_library *lib, void *comm, uint64_t where, size_t bytes) {
  enum { SYMMETRIC = 1 };  // NCCL_WIN_COLL_SYMMETRIC
  void *window = 0;
  if (!lib->window) return -1;
  const int code = lib->window(comm, address(where), bytes, &window, SYMMETRIC);
  return code || window ? code : -1;
}

// exchange sends and receives a piece with each peer of a call, in one group. Of a gather and a scatter the root has a
// piece for each rank. The group is ended whatever happens, and the first error counts.
static int exchange(struct nccl_library *lib, void *comm, const struct nccl_call *c) {
  int code = lib->begin();
  if (code) return code;
  const size_t bytes = c->count * c->element;
  const char *from = address(c->send);
  char *to = address(c->recv);
  stream_t stream = address(c->stream);
  if (c->kind == NCCL_SENDRECV) {
    if (c->to >= 0) code = lib->send(from, c->count, c->type, c->to, comm, stream);
    if (!code && c->from >= 0) code = lib->recv(to, c->count, c->type, c->from, comm, stream);
  } else if (c->kind == NCCL_ALLTOALL) {
    for (int r = 0; r < c->ranks && !code; r++) {
      code = lib->send(from + r * bytes, c->count, c->type, r, comm, stream);
      if (!code) code = lib->recv(to + r * bytes, c->count, c->type, r, comm, stream);
    }
  } else {
    const int gather = c->kind == NCCL_GATHER;
    if (gather) code = lib->send(from, c->count, c->type, c->root, comm, stream);
    for (int r = 0; r < c->ranks && c->rank == c->root && !code; r++)
      code = gather ? lib->recv(to + r * bytes, c->count, c->type, r, comm, stream)
                    : lib->send(from + r * bytes, c->count, c->type, r, comm, stream);
    if (!gather && !code) code = lib->recv(to, c->count, c->type, c->root, comm, stream);
  }
  const int ended = lib->end();
  return code ? code : ended;
}

static int once(struct nccl_library *lib, void *comm, const struct nccl_call *c) {
  const void *from = address(c->send);
  void *to = address(c->recv);
  stream_t stream = address(c->stream);
  switch (c->kind) {
    case NCCL_ALLREDUCE: return lib->allreduce(from, to, c->count, c->type, c->op, comm, stream);
    case NCCL_ALLGATHER: return lib->allgather(from, to, c->count, c->type, comm, stream);
    case NCCL_REDUCESCATTER: return lib->reducescatter(from, to, c->count, c->type, c->op, comm, stream);
    case NCCL_BROADCAST: return lib->broadcast(from, to, c->count, c->type, c->root, comm, stream);
    case NCCL_REDUCE: return lib->reduce(from, to, c->count, c->type, c->op, c->root, comm, stream);
    case NCCL_GATHER:
      if (lib->gather) return lib->gather(from, to, c->count, c->type, c->root, comm, stream);
      break;
    case NCCL_SCATTER:
      if (lib->scatter) return lib->scatter(from, to, c->count, c->type, c->root, comm, stream);
      break;
    case NCCL_ALLTOALL:
      if (lib->alltoall && from != to) return lib->alltoall(from, to, c->count, c->type, comm, stream);
  }
  return exchange(lib, comm, c);
}

int mscclc_nccl_call(struct nccl_library *lib, void *comm, const struct nccl_call *call, int times) {
  for (int i = 0; i < times; i++) {
    const int code = once(lib, comm, call);
    if (code) return code;
  }
  return 0;
}
