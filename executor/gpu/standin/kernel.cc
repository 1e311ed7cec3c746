// The kernel, built for the host: the blocks of a launch are fibers of the stream's
// thread, of one thread each.
#include "standin.h"

#include "../../../kernels/platform_cpu.h"

#include "../../../kernels/interp.h"
#include "../../../kernels/onesided.h"
#include "../../../kernels/port.h"
#include "../../cpu/fiber.h"

#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

__thread host_thread *host_self;

namespace {

enum { STACK = 64 << 10 };

struct Fiber {
  host_thread thread;  // first, so that host_self is also the fiber
  block_shared shared;
  void *stack, *back;
  const Function *function;
  const char *params;
  u32 x, y;
  bool done;
};

u64 numbers_of(const char *params) {
  u64 numbers;
  memcpy(&numbers, params + sizeof(abi_launch), sizeof numbers);
  return numbers;
}

void run_block(const Fiber *f) {
  if (f->function->entry == ONE_SIDED) {
    run_onesided<PortMoves<OneStrips<AnyType>>>(*(const abi_one_launch *)f->params, f->y, f->x);
    return;
  }
  interpret_any<AnyFold>(*(const abi_launch *)f->params, ((const u32 *)numbers_of(f->params))[f->x]);
}

void fiber_main() {
  Fiber *f = (Fiber *)host_self;
  run_block(f);
  f->done = true;
  for (;;) host_pause();
}

// reachable is whether a launch names memory only that its GPU may access.
bool one_reachable(Device *d, const std::string &params) {
  const abi_one_launch *a = (const abi_one_launch *)params.data();
  const abi_one_memory *ranks = a->rank_count > ONE_RANKS ? (const abi_one_memory *)a->ranks : a->rank;
  if (!in_reach(d, (u64)a->status) || !in_reach(d, a->states)) return false;
  if (a->rank_count > ONE_RANKS && !in_reach(d, a->ranks)) return false;
  if (a->port && !(host_reaches(a->port) && in_reach(d, a->port_ends))) return false;
  for (u32 r = 0; r < a->rank_count; r++) {
    const u64 at[] = {ranks[r].input, ranks[r].output, ranks[r].scratch, ranks[r].packets, ranks[r].flags};
    for (u64 p : at)
      if (p && !in_reach(d, p)) return false;
  }
  return true;
}

bool two_reachable(Device *d, u32 blocks, const std::string &params) {
  const abi_launch *a = (const abi_launch *)params.data();
  const u64 numbers = numbers_of(params.data());
  for (u64 p : {a->steps, a->blocks, a->ranks, a->states, a->status, numbers})
    if (!in_reach(d, p)) return false;
  const abi_conn *conns = (const abi_conn *)a->conns;
  for (u32 i = 0; i < blocks; i++) {
    const abi_block *b = (const abi_block *)a->blocks + ((const u32 *)numbers)[i];
    const abi_rank *r = (const abi_rank *)a->ranks + b->rank;
    for (u64 p : {r->input, r->output, r->scratch})
      if (p && !in_reach(d, p)) return false;
    for (i32 c : {b->send, b->recv})
      if (c >= 0 && !(in_reach(d, conns[c].slots) && in_reach(d, conns[c].head) && in_reach(d, conns[c].tail))) return false;
  }
  return true;
}

bool reachable(const Function *f, u32 blocks, const std::string &params) {
  return f->entry == ONE_SIDED ? one_reachable(f->device, params) : two_reachable(f->device, blocks, params);
}

}  // namespace

u64 host_now() {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}
void host_pause() {
  Fiber *f = (Fiber *)host_self;
  fiber_switch(&f->stack, f->back);
}
void host_barrier() {}
void host_begins() {}
void host_ended() {}

u32 blocks_per_sm(u32 threads) {
  if (threads == 0 || threads > SM_THREADS) return 0;
  return std::min<u32>(SM_THREADS / threads, SM_BLOCKS);
}

int check_launch(const Function *f, u32 blocks, u32 threads, const std::string &params) {
  const u64 want = f->entry == ONE_SIDED ? sizeof(abi_one_launch) : sizeof(abi_launch) + sizeof(u64);
  if (params.size() != want || !blocks) return INVALID_VALUE;
  return blocks > SMS * blocks_per_sm(threads) ? NO_RESOURCES : OK;
}

void run_kernel(const Function *f, u32 x, u32 y, u32 threads, const std::string &params) {
  Device *d = f->device;
  if (injected("kernel") || !reachable(f, x * y, params)) {
    d->fault = ILLEGAL_ADDRESS;
    return;
  }
  const u32 blocks = x * y, room = blocks * (SM_THREADS / blocks_per_sm(threads));
  {
    Lock l(d->mu);
    d->changed.wait(l, [&] { return d->running + room <= SMS * SM_THREADS; });
    d->running += room;
  }
  const u64 bytes = blocks * (sizeof(Fiber) + (u64)STACK);
  char *memory = (char *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) abort();
  Fiber *fiber = (Fiber *)(memory + blocks * (u64)STACK);
  for (u32 b = 0; b < blocks; b++) {
    Fiber *p = fiber + b;
    p->thread.ntid = 1;
    p->thread.shared = &p->shared;
    p->function = f;
    p->params = params.data();
    p->x = b % x;
    p->y = b / x;
    p->stack = fiber_start(memory + b * (u64)STACK, STACK, fiber_main);
  }
  for (u32 live = blocks, idle = 0; live;) {
    bool went = false;
    live = 0;
    for (u32 b = 0; b < blocks; b++) {
      Fiber *p = fiber + b;
      if (p->done) continue;
      const u64 moves = p->thread.moves;
      host_self = &p->thread;
      fiber_switch(&p->back, p->stack);
      went |= p->done || p->thread.moves != moves;
      live += !p->done;
    }
    if (went) idle = 0;
    else if (++idle < 64) sched_yield();
    else {
      const struct timespec nap = {0, 50000};
      nanosleep(&nap, nullptr);
    }
  }
  munmap(memory, bytes);
  Lock l(d->mu);
  d->running -= room;
  d->changed.notify_all();
}
