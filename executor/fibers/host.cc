// This file is the CPU device: the host's platform layer under the interpreter
// kernel, and the two ways to run its blocks. As fibers, the blocks of all ranks
// are spread over a few threads, and a wait goes on to the thread's next block.
// As threads, each block has several, with real barriers between them, which is
// what the thread sanitizer can check.
#define KERNEL_NET
#include "../../kernels/platform/cpu.h"
#include "../../kernels/loop/interp.h"
#include "../../kernels/loop/interp_onesided.h"
#include "../../kernels/rows/strips_rows.h"
#include "fiber.h"
#include "host.h"
#include "watch.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

// The sanitizers' drivers need one reduction only, and say which.
#ifndef HOST_FOLD
#define HOST_FOLD AnyFold
#endif
#ifndef HOST_TYPE
#define HOST_TYPE AnyType
#endif

__thread host_thread *host_self;

u64 host_now() {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

extern "C" u64 mscclc_cpu_map(u64 bytes) {
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? 0 : (u64)p;
}
extern "C" void mscclc_cpu_unmap(u64 address, u64 bytes) { munmap((void *)address, bytes); }

extern "C" u64 mscclc_cpu_cell(const struct abi_launch *a, const struct abi_rank *m, u32 buf, u32 index, u64 at) {
  return cell(*a, *m, buf, index, at);
}

extern "C" u64 mscclc_cpu_stack_use(u64 stack) {
  const char *p = (const char *)stack;
  u64 clean = 0;
  while (clean < MSCCLC_STACK && p[clean] == 0) clean++;
  return MSCCLC_STACK - clean;
}

// A Job is a launch: how to run its blocks, of which a one-sided program has one for
// each of its blocks' replicas. trace is a two-sided program's, or nullptr.
struct Job {
  const void *launch;
  void (*run)(const Job &job, u32 block);
  u32 blocks;
  u64 status;
  const abi_trace *trace;
  host_help help;
  u64 rows, rows_bytes;  // of a program with an epilogue: where the rooms of threads begin (host_rows), and their bytes
};
static void run_two_sided(const Job &job, u32 block) {
  if (job.trace) trace_block(*job.trace, block);
  interpret_any<HOST_FOLD>(*(const abi_launch *)job.launch, block);
}
static void run_one_sided(const Job &job, u32 block) {
  const abi_one_launch *a = (const abi_one_launch *)job.launch;
  run_onesided<OneStrips<HOST_TYPE>>(*a, block / a->replicas, block % a->replicas);
}
static void run_rows(const Job &job, u32 block) {
  const abi_one_launch *a = (const abi_one_launch *)job.launch;
  run_onesided<RowStrips<HOST_TYPE>>(*a, block / a->replicas, block % a->replicas);
}

// A Fiber is one block; a Team, the block of several threads, has the barrier.
struct Fiber {
  host_thread thread;  // first, so that host_self is also the fiber
  block_shared shared;
  void *stack, *worker_stack;
  const Job *job;
  u32 block;
  bool done;
};
struct Team {
  block_shared shared;
  const Job *job;
  const u32 *gate;
  u32 block, arrived, generation;
};
struct Member {
  host_thread thread;  // first, as in Fiber
  Team *team;
  pthread_t id;
};

// fiber_of is a block's fiber, at the end of its stack. The ends of several stacks are in different lines of a cache.
static Fiber *fiber_of(u64 stacks, u32 block) {
  const u64 end = stacks + (u64)(block + 1) * MSCCLC_STACK;
  return (Fiber *)((end - sizeof(Fiber) - block % 16 * 512) & ~(u64)63);
}

// A team that is not complete must not begin: it would wait at its first barrier
// for ever. All threads wait here until all are there.
enum { GATE_SHUT, GATE_OPEN, GATE_LEAVE };

// fibers says which of the two host_self is; it is set before a thread runs any.
static __thread bool fibers;

// nap has a function of its own, whose memory for a time is not part of the stack of a fiber that ends elsewhere: the
// address sanitizer would find that there.
static __attribute__((noinline)) void nap(u64 ns) {
  const struct timespec ts = {0, (long)ns};
  nanosleep(&ts, nullptr);
}

// make_way is what a thread does that has one block, or part of one, and waits. It lets other threads run. Where other
// work wants the processor, a yield gives it away for milliseconds, and dozens of threads that yield come to nothing
// for seconds: so after a long yield a thread sleeps for its next waits, and goes on soon after it wakes.
static const u64 NAP = 50000, SHARE_AFTER = 200000;  // in nanoseconds
static void make_way() {
  static __thread u32 naps;
  if (naps > 0) {
    naps--;
    nap(NAP);
    return;
  }
  const u64 at = host_now();
  sched_yield();
  if (host_now() - at > SHARE_AFTER) naps = 200;
}

void host_pause() {
  if (!fibers) {
    make_way();
    return;
  }
  Fiber *f = (Fiber *)host_self;
  host_watch *w = f->thread.watch;
  const bool stale = w && w->stale_shown && is_stale(&f->thread);
  if (stale) hide_stale(w);
  fiber_switch(&f->stack, f->worker_stack);
  if (stale) show_stale(w);
}

float *host_rows() {
  u64 thread = 0;
  const Job *job;
  if (fibers) {
    const Fiber *f = (const Fiber *)host_self;
    job = f->job, thread = f->block;
  } else {
    const Member *m = (const Member *)host_self;
    job = m->team->job, thread = (u64)m->team->block * m->thread.ntid + m->thread.tid;
  }
  return at_address<float>(job->rows + thread * job->rows_bytes);
}

void host_barrier() {
  Member *m = (Member *)host_self;
  Team *t = m->team;
  const u32 generation = __atomic_load_n(&t->generation, __ATOMIC_RELAXED);
  if (__atomic_add_fetch(&t->arrived, 1, __ATOMIC_ACQ_REL) == m->thread.ntid) {
    __atomic_store_n(&t->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&t->generation, generation + 1, __ATOMIC_RELEASE);
    return;
  }
  while (__atomic_load_n(&t->generation, __ATOMIC_ACQUIRE) == generation) make_way();
}

// give_up stops a launch that the host could not start in full.
static void give_up(const Job &job) { claim32(&at_address<abi_status>(job.status)->code, STATUS_HOST); }

// NoSignals has its thread, and threads that begin meanwhile, take no signals: those are the Go runtime's, whose
// handlers want more stack than a fiber has.
struct NoSignals {
  sigset_t before;
#ifdef HOST_SIGNALS  // of processes of others, which have no such handlers
  NoSignals() { pthread_sigmask(SIG_SETMASK, nullptr, &before); }
#else
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
#endif
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
};

static bool start(pthread_t *id, void *(*run)(void *), void *arg) {
  const NoSignals none;
  return pthread_create(id, nullptr, run, arg) == 0;
}

static void fiber_main() {
  Fiber *f = (Fiber *)host_self;
  f->job->run(*f->job, f->block);
  f->done = true;
  for (;;) host_pause();
}

// helped has a thread do what there is to do besides (host_help), and says whether there was something.
static bool helped(const host_help &help) {
  return help.call && ((int (*)(void *))help.call)((void *)help.with);
}

// rest is what a worker does when none of its blocks could go on, and since when that is. At first it lets other
// threads run. After a while it sleeps, a quarter of the time so far: so that where processes are many more than
// processors, those that wait leave these to the others.
//
// A worker that helps looks for messages of other nodes itself, so it stays awake for longer, unless a yield shows that
// many others want its processor.
static const u64 AWAKE = 50000, LONGEST_NAP = 2000000, LOOKS = 1000000;  // the last of a worker that helps
static void rest(u64 *since, const host_help &help) {
  if (helped(help)) {
    *since = 0;
    return;
  }
  const u64 at = host_now();
  if (!*since) *since = at;
  const u64 waited = at - *since;
  if (waited < (help.call ? LOOKS : AWAKE)) {
    sched_yield();
    if (help.call && host_now() - at > SHARE_AFTER) nap(NAP);
    return;
  }
  const u64 quarter = waited / 4;
  nap(quarter < NAP ? NAP : quarter > LONGEST_NAP ? LONGEST_NAP : quarter);
}

// unstick is for a watched launch in which no block has moved for a round. It
// lets the first go that is held back; where none is, the launch hangs.
static void unstick(u64 stacks, u32 count) {
  for (u32 i = 0; i < count; i++) {
    Fiber *f = fiber_of(stacks, i);
    if (!f->done && let_go(&f->thread)) return;
  }
  claim32(&at_address<abi_status>(fiber_of(stacks, 0)->job->status)->code, STATUS_STUCK);
}

// A Worker is an OS thread with its share of the fibers.
struct Worker {
  pthread_t id;
  u64 stacks;
  u32 first, count;
};
enum { MOST_WORKERS = 1024 };

// What a worker's blocks have written last goes in its last rounds: the next launch may be long in coming. They are
// few, since others may send without end.
enum { LAST_ROUNDS = 16 };

static void *work(void *arg) {
  Worker *w = (Worker *)arg;
  const u32 count = w->count;
  const host_help help = fiber_of(w->stacks, w->first)->job->help;
  fibers = true;
  u64 idle = 0;
  for (u32 live = count; live > 0;) {
    bool went = false;
    live = 0;
    for (u32 i = 0; i < count; i++) {
      Fiber *f = fiber_of(w->stacks, w->first + i);
      if (f->done) continue;
      const u64 moves = f->thread.moves;
      host_self = &f->thread;
      fiber_switch(&f->worker_stack, f->stack);
      went |= f->done || f->thread.moves != moves;
      live += !f->done;
    }
    if (went) idle = 0;
    else if (fiber_of(w->stacks, w->first)->thread.watch) unstick(w->stacks, count);
    else rest(&idle, help);
  }
  for (u32 i = 0; i < LAST_ROUNDS && helped(help); i++) {}
  return nullptr;
}

// run_workers runs one worker in this thread, and several in threads of their own.
static void run_workers(const Job &job, Worker *worker, u32 count) {
  if (count == 1) {
    const NoSignals none;
    work(worker);
    return;
  }
  u32 started = 0;
  for (; started < count; started++)
    if (!start(&worker[started].id, work, worker + started)) {
      give_up(job);
      break;
    }
  for (u32 i = 0; i < started; i++) pthread_join(worker[i].id, nullptr);
}

static void run_fibers(const Job &job, u32 threads, u64 stacks, host_watch *watch) {
  const u32 blocks = job.blocks;
  if (watch) begin_watch(watch);
  for (u32 b = 0; b < blocks; b++) {
    Fiber *f = fiber_of(stacks, b);
    __builtin_memset((void *)f, 0, sizeof *f);
    f->thread.ntid = 1;
    f->thread.shared = &f->shared;
    watch_block(&f->thread, watch, b);
    f->job = &job;
    f->block = b;
    char *stack = (char *)stacks + (u64)b * MSCCLC_STACK;
    f->stack = fiber_start(stack, (u64)((char *)f - stack), fiber_main);
  }
  Worker worker[MOST_WORKERS];
  if (threads > MOST_WORKERS) threads = MOST_WORKERS;
  for (u32 i = 0; i < threads; i++) {
    const u32 first = (u32)((u64)blocks * i / threads), end = (u32)((u64)blocks * (i + 1) / threads);
    worker[i] = Worker{{}, stacks, first, end - first};
  }
  run_workers(job, worker, threads);
  if (watch) end_watch(watch);
}

static void *run_member(void *arg) {
  Member *m = (Member *)arg;
  fibers = false;
  host_self = &m->thread;
  u32 gate;
  while ((gate = __atomic_load_n(m->team->gate, __ATOMIC_ACQUIRE)) == GATE_SHUT) make_way();
  if (gate == GATE_OPEN) m->team->job->run(*m->team->job, m->team->block);
  return nullptr;
}

static void run_threads(const Job &job, u32 per_block) {
  const u32 blocks = job.blocks;
  const u64 bytes = blocks * (sizeof(Team) + (u64)per_block * sizeof(Member));
  const u64 memory = mscclc_cpu_map(bytes);
  if (!memory) {
    give_up(job);
    return;
  }
  Team *team = (Team *)memory;
  Member *member = (Member *)(team + blocks);
  u32 started = 0, gate = GATE_SHUT;
  for (u32 b = 0; b < blocks; b++) {
    team[b].job = &job;
    team[b].gate = &gate;
    team[b].block = b;
  }
  for (; started < blocks * per_block; started++) {
    Member *m = member + started;
    m->team = team + started / per_block;
    m->thread = host_thread{started % per_block, per_block, &m->team->shared, 0, nullptr, 0, false};
    if (!start(&m->id, run_member, m)) {
      give_up(job);
      break;
    }
  }
  __atomic_store_n(&gate, started == blocks * per_block ? GATE_OPEN : GATE_LEAVE, __ATOMIC_RELEASE);
  for (u32 i = 0; i < started; i++) pthread_join(member[i].id, nullptr);
  mscclc_cpu_unmap(memory, bytes);
}

static Job two_sided(const abi_launch *a, const abi_trace *trace) {
  return Job{a, run_two_sided, a->block_count, a->status, trace, {}, 0, 0};
}
extern "C" void mscclc_cpu_fibers(const abi_launch *a, const abi_trace *trace, u32 threads, u64 stacks,
                                  host_watch *watch) {
  run_fibers(two_sided(a, trace), threads, stacks, watch);
}
extern "C" void mscclc_cpu_threads(const abi_launch *a, const abi_trace *trace, u32 per_block) {
  run_threads(two_sided(a, trace), per_block);
}

static Job one_sided(const abi_one_launch *a, host_help help) {
  return Job{a, run_one_sided, a->block_count * a->replicas, a->status, nullptr, help, 0, 0};
}
extern "C" void mscclc_cpu_fibers_onesided(const abi_one_launch *a, u32 threads, u64 stacks, host_watch *watch,
                                           host_help help) {
  run_fibers(one_sided(a, help), threads, stacks, watch);
}
extern "C" void mscclc_cpu_threads_onesided(const abi_one_launch *a, u32 per_block) {
  run_threads(one_sided(a, {}), per_block);
}

extern "C" u64 mscclc_cpu_row_room(u32 length) { return ((u64)length * ROW_ROOM * sizeof(float) + 63) & ~(u64)63; }

static Job of_rows(const abi_rows_launch *a, u64 room) {
  const abi_one_launch &o = a->one;
  const u64 bytes = mscclc_cpu_row_room(a->rows.length);
  return Job{&o, run_rows, o.block_count * o.replicas, o.status, nullptr, {}, room, bytes};
}
extern "C" void mscclc_cpu_fibers_rows(const abi_rows_launch *a, u32 threads, u64 stacks, u64 room) {
  run_fibers(of_rows(a, room), threads, stacks, nullptr);
}
extern "C" void mscclc_cpu_threads_rows(const abi_rows_launch *a, u32 per_block, u64 room) {
  run_threads(of_rows(a, room), per_block);
}
