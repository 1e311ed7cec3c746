// What was learned: rows of MSCCLC_STATS.
#include "learn.h"

#include <pthread.h>
#include <string.h>

struct LearnRow {
  Fn fn;
  int type;
  u32 ranks;
  LearnKey key;
  u64 trials[2];  // NCCL's and native ones
  u32 chosen, took[2];
  char title[64];
};

namespace {

enum { ROWS = 256 };
LearnRow rows[ROWS];
u32 row_count;
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;  // of what was chosen, and of new rows

struct Guard {
  Guard() { pthread_mutex_lock(&mu); }
  ~Guard() { pthread_mutex_unlock(&mu); }
};

}  // namespace

LearnRow *row_of(const Member *e, Fn fn, int type, const LearnKey &key) {
  const Guard guard;
  for (u32 i = 0; i < row_count; i++)
    if (rows[i].fn == fn && rows[i].type == type && rows[i].ranks == e->ranks && same(rows[i].key, key))
      return &rows[i];
  if (row_count == ROWS) return nullptr;
  LearnRow *r = &rows[row_count];
  r->fn = fn, r->type = type, r->ranks = e->ranks, r->key = key;
  return row_count++, r;
}

void row_trial(LearnRow *r, bool native) {
  if (r) __atomic_fetch_add(&r->trials[native], 1, __ATOMIC_RELAXED);
}

void row_chosen(LearnRow *r, const char *title, const u32 *took) {
  if (!r) return;
  const Guard guard;
  cut(r->title, sizeof r->title, title);
  r->chosen++, r->took[0] = took[0], r->took[1] = took[1];
}

// learned_text writes a list in JSON of the classes of calls that were tried or chosen.
void learned_text(Text *t) {
  const Guard guard;
  const char *comma = "";
  for (u32 i = 0; i < row_count; i++) {
    const LearnRow &r = rows[i];
    put(t, "%s{\"function\":\"%s\",\"ranks\":%u,\"type\":", comma, fn_name(r.fn), r.ranks);
    const char *type = dtype_name(dtype_of(r.type));
    put_string(t, type ? type : "?");
    put(t, ",\"up_to\":%llu,\"trials\":%llu,\"nccl_trials\":%llu", 1ull << r.key.log,
        __atomic_load_n(&r.trials[1], __ATOMIC_RELAXED), __atomic_load_n(&r.trials[0], __ATOMIC_RELAXED));
    if (r.chosen) put(t, ",\"chosen\":"), put_string(t, r.title);
    if (r.chosen) put(t, ",\"us\":%.1f,\"nccl_us\":%.1f", r.took[1] / 1e3, r.took[0] / 1e3);
    put(t, "}");
    comma = ",";
  }
}
