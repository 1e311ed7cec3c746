// These parts of the test make and end teams: many, one that is aborted or runs out of time, one whose process forks.
#pragma once
#include "ranks.h"

// lives makes and ends many teams, as LIVES says or 100, and compares the free memory.
inline void lives(Bench *b) {
  size_t before = 0, after = 0, total = 0;
  const char *given = getenv("LIVES");
  const u32 teams = given ? (u32)atoi(given) : 100;
  for (u32 i = 0; i <= teams; i++) {
    Team *t = join(b->r, 0, b->ctas);
    const Choice c = by(t->set.rules + i % t->set.row->rules);
    Turn one = fresh(b, call_of(*c.rule, 10, DT_U32, RED_SUM), false, 0);
    MUST(team_launch(t, &c, &one.call, b->stream));
    MUST(b->r.f->sync(b->stream));
    judge(b, &one, "lives");
    drop(b, &one);
    end(b->r, t);
    meet(b->r);
    MUST(b->r.f->memory_info(i ? &after : &before, &total));
    meet(b->r);
  }
  if (before != after) die("rank %u: %zu bytes of memory were free, and %zu are", b->r.rank, before, after);
  if (b->r.rank == 0) printf("lives: %u teams\n", teams);
}

// loads loads each image of the bundle, and prints how long that takes.
inline void loads(Bench *b) {
  Why why = {};
  u64 all = 0;
  u32 images = 0;
  Gpu *gpu = b->r.rank == 0 ? gpu_of_thread(&why) : nullptr;
  if (b->r.rank == 0 && !gpu) die("%s", why.text);
  const bundle_image *image = nullptr;
  for (; gpu && image_open(b->r.bundle, images, &image, &why); images++) {
    const u64 begin = now_of_engine();
    if (!module_of(gpu, b->r.bundle, images, &why)) die("%s", why.text);
    const u64 took = now_of_engine() - begin;
    printf("loads: %s for sm_%u: %.1f ms\n", image->name, image->target, (double)took / 1e6), all += took;
  }
  if (gpu) printf("loads: %u images in %.1f ms\n", images, (double)all / 1e6);
}

// launch_alone launches a call, or has a graph of it launch.
inline void launch_alone(Bench *b, Team *t, const Call &call, bool graph) {
  const gpu_symbols *f = b->r.f;
  const Choice c = by(t->set.rules);
  void *noted = nullptr, *executable = nullptr;
  if (graph) MUST(f->capture(b->stream, 2));
  MUST(team_launch(t, &c, &call, b->stream));
  if (!graph) return;
  MUST(f->capture_end(b->stream, &noted));
  MUST(f->instantiate(&executable, noted, 0));
  MUST(f->graph(executable, b->stream));
}

// Without its peers, rank 0 launches. The part ends when that launch has left.
inline void lonely(Bench *b, bool aborts, bool graph) {
  Team *t = join(b->r, 0, b->ctas);
  Turn one = {};
  if (b->r.rank == 0) {
    Why why = {};
    const Choice c = by(t->set.rules);
    one = fresh(b, call_of(*c.rule, 1000, DT_U32, RED_SUM), false, 0);
    launch_alone(b, t, one.call, graph);
    if (aborts) {
      nap_of_engine(50000000);
      if (team_failed(t, &why)) die("a launch that waits has failed: %s", why.text);
      const u64 begin = now_of_engine();
      team_abort(t);
      MUST(b->r.f->sync(b->stream));
      if (now_of_engine() - begin > 1000000000) die("an abort took %llu ns", now_of_engine() - begin);
      if (team_launch(t, &c, &one.call, b->stream) != ENGINE_ABORTED) die("a team that was aborted launches");
    }
    while (!team_failed(t, &why)) nap_of_engine(1000000);
    MUST(b->r.f->sync(b->stream));
    printf("lonely: %s\n", why.text);
    drop(b, &one);
  } else {
    b->seed++;  // as rank 0
  }
  end(b->r, t);
}

// unseen has the driver record no event after a launch of rank 0, which waits for its peer. The team fails, the launch
// leaves, and the team's memory stays.
inline int no_event(void *, void *) { return 999; }
inline void unseen(Bench *b) {
  Team *t = join(b->r, 0, b->ctas);
  Turn one = {};
  if (b->r.rank == 0) {
    Why why = {};
    const Choice c = by(t->set.rules);
    one = fresh(b, call_of(*c.rule, 1000, DT_U32, RED_SUM), false, 0);
    gpu_symbols *f = const_cast<gpu_symbols *>(t->gpu->f);
    const auto record = f->record;
    f->record = no_event;
    const int code = team_launch(t, &c, &one.call, b->stream);
    f->record = record;
    if (!code) die("a launch without an event is fine");
    if (!team_failed(t, &why)) die("a team whose launch has no event has not failed");
    if (!team_busy(t)) die("a launch without an event has ended");
    if (team_launch(t, &c, &one.call, b->stream) != ENGINE_ABORTED) die("a team with such a launch launches");
    MUST(b->r.f->sync(b->stream));  // it was asked to leave
    end(b->r, t);
    printf("unseen: %s\n", why.text);
    drop(b, &one);
    return;
  }
  b->seed++;  // as rank 0
  end(b->r, t);
}

// watched has another thread ask for failures while calls run, and abort in the end: a thread without a context.
struct Watched {
  Team *team;
  std::atomic<bool> over;
};
inline void *watch(void *p) {
  Watched *w = (Watched *)p;
  Why why = {};
  while (!w->over)
    if (team_failed(w->team, &why)) die("a failure where there is none: %s", why.text);
  team_abort(w->team);
  return nullptr;
}
inline void watched(Bench *b) {
  Watched w = {join(b->r, 0, b->ctas), {false}};
  pthread_t thread;
  pthread_create(&thread, nullptr, watch, &w);
  for (u32 i = 0; i < 30; i++) {
    const Choice c = by(w.team->set.rules + i % w.team->set.row->rules);
    Turn one = fresh(b, call_of(*c.rule, 500, DT_U32, RED_SUM), false, 0);
    MUST(team_launch(w.team, &c, &one.call, b->stream));
    MUST(b->r.f->sync(b->stream));
    judge(b, &one, "watched");
    drop(b, &one);
  }
  w.over = true;
  const Choice c = by(w.team->set.rules);
  const Call call = {};
  while (team_launch(w.team, &c, &call, b->stream) != ENGINE_ABORTED) nap_of_engine(100000);
  pthread_join(thread, nullptr);
  end(b->r, w.team);
  if (b->r.rank == 0) printf("watched: fine\n");
}

// choices writes how calls of many kinds are to run: the number of a rule, or -1 and why not.
inline void choices(Bench *b) {
  Team *t = join(b->r, 0, 8);
  static const u64 counts[] = {1, 1000, 100000};
  for (u32 n = 0; b->r.rank == 0 && n < 9 * DT_COUNT * RED_COUNT * 2 * 3 * 2 * 2 * 2; n++) {
    u32 left = n;
    const auto digit = [&](u32 of) {
      const u32 d = left % of;
      return left /= of, d;
    };
    Call c = {};
    c.kind = digit(9), c.dtype = digit(DT_COUNT), c.redop = digit(RED_COUNT), c.root = digit(2);
    c.count = counts[digit(3)], c.group = 1 + 2 * digit(2), c.windows = digit(2);
    const bool captured = digit(2);
    const Choice choice = team_choose(t, &c, captured);
    printf("%u %u %u %u %llu %u %d %d %d %s\n", c.kind, c.dtype, c.redop, c.root, c.count, c.group, c.windows, captured,
           choice.rule ? (int)(choice.rule - t->set.rules) : -1, choice.rule ? "" : choice.why);
  }
  end(b->r, t);
}

// forked has a child of the process call everything: nothing may hang.
inline void forked(Bench *b) {
  Team *t = join(b->r, 0, b->ctas);
  if (b->r.rank == 0) {
    const pid_t child = fork();
    if (child == 0) {
      Why why = {};
      Offer offer;
      bool captured;
      const Choice c = by(t->set.rules);
      const Call call = call_of(*c.rule, 10, DT_U32, RED_SUM);
      const bool right = team_launch(t, &c, &call, b->stream) == ENGINE_FORKED && team_failed(t, &why) &&
                         team_before(t, b->stream) == ENGINE_FORKED && team_after(t, b->stream) == ENGINE_FORKED &&
                         team_captured(t, b->stream, &captured) == ENGINE_FORKED &&
                         !team_open(b->r.bundle, b->r.ranks, 0, 32, 0, nullptr, &offer);
      team_abort(t);
      team_end(t, false);
      _exit(right ? 0 : 9);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status) die("a forked child ended with status %#x", status);
    printf("forked: fine\n");
  }
  end(b->r, t);
}
