// This file is what the tests of the engine share: ranks as threads or as processes, their buffers, and what calls are
// to give.
#pragma once
#include "../src/team/team.h"

#include <atomic>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(code)                                                                          \
  do {                                                                                      \
    const int must_code = (code);                                                           \
    if (must_code) die("%s:%d: %s: %s", __FILE__, __LINE__, #code, driver_text(must_code)); \
  } while (0)

[[noreturn]] inline void die(const char *text) {
  fprintf(stderr, "%s\n", text);
  _exit(1);
}
template <class... T> [[noreturn]] void die(const char *format, T... args) {
  fprintf(stderr, format, args...);
  fputc('\n', stderr);
  _exit(1);
}

enum { HANDLE_ROOM = 2048 };  // more than the test engine's have

// Shared is memory of all ranks, also where they are processes.
struct Shared {
  u32 ranks;
  std::atomic<u32> arrived, round, done;
  Offer offer[4][BUNDLE_RANKS];
  bool ok[BUNDLE_RANKS];
  u8 handle[BUNDLE_RANKS][BUNDLE_RANKS][HANDLE_ROOM];  // of a link, to each rank from each
  u32 handle_bytes[BUNDLE_RANKS][BUNDLE_RANKS];
};

// A Rank is one rank's context and driver.
struct Rank {
  Shared *shared;
  u32 rank, ranks;
  Bundle *bundle;
  gpu_driver *driver;
  const gpu_symbols *f;
};

inline void meet(const Rank &r) {
  Shared *s = r.shared;
  const u32 round = s->round;
  if (++s->arrived == s->ranks) s->arrived = 0, s->round++;
  for (u64 begin = now_of_engine(); s->round == round; nap_of_engine(100000))
    if (now_of_engine() - begin > 300000000000) die("rank %u waits for the others", r.rank);
}

// A Pool is the thread's memory for buffers (ENGINE_POOL, in bytes): of the mock GPU, or of the host. It is made first,
// since who makes or frees memory may wait for all that runs on the GPU, also for launches that wait for this rank.
enum { PORTABLE = 1, MAPPED = 2 };
struct Pool {
  u64 at, bytes, taken, live;  // live: buffers
  u64 take(u64 more) {
    if (!live++) taken = 0;
    taken += (more + 511) / 512 * 512;
    if (taken > bytes) die("the pool is too small");
    return at + taken - (more + 511) / 512 * 512;
  }
};
inline thread_local Pool pool;

// context makes the rank's GPU the calling thread's.
inline void context(Rank *r) {
  const char *missing = nullptr;
  if (mscclc_gpu_open(GPU_CUDA, &r->driver, &missing)) die("%s", missing);
  r->f = &r->driver->f;
  void *c = nullptr;
  int gpus = 0;
  MUST(r->f->count(&gpus));
  MUST(r->f->retain(&c, (int)r->rank % gpus));
  MUST(r->f->current(c));
  if (const char *text = getenv("ENGINE_POOL")) {
    pool.bytes = strtoull(text, nullptr, 10);
    if (getenv("MSCCLC_LIBCUDA")) MUST(r->f->alloc(&pool.at, pool.bytes));
    else MUST(r->f->host_alloc((void **)&pool.at, pool.bytes, PORTABLE | MAPPED));
  }
}

// link_all connects the links of a team of several nodes.
inline void link_all(const Rank &r, Team *t) {
  Why why = {};
  for (u32 link = 0; link < team_links(t); link++) {
    u8 bytes[BUNDLE_RANKS][HANDLE_ROOM];
    TeamHandle mine[BUNDLE_RANKS];
    for (u32 to = 0; to < r.ranks; to++) {
      TeamHandle h;
      if (!team_link(t, link, to, &h, &why) || h.bytes > HANDLE_ROOM) die("rank %u: %s", r.rank, why.text);
      if (h.bytes) memcpy(r.shared->handle[to][r.rank], h.at, h.bytes);
      r.shared->handle_bytes[to][r.rank] = h.bytes;
    }
    meet(r);
    memcpy(bytes, r.shared->handle[r.rank], sizeof bytes);
    for (u32 i = 0; i < r.ranks; i++) mine[i] = TeamHandle{bytes[i], r.shared->handle_bytes[r.rank][i]};
    meet(r);
    if (!team_connect(t, link, mine, 30000000000, nullptr, nullptr, &why)) die("rank %u: %s", r.rank, why.text);
  }
  meet(r);
}

// join makes a team of all ranks, of which ENGINE_NODE are on a node, or all on one. There are four tables of offers,
// for as many teams at once.
inline Team *join(const Rank &r, u32 table, u32 ctas) {
  Offer *all = r.shared->offer[table];
  Why why = {};
  const char *of_node = getenv("ENGINE_NODE");
  u8 node[BUNDLE_RANKS] = {};
  for (u32 i = 0; of_node && i < r.ranks; i++) node[i] = (u8)(i / (u32)atoi(of_node));
  Team *t = team_open(r.bundle, r.ranks, r.rank, ctas, 0, of_node ? node : nullptr, all + r.rank);
  if (!t) die("rank %u: %s", r.rank, all[r.rank].why);
  meet(r);
  team_meet(t, all);
  if (!team_make(t, "", all + r.rank)) die("rank %u: %s", r.rank, all[r.rank].why);
  meet(r);
  if (!team_fits(all, r.ranks, &why) || !team_join(t, all, &why)) {
    team_end(t, true);
    die("rank %u: %s", r.rank, why.text);
  }
  meet(r);
  link_all(r, t);
  return t;
}
inline void end(const Rank &r, Team *t) {
  meet(r);
  team_end(t, false);
}

// A Memory is a buffer with guards around it, which the host reads and writes too: of the mock GPU, or of the pool.
enum { GUARD = 256, POISON = 0xa5 };
struct Memory {
  u64 at, bytes;  // of all
  u8 *data() const { return (u8 *)at; }
};
inline Memory make(const Rank &r, u64 bytes) {
  Memory m = {0, bytes + 2 * GUARD + 64};
  if (!pool.at) MUST(r.f->alloc(&m.at, m.bytes));
  else m.at = pool.take(m.bytes);
  return m;
}
inline void unmake(const Rank &r, const Memory &m) {
  if (pool.at) pool.live--;
  else MUST(r.f->release(m.at));
}

// A Number is element i of what a rank sends in a call, as an integer that sums of 16 ranks keep.
inline u64 number(u32 rank, u64 i, u64 seed) {
  u64 x = (i * 16 + rank + seed * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
  return x >> 40;
}
inline void put_number(u8 *at, u32 size, u64 n) { memcpy(at, &n, size); }
// is_number reports whether a number lies there, without a call for each element.
inline bool is_number(const u8 *at, u32 size, u64 n) {
  switch (size) {
    case 1: return *at == (u8)n;
    case 2: return !memcmp(at, &n, 2);
    case 4: return !memcmp(at, &n, 4);
    default: return !memcmp(at, &n, 8);
  }
}

// Pieces of a call's input and output, as Collective.Pieces has them.
struct Pieces {
  u32 in, out;
};
enum TestKind { ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, BROADCAST, REDUCE, GATHER, SCATTER };
inline Pieces pieces(const Call &c, u32 rank, u32 ranks) {
  const u32 root = rank == c.root;
  switch (c.kind) {
    case ALLGATHER: return {1, ranks};
    case REDUCESCATTER: return {ranks, 1};
    case ALLTOALL: return {ranks, ranks};
    case BROADCAST: return {root, 1};
    case REDUCE: return {1, root};
    case GATHER: return {1, root * ranks};
    case SCATTER: return {root * ranks, 1};
  }
  return {1, 1};
}

// folded is what a reduction makes of one element of all ranks, in an unsigned integer type of a number of bytes.
inline u64 folded(const Call &c, u64 i, u64 seed, u32 ranks) {
  const u64 mask = size_of(c.dtype) == 8 ? ~0ull : (1ull << 8 * size_of(c.dtype)) - 1;
  u64 n = number(0, i, seed) & mask;
  for (u32 r = 1; r < ranks; r++) {
    const u64 x = number(r, i, seed) & mask;
    if (c.redop == RED_PROD) n *= x;
    else if (c.redop == RED_MIN) n = x < n ? x : n;
    else if (c.redop == RED_MAX) n = x > n ? x : n;
    else n += x;
    n &= mask;
  }
  if (c.redop == RED_AVG) n /= ranks;
  return n;
}

// wanted is element i of what a rank is to have.
inline u64 wanted(const Call &c, u64 i, u64 seed, u32 rank, u32 ranks) {
  const u64 piece = i / c.count, inner = i % c.count;
  switch (c.kind) {
    case ALLREDUCE:
    case REDUCE: return folded(c, i, seed, ranks);
    case REDUCESCATTER: return folded(c, rank * c.count + i, seed, ranks);
    case ALLGATHER:
    case GATHER: return number((u32)piece, inner, seed);
    case ALLTOALL: return number((u32)piece, rank * c.count + inner, seed);
    case BROADCAST: return number(c.root, i, seed);
  }
  return number(c.root, rank * c.count + i, seed);
}

// A Turn is a call with its memory. In place, input and output are one memory, as NCCL has them.
struct Turn {
  Call call;
  u64 seed;
  bool inplace;
  u32 shift;  // elements that the buffers are not aligned by
  Memory in, out;
};
void fill(const Rank &r, Turn *t);
u64 check(const Rank &r, const Turn &t);  // how many elements are wrong

// A Bench is a rank with a stream, and memory for calls.
struct Bench {
  Rank r;
  void *stream;
  u64 seed;
  u32 ctas;
};

// fresh is a turn with memory.
inline Turn fresh(Bench *b, const Call &c, bool inplace, u32 shift) {
  Turn t = {c, b->seed++, inplace && c.kind != ALLTOALL, shift, {}, {}};
  const u64 bytes = b->r.ranks * c.count * size_of(c.dtype);
  t.in = make(b->r, bytes), t.out = make(b->r, bytes);
  fill(b->r, &t);
  return t;
}
inline void drop(Bench *b, Turn *t) {
  unmake(b->r, t->in);
  unmake(b->r, t->out);
}

inline void judge(Bench *b, Turn *t, const char *what) {
  const u64 wrong = check(b->r, *t);
  if (wrong)
    die("%s: rank %u: %llu wrong: kind %u root %u dtype %u redop %u count %llu inplace %d shift %u", what, b->r.rank,
        wrong, t->call.kind, t->call.root, t->call.dtype, t->call.redop, t->call.count, (int)t->inplace, t->shift);
}

inline Choice by(const bundle_rule *rule) { return Choice{rule, nullptr}; }

// call_of is a call that a rule is for.
inline Call call_of(const bundle_rule &r, u64 count, u32 dtype, u32 redop) {
  Call c = {};
  c.kind = r.kind, c.root = r.root == BUNDLE_ANY ? 0 : r.root, c.dtype = dtype, c.count = count, c.group = 1;
  c.redop = r.kind == ALLREDUCE || r.kind == REDUCESCATTER || r.kind == REDUCE ? redop : (u32)RED_SUM;
  return c;
}
