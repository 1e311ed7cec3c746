// This program tests the engine on the mock driver: its ranks are threads of one process, or processes. It runs the
// parts that its arguments name, and writes what is wrong.
//
//	engine threads|processes BUNDLE RANKS PART...
#include "../../transport/enginetest/engine.h"
#include "engine_admission.h"
#include "engine_end.h"
#include "engine_graphs.h"

#include <signal.h>
#include <sys/prctl.h>

static const u64 LONGEST = 3 << 20;  // bytes of a call

// every runs all rules: counts of any kind, types, operations, buffers that are not aligned, in place or not by rank.
static void every(Bench *b) {
  Team *t = join(b->r, 0, b->ctas);
  static const u64 counts[] = {0, 1, 3, 64, 1000, 4097, 1 << 14, 100003};
  static const u32 types[] = {DT_U32, DT_U8, DT_U64};
  u32 turn = 0, native = 0;
  for (u32 i = 0; i < t->set.row->rules; i++)
    for (u64 count : counts) {
      turn++;
      const Call c = call_of(t->set.rules[i], count, types[turn % 3], turn / 3 % RED_COUNT);
      if (c.count * size_of(c.dtype) * b->r.ranks > LONGEST) continue;
      Choice choice = team_choose(t, &c, false);
      if (!choice.rule) continue;
      if (turn % 2) choice.rule = t->set.rules + i;  // any rule whose program can runs it
      Turn one = fresh(b, c, (turn * 7 + b->r.rank * 3) % 4 == 0, turn % 3 ? 0 : turn % 5);
      MUST(team_launch(t, &choice, &one.call, b->stream));
      MUST(b->r.f->sync(b->stream));
      judge(b, &one, "every");
      drop(b, &one);
      native++;
    }
  end(b->r, t);
  if (native < turn / 2) die("rules are for %u of %u calls only", native, turn);
  if (b->r.rank == 0) printf("every: %u calls\n", native);
}

// pairs runs ordered pairs of programs, one after another without a pause: all, or one in PAIRS_PERIOD.
static void pairs(Bench *b) {
  Team *t = join(b->r, 0, b->ctas);
  const char *given = getenv("PAIRS_PERIOD");
  const u32 n = t->set.row->programs, period = given ? (u32)atoi(given) : 1;
  Turn *first = (Turn *)calloc(n, sizeof *first), *second = (Turn *)calloc(n, sizeof *second);
  Choice *choice = (Choice *)calloc(n, sizeof *choice);
  for (u32 i = 0; i < t->set.row->rules; i++)
    if (t->of_rule[i] != BUNDLE_NONE) choice[t->of_rule[i]] = by(t->set.rules + i);
  for (u32 i = 0; i < n; i++) {
    const Call c = call_of(*choice[i].rule, 50 + i, DT_U32, RED_SUM);
    first[i] = fresh(b, c, (i + b->r.rank) % 2, 0), second[i] = fresh(b, c, (i + b->r.rank) % 3 == 0, i % 4);
  }
  for (u32 i = 0; i < n; i++)
    for (u32 k = i % period; k < n; k += period) {
      fill(b->r, first + i), fill(b->r, second + k);
      MUST(team_launch(t, choice + i, &first[i].call, b->stream));
      MUST(team_launch(t, choice + k, &second[k].call, b->stream));
      MUST(b->r.f->sync(b->stream));
      judge(b, first + i, "pairs"), judge(b, second + k, "pairs");
    }
  for (u32 i = 0; i < n; i++) drop(b, first + i), drop(b, second + i);
  free(first);
  free(second);
  free(choice);
  end(b->r, t);
  if (b->r.rank == 0) printf("pairs: %u programs\n", n);
}

// mixes runs each collective with each choice of ranks that call in place.
static void mixes(Bench *b) {
  Team *t = join(b->r, 0, b->ctas);
  u32 calls = 0;
  for (u32 i = 0; i < t->set.row->rules; i++)
    for (u32 mix = 0; mix < 1u << b->r.ranks; mix++) {
      const bundle_rule &rule = t->set.rules[i];
      if (rule.kind == ALLTOALL) continue;
      const Choice c = by(&rule);
      Turn one = fresh(b, call_of(rule, 777, DT_U32, RED_SUM), mix >> b->r.rank & 1, 0);
      MUST(team_launch(t, &c, &one.call, b->stream));
      MUST(b->r.f->sync(b->stream));
      judge(b, &one, "mixes");
      drop(b, &one);
      calls++;
    }
  end(b->r, t);
  if (b->r.rank == 0) printf("mixes: %u calls\n", calls);
}

// streams has two teams on streams of their own, and a third that goes from stream to stream without a pause.
static void streams(Bench *b) {
  enum { TURNS = 40 };
  Team *t[3];
  void *stream[3] = {b->stream, nullptr, nullptr};
  for (u32 i = 0; i < 3; i++) t[i] = join(b->r, i, b->ctas);
  for (u32 i = 1; i < 3; i++) MUST(b->r.f->stream(stream + i, 1));
  Turn turns[TURNS][3];
  for (u32 n = 0; n < TURNS; n++)
    for (u32 i = 0; i < 3; i++) {
      // The third team's calls come in fours of one program, whose launches would disturb each other.
      const u32 rule = (i == 2 ? n / 4 : n * 5 + i) % t[i]->set.row->rules;
      const Choice c = by(t[i]->set.rules + rule);
      turns[n][i] = fresh(b, call_of(*c.rule, 300, DT_U32, RED_SUM), (n + b->r.rank) % 2, 0);
      MUST(team_launch(t[i], &c, &turns[n][i].call, stream[i < 2 ? i : n % 3]));
      if (i == 2 && n % 4 == 3) {  // a stream that is gone may have been the last one
        MUST(b->r.f->sync(stream[2]));
        MUST(b->r.f->stream_end(stream[2]));
        MUST(b->r.f->stream(stream + 2, 1));
      }
    }
  for (u32 i = 0; i < 3; i++) MUST(b->r.f->sync(stream[i]));
  for (u32 n = 0; n < TURNS; n++)
    for (u32 i = 0; i < 3; i++) judge(b, &turns[n][i], "streams"), drop(b, &turns[n][i]);
  for (u32 i = 0; i < 3; i++) end(b->r, t[i]);
  if (b->r.rank == 0) printf("streams: %u calls\n", TURNS * 3);
}

// captures captures calls on two streams, and replays them.
static void captures(Bench *b) {
  enum { TURNS = 6 };
  Team *t = join(b->r, 0, b->ctas);
  const gpu_symbols *f = b->r.f;
  void *second = nullptr, *event = nullptr, *noted = nullptr, *graph = nullptr;
  MUST(f->stream(&second, 1));
  MUST(f->event(&event, 2));
  Turn turns[TURNS];
  MUST(f->capture(b->stream, 2));
  MUST(f->record(event, b->stream));
  MUST(f->await(second, event, 0));
  for (u32 n = 0; n < TURNS; n++) {
    const Choice c = by(t->set.rules + n * 3 % t->set.row->rules);
    turns[n] = fresh(b, call_of(*c.rule, 100 + n, DT_U32, RED_SUM), false, 0);
    bool captured = false;
    MUST(team_captured(t, n % 2 ? second : b->stream, &captured));
    if (!captured) die("a stream that is captured is not");
    MUST(team_launch(t, &c, &turns[n].call, n % 2 ? second : b->stream));
  }
  MUST(f->record(event, second));
  MUST(f->await(b->stream, event, 0));
  MUST(f->capture_end(b->stream, &noted));
  MUST(f->instantiate(&graph, noted, 0));
  for (u32 replay = 0; replay < 5; replay++) {
    for (u32 n = 0; n < TURNS; n++) turns[n].seed++, fill(b->r, turns + n);
    MUST(f->graph(graph, b->stream));
    const Choice c = by(t->set.rules);  // an eager call after it
    Turn eager = fresh(b, call_of(*c.rule, 64, DT_U32, RED_SUM), replay % 2, 0);
    MUST(team_launch(t, &c, &eager.call, b->stream));
    MUST(f->sync(b->stream));
    for (u32 n = 0; n < TURNS; n++) judge(b, turns + n, "captures");
    judge(b, &eager, "captures");
    drop(b, &eager);
    meet(b->r);
  }
  MUST(f->graph_end(graph));
  end(b->r, t);
  for (u32 n = 0; n < TURNS; n++) drop(b, turns + n);
  if (b->r.rank == 0) printf("captures: %u replays\n", 5);
}

static void run_rank(Shared *shared, const char *path, u32 rank, char **parts) {
  static Bundle *common;
  static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
  Why why = {};
  Bench b = {{shared, rank, shared->ranks, nullptr, nullptr, nullptr}, nullptr, 1, 1 << 12};
  pthread_mutex_lock(&mu);
  if (!common && !(common = bundle_open(path, &why))) die("%s", why.text);
  pthread_mutex_unlock(&mu);
  b.r.bundle = common;
  context(&b.r);
  MUST(b.r.f->stream(&b.stream, 1));
  meet(b.r);
  for (; *parts; parts++) {
    const char *part = *parts;
    void *before = nullptr, *after = nullptr;
    MUST(b.r.f->get_current(&before));
    if (!strcmp(part, "every")) every(&b);
    else if (!strcmp(part, "pairs")) pairs(&b);
    else if (!strcmp(part, "mixes")) mixes(&b);
    else if (!strcmp(part, "streams")) streams(&b);
    else if (!strcmp(part, "captures")) captures(&b);
    else if (!strcmp(part, "graphs")) graphs(&b);
    else if (!strcmp(part, "lives")) lives(&b);
    else if (!strcmp(part, "oversubscribed")) oversubscribed(&b);
    else if (!strcmp(part, "queued")) queued(&b);
    else if (!strcmp(part, "abort")) lonely(&b, true, false);
    else if (!strcmp(part, "abortgraph")) lonely(&b, true, true);
    else if (!strcmp(part, "timeout")) lonely(&b, false, false);
    else if (!strcmp(part, "unseen")) unseen(&b);
    else if (!strcmp(part, "choices")) choices(&b);
    else if (!strcmp(part, "watched")) watched(&b);
    else if (!strcmp(part, "forked")) forked(&b);
    else if (!strcmp(part, "loads")) loads(&b);
    else die("no part %s", part);
    MUST(b.r.f->get_current(&after));
    if (before != after) die("%s: the thread's context has changed", part);
    meet(b.r);
  }
  MUST(b.r.f->stream_end(b.stream));
}

struct Start {
  Shared *shared;
  const char *path;
  u32 rank;
  char **parts;
};
static void *thread_of(void *p) {
  const Start *s = (const Start *)p;
  run_rank(s->shared, s->path, s->rank, s->parts);
  return nullptr;
}

int main(int argc, char **argv) {
  if (argc < 5) die("engine threads|processes BUNDLE RANKS PART...");
  mscclc_net_test_engine(&transport_test);
  Shared *shared = (Shared *)mmap(nullptr, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const u32 ranks = shared->ranks = (u32)atoi(argv[3]);
  const bool threads = !strcmp(argv[1], "threads");
  pthread_t thread[BUNDLE_RANKS];
  Start start[BUNDLE_RANKS];
  bool bad = false;
  for (u32 r = 0; r < ranks; r++) {
    start[r] = Start{shared, argv[2], r, argv + 4};
    if (threads) {
      pthread_create(thread + r, nullptr, thread_of, start + r);
    } else if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      run_rank(shared, argv[2], r, argv + 4);
      fflush(stdout);
      _exit(0);
    }
  }
  for (u32 r = 0; r < ranks; r++) {
    int status = 0;
    if (threads) pthread_join(thread[r], nullptr);
    else wait(&status);
    bad |= status != 0;
    if (bad) _exit(1);
  }
  return 0;
}
