// Counts of calls by function and reason, for MSCCLC_STATS and MSCCLC_METRICS.
#include "../front/front.h"

#include <unistd.h>

namespace {

// A row is taken once, and never given back.
struct Row {
  const char *why;
  Fn fn;
  u64 calls, bytes;
  int taken;  // 1: being written, 2: written
};
enum { ROWS = 512 };
Row rows[ROWS];
const char NATIVE[] = "native";

}  // namespace

u64 bytes_of(const Op &op, u32 ranks) {
  const u64 one = op.count * size_of(dtype_of(op.type));
  const u32 kind = kind_of(op.fn);
  const bool parts = kind != KIND_NONE && kind != KIND_ALLREDUCE && kind != KIND_BROADCAST && kind != KIND_REDUCE;
  return parts && ranks ? one * ranks : one;
}

void count_call(Fn fn, const char *why, u64 bytes) {
  if (!observed(OBSERVES_STATS | OBSERVES_METRICS)) return;
  if (!why) why = NATIVE;
  for (u32 n = 0, i = (u32)(((u64)why >> 3) + fn * 37u) % ROWS; n < ROWS; n++, i = (i + 1) % ROWS) {
    Row &r = rows[i];
    int free = 0;
    if (__atomic_load_n(&r.taken, __ATOMIC_ACQUIRE) == 0 &&
        __atomic_compare_exchange_n(&r.taken, &free, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      r.why = why, r.fn = fn;
      __atomic_store_n(&r.taken, 2, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&r.taken, __ATOMIC_ACQUIRE) == 1) {
    }
    if (r.why == why && r.fn == fn) {
      __atomic_fetch_add(&r.calls, 1, __ATOMIC_RELAXED);
      __atomic_fetch_add(&r.bytes, bytes, __ATOMIC_RELAXED);
      return;
    }
  }
}

void count_rows(void (*each)(void *of, Fn fn, const char *why, u64 calls, u64 bytes), void *of) {
  for (Row &r : rows)
    if (__atomic_load_n(&r.taken, __ATOMIC_ACQUIRE) == 2)
      each(of, r.fn, r.why == NATIVE ? nullptr : r.why, __atomic_load_n(&r.calls, __ATOMIC_RELAXED),
           __atomic_load_n(&r.bytes, __ATOMIC_RELAXED));
}

namespace {

struct Stats {
  Text *text;
  const char *comma;
  u64 calls;
};

void put_row(void *of, Fn fn, const char *why, u64 calls, u64 bytes) {
  Stats *l = (Stats *)of;
  l->calls += calls;
  put(l->text, "%s{\"function\":\"%s\",\"native\":%s,\"calls\":%llu", l->comma, fn_name(fn), why ? "false" : "true",
      calls);
  if (why) put(l->text, ",\"reason\":"), put_string(l->text, why);
  put(l->text, ",\"bytes\":%llu}", bytes);
  l->comma = ",";
}

}  // namespace

void stats_text(Text *t, u64 *calls) {
  put(t, "{\"pid\":%d,\"calls\":[", (int)getpid());
  Stats l = {t, "", 0};
  count_rows(put_row, &l);
  put(t, "],\"learned\":["), learned_text(t), put(t, "]}\n");
  *calls = l.calls;
}
