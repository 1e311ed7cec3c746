// A mock of NCCL for tests: libnccl.so.2 of several processes. AllGather really gathers, in memory of the mock driver;
// all else is only noted. Each call writes a line to the file in MSCCLC_FAKE_LOG: its rank, its name, its arguments. It
// calls some of its own functions by their names, as NCCL may. It connects when a call needs it, as NCCL does
// (standin_nccl_connect.h).
#include "../src/front/abi.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define API extern "C" __attribute__((visibility("default")))
#define ALIAS(name, params) extern "C" __attribute__((visibility("default"), alias(#name))) Result p##name params;

extern "C" int client_gone() __attribute__((weak));

namespace {

typedef unsigned long long u64;
enum { RANKS = 32, SLOT = 1 << 16, COMM_MAGIC = 0x6e63636c };

// What the ranks of a communicator share: a file. A barrier counts those that have come.
struct Shared {
  unsigned come, round, known;
  UniqueId id;
  int device[RANKS];
  char slot[RANKS][SLOT];
};

}  // namespace

struct ncclComm {
  unsigned magic;
  int rank, ranks, device, blocking, state, splits;
  unsigned rings, peers;  // connected: algorithms, and peers of Send and Recv
  unsigned late, aborted;  // calls that go on after their return; an abort ends these
  Shared *shared;
  UniqueId id;
};

namespace {

struct Driver {
  int (*use)(void *), (*current)(void **), (*device)(int *), (*retain)(void **, int), (*sync)(void *);
  int (*peer)(void *, unsigned);
  int (*capture)(void *, int *, u64 *, void **, void **, size_t *);
} cu;

void open_driver() {
  if (cu.use) return;
  void *h = dlopen(getenv("MSCCLC_LIBCUDA"), RTLD_NOW);
  if (!h) fprintf(stderr, "mock NCCL: %s\n", dlerror()), abort();
  *(void **)&cu.current = dlsym(h, "cuCtxGetCurrent");
  *(void **)&cu.device = dlsym(h, "cuCtxGetDevice");
  *(void **)&cu.retain = dlsym(h, "cuDevicePrimaryCtxRetain");
  *(void **)&cu.peer = dlsym(h, "cuCtxEnablePeerAccess");
  *(void **)&cu.sync = dlsym(h, "cuStreamSynchronize");
  *(void **)&cu.capture = dlsym(h, "cuStreamGetCaptureInfo_v2");
  *(void **)&cu.use = dlsym(h, "cuCtxSetCurrent");
}

void note(int rank, const char *format, ...) {
  const char *path = getenv("MSCCLC_FAKE_LOG");
  if (!path || !*path) return;
  char line[512];
  int n = snprintf(line, sizeof line, "%d nccl ", rank);
  va_list args;
  va_start(args, format);
  n += vsnprintf(line + n, sizeof line - 2 - (size_t)n, format, args);
  va_end(args);
  line[n++] = '\n';
  int fd;  // other threads may have all descriptors that a test allows, for a moment
  while ((fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) < 0 && errno == EMFILE) usleep(1000);
  if (fd < 0 || write(fd, line, (size_t)n) != n) abort();
  close(fd);
}

void pause_us(long us) {
  const struct timespec ts = {0, us * 1000};
  nanosleep(&ts, nullptr);
}

// gone says whether a rank of the program has given up, where the program can say that: nothing waits for it then.
bool gone() { return client_gone && client_gone(); }

// barrier has the ranks of a communicator, or of what is made of it, meet. An abort of it ends that.
void barrier(Shared *s, int ranks, const ncclComm *of) {
  const unsigned round = __atomic_load_n(&s->round, __ATOMIC_ACQUIRE);
  if ((int)__atomic_add_fetch(&s->come, 1, __ATOMIC_ACQ_REL) == ranks) {
    __atomic_store_n(&s->come, 0, __ATOMIC_RELEASE);
    __atomic_add_fetch(&s->round, 1, __ATOMIC_ACQ_REL);
  }
  while (__atomic_load_n(&s->round, __ATOMIC_ACQUIRE) == round && !gone() &&
         !__atomic_load_n(&of->aborted, __ATOMIC_ACQUIRE))
    pause_us(20);
}

Shared *share(const UniqueId *id) {
  char path[256];
  const char *dir = getenv("MSCCLC_FAKE_DIR");
  snprintf(path, sizeof path, "%s/nccl-%s", dir ? dir : "/dev/shm", id->internal);
  int fd;
  while ((fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0 && errno == EMFILE) usleep(1000);
  if (fd < 0 || ftruncate(fd, sizeof(Shared))) perror(path), abort();
  void *p = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return p == MAP_FAILED ? nullptr : (Shared *)p;
}

// A Job is what a call does, at once or at the end of the group, where each has a thread.
struct Job {
  int kind;  // 0 make, 1 split, 2 gather
  ncclComm *comm, *from;
  Comm *made;
  int color, key;
  const void *send;
  void *recv, *stream;
  size_t bytes;
};
const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
__thread int depth, in_progress;
__thread Job jobs[64];
__thread int job_count;

void gather_bytes(ncclComm *c, const void *mine, size_t bytes) {
  memcpy(c->shared->slot[c->rank], mine, bytes);
  barrier(c->shared, c->ranks, c);
}

void split(Job *j) {
  ncclComm *p = j->from;
  const int mine[2] = {j->color, j->key};
  gather_bytes(p, mine, sizeof mine);
  int rank = 0, ranks = 0;
  for (int i = 0; i < p->ranks; i++) {
    int other[2];
    memcpy(other, p->shared->slot[i], sizeof other);
    if (other[0] != j->color) continue;
    rank += other[1] < j->key || (other[1] == j->key && i < p->rank), ranks++;
  }
  p->splits++;
  barrier(p->shared, p->ranks, p);
  if (j->color == NCCL_NO_COLOR) return;
  ncclComm *c = (ncclComm *)calloc(1, sizeof *c);
  *c = *p;
  c->rank = rank, c->ranks = ranks, c->splits = 0, c->state = SUCCESS, c->rings = c->peers = c->late = c->aborted = 0;
  snprintf(c->id.internal, sizeof c->id.internal, "%.100s-%d-%d", p->id.internal, p->splits, j->color);
  c->shared = share(&c->id);
  c->shared->device[rank] = c->device;
  barrier(c->shared, c->ranks, p);
  if (!__atomic_load_n(&p->aborted, __ATOMIC_ACQUIRE)) *j->made = c;
}

void gather_real(Job *j) {
  ncclComm *c = j->comm;
  int captured = 0;
  u64 number;
  if (j->bytes > SLOT) return;
  if (!cu.capture(j->stream, &captured, &number, nullptr, nullptr, nullptr) && captured) return;
  char mine[SLOT], *all = (char *)malloc(SLOT * RANKS);
  if (cu.sync(j->stream)) abort();
  memcpy(mine, j->send, j->bytes);  // of a GPU or of the host: the mock driver's memory is the host's
  gather_bytes(c, mine, j->bytes);
  for (int i = 0; i < c->ranks; i++) memcpy(all + (size_t)i * j->bytes, c->shared->slot[i], j->bytes);
  barrier(c->shared, c->ranks, c);
  memcpy(j->recv, all, j->bytes * (size_t)c->ranks);
  free(all);
}

// init_all_come ends the making of a communicator. All ranks must have all bytes of the identity alike: NCCL makes a
// hash of them. MSCCLC_FAKE_INIT_MS is how much later this process is ready.
void init_all_come(ncclComm *c) {
  Shared *s = c->shared;
  unsigned none = 0;
  if (__atomic_compare_exchange_n(&s->known, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) s->id = c->id;
  barrier(s, c->ranks, c);
  if (memcmp(&s->id, &c->id, sizeof s->id)) fprintf(stderr, "mock NCCL: ranks have different identities\n"), abort();
  if (const char *ms = getenv("MSCCLC_FAKE_INIT_MS")) usleep((unsigned)atoi(ms) * 1000);
  __atomic_store_n(&c->state, SUCCESS, __ATOMIC_RELEASE);
}

void *work(void *p) {
  Job *j = (Job *)p;
  void *context = nullptr;
  cu.retain(&context, j->kind == 1 ? j->from->device : j->comm->device);
  cu.use(context);
  if (j->kind == 0) init_all_come(j->comm);
  if (j->kind == 1) split(j);
  if (j->kind == 2) gather_real(j);
  return nullptr;
}

ncclComm *late_of(const Job &j) { return j.kind == 1 ? j.from : j.comm; }

void *work_late(void *p) {
  Job *j = (Job *)p;
  pause_us(20000);
  work(p);
  if (j->kind == 1) __atomic_store_n(&j->from->state, SUCCESS, __ATOMIC_RELEASE);
  __atomic_sub_fetch(&late_of(*j)->late, 1, __ATOMIC_ACQ_REL);
  free(p);
  return nullptr;
}

// settled waits until nothing uses a communicator that ends.
void settled(ncclComm *c) {
  while (__atomic_load_n(&c->late, __ATOMIC_ACQUIRE)) pause_us(100);
}

// run_late does a call after its return.
Result run_late(const Job &j) {
  pthread_t thread;
  Job *late = (Job *)malloc(sizeof j);
  *late = j;
  __atomic_add_fetch(&late_of(j)->late, 1, __ATOMIC_ACQ_REL);
  if (pthread_create(&thread, nullptr, work_late, late))
    return __atomic_sub_fetch(&late_of(j)->late, 1, __ATOMIC_ACQ_REL), SYSTEM_ERROR;
  pthread_detach(thread);
  if (depth) in_progress = 1;
  return IN_PROGRESS;
}

Result run(const Job &j) {
  if (depth) return jobs[job_count++] = j, SUCCESS;
  void *context = nullptr;
  cu.current(&context);
  Job own = j;
  work(&own);
  cu.use(context);
  return gone() ? REMOTE_ERROR : SUCCESS;
}

Result make(Comm *comm, int ranks, const UniqueId *id, int rank, const Config *config, int device) {
  open_driver();
  if (ranks < 1 || ranks > RANKS || rank < 0 || rank >= ranks) return INVALID_ARGUMENT;
  ncclComm *c = (ncclComm *)calloc(1, sizeof *c);
  c->magic = COMM_MAGIC, c->rank = rank, c->ranks = ranks, c->id = *id, c->device = device;
  c->blocking = !config || config->blocking == NCCL_UNDEF || config->blocking;
  c->shared = share(id);
  c->shared->device[rank] = device;
  c->state = IN_PROGRESS;
  *comm = c;
  Job j = {};
  j.comm = c;
  if (c->blocking) return run(j);
  return run_late(j);
}

// grown is the identity of the next communicator that is made of one.
UniqueId grown(Comm c, const char *how) {
  UniqueId id = {};
  snprintf(id.internal, sizeof id.internal, "%.100s-%d-%s", c->id.internal, c->splits, how);
  return id;
}

int current() {
  int device = 0;
  open_driver();
  cu.device(&device);
  return device;
}

}  // namespace

#include "standin_nccl_connect.h"

namespace {

// Who is whom a call moves data to or from: an algorithm of all ranks, all of them each by each, or a rank.
enum Who { WITH_ALL, EACH, ROOT, ONE };

// slow has an eager call take longer on its stream.
void slow(void *stream) {
  const char *us = getenv("MSCCLC_FAKE_SLOW_US");
  int captured = 0;
  unsigned long long number;
  open_driver();
  if (!us || !atoi(us) || cu.capture(stream, &captured, &number, nullptr, nullptr, nullptr) || captured) return;
  if (!cu.sync(stream)) usleep((unsigned)atoi(us));
}

Result checked(Comm c, const char *name, size_t count, int type, int op, int root, Who who = WITH_ALL) {
  if (!c || c->magic != COMM_MAGIC) return INVALID_ARGUMENT;
  note(c->rank, "%s%s count=%zu type=%d op=%d root=%d", depth ? "(group) " : "", name, count, type, op, root);
  if (type < 0 || type > 11 || root >= c->ranks) return INVALID_ARGUMENT;
  if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == IN_PROGRESS) return INVALID_USAGE;
  const unsigned all = (1u << c->ranks) - 1, one = 1u << root;
  const bool tree = !strcmp(name, "AllReduce") && count * sizes[type] < TREE_BELOW;
  if (who == WITH_ALL) need(c, 1u << tree, 0);
  else need(c, 0, who == EACH || (who == ROOT && root == c->rank) ? all : one);
  return depth ? SUCCESS : connect_all();
}

}  // namespace

#include "standin_nccl_calls.h"
