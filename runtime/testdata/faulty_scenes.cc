// What ranks do in a round.
#include "faulty.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <unistd.h>

namespace {

float given(int rank, u32 i, u32 turn) { return (float)((rank + 1) * (int)(i % 7 + 1) + (int)(turn % 3)); }

void fill(const Rank &r, const Try &t) {
  float *in = (float *)t.in;  // the mock driver's memory is the host's
  for (u32 i = 0; i < t.n; i++) in[i] = given(r.rank, i, t.turn);
  memset((void *)t.out, 0x5b, 4ull * t.n * (t.gathers ? (u32)r.ranks : 1));
}

// failed says whether a communicator of this rank has an error, as far as that is known within a second or two: the
// call of another rank that failed may not have returned yet.
bool failed(Rank &r, const Try &t) {
  for (const u64 end = now_ms() + 2000; now_ms() < end && !meeting->failed; usleep(1000))
    for (Comm c : r.comm) {
      Result state = SUCCESS;
      if (c && !ncclCommGetAsyncError(c, &state) && state != SUCCESS && state != IN_PROGRESS)
        return ok(r, t.name, state), true;
    }
  return meeting->failed;
}

// look compares an output. The mock NCCL leaves it as it was, but for that of AllGather.
void look(Rank &r, const Try &t) {
  const float *out = (const float *)t.out;
  const u32 n = t.n * (t.gathers ? (u32)r.ranks : 1);
  u32 good = 0, same = 0;
  for (u32 i = 0; i < n; i++) {
    float want = 0;
    if (t.gathers) want = given((int)(i / t.n), i % t.n, t.turn);
    for (int k = 0; k < r.ranks && !t.gathers; k++)
      if (!t.alone || k == r.rank) want += given(k, i, t.turn);
    u32 bits;
    memcpy(&bits, out + i, 4);
    good += out[i] == want, same += bits == 0x5b5b5b5b;
  }
  if (r.over || meeting->failed) return;
  if (good == n || same == n) meeting->ways[good == n ? 0 : 1]++;
  else if (!failed(r, t))
    wrong(r, t.name, (std::to_string(good) + " of " + std::to_string(n) + " elements are right").c_str());
}

}  // namespace

Try tried(Rank &r, const char *name, u32 at, u32 n, bool gathers) {
  const Try t = {name, r.in + 4 * at, r.out + 4 * at * (u32)r.ranks, n, r.turn, gathers, false};
  fill(r, t);
  return t;
}
bool reduce(Rank &r, const Try &t, Comm c, int stream) {
  return ok(r, t.name, ncclAllReduce((void *)t.in, (void *)t.out, t.n, FLOAT, SUM, c, r.streams[stream]));
}
bool init(Rank &r, u32 number) {
  const UniqueId id = the_id(r, number);
  return !r.over && ok(r, "ncclCommInitRank", ncclCommInitRank(&r.comm[number], r.ranks, id, r.rank));
}
void finish(Rank &r, const Try *tries, int count) {
  idle(r);
  for (int i = 0; i < count; i++) look(r, tries[i]);
}
bool destroy(Rank &r, int number) {
  const Comm c = r.comm[number];
  r.comm[number] = nullptr;
  return ok(r, "ncclCommDestroy", ncclCommDestroy(c));
}

namespace {

bool gather(Rank &r, const Try &t, Comm c, int stream) {
  return ok(r, t.name, ncclAllGather((void *)t.in, (void *)t.out, t.n, FLOAT, c, r.streams[stream]));
}

// capture captures two calls on two streams, and replays them.
bool capture(Rank &r, Comm c) {
  void *event = nullptr, *noted = nullptr, *graph = nullptr;
  const Try a = tried(r, "a captured ncclAllReduce", 0, 500, false);
  const Try b = tried(r, "another captured ncclAllReduce", 1000, 40, false);
  if (cu.event(&event, 2) || cu.capture(r.streams[0], 2)) return ok(r, "a capture", CUDA_ERROR);
  bool good = reduce(r, a, c, 0);
  cu.record(event, r.streams[0]), cu.await(r.streams[1], event, 0);
  good = good && reduce(r, b, c, 1);
  cu.record(event, r.streams[1]), cu.await(r.streams[0], event, 0);
  const int code = cu.capture_end(r.streams[0], &noted);
  if (code && good) good = ok(r, "the end of a capture", CUDA_ERROR);
  if (!code && !cu.instantiate(&graph, noted, 0)) {
    for (int i = 0; i < 2 && good; i++) cu.replay(graph, r.streams[0]);
    finish(r, &a, good), look(r, b);
    cu.graph_end(graph);
  }
  if (!code) cu.noted_end(noted);
  return good && !r.over;
}

// configured is reduce with a configuration that asks for nothing. The mock NCCL has no such function.
bool configured(Rank &r, const Try &t, Comm c) {
  static const auto call = (Result (*)(const void *, void *, size_t, int, int, Comm, void *, const CollConfig *))dlsym(
      RTLD_DEFAULT, "ncclAllReduceConfig");
  CollConfig plain = {};
  plain.size = COLL_CONFIG_231, plain.magic = CONFIG_MAGIC, plain.version = 23100;
  plain.min_ctas = plain.max_ctas = plain.nvls_ctas = plain.cga = plain.policy = NCCL_UNDEF;
  return ok(r, t.name, call((void *)t.in, (void *)t.out, t.n, FLOAT, SUM, c, r.streams[0], &plain));
}

bool group(Rank &r, Comm c) {
  const Try tries[] = {tried(r, "an ncclAllReduce of a group", 0, 64, false),
                       tried(r, "an ncclAllReduceConfig of a group", 100, 900, false)};
  const bool begun = ok(r, "ncclGroupStart", ncclGroupStart());
  const bool good = begun && reduce(r, tries[0], c, 0) && configured(r, tries[1], c);
  if (!ok(r, "ncclGroupEnd", ncclGroupEnd()) || !good) return false;
  finish(r, tries, 2);
  return !r.over;
}

bool one(Rank &r, Comm c, int stream) {
  const Try t = tried(r, "ncclAllReduce", 0, 777, false);
  if (!reduce(r, t, c, stream)) return false;
  finish(r, &t, 1);
  return !r.over;
}

// calls has eager calls on two streams, a group, a graph, and a split.
void calls(Rank &r) {
  if (!init(r, 0)) return;
  const Try tries[] = {tried(r, "ncclAllReduce", 0, 100, false), tried(r, "a second ncclAllReduce", 200, 3001, false),
                       tried(r, "ncclAllGather", 4000, 700, true)};
  if (!reduce(r, tries[0], r.comm[0], 0) || !reduce(r, tries[1], r.comm[0], 1)) return;
  cu.use(r.other);
  if (!gather(r, tries[2], r.comm[0], 0)) return;
  finish(r, tries, 3);
  if (r.over || !group(r, r.comm[0]) || !capture(r, r.comm[0])) return;
  if (!ok(r, "ncclCommSplit", ncclCommSplit(r.comm[0], 0, r.rank, &r.comm[1], nullptr)) || !one(r, r.comm[1], 0))
    return;
  destroy(r, 1) && destroy(r, 0);
}

// splits has groups of splits, a communicator of one rank, and an inbox.
void splits(Rank &r) {
  static const auto inbox = (int (*)())dlsym(RTLD_DEFAULT, "mscclc_faults_inbox");
  meet(r);
  if (!inbox()) meeting->failed = 1;
  meet(r);
  if (r.over) return;
  if (!init(r, 0) || !init(r, 1)) return;
  bool good = ok(r, "ncclGroupStart", ncclGroupStart());
  for (int i = 0; i < 2; i++)
    good &= ok(r, "ncclCommSplit in a group",
               ncclCommSplit(r.comm[i], i ? r.rank : 0, r.rank, &r.comm[2 + i], nullptr));
  if (!ok(r, "ncclGroupEnd", ncclGroupEnd()) || !good || !one(r, r.comm[2], 0)) return;
  Try t = tried(r, "ncclAllReduce of one rank", 0, 100, false);
  t.alone = true;
  if (!reduce(r, t, r.comm[3], 0)) return;
  finish(r, &t, 1);
  for (int i = 3; i >= 0 && !r.over; i--) destroy(r, i);
}

// make_memory makes memory of each kind, once: plain, mapped, and mapped in three parts.
void make_memory(Rank &r) {
  const Properties p = {1, 1, {1, r.rank}, nullptr, {}};
  const Access own = {{1, r.rank}, 3};
  size_t unit = 0;
  if (r.part || cu.alloc(&r.memory[0], 1 << 17) || cu.granularity(&unit, &p, 0)) return;
  r.part = ((1 << 17) / 3 / unit + 1) * unit;
  for (int kind = 1; kind < 3; kind++) {
    cu.reserve(&r.memory[kind], 3 * r.part, 0, 0, 0);
    for (u64 i = 0, step = kind == 1 ? 3 : 1; i < 3; i += step) {
      u64 handle = 0;
      const u64 at = r.memory[kind] + i * r.part;
      cu.create(&handle, step * r.part, &p, 0), cu.map(at, step * r.part, 0, handle, 0), cu.drop(handle);
      cu.access(at, step * r.part, &own, 1);
    }
  }
}

// windows registers memory of each kind, and calls between it.
void windows(Rank &r) {
  make_memory(r);
  meet(r);
  if (r.over || !init(r, 0)) return;
  void *handle = nullptr;
  if (getenv("FAULTY_REGISTERS") &&
      !ok(r, "ncclCommRegister", ncclCommRegister(r.comm[0], (void *)r.in, 4096, &handle))) return;
  for (int i = 0; i < 3; i++) {
    if (!ok(r, "ncclCommWindowRegister",
            ncclCommWindowRegister(r.comm[0], (void *)r.memory[i], 100000, &r.windows[i], 1))) return;
    Try t = {"ncclAllReduce between windows", r.memory[i] + 512, r.memory[i] + 40960, 1000, r.turn, false, false};
    fill(r, t);
    if (!reduce(r, t, r.comm[0], 0)) return;
    finish(r, &t, 1);
    if (r.over || !ok(r, "ncclCommWindowDeregister", ncclCommWindowDeregister(r.comm[0], r.windows[i]))) return;
  }
  bool good = ok(r, "ncclGroupStart", ncclGroupStart());
  for (int i = 0; i < 2; i++)
    good &= ok(r, "ncclCommWindowRegister of a group",
               ncclCommWindowRegister(r.comm[0], (void *)r.memory[i], 50000, &r.windows[i], 1));
  if (ok(r, "ncclGroupEnd", ncclGroupEnd()) && good) one(r, r.comm[0], 0) && destroy(r, 0);
}

// life has communicators of all kinds: not blocking, grown, shrunk, revoked, suspended, and aborted.
void life(Rank &r) {
  struct {
    Config begin;
    int rest[12];
  } config = {};
  config.begin = {sizeof config, 0xcafebeef, 22809, 0, NCCL_UNDEF, NCCL_UNDEF, 8, nullptr, NCCL_UNDEF, NCCL_UNDEF,
                  nullptr};
  for (int &x : config.rest) x = NCCL_UNDEF;
  const UniqueId id = the_id(r, 0);
  if (r.over ||
      !ok(r, "ncclCommInitRankConfig", ncclCommInitRankConfig(&r.comm[0], r.ranks, id, r.rank, &config.begin)) ||
      !settle(r, "ncclCommInitRankConfig", r.comm[0]) || !one(r, r.comm[0], 0) || !init(r, 1))
    return;
  if (!ok(r, "ncclCommSplit", ncclCommSplit(r.comm[0], 0, r.rank, &r.comm[3], nullptr)) ||
      !settle(r, "ncclCommSplit", r.comm[0]) || !settle(r, "the split communicator", r.comm[3]) ||
      !one(r, r.comm[3], 0) || !destroy(r, 3))
    return;
  const bool alone = getenv("MSCCLC_NCCL") && !strcmp(getenv("MSCCLC_NCCL"), "none");
  if (!alone) {
    int none = 0, last = r.ranks - 1;
    if (!ok(r, "ncclCommSuspend", ncclCommSuspend(r.comm[1], 1)) ||
        !ok(r, "ncclCommResume", ncclCommResume(r.comm[1])) ||
        !ok(r, "ncclCommShrink", ncclCommShrink(r.comm[1], &none, 0, &r.comm[2], nullptr, 0)) ||
        !one(r, r.comm[2], 1) ||
        !ok(r, "ncclCommRevoke", ncclCommRevoke(r.comm[2], 0)) || !destroy(r, 2))
      return;
    if (r.rank != last && (!ok(r, "ncclCommShrink without a rank",
                               ncclCommShrink(r.comm[1], &last, 1, &r.comm[4], nullptr, 0)) || !destroy(r, 4)))
      return;
  }
  const Try t = tried(r, "an ncclAllReduce that is aborted", 0, 5000, false);
  if (r.rank == 0 && !reduce(r, t, r.comm[1], 0)) return;
  meet(r);
  if (r.over) return;
  const Comm c = r.comm[1];
  r.comm[1] = nullptr;
  if (!ok(r, "ncclCommAbort", ncclCommAbort(c))) return;
  idle(r);
  if (r.over || !ok(r, "ncclCommFinalize", ncclCommFinalize(r.comm[0]))) return;
  settle(r, "ncclCommFinalize", r.comm[0]) && destroy(r, 0);
}

// oversubscribed has communicators whose launches do not fit together on a GPU.
void oversubscribed(Rank &r) {
  for (u32 i = 0; i < 5; i++)
    if (!init(r, i)) return;
  Try tries[5];
  for (u32 i = 0; i < 5; i++) {
    tries[i] = tried(r, "ncclAllReduce beside others", i * 1000, 600, false);
    if (!reduce(r, tries[i], r.comm[i], (int)i % 2)) return;
  }
  finish(r, tries, 5);
  for (int i = 0; i < 5; i++)
    if (r.over || !destroy(r, i)) return;
}

// leave ends the process with a communicator.
void leave(Rank &r) {
  if (r.turn == 1 && init(r, 0)) one(r, r.comm[0], 0);
  r.comm[0] = nullptr;
}

}  // namespace

const Scene scenes[] = {{"calls", calls}, {"windows", windows}, {"life", life},   {"splits", splits},
                        {"oversubscribed", oversubscribed}, {"leave", leave},
                        {"later", later}, {"watched", watched},
                        {"learns", learns}, {nullptr, nullptr}};
