// This file loads images.
#include "../../../kernels/abi/rows_few.h"
#include "../../../kernels/rows/abi.h"
#include "device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const char *const entry_names[ENTRIES] = {
    "mscclc_onesided",       "mscclc_onesided_sum", "mscclc_onesided_avg", "mscclc_onesided_copy",
    "mscclc_onesided_lines", "mscclc_net",          "mscclc_net_lines",    "mscclc_rows_sum",
    "mscclc_rows_lines",     "mscclc_few_sum",      "mscclc_few_copy",     "mscclc_few_lines_sum",
    "mscclc_few_lines_copy"};

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

// warm runs each function once, with nothing to do: the first launch of a kernel may have the driver make memory for
// its threads, for which it waits until the GPU has nothing else to do.
int warm(Gpu *g, const Module *m) {
  enum { BYTES = 4096, STATE = 1024, STATUS = 2048, THREADS = 64, PARAMS = 1, LENGTH = 2, NON_BLOCKING = 1 };
  static const abi_few_launch none = {};
  abi_few_launch l = none;
  static const abi_rows_launch no_rows = {};
  abi_rows_launch rows = no_rows;
  if (!g->spare) TRY(g->f->alloc(&g->spare, BYTES));
  void *stream = nullptr;
  TRY(g->f->stream(&stream, NON_BLOCKING));
  int error = g->f->fill(g->spare, 0, BYTES, stream);
  l.one.blocks = l.one.steps = l.one.operands = g->spare;
  l.few.state = l.one.states = g->spare + STATE, l.few.status = l.one.status = g->spare + STATUS;
  l.one.replicas = l.one.max_replicas = l.one.depth = l.one.chunks = l.one.block_count = l.one.rank_count = 1;
  rows.one = l.one;
  for (u32 i = 0; i < ENTRIES && !error; i++) {
    const bool few = i >= ENTRY_FEW_SUM, finishes = i == ENTRY_ROWS || i == ENTRY_ROWS_LINES;
    size_t bytes = finishes ? sizeof rows : few ? sizeof l : sizeof l.one;
    void *params = finishes ? (void *)&rows : few ? (void *)&l : (void *)&l.one;
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
