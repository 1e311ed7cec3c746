// This part of the test has more teams on a GPU than have room at once.
#pragma once
#include "ranks.h"

// widest is the rule with the most CTAs.
inline const bundle_rule *widest(const Team *t) {
  const bundle_rule *best = nullptr;
  for (u32 i = 0; i < t->set.row->rules; i++) {
    const bundle_rule *r = t->set.rules + i;
    if (t->of_rule[i] == BUNDLE_NONE || (r->root != BUNDLE_ANY && r->root)) continue;
    if (!best || r->replicas > best->replicas) best = r;
  }
  return best;
}

// oversubscribed has eight teams launch, each on a stream of its own. Rank 0 holds the streams of the first four, and
// the others those of the last four, until all have launched: so the last four would have the GPU of rank 0, and the
// first four the others' GPUs. A team that found too many there leaves captured calls to NCCL.
inline void oversubscribed(Bench *b) {
  enum { TEAMS = 8, HELD = 4, HAVE_ROOM = 3, AT_LEAST = 0 };
  const gpu_symbols *f = b->r.f;
  Team *t[TEAMS];
  void *stream[TEAMS], *word = nullptr;
  Turn turn[TEAMS];
  MUST(f->host_alloc(&word, 8, PORTABLE | MAPPED));
  *(volatile u64 *)word = 0;
  for (u32 i = 0; i < TEAMS; i++) {
    t[i] = join(b->r, i % 2, b->ctas);
    MUST(f->stream(stream + i, 1));
    const Choice c = by(widest(t[i]));
    turn[i] = fresh(b, call_of(*c.rule, 40000, DT_U32, RED_SUM), false, 0);
    const bool native = team_choose(t[i], &turn[i].call, true).rule != nullptr;
    if (native != (i < HAVE_ROOM)) die("team %u: a captured call is %s", i, native ? "native" : "NCCL's");
    if (c.rule->replicas != 32) die("a rule has %u replicas", c.rule->replicas);
  }
  for (u32 n = 0; n < TEAMS; n++) {
    const Choice c = by(widest(t[n]));
    if ((b->r.rank == 0) == (n < HELD)) MUST(f->wait_word(stream[n], (u64)word, 1, AT_LEAST, ~0ull));
    MUST(team_launch(t[n], &c, &turn[n].call, stream[n]));
  }
  nap_of_engine(100000000);
  meet(b->r);
  __atomic_store_n((u64 *)word, 1, __ATOMIC_RELEASE);
  for (u32 n = 0; n < TEAMS; n++) MUST(f->sync(stream[n]));
  for (u32 n = 0; n < TEAMS; n++) {
    judge(b, turn + n, "oversubscribed");
    drop(b, turn + n);
    MUST(f->stream_end(stream[n]));
  }
  for (Team *of : t) end(b->r, of);
  if (b->r.rank == 0) printf("oversubscribed: %u teams\n", TEAMS);
}

// A Full is a thread that launches calls until its stream's queue is full, and one whose team waits for it.
struct Full {
  Team *team;
  Turn *turn;
  void *stream;
  u32 calls;
  std::atomic<int> code;  // of the last launch, or -1
};
inline void *launch_many(void *p) {
  Full *f = (Full *)p;
  const Choice c = by(widest(f->team));
  int code = 0;
  for (u32 i = 0; i < f->calls && !code; i++) code = team_launch(f->team, &c, &f->turn->call, f->stream);
  f->code = code;
  return nullptr;
}

// queued has the queue of one team's stream full on an oversubscribed GPU, while a second team waits for its turn.
// Others are not held up, and the second one can be aborted.
inline void queued(Bench *b) {
  enum { TEAMS = 5, CALLS = 300, AT_LEAST = 0 };
  const gpu_symbols *f = b->r.f;
  Team *t[TEAMS];
  Turn turn[2];
  void *stream[2], *word = nullptr;
  pthread_t thread[2];
  Full full[2];
  Why why = {};
  MUST(f->host_alloc(&word, 8, PORTABLE | MAPPED));
  *(volatile u64 *)word = 0;
  for (u32 i = 0; i < TEAMS; i++) t[i] = join(b->r, i % 2, b->ctas);
  for (u32 i = 0; i < 2; i++) {
    MUST(f->stream(stream + i, 1));
    turn[i] = fresh(b, call_of(*widest(t[i]), 1000, DT_U32, RED_SUM), false, 0);
    full[i].team = t[i], full[i].turn = turn + i, full[i].stream = stream[i], full[i].calls = i ? 1 : CALLS;
    full[i].code = -1;
  }
  MUST(f->wait_word(stream[0], (u64)word, 1, AT_LEAST, ~0ull));
  for (u32 i = 0; i < 2; i++) {
    pthread_create(thread + i, nullptr, launch_many, full + i);
    nap_of_engine(300000000);
  }
  if (full[0].code != -1 || full[1].code != -1) die("a queue is not full: %d %d", (int)full[0].code, (int)full[1].code);
  const u64 begin = now_of_engine();
  if (team_failed(t[2], &why)) die("%s", why.text);
  team_abort(t[2]);
  team_abort(t[1]);
  while (full[1].code == -1 && now_of_engine() - begin < 1000000000) nap_of_engine(1000000);
  const u64 took = now_of_engine() - begin;
  if (full[1].code != ENGINE_ABORTED || took > 1000000000)
    die("aborts take %llu ms, and the launch that waits gives %d", took / 1000000, (int)full[1].code);
  __atomic_store_n((u64 *)word, 1, __ATOMIC_RELEASE);
  for (pthread_t of : thread) pthread_join(of, nullptr);
  MUST(full[0].code);
  MUST(f->sync(stream[0]));
  judge(b, turn, "queued");
  for (u32 i = 0; i < 2; i++) {
    drop(b, turn + i);
    MUST(f->stream_end(stream[i]));
  }
  for (Team *of : t) end(b->r, of);
  if (b->r.rank == 0) printf("queued: %u teams\n", TEAMS);
}
