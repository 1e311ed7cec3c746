// This file loads images.
#include "../../../kernels/abi/rows_few.h"
#include "../../../kernels/rows/abi.h"
#include "device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const char *const entry_names[ENTRIES] = {
    "mscclc_onesided",       "mscclc_onesided_sum",  "mscclc_onesided_avg",   "mscclc_onesided_copy",
    "mscclc_onesided_lines", "mscclc_net",           "mscclc_net_lines",      "mscclc_rows_sum",
    "mscclc_rows_lines",     "mscclc_few_rows",      "mscclc_few_lines_rows", "mscclc_few_sum",
    "mscclc_few_copy",       "mscclc_few_lines_sum", "mscclc_few_lines_copy"};

namespace {

enum { NOT_FOUND = 500, LOG_BUFFER = 5, LOG_BYTES = 6, LOG = 400 };

// load_all loads the functions of a module. A driver that loads modules lazily would do it at a launch, and would wait
// there for kernels that wait for that launch.
int load_all(Gpu *g, void *code, Module *m) {
  for (u32 i = 0; i < ENTRIES; i++) {
    void *f = nullptr;
    const int error = g->f->function(&f, code, entry_names[i]);
    if (error == NOT_FOUND) continue;
    TRY(error);
    if (g->f->load_function) TRY(g->f->load_function(f));
    int blocks = 0;
    TRY(g->f->occupancy(&blocks, f, 64, 0));
    m->function[i] = f;
  }
  return 0;
}

// A Nothing is a launch of each kind of an entry that has nothing to do.
struct Nothing {
  abi_few_launch few;  // and in it a general one
  abi_rows_launch rows;
  abi_few_rows_launch few_rows;
};

Nothing nothing(u64 memory) {
  enum { STATE = 1024, STATUS = 2048 };
  static const Nothing none = {};
  Nothing n = none;
  abi_one_launch &one = n.few.one;
  one.blocks = one.steps = one.operands = memory;
  n.few.few.state = one.states = memory + STATE, n.few.few.status = one.status = memory + STATUS;
  one.replicas = one.max_replicas = one.depth = one.chunks = one.block_count = one.rank_count = 1;
  n.rows.one = one, n.few_rows.few = n.few.few;
  memcpy(n.few_rows.one, &one, sizeof n.few_rows.one);
  return n;
}

// warm runs each function once, with nothing to do: the first launch of a kernel may have the driver make memory for
// its threads, for which it waits until the GPU has nothing else to do.
int warm(Gpu *g, const Module *m) {
  enum { BYTES = 4096, THREADS = 64, PARAMS = 1, LENGTH = 2, NON_BLOCKING = 1 };
  if (!g->spare) TRY(g->f->alloc(&g->spare, BYTES));
  void *stream = nullptr;
  TRY(g->f->stream(&stream, NON_BLOCKING));
  int error = g->f->fill(g->spare, 0, BYTES, stream);
  Nothing n = nothing(g->spare);
  for (u32 i = 0; i < ENTRIES && !error; i++) {
    size_t bytes = sizeof n.few.one;
    void *params = &n.few.one;
    if (i == ENTRY_FEW_ROWS || i == ENTRY_FEW_LINES_ROWS) params = &n.few_rows, bytes = sizeof n.few_rows;
    else if (i >= ENTRY_FEW_SUM) params = &n.few, bytes = sizeof n.few;
    else if (i == ENTRY_ROWS || i == ENTRY_ROWS_LINES) params = &n.rows, bytes = sizeof n.rows;
    void *packed[] = {(void *)PARAMS, params, (void *)LENGTH, &bytes, nullptr};
    if (m->function[i]) error = g->f->launch(m->function[i], 1, 1, 1, THREADS, 1, 1, 0, stream, nullptr, packed);
  }
  if (!error) error = g->f->sync(stream);
  g->f->stream_end(stream);
  return error;
}

Module *load(Gpu *g, Bundle *b, u32 number, Why *why) {
  const bundle_image *image = nullptr;
  if (!image_open(b, number, &image, why)) return nullptr;
  Module *m = (Module *)calloc(1, sizeof *m);
  if (!m) return say(why, "no memory"), nullptr;
  m->bundle = b, m->number = number;
  char log[LOG] = {};
  int options[] = {LOG_BUFFER, LOG_BYTES};
  void *values[] = {log, (void *)(u64)sizeof log}, *code = nullptr;
  int error = g->f->load(&code, image + 1, 2, options, values);
  if (!error) error = load_all(g, code, m);
  if (!error) error = warm(g, m);
  const bool any =
      m->function[ENTRY_ANY] || m->function[ENTRY_COPY] || m->function[ENTRY_NET] || m->function[ENTRY_ROWS];
  if (!error && any) return m;
  log[sizeof log - 1] = 0;
  say(why, "kernel %s for sm_%u: %s %s", image->name, image->target,
      error ? mscclc_gpu_error(g->driver, error) : "has no entries", log);
  free(m);
  return nullptr;
}

}  // namespace

Module *module_of(Gpu *g, Bundle *b, u32 number, Why *why) {
  pthread_mutex_lock(&g->loading);
  Module *m = g->modules;
  while (m && (m->bundle != b || m->number != number)) m = m->next;
  if (!m && (m = load(g, b, number, why))) {
    m->next = g->modules;
    g->modules = m;
  }
  pthread_mutex_unlock(&g->loading);
  return m;
}

int room_of(Gpu *g, const Module *m, u32 threads, u32 *blocks) {
  *blocks = ~0u;
  for (u32 i = 0; i < ENTRIES; i++) {
    int of_sm = 0;
    if (!m->function[i]) continue;
    TRY(g->f->occupancy(&of_sm, m->function[i], (int)threads, 0));
    const u32 room = (u32)of_sm * (u32)g->sms;
    if (room < *blocks) *blocks = room;
  }
  return 0;
}
