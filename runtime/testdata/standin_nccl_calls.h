// The functions that the mock of NCCL exports.
#pragma once

API Result ncclGetVersion(int *version) {
  return *version = getenv("MSCCLC_FAKE_THREADS") ? 22703 : 22809, SUCCESS;
}
API const char *ncclGetErrorString(Result) { return "mock NCCL's text"; }
API const char *ncclGetLastError(Comm) { return "mock NCCL's last error"; }
API Result ncclGetUniqueId(UniqueId *id) {
  unsigned char bytes[12];
  memset(id, 0, sizeof *id);
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return SYSTEM_ERROR;
  for (int i = 0; i < 12; i++) sprintf(id->internal + 2 * i, "%02x", bytes[i]);
  return SUCCESS;
}
API Result ncclGroupStart() { return depth++, SUCCESS; }
API Result ncclGroupEnd() {
  if (!depth) return INVALID_USAGE;
  if (--depth) return SUCCESS;
  Job own[64];
  const int count = job_count;
  memcpy((void *)own, jobs, sizeof(Job) * (size_t)count);
  job_count = 0;
  pthread_t threads[64];
  for (int i = 0; i < count; i++) pthread_create(&threads[i], nullptr, work, &own[i]);
  for (int i = 0; i < count; i++) pthread_join(threads[i], nullptr);
  if (const Result r = connect_all()) return r;
  const int late = in_progress;
  in_progress = 0;
  return late ? IN_PROGRESS : count && gone() ? REMOTE_ERROR : SUCCESS;
}
API Result ncclGroupSimulateEnd(void *) {
  depth = job_count = needed_count = 0;
  return SUCCESS;
}
API Result ncclCommInitRankConfig(Comm *comm, int ranks, UniqueId id, int rank, Config *config) {
  note(rank, "CommInitRankConfig ranks=%d", ranks);
  return make(comm, ranks, &id, rank, config, current());
}
API Result ncclCommInitRank(Comm *comm, int ranks, UniqueId id, int rank) {
  return ncclCommInitRankConfig(comm, ranks, id, rank, nullptr);
}
API Result ncclCommInitRankScalable(Comm *comm, int ranks, int rank, int, UniqueId *ids, Config *config) {
  return make(comm, ranks, ids, rank, config, current());
}
API Result ncclCommInitAll(Comm *comms, int count, const int *devices) {
  UniqueId id;
  void *before = nullptr, *context;
  ncclGetUniqueId(&id);
  open_driver();
  cu.current(&before);
  ncclGroupStart();
  for (int i = 0; i < count; i++) {
    cu.retain(&context, devices ? devices[i] : i);
    cu.use(context);
    ncclCommInitRank(&comms[i], count, id, i);
  }
  cu.use(before);
  return ncclGroupEnd();
}
API Result ncclCommSplit(Comm c, int color, int key, Comm *made, Config *) {
  note(c->rank, "CommSplit color=%d", color);
  *made = nullptr;
  Job j = {};
  j.kind = 1, j.from = c, j.made = made, j.color = color, j.key = key;
  if (c->blocking || depth || !getenv("MSCCLC_FAKE_LATE_SPLIT")) return run(j);
  c->state = IN_PROGRESS;
  return run_late(j);
}
API Result ncclCommShrink(Comm c, int *without, int count, Comm *made, Config *, int flags) {
  note(c->rank, "CommShrink flags=%d", flags);
  *made = nullptr;
  int below = 0;
  for (int i = 0; i < count; i++) {
    if (without[i] < 0 || without[i] >= c->ranks || without[i] == c->rank) return INVALID_USAGE;
    below += without[i] < c->rank;
  }
  const UniqueId id = grown(c, "shrunk");
  c->splits++;
  return make(made, c->ranks - count, &id, c->rank - below, nullptr, c->device);
}
API Result ncclCommGetUniqueId(Comm c, UniqueId *id) { return *id = grown(c, "grown"), SUCCESS; }
API Result ncclCommGrow(Comm c, int ranks, const UniqueId *id, int rank, Comm *made, Config *) {
  note(c ? c->rank : rank, "CommGrow ranks=%d", ranks);
  *made = nullptr;
  if (c ? ranks <= c->ranks || rank != -1 : !id || rank < 0 || rank >= ranks) return INVALID_USAGE;
  if (!c) return make(made, ranks, id, rank, nullptr, current());
  const UniqueId own = grown(c, "grown");
  c->splits++;
  return make(made, ranks, &own, c->rank, nullptr, c->device);
}
API Result ncclCommFinalize(Comm c) { return note(c->rank, "CommFinalize"), SUCCESS; }
API Result ncclCommDestroy(Comm c) {
  note(c->rank, "CommDestroy");
  settled(c);
  munmap(c->shared, sizeof(Shared));
  c->magic = 0;
  free(c);
  return SUCCESS;
}
API Result ncclCommAbort(Comm c) {
  note(c->rank, "CommAbort");
  __atomic_store_n(&c->aborted, 1, __ATOMIC_RELEASE);
  settled(c);
  return c->magic = 0, SUCCESS;
}
API Result ncclCommRevoke(Comm c, int) { return note(c->rank, "CommRevoke"), SUCCESS; }
API Result ncclCommSuspend(Comm c, int) { return note(c->rank, "CommSuspend"), SUCCESS; }
API Result ncclCommResume(Comm c) { return note(c->rank, "CommResume"), SUCCESS; }
API Result ncclCommGetAsyncError(Comm c, Result *r) {
  return *r = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE), SUCCESS;
}
API Result ncclCommCount(Comm c, int *n) { return *n = c->ranks, SUCCESS; }
API Result ncclCommCuDevice(Comm c, int *n) { return *n = c->device, SUCCESS; }
API Result ncclCommUserRank(Comm c, int *n) { return *n = c->rank, SUCCESS; }
API Result ncclCommRegister(Comm c, void *, size_t, void **handle) {
  return note(c->rank, "CommRegister"), *handle = c, SUCCESS;
}
API Result ncclCommDeregister(Comm c, void *) { return note(c->rank, "CommDeregister"), SUCCESS; }
API Result ncclCommWindowRegister(Comm c, void *, size_t, void **w, int) {
  return note(c->rank, "CommWindowRegister"), *w = c, SUCCESS;
}
API Result ncclCommWindowDeregister(Comm c, void *) { return note(c->rank, "CommWindowDeregister"), SUCCESS; }
API Result ncclRedOpCreatePreMulSum(int *op, void *, int, int, Comm c) {
  return note(c->rank, "RedOpCreatePreMulSum"), *op = 5, SUCCESS;
}
API Result ncclRedOpDestroy(int, Comm c) { return note(c->rank, "RedOpDestroy"), SUCCESS; }

// standin_reduces counts the AllReduces of the thread.
static __thread unsigned long long reduces;
API unsigned long long standin_reduces() { return reduces; }
API Result ncclAllReduce(const void *, void *, size_t n, int t, int op, Comm c, void *s) {
  reduces++;
  slow(s);
  return checked(c, "AllReduce", n, t, op, 0);
}
API Result ncclReduceScatter(const void *, void *, size_t n, int t, int op, Comm c, void *) {
  return checked(c, "ReduceScatter", n, t, op, 0);
}
API Result ncclBroadcast(const void *, void *, size_t n, int t, int root, Comm c, void *s) {
  slow(s);
  return checked(c, "Broadcast", n, t, 0, root);
}
API Result ncclBcast(void *p, size_t n, int t, int root, Comm c, void *s) {
  return ncclBroadcast(p, p, n, t, root, c, s);
}
API Result ncclReduce(const void *, void *, size_t n, int t, int op, int root, Comm c, void *) {
  return checked(c, "Reduce", n, t, op, root);
}
API Result ncclAlltoAll(const void *, void *, size_t n, int t, Comm c, void *) {
  return checked(c, "AlltoAll", n, t, 0, 0, EACH);
}
API Result ncclGather(const void *, void *, size_t n, int t, int root, Comm c, void *) {
  return checked(c, "Gather", n, t, 0, root, ROOT);
}
API Result ncclScatter(const void *, void *, size_t n, int t, int root, Comm c, void *) {
  return checked(c, "Scatter", n, t, 0, root, ROOT);
}
API Result ncclSend(const void *, size_t n, int t, int peer, Comm c, void *) {
  return checked(c, "Send", n, t, 0, peer, ONE);
}
API Result ncclRecv(void *, size_t n, int t, int peer, Comm c, void *) {
  return checked(c, "Recv", n, t, 0, peer, ONE);
}
API Result ncclAllGather(const void *send, void *recv, size_t n, int t, Comm c, void *stream) {
  slow(stream);
  if (const Result r = checked(c, "AllGather", n, t, 0, 0)) return r;
  Job j = {};
  j.kind = 2, j.comm = c, j.send = send, j.recv = recv, j.bytes = n * sizes[t], j.stream = stream;
  ncclGroupStart();  // as NCCL's own calls do
  const Result r = run(j);
  const Result end = ncclGroupEnd();
  return r ? r : end;
}
// Those with a configuration note it, and do what those without do.
static void note_config(Comm c, const CollConfig *config) {
  note(c->rank, "config max=%d algorithms=%s", config->max_ctas, config->algorithms ? config->algorithms : "");
}
API Result ncclAllReduceConfig(const void *send, void *recv, size_t n, int t, int op, Comm c, void *s,
                               const CollConfig *config) {
  note_config(c, config);
  return ncclAllReduce(send, recv, n, t, op, c, s);
}
API Result ncclReduceScatterConfig(const void *send, void *recv, size_t n, int t, int op, Comm c, void *s,
                                   const CollConfig *config) {
  note_config(c, config);
  return ncclReduceScatter(send, recv, n, t, op, c, s);
}
API Result ncclReduceConfig(const void *send, void *recv, size_t n, int t, int op, int root, Comm c, void *s,
                            const CollConfig *config) {
  note_config(c, config);
  return ncclReduce(send, recv, n, t, op, root, c, s);
}
API Result ncclAllGatherConfig(const void *send, void *recv, size_t n, int t, Comm c, void *s,
                               const CollConfig *config) {
  note_config(c, config);
  return ncclAllGather(send, recv, n, t, c, s);
}
API Result ncclAlltoAllConfig(const void *send, void *recv, size_t n, int t, Comm c, void *s,
                              const CollConfig *config) {
  note_config(c, config);
  return ncclAlltoAll(send, recv, n, t, c, s);
}
#define ROOTED(name)                                                                                                  \
  API Result nccl##name##Config(const void *send, void *recv, size_t n, int t, int root, Comm c, void *s,             \
                                const CollConfig *config) {                                                           \
    note_config(c, config);                                                                                           \
    return nccl##name(send, recv, n, t, root, c, s);                                                                  \
  }
ROOTED(Broadcast)
ROOTED(Gather)
ROOTED(Scatter)

API Result ncclPutSignal(const void *a, size_t b, int c, int d, void *e, size_t f, int g, int h, unsigned i, Comm comm,
                         void *s) {
  return note(-1, "PutSignal %llu %zu %d %d %llu %zu %d %d %u %llu %llu", (u64)a, b, c, d, (u64)e, f, g, h, i,
              (u64)comm, (u64)s),
         SUCCESS;
}
// A function of a later release.
API double ncclOfTomorrow(double a, int b, float c) { return note(-1, "OfTomorrow"), a + b + c; }
ALIAS(ncclAllReduce, (const void *, void *, size_t, int, int, Comm, void *))
