// Launches of the host device. All entries of a kernel are one here: the interpreter, which finds type and reduction in
// the launch. A rank's blocks are fibers of one thread, of which each goes on while others wait.
#include "../../../executor/fibers/host.h"
#include "../../../kernels/rows/abi.h"
#include "host.h"

#include <stdlib.h>
#include <string.h>

namespace {

enum { SMS = 1 << 16, BLOCKS = 16 };  // a host has room for any launch

// A Region is memory for the stacks of a launch's blocks. Those that no launch uses are kept.
struct Region {
  u64 at, bytes;
  Region *next;
};
Region *spare;
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

Region *take(u64 bytes) {
  pthread_mutex_lock(&mu);
  Region **r = &spare;
  while (*r && (*r)->bytes < bytes) r = &(*r)->next;
  Region *found = *r;
  if (found) *r = found->next;
  pthread_mutex_unlock(&mu);
  if (found || !(found = (Region *)malloc(sizeof *found))) return found;
  *found = Region{mscclc_cpu_map(bytes), bytes, nullptr};
  if (!found->at) free(found), found = nullptr;
  return found;
}

void keep(Region *r) {
  pthread_mutex_lock(&mu);
  r->next = spare, spare = r;
  pthread_mutex_unlock(&mu);
}

// region takes memory for the blocks of a launch: a stack for each, and `room` bytes. If there is none, the launch's
// status says so, and the result is null.
Region *region(const abi_one_launch *l, u64 room) {
  const u64 blocks = (u64)l->block_count * l->replicas;
  Region *r = blocks ? take(blocks * (MSCCLC_STACK + room)) : nullptr;
  if (!r && blocks) __atomic_store_n(&((abi_status *)l->status)->code, (u32)STATUS_HOST, __ATOMIC_RELEASE);
  return r;
}

// run runs a launch, and run_rows one of a program with an epilogue.
void run(void *with) {
  const abi_one_launch *l = (const abi_one_launch *)with;
  Region *r = region(l, 0);
  if (!r) return;
  mscclc_cpu_fibers_onesided(l, 1, r->at, nullptr, host_help{});
  keep(r);
}

void run_rows(void *with) {
  const abi_rows_launch *l = (const abi_rows_launch *)with;
  Region *r = region(&l->one, mscclc_cpu_row_room(l->rows.length));
  if (!r) return;
  mscclc_cpu_fibers_rows(l, 1, r->at, r->at + (u64)l->one.block_count * l->one.replicas * MSCCLC_STACK);
  keep(r);
}

// later has a copy of a launch run on a stream.
int later(void *stream, void (*run)(void *), const void *launch, size_t bytes) {
  void *l = malloc(bytes);
  if (!l) return ENGINE_HOST_MEMORY;
  memcpy(l, launch, bytes);
  return host_later(stream, run, l);
}

// launch takes the general form of a launch, which short ones have, too.
int launch(void *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream, void **,
           void **packed) {
  const u64 entry = (u64)function - 1;
  if (entry == ENTRY_ROWS || entry == ENTRY_ROWS_LINES)
    return later(stream, run_rows, packed[1], sizeof(abi_rows_launch));
  if (entry == ENTRY_FEW_ROWS || entry == ENTRY_FEW_LINES_ROWS) {
    const abi_few_rows_launch *few = (const abi_few_rows_launch *)packed[1];
    abi_rows_launch l = {};
    memcpy(&l.one, few->one, sizeof few->one), l.rows = few->rows;
    return later(stream, run_rows, &l, sizeof l);
  }
  const bool few = entry >= ENTRY_FEW_SUM;
  const abi_one_launch *given = few ? &((const abi_few_launch *)packed[1])->one : (const abi_one_launch *)packed[1];
  return later(stream, run, given, sizeof *given);
}

// A function is the number of its entry, from 1.
int function(void **made, void *, const char *name) {
  for (u64 i = 0; i < ENTRIES; i++)
    if (!strcmp(entry_names[i], name)) return *made = (void *)(i + 1), 0;
  return 500;  // CUDA_ERROR_NOT_FOUND
}

int load(void **module, const void *, unsigned, int *, void **) { return *module = (void *)1, 0; }
int occupancy(int *blocks, void *, int, size_t) { return *blocks = BLOCKS, 0; }

__thread void *context;
int get_current(void **is) { return *is = context, 0; }
int current(void *is) { return context = is, 0; }

gpu_driver driver;
pthread_once_t once = PTHREAD_ONCE_INIT;
void fill() {
  host_memory_symbols(&driver.f);
  host_stream_symbols(&driver.f);
  host_launch_symbols(&driver.f);
}

}  // namespace

void host_launch_symbols(gpu_symbols *f) {
  f->launch = launch, f->function = function, f->load = load, f->occupancy = occupancy;
  f->get_current = get_current, f->current = current;
}

Gpu *host_gpu(Why *why) {
  static u64 made;
  pthread_once(&once, fill);
  Gpu g = {};
  g.driver = &driver, g.f = &driver.f, g.sms = SMS, g.host = true;
  const u64 number = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
  const u64 pid = (u64)getpid();
  if (!sys_random(g.uuid, sizeof g.uuid)) memcpy(g.uuid, &number, 8), memcpy(g.uuid + 8, &pid, 8);
  return gpu_add(g, why);
}

void host_gone(Gpu *g) {
  if (g->spare) g->f->release(g->spare);
  for (const Admission &c : g->admission)
    if (c.last) g->f->event_end(c.last);
  gpu_gone(g);
}
