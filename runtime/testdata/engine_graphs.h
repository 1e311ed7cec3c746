// This part of the test launches graphs and eager calls of a team on several streams: they follow each other.
#pragma once
#include "ranks.h"

// A Graphs is a team with streams that the host holds, and two graphs of it.
struct Graphs {
  enum { STREAMS = 4, CALLS = 5, AT_LEAST = 0, NOT_READY = 600 };
  Bench *b;
  Team *t;
  const gpu_symbols *f;
  void *stream[STREAMS], *graph[2];
  Turn turn[CALLS];  // two of each graph, and an eager one
  u64 *word;         // that streams wait for: at their beginning, and inside the first graph
};

inline void call(Graphs *g, u32 turn, u32 stream) {
  const Choice c = by(g->t->set.rules + turn * 3 % g->t->set.row->rules);
  MUST(team_launch(g->t, &c, &g->turn[turn].call, g->stream[stream]));
}

// capture makes both graphs, in turns. The first one begins on a second stream, which only the order of the team's
// calls brings back to the first, and ends with what stands for a call of NCCL's.
inline void capture(Graphs *g) {
  const gpu_symbols *f = g->f;
  void *event = nullptr, *noted = nullptr;
  MUST(f->event(&event, 2));
  MUST(f->capture(g->stream[0], 2));
  MUST(f->capture(g->stream[1], 2));
  MUST(f->record(event, g->stream[0]));
  MUST(f->await(g->stream[3], event, 0));
  call(g, 0, 3), call(g, 2, 1);
  call(g, 1, 0), call(g, 3, 1);
  MUST(team_before(g->t, g->stream[0]));
  MUST(f->wait_word(g->stream[0], (u64)(g->word + 1), 1, Graphs::AT_LEAST, ~0ull));
  MUST(team_after(g->t, g->stream[0]));
  for (u32 i = 0; i < 2; i++) {
    MUST(f->capture_end(g->stream[i], &noted));
    MUST(f->instantiate(g->graph + i, noted, 0));
  }
  MUST(f->event_end(event));
}

// still dies where a stream has run what follows work that has not run.
inline void still(Graphs *g, u32 stream, const char *what) {
  if (g->f->query(g->stream[stream]) != Graphs::NOT_READY) die("a launch on another stream does not follow %s", what);
}

// hold has a stream wait. let has it go on.
inline void hold(Graphs *g, u32 stream) {
  MUST(g->f->wait_word(g->stream[stream], (u64)g->word, 1, Graphs::AT_LEAST, ~0ull));
}
inline void let(Graphs *g, u32 word) { __atomic_store_n(g->word + word, 1, __ATOMIC_RELEASE); }
inline void launch_graph(Graphs *g, u32 i) { MUST(g->f->graph(g->graph[i], g->stream[i])); }

// follow launches all in one of two orders, while what comes first is held.
inline void follow(Graphs *g, bool eager_first) {
  enum : u64 { TIME_TO_FAIL = 30000000 };
  g->word[0] = g->word[1] = 0;
  for (Turn &t : g->turn) t.seed++, fill(g->b->r, &t);
  meet(g->b->r);
  hold(g, eager_first ? 2 : 0);
  if (eager_first) call(g, 4, 2);
  launch_graph(g, 0), launch_graph(g, 1);
  if (!eager_first) call(g, 4, 2);
  nap_of_engine(TIME_TO_FAIL);
  still(g, 1, eager_first ? "an eager call" : "a graph");
  still(g, eager_first ? 0 : 2, eager_first ? "an eager call" : "a graph");
  let(g, 0);
  nap_of_engine(TIME_TO_FAIL);
  still(g, 1, "a call of NCCL's in a graph");
  if (order_idle(g->t, 0)) die("a graph runs, and the team does not know");
  let(g, 1);
  for (void *s : g->stream) MUST(g->f->sync(s));
  for (Turn &t : g->turn) judge(g->b, &t, "graphs");
}

inline void graphs(Bench *b) {
  Graphs g = {b, join(b->r, 0, b->ctas), b->r.f, {}, {}, {}, nullptr};
  MUST(g.f->host_alloc((void **)&g.word, 2 * sizeof *g.word, PORTABLE | MAPPED));
  for (void *&s : g.stream) MUST(g.f->stream(&s, 1));
  for (u32 i = 0; i < Graphs::CALLS; i++)
    g.turn[i] = fresh(b, call_of(g.t->set.rules[i * 3 % g.t->set.row->rules], 100 + i, DT_U32, RED_SUM), false, 0);
  capture(&g);
  for (u32 i = 0; i < 4; i++) follow(&g, i % 2);
  for (void *graph : g.graph) MUST(g.f->graph_end(graph));
  end(b->r, g.t);
  for (Turn &t : g.turn) drop(b, &t);
  for (void *s : g.stream) MUST(g.f->stream_end(s));
  if (b->r.rank == 0) printf("graphs: fine\n");
}
