// A stand-in for NCCL that computes, for tests: its memory is the host's. A call
// is queued at its rank, and who queues the last part of a collective computes it.
// Where a stand-in of the driver is loaded that has cuLaunchHostFunc, parts are
// queued when the stream comes to them; else at once.
//
// NCCL_STANDIN_DIR=FOLDER has ncclCommInitRank make communicators of several processes (standin_shared.h).
//
// NCCL_STANDIN_FAIL=NAME:N makes the N-th call of NAME fail, counted from 1; with NCCL_STANDIN_FAIL_INDEX=I only in the
// process whose MSCCLC_INDEX is I. With NCCL_STANDIN_CRASH=1 that call crashes instead, and with
// NCCL_STANDIN_CRASH=thread a thread that it starts does.
// NCCL_STANDIN_WRONG=1 makes results wrong. NCCL_STANDIN_NS=N makes each
// collective take so long.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  char bytes[128];
} nccl_id;
enum { MAX_RANKS = 64, MAX_GROUP = 4096 };
enum kind { ALLREDUCE, ALLGATHER, REDUCESCATTER, BROADCAST, REDUCE, SEND, RECV, ALLTOALL, GATHER, SCATTER };

struct part {
  enum kind kind;
  const char *from;
  char *to;
  size_t count;
  int type, op, peer;
  struct part *next;
};
struct world {
  char id[128];
  int ranks, joined;
  struct part *first[MAX_RANKS], *last[MAX_RANKS];
  struct world *next;
  struct shared *shared;  // or null, of one process
};
struct comm {
  struct world *world;
  int rank;
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t joined = PTHREAD_COND_INITIALIZER;
static struct world *worlds;

static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

static int *volatile nowhere;
static void *crash(void *unused) {
  *nowhere = 0;
  return unused;
}

static int failing(const char *name) {
  static int calls;
  const char *want = getenv("NCCL_STANDIN_FAIL");
  const size_t n = strlen(name);
  if (!want || strncmp(want, name, n) || want[n] != ':') return 0;
  const char *only = getenv("NCCL_STANDIN_FAIL_INDEX"), *index = getenv("MSCCLC_INDEX");
  if (only && *only && (!index || strcmp(only, index))) return 0;
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != atoi(want + n + 1)) return 0;
  const char *how = getenv("NCCL_STANDIN_CRASH");
  pthread_t thread;
  if (how && !strcmp(how, "thread") && !pthread_create(&thread, 0, crash, 0)) pthread_join(thread, 0);
  if (how && *how) crash(0);
  return 1;
}
#define MAY_FAIL(name) \
  if (failing(name)) return 3

// Elements as doubles; 64-bit integers are moved and added as such.
static double get(int type, const char *p) {
  uint16_t h;
  uint32_t u;
  float f;
  double d;
  switch (type) {
    case 0: return *(const int8_t *)p;
    case 1: return *(const uint8_t *)p;
    case 2: memcpy(&u, p, 4); return (int32_t)u;
    case 3: memcpy(&u, p, 4); return u;
    case 7: memcpy(&f, p, 4); return f;
    case 8: memcpy(&d, p, 8); return d;
    case 9: memcpy(&h, p, 2); u = (uint32_t)h << 16; memcpy(&f, &u, 4); return f;
  }
  abort();
}
static void put(int type, char *p, double v) {
  uint16_t h;
  uint32_t u;
  float f = (float)v;
  switch (type) {
    case 0: *(int8_t *)p = (int8_t)(int64_t)v; return;
    case 1: *(uint8_t *)p = (uint8_t)(int64_t)v; return;
    case 2: u = (uint32_t)(int64_t)v; memcpy(p, &u, 4); return;
    case 3: u = (uint32_t)(int64_t)v; memcpy(p, &u, 4); return;
    case 7: memcpy(p, &f, 4); return;
    case 8: memcpy(p, &v, 8); return;
    case 9: memcpy(&u, &f, 4); h = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16); memcpy(p, &h, 2); return;
  }
  abort();
}

static void fold(struct part **p, int ranks, size_t first, size_t count, char *to) {
  const int type = p[0]->type, op = p[0]->op;
  const size_t size = sizes[type];
  for (size_t i = 0; i < count; i++) {
    const size_t at = (first + i) * size;
    if (type == 4 || type == 5) {
      uint64_t sum = 0, x;
      for (int r = 0; r < ranks; r++) memcpy(&x, p[r]->from + at, 8), sum += x;
      memcpy(to + i * size, &sum, 8);
      continue;
    }
    double v = get(type, p[0]->from + at);
    for (int r = 1; r < ranks; r++) {
      const double x = get(type, p[r]->from + at);
      v = op == 1 ? v * x : op == 2 ? (x > v ? x : v) : op == 3 ? (x < v ? x : v) : v + x;
    }
    put(type, to + i * size, op == 4 ? v / ranks : v);
  }
}

static void compute(struct world *w, struct part **p) {
  const size_t count = p[0]->count, size = sizes[p[0]->type], bytes = count * size;
  const size_t all = p[0]->kind == ALLREDUCE || p[0]->kind == REDUCE ? count : count * (size_t)w->ranks;
  char *sum = malloc(all * size + 1);
  switch (p[0]->kind) {
    case ALLREDUCE: case REDUCE:
      fold(p, w->ranks, 0, count, sum);
      for (int r = 0; r < w->ranks; r++)
        if (p[0]->kind == ALLREDUCE || r == p[0]->peer) memcpy(p[r]->to, sum, bytes);
      break;
    case REDUCESCATTER:
      fold(p, w->ranks, 0, all, sum);
      for (int r = 0; r < w->ranks; r++) memcpy(p[r]->to, sum + (size_t)r * bytes, bytes);
      break;
    case ALLGATHER:
      for (int r = 0; r < w->ranks; r++) memcpy(sum + (size_t)r * bytes, p[r]->from, bytes);
      for (int r = 0; r < w->ranks; r++) memcpy(p[r]->to, sum, all * size);
      break;
    case ALLTOALL:
      for (int r = 0; r < w->ranks; r++)
        for (int q = 0; q < w->ranks; q++) memcpy(p[r]->to + (size_t)q * bytes, p[q]->from + (size_t)r * bytes, bytes);
      break;
    case BROADCAST:
      for (int r = 0; r < w->ranks; r++) memmove(p[r]->to, p[p[0]->peer]->from, bytes);
      break;
    case GATHER:
      for (int r = 0; r < w->ranks; r++) memcpy(sum + (size_t)r * bytes, p[r]->from, bytes);
      memcpy(p[p[0]->peer]->to, sum, all * size);
      break;
    case SCATTER:
      memcpy(sum, p[p[0]->peer]->from, all * size);
      for (int r = 0; r < w->ranks; r++) memcpy(p[r]->to, sum + (size_t)r * bytes, bytes);
      break;
    default: break;
  }
  const char *wrong = getenv("NCCL_STANDIN_WRONG");
  if (wrong && *wrong && bytes && p[0]->to) p[0]->to[bytes - 1] ^= 0x40;
  free(sum);
}

#include "standin_shared.h"

static struct part *pop(struct world *w, int r) {
  struct part *p = w->first[r];
  w->first[r] = p->next;
  return p;
}

// message does a send whose receive is queued.
static int message(struct world *w) {
  for (int r = 0; r < w->ranks; r++)
    for (struct part **s = &w->first[r]; *s && ((*s)->kind == SEND || (*s)->kind == RECV); s = &(*s)->next) {
      if ((*s)->kind != SEND) continue;
      const int to = (*s)->peer;
      for (struct part **q = &w->first[to]; *q && ((*q)->kind == SEND || (*q)->kind == RECV); q = &(*q)->next) {
        if ((*q)->kind != RECV || (*q)->peer != r) continue;
        memmove((*q)->to, (*s)->from, (*s)->count * sizes[(*s)->type]);
        struct part *done = *q;
        *q = done->next;
        free(done);
        for (s = &w->first[r]; (*s)->kind != SEND || (*s)->peer != to; s = &(*s)->next) {}
        done = *s;
        *s = done->next;
        free(done);
        return 1;
      }
    }
  return 0;
}

static void progress(struct world *w) {
  for (;;) {
    if (message(w)) continue;
    struct part *p[MAX_RANKS];
    for (int r = 0; r < w->ranks; r++)
      if (!w->first[r] || w->first[r]->kind == SEND || w->first[r]->kind == RECV) return;
    for (int r = 0; r < w->ranks; r++) p[r] = pop(w, r);
    compute(w, p);
    for (int r = 0; r < w->ranks; r++) free(p[r]);
  }
}

struct queued {
  struct comm *comm;
  struct part part;
};

// be_slow takes the time that was asked for.
static void be_slow(void *unused) {
  (void)unused;
  const char *ns = getenv("NCCL_STANDIN_NS");
  if (ns) nanosleep(&(struct timespec){0, atol(ns)}, 0);
}

static void arrive(void *arg) {
  struct queued *q = arg;
  struct world *w = q->comm->world;
  struct part *p = malloc(sizeof *p);
  *p = q->part;
  p->next = 0;
  if (p->kind != RECV) be_slow(0);
  pthread_mutex_lock(&mu);
  struct part **at = &w->first[q->comm->rank];
  while (*at) at = &(*at)->next;
  *at = p;
  progress(w);
  pthread_mutex_unlock(&mu);
}

// enqueue has the stream, if the driver is there, come to a part; a graph may come
// to it again and again, so that what it holds is kept.
static int enqueue(struct comm *c, void *stream, struct part part) {
  static int (*host)(void *, void (*)(void *), void *);
  static int looked;
  if (!looked) {
    const char *other = getenv("MSCCLC_LIBCUDA");
    void *cuda = dlopen(other ? other : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (cuda) *(void **)&host = dlsym(cuda, "cuLaunchHostFunc");
    looked = 1;
  }
  if (c->world->shared) {
    // The stream must be slow, since events on it are what callers measure.
    if (stream && host) {
      if (host(stream, be_slow, 0)) return 1;
    } else {
      be_slow(0);
    }
    shared_call(c, &part);
    return 0;
  }
  struct queued *q = malloc(sizeof *q);
  *q = (struct queued){c, part};
  if (stream && host) return host(stream, arrive, q) ? 1 : 0;
  arrive(q);
  free(q);
  return 0;
}

const char *ncclGetErrorString(int code) {
  return code == 0 ? "no error" : code == 3 ? "internal error of the stand-in" : "unhandled error";
}
const char *ncclGetLastError(void *comm) { (void)comm; return "it was told to fail"; }
int ncclGetVersion(int *version) { MAY_FAIL("ncclGetVersion"); *version = 22809; return 0; }
int ncclGetUniqueId(nccl_id *id) {
  static int made;
  MAY_FAIL("ncclGetUniqueId");
  memset(id, 0, sizeof *id);
  snprintf(id->bytes, sizeof id->bytes, "world-%d-%d", getpid(), __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED));
  return 0;
}

static struct comm *join(const char *id, int ranks, int rank) {
  struct world *w = worlds;
  while (w && strcmp(w->id, id)) w = w->next;
  if (!w) {
    w = calloc(1, sizeof *w);
    strcpy(w->id, id);
    w->ranks = ranks;
    w->next = worlds;
    worlds = w;
  }
  w->joined++;
  struct comm *c = calloc(1, sizeof *c);
  c->world = w;
  c->rank = rank;
  return c;
}

int ncclCommInitAll(void **comms, int count, const int *devices) {
  (void)devices;
  nccl_id id;
  MAY_FAIL("ncclCommInitAll");
  if (count > MAX_RANKS || ncclGetUniqueId(&id)) return 4;
  pthread_mutex_lock(&mu);
  for (int r = 0; r < count; r++) comms[r] = join(id.bytes, count, r);
  pthread_mutex_unlock(&mu);
  return 0;
}
int ncclCommInitRank(void **comm, int ranks, nccl_id id, int rank) {
  MAY_FAIL("ncclCommInitRank");
  pthread_mutex_lock(&mu);
  struct comm *c = join(id.bytes, ranks, rank);
  const char *dir = getenv("NCCL_STANDIN_DIR");
  if (dir && *dir) {
    c->world->shared = shared_file(dir, id.bytes);
    pthread_mutex_unlock(&mu);
    meet(c->world->shared, ranks);
    *comm = c;
    return 0;
  }
  pthread_cond_broadcast(&joined);
  while (c->world->joined < ranks) pthread_cond_wait(&joined, &mu);
  pthread_mutex_unlock(&mu);
  *comm = c;
  return 0;
}
int ncclCommDestroy(void *comm) { MAY_FAIL("ncclCommDestroy"); (void)comm; return 0; }
int ncclCommCount(const struct comm *c, int *ranks) { return *ranks = c->world->ranks, 0; }
int ncclCommUserRank(const struct comm *c, int *rank) { return *rank = c->rank, 0; }
int ncclCommAbort(void *comm) { (void)comm; return 0; }
int ncclCommGetAsyncError(void *comm, int *error) {
  (void)comm;
  *error = 0;
  MAY_FAIL("ncclCommGetAsyncError");
  return 0;
}

int ncclAllReduce(const void *s, void *r, size_t n, int type, int op, void *comm, void *stream) {
  MAY_FAIL("ncclAllReduce");
  return enqueue(comm, stream, (struct part){ALLREDUCE, s, r, n, type, op, 0, 0});
}
int ncclReduceScatter(const void *s, void *r, size_t n, int type, int op, void *comm, void *stream) {
  MAY_FAIL("ncclReduceScatter");
  return enqueue(comm, stream, (struct part){REDUCESCATTER, s, r, n, type, op, 0, 0});
}
int ncclAllGather(const void *s, void *r, size_t n, int type, void *comm, void *stream) {
  MAY_FAIL("ncclAllGather");
  return enqueue(comm, stream, (struct part){ALLGATHER, s, r, n, type, 0, 0, 0});
}
#ifdef WITH_ALLTOALL
int ncclAlltoAll(const void *s, void *r, size_t n, int type, void *comm, void *stream) {
  MAY_FAIL("ncclAlltoAll");
  return enqueue(comm, stream, (struct part){ALLTOALL, s, r, n, type, 0, 0, 0});
}
#endif
#ifdef WITH_GATHER
int ncclGather(const void *s, void *r, size_t n, int type, int root, void *comm, void *stream) {
  MAY_FAIL("ncclGather");
  return enqueue(comm, stream, (struct part){GATHER, s, r, n, type, 0, root, 0});
}
int ncclScatter(const void *s, void *r, size_t n, int type, int root, void *comm, void *stream) {
  MAY_FAIL("ncclScatter");
  return enqueue(comm, stream, (struct part){SCATTER, s, r, n, type, 0, root, 0});
}
#endif
int ncclBroadcast(const void *s, void *r, size_t n, int type, int root, void *comm, void *stream) {
  MAY_FAIL("ncclBroadcast");
  return enqueue(comm, stream, (struct part){BROADCAST, s, r, n, type, 0, root, 0});
}
int ncclReduce(const void *s, void *r, size_t n, int type, int op, int root, void *comm, void *stream) {
  MAY_FAIL("ncclReduce");
  return enqueue(comm, stream, (struct part){REDUCE, s, r, n, type, op, root, 0});
}

// Windows are memory of the driver.
static void *driver(const char *name) {
  const char *path = getenv("MSCCLC_LIBCUDA");
  void *cuda = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : 0;
  return cuda ? dlsym(cuda, name) : 0;
}
int ncclMemAlloc(void **p, size_t bytes) {
  MAY_FAIL("ncclMemAlloc");
  int (*alloc)(void **, size_t);
  *(void **)&alloc = driver("cuMemAlloc_v2");
  return alloc ? alloc(p, bytes) : 3;
}
int ncclMemFree(void *p) {
  int (*release)(void *);
  *(void **)&release = driver("cuMemFree_v2");
  return release ? release(p) : 3;
}
int ncclCommWindowRegister(struct comm *c, void *p, size_t bytes, void **window, int flags) {
  MAY_FAIL("ncclCommWindowRegister");
  if (!p || !bytes || flags != 1) return 4;
  if (c->world->shared) meet(c->world->shared, c->world->ranks);
  *window = p;
  return 0;
}

// A group keeps its calls until its end.
static __thread int depth, grouped;
static __thread struct {
  struct comm *comm;
  void *stream;
  struct part part;
} group[MAX_GROUP];

static int later(void *comm, void *stream, struct part part) {
  if (!depth) return enqueue(comm, stream, part);
  if (grouped == MAX_GROUP) return 3;
  group[grouped].comm = comm;
  group[grouped].stream = stream;
  group[grouped++].part = part;
  return 0;
}
int ncclSend(const void *s, size_t n, int type, int peer, void *comm, void *stream) {
  MAY_FAIL("ncclSend");
  return later(comm, stream, (struct part){SEND, s, 0, n, type, 0, peer, 0});
}
int ncclRecv(void *r, size_t n, int type, int peer, void *comm, void *stream) {
  MAY_FAIL("ncclRecv");
  return later(comm, stream, (struct part){RECV, 0, r, n, type, 0, peer, 0});
}
int ncclGroupStart(void) { MAY_FAIL("ncclGroupStart"); depth++; return 0; }
int ncclGroupEnd(void) {
  MAY_FAIL("ncclGroupEnd");
  if (--depth) return 0;
  int failed = 0;
  for (int i = 0; i < grouped && !failed; i++) failed = enqueue(group[i].comm, group[i].stream, group[i].part);
  grouped = 0;
  return failed;
}
