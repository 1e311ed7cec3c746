#include "fibers.h"

#include "../../../kernels/platform/lanes.h"
#include "../../fibers/fiber.h"

#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

__thread host_thread *host_self;

// The thread sanitizer's functions that announce fibers, in a process that has it.
extern "C" {
__attribute__((weak)) void *__tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void *fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void *fiber, unsigned flags);
__attribute__((weak)) void *__tsan_get_current_fiber();
}

namespace {

enum { STACK = 64 << 10 };

// A Tsan is a stream's fibers as the sanitizer knows them. They serve launch after launch.
struct Tsan {
  std::vector<void *> fiber;
  void *back;
  void begin(u64 count) {
    if (!__tsan_create_fiber) return;
    back = __tsan_get_current_fiber();
    while (fiber.size() < count) fiber.push_back(__tsan_create_fiber(0));
  }
  void enter(u64 i) {
    if (__tsan_create_fiber) __tsan_switch_to_fiber(fiber[i], 0);
  }
  void leave() {
    if (__tsan_create_fiber) __tsan_switch_to_fiber(back, 0);
  }
  ~Tsan() {
    for (void *f : fiber) __tsan_destroy_fiber(f);
  }
};
Tsan &tsan() {
  static thread_local Tsan all;
  return all;
}

struct Team {
  u32 arrived, met;  // at the present barrier, and barriers passed before it
};

struct Fiber {
  host_thread thread;  // first, so that host_self is also the fiber
  Team *team;
  u32 met;  // barriers, this one too
  void *stack, *back;
  u64 number;
  const Grid *grid;
  u32 block;
  bool done, waits, stalled;  // it waits for its team; it found that it cannot go on
};

Fiber *self() { return (Fiber *)host_self; }
void leave() {
  tsan().leave();
  fiber_switch(&self()->stack, self()->back);
}

void fiber_main() {
  self()->grid->run(self()->block);
  self()->done = true;
  for (;;) leave();
}

// chance gives numbers below n, the same in every run of a process that does the same.
u32 chance(u32 n) {
  static thread_local u64 state = 1;
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (u32)(state >> 33) % n;
}

// rest is what a stream does in a round in which nobody could go on. Where other work wants the processor, a yield
// gives it away for milliseconds, and a stream that sleeps goes on soon after it wakes: so after a long yield it
// sleeps.
void rest(u32 idle) {
  static thread_local u32 naps;
  if (naps > 0) {
    naps--;
  } else if (idle < 8) {
    const u64 at = host_now();
    sched_yield();
    if (host_now() - at > 200000) naps = 200;
    return;
  }
  const struct timespec nap = {0, 50000};
  nanosleep(&nap, nullptr);
}

// round has every fiber go on once, from one of them on, and gives how many are left.
u32 round(Fiber *fiber, u32 count, u32 first, bool *went) {
  u32 live = 0;
  for (u32 i = 0, at = first; i < count; i++, at = at + 1 < count ? at + 1 : 0) {
    Fiber *f = fiber + at;
    if (f->done) continue;
    live++;
    if (f->waits && f->team->met != f->met) continue;
    f->waits = f->stalled = false;
    host_self = &f->thread;
    tsan().enter(f->number);
    fiber_switch(&f->back, f->stack);
    *went |= !f->stalled;
    live -= f->done;
  }
  return live;
}

}  // namespace

u64 host_now() {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}
void host_pause() {
  self()->stalled = true;
  leave();
}
void host_access() {
  static thread_local u32 left = 1;
  if (--left) return;
  left = 1 + chance(40);
  leave();
}
void host_barrier() {
  Fiber *f = self();
  f->met++;
  if (++f->team->arrived == f->thread.ntid) {
    f->team->arrived = 0;
    f->team->met++;
    return;
  }
  f->waits = true;
  leave();
}
void host_begins() {}
void host_ended() {}

// grid_memory is the stream's memory for a grid, which keeps its pages from launch to launch.
static char *grid_memory(u64 bytes) {
  static thread_local char *memory = nullptr;
  static thread_local u64 room = 0;
  if (bytes > room) {
    if (memory) munmap(memory, room);
    memory = (char *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) abort();
    room = bytes;
  }
  return memory;
}

void run_grid(const Grid &g) {
  tsan().begin((u64)g.blocks * g.threads);
  const u64 count = (u64)g.blocks * g.threads, shared = (g.shared + 15) & ~15ull;
  const u64 tables = count * sizeof(Fiber) + g.blocks * (sizeof(Team) + shared);
  char *const memory = grid_memory(count * STACK + tables), *const near = memory + count * STACK;
  memset(near, 0, tables);
  Fiber *const fiber = (Fiber *)(near + g.blocks * shared);
  Team *const team = (Team *)(fiber + count);
  for (u64 i = 0; i < count; i++) {
    Fiber *f = fiber + i;
    f->block = (u32)(i / g.threads);
    f->team = team + f->block;
    f->number = i;
    f->grid = &g;
    f->thread.tid = (u32)(i % g.threads);
    f->thread.ntid = g.threads;
    f->thread.shared = (block_shared *)(near + f->block * shared);
    f->stack = fiber_start(memory + i * STACK, STACK, fiber_main);
  }
  for (u32 live = (u32)count, idle = 0, first = 0; live; first = chance((u32)count)) {
    bool went = false;
    live = round(fiber, (u32)count, first, &went);
    if (went) idle = 0;
    else rest(++idle);
  }
}
