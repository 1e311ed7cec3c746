// Metrics in Prometheus' text format. Each has the process as a label, since a collector may read the files of several
// processes as one.
#include "../front/front.h"

#include <stdio.h>
#include <unistd.h>

namespace {

struct Out {
  Text *text;
  const char *name;
  bool bytes;
};

void head(Text *t, const char *name, const char *type, const char *help) {
  put(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void labels(Text *t, const char *name) { put(t, "%s{pid=\"%d\"", name, (int)getpid()); }

void one(Text *t, const char *name, const char *type, const char *help, u64 value) {
  head(t, name, type, help);
  labels(t, name);
  put(t, "} %llu\n", value);
}

void put_row(void *of, Fn fn, const char *why, u64 calls, u64 bytes) {
  const Out *o = (const Out *)of;
  labels(o->text, o->name);
  put(o->text, ",function=\"%s\",native=\"%s\",reason=", fn_name(fn), why ? "false" : "true");
  put_string(o->text, why ? why : "");
  put(o->text, "} %llu\n", o->bytes ? bytes : calls);
}

const char SECONDS[] = "mscclc_call_seconds";

void put_times(void *of, Fn fn, bool native, const u64 *counts, double seconds) {
  Text *t = (Text *)of;
  char of_call[96], name[64];
  snprintf(of_call, sizeof of_call, ",function=\"%s\",native=\"%s\"", fn_name(fn), native ? "true" : "false");
  u64 sum = 0;
  snprintf(name, sizeof name, "%s_bucket", SECONDS);
  for (u32 i = 0; i <= CLOCK_BOUNDS; i++) {
    sum += counts[i];
    labels(t, name);
    if (i < CLOCK_BOUNDS) put(t, "%s,le=\"%g\"} %llu\n", of_call, clock_bounds[i], sum);
    else put(t, "%s,le=\"+Inf\"} %llu\n", of_call, sum);
  }
  snprintf(name, sizeof name, "%s_sum", SECONDS);
  labels(t, name);
  put(t, "%s} %.9f\n", of_call, seconds);
  snprintf(name, sizeof name, "%s_count", SECONDS);
  labels(t, name);
  put(t, "%s} %llu\n", of_call, sum);
}

void calls(Text *t) {
  Out o = {t, "mscclc_calls_total", false};
  head(t, o.name, "counter", "Calls of NCCL's functions, by what ran them and why. Replays of graphs do not count.");
  count_rows(put_row, &o);
  o = Out{t, "mscclc_bytes_total", true};
  head(t, o.name, "counter", "Bytes of these calls: the larger of what a rank sends and receives.");
  count_rows(put_row, &o);
  head(t, SECONDS, "histogram", "Time of one call in 64 in its stream, with the wait for other ranks.");
  clock_each(put_times, t);
}

// Communicators by state, and what their teams have.
struct Sums {
  u64 native, nccl, fresh, suspended, ended, teams, arenas;
};

void add(Member *e, Sums *s) {
  const Comm c = e->comm;
  if (!c) {
    s->ended += e->state == STATE_GONE;
    s->teams += e->state == STATE_GONE;
    return;
  }
  if (!member_hold(e, c)) return;
  const int state = e->state;
  u64 *of = state == STATE_TEAM ? &s->native : state == STATE_NEW || state == STATE_READY ? &s->fresh
            : state == STATE_PAUSED ? &s->suspended : &s->nccl;
  ++*of;
  if (e->comm == c && e->team && (state == STATE_TEAM || state == STATE_PAUSED))
    s->teams++, s->arenas += team_arena(e->team);
  member_leave(e);
}

void communicators(Text *t) {
  Sums s = {};
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++) add(e, &s);
  const struct {
    const char *state;
    u64 count;
  } all[] = {{"native", s.native}, {"nccl", s.nccl}, {"new", s.fresh}, {"suspended", s.suspended}, {"ended", s.ended}};
  const char *name = "mscclc_communicators";
  head(t, name, "gauge", "Communicators: native use programs, nccl are NCCL's alone, ended wait for other ranks.");
  for (const auto &a : all) labels(t, name), put(t, ",state=\"%s\"} %llu\n", a.state, a.count);
  one(t, "mscclc_teams", "gauge", "Communicators that have memory for programs on a GPU.", s.teams);
  one(t, "mscclc_arena_bytes", "gauge", "Memory of GPUs that these have for other ranks to write to.", s.arenas);
}

}  // namespace

void metrics_text(Text *t) {
  const char *name = "mscclc_info";
  head(t, name, "gauge", "The process and its library.");
  labels(t, name);
  put(t, ",host=\"%s\",bundle_version=\"%d\",kernels=\"%.12s\"} 1\n", host_name(), (int)BUNDLE_VERSION, MSCCLC_KERNELS);
  calls(t);
  communicators(t);
  name = "mscclc_failures_total";
  head(t, name, "counter", "Failures of communicators, by kind.");
  for (int i = 0; i < FAILURES; i++)
    labels(t, name), put(t, ",kind=\"%s\"} %llu\n", failure_name((Failure)i), failures_of((Failure)i));
  one(t, "mscclc_warnings_total", "counter", "Warnings, printed or not.", warnings());
}
