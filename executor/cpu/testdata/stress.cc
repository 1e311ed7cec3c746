// Runs launches of a one-sided program in the most unlikely orders:
//
//	stress DUMP RESULT THREADS SEED
//
// Every rank does its launches one after the other, in threads of its own, and waits for no
// other rank but as the program has it; a block has up to THREADS threads, another number on each rank and in each
// launch, and any thread may be late at any access. A launch's buffers hold nonsense before their rank begins
// it, and again from when that has ended. With -DLANES_CPU the kernel is that of GPUs. A dump is what stress_test.go
// writes; the result is all buffers as they were when their rank's launch ended.
void host_delay();
#define KERNEL_DELAY host_delay
#ifdef LANES_CPU
#include "../../../kernels/platform/lanes.h"
#else
#include "../../../kernels/platform/cpu.h"
#endif
#include "../../../kernels/loop/interp_onesided.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef LANES_CPU
typedef OneLanes<Units<i32>, RED_COUNT> Moves;
typedef OneLanes<Units<i32>, COPIES> Copies;
typedef OneLanes<Units<i32>, RED_COUNT, Lines> OfLines;
static const u32 BUNDLE = LANES;
#else
struct OneSum32 {
  KD_CALL bool fold(const Strip &p, void *to) { return fold_strip<i32, Plainly<i32, Sum>>(p, (i32 *)to); }
};
typedef OneStrips<OneSum32> Moves;
typedef Moves Copies;
typedef Moves OfLines;  // a host's packets are pairs
static const u32 BUNDLE = 1;
#endif

__thread host_thread *host_self;

static void need(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "stress: %s\n", what);
  exit(3);
}

static FILE *dumped;
static void get(void *p, u64 bytes) { need(fread(p, 1, bytes, dumped) == bytes, "the dump is short"); }
static u64 table(u64 bytes) {
  void *p = malloc(bytes + 1);
  get(p, bytes);
  return (u64)p;
}

static u64 mix(u64 x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}
static u64 seed;
static u32 max_threads;

u64 host_now() {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}
void host_begins() {}
void host_ended() {}
void host_pause() { sched_yield(); }

// A Team is one replica of a block.
struct Team {
#ifdef LANES_CPU
  lanes_shared shared;
#else
  block_shared shared;
#endif
  u32 arrived, generation;
  const abi_one_launch *launch;
  u32 block, replica;
  bool copies, lines;
};
struct Member {
  host_thread thread;
  Team *team;
  pthread_t id;
  u64 dice;
  u32 calm, late;  // accesses before the next delay, and how late it is then, of 16
};

static void sleep_for(u64 microseconds) {
  const struct timespec nap = {0, (long)microseconds * 1000};
  nanosleep(&nap, nullptr);
}

// host_delay has some threads come late now and then, and a few all the time.
void host_delay() {
  Member *m = (Member *)host_self;
  if (m->calm-- > 0) return;
  m->dice = mix(m->dice);
  m->calm = (u32)(m->dice % 61);
  if ((m->dice >> 8) % 16 < m->late) sleep_for((m->dice >> 16) % 400);
  else sched_yield();
}

void host_access() { host_delay(); }

void host_barrier() {
  Team *t = ((Member *)host_self)->team;
  const u32 generation = __atomic_load_n(&t->generation, __ATOMIC_RELAXED);
  if (__atomic_add_fetch(&t->arrived, 1, __ATOMIC_ACQ_REL) == host_self->ntid) {
    __atomic_store_n(&t->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&t->generation, generation + 1, __ATOMIC_RELEASE);
  } else {
    while (__atomic_load_n(&t->generation, __ATOMIC_ACQUIRE) == generation) sched_yield();
  }
  host_delay();
}

static void *run_member(void *arg) {
  Member *m = (Member *)arg;
  host_self = &m->thread;
  const Team *t = m->team;
  if (t->lines) run_onesided<OfLines>(*t->launch, t->block, t->replica);
  else if (t->copies) run_onesided<Copies>(*t->launch, t->block, t->replica);
  else run_onesided<Moves>(*t->launch, t->block, t->replica);
  return nullptr;
}

// A Buffer is an input or an output of a rank in a launch: what is to be there, and where.
struct Buffer {
  u64 bytes, first, now;
};
struct Buffers {
  u64 in_at, out_at;
  Buffer of[2];  // the second has no bytes in place
};
struct Call {
  abi_one_launch launch;
  Buffers *rank;
  u8 *result[2];
};

static Call *call;
static u64 calls, ranks;
static bool copies, lines;
static abi_status status;
enum { NONSENSE = 0xa5 };

// run_rank is one rank, with all its launches.
static void *run_rank(void *arg) {
  const u64 rank = (u64)arg;
  for (u64 c = 0; c < calls; c++) {
    const abi_one_launch &a = call[c].launch;
    Buffers &b = call[c].rank[rank];
    u64 dice = mix(seed * 31 + c * 1031 + rank);
    const u32 threads = (1 + (u32)(dice >> 32) % (max_threads / BUNDLE)) * BUNDLE;
    sleep_for(dice % 3 ? 0 : dice % 2000);
    for (Buffer &x : b.of) memcpy((void *)x.now, (void *)x.first, x.bytes);
    const abi_one_block *blocks = (const abi_one_block *)a.blocks;
    Team *team = (Team *)calloc(a.block_count * a.replicas + 1, sizeof(Team));
    Member *member = (Member *)calloc((u64)a.block_count * a.replicas * threads + 1, sizeof(Member));
    u64 n = 0;
    for (u32 i = 0, k = 0; i < a.block_count * a.replicas; i++) {
      if (blocks[i / a.replicas].rank != rank) continue;
      Team *t = team + k++;
      t->launch = &a, t->block = i / a.replicas, t->replica = i % a.replicas, t->copies = copies, t->lines = lines;
      for (u32 j = 0; j < threads; j++, n++) {
        Member *m = member + n;
        dice = mix(dice);
        m->thread.tid = j, m->thread.ntid = threads, m->thread.shared = (block_shared *)&t->shared;
        m->team = t, m->dice = dice, m->late = dice % 5 ? (u32)(dice >> 8) % 2 : 16;
      }
    }
    for (u64 i = 0; i < n; i++) need(pthread_create(&member[i].id, nullptr, run_member, member + i) == 0, "no threads");
    for (u64 i = 0; i < n; i++) pthread_join(member[i].id, nullptr);
    for (Buffer &x : b.of) {
      memcpy((void *)x.first, (void *)x.now, x.bytes);
      memset((void *)x.now, NONSENSE, x.bytes);
    }
    free(team), free(member);
    if (ld_relaxed32(&status.code) != STATUS_OK) break;
  }
  return nullptr;
}

int main(int argc, char **argv) {
  need(argc == 5, "usage: stress DUMP RESULT THREADS SEED");
  dumped = fopen(argv[1], "rb");
  FILE *out = fopen(argv[2], "wb");
  need(dumped && out, "cannot open the files");
  max_threads = (u32)atoi(argv[3]), seed = (u64)atoll(argv[4]);
  u64 h[8];  // the limit of waits; bytes of a rank's scratch, packets and flags; states; calls; whether no step folds;
             // whether packets are lines
  get(h, sizeof h);
  status.limit_ns = h[0], calls = h[5], copies = h[6], lines = h[7];
  static abi_one_launch first;
  get(&first, sizeof first);
  ranks = first.rank_count;
  const u64 blocks = table(first.block_count * sizeof(abi_one_block)),
            steps = table(first.step_count * sizeof(abi_one_step));
  const u64 operands = table(first.operand_count * sizeof(abi_one_operand)),
            states = (u64)calloc(h[4], sizeof(abi_one_state));
  abi_one_memory *lasting = (abi_one_memory *)calloc(ranks, sizeof(abi_one_memory));
  for (u64 r = 0; r < ranks; r++)
    lasting[r] = abi_one_memory{0, 0, (u64)aligned_alloc(128, (h[1] + 128) / 128 * 128),
                                (u64)aligned_alloc(128, (h[2] + 128) / 128 * 128), (u64)calloc(1, h[3])};
  for (u64 r = 0; r < ranks; r++)
    memset((void *)lasting[r].packets, 0, h[2]), memset((void *)lasting[r].scratch, NONSENSE, h[1]);
  call = (Call *)calloc(calls, sizeof(Call));
  for (u64 c = 0; c < calls; c++) {
    abi_one_launch &a = call[c].launch;
    get(&a, sizeof a);
    call[c].rank = (Buffers *)calloc(ranks, sizeof(Buffers));
    abi_one_memory *memory = (abi_one_memory *)calloc(ranks, sizeof(abi_one_memory));
    for (u64 r = 0; r < ranks; r++) {
      Buffers &b = call[c].rank[r];
      u64 n[4];
      get(n, sizeof n);
      b.in_at = n[2], b.out_at = n[3];
      for (int i = 0; i < 2; i++) {
        b.of[i] = Buffer{n[i], table(n[i]), (u64)aligned_alloc(128, (n[i] + 128) / 128 * 128) + 0};
        memset((void *)b.of[i].now, NONSENSE, n[i]);
      }
      memory[r] = lasting[r];
      memory[r].input = b.of[0].now + b.in_at, memory[r].output = b.of[n[1] ? 1 : 0].now + b.out_at;
      if (r < ONE_RANKS) a.rank[r] = memory[r];
    }
    a.ranks = (u64)memory, a.blocks = blocks, a.steps = steps, a.operands = operands, a.states = states,
    a.status = (u64)&status;
  }
  pthread_t *id = (pthread_t *)calloc(ranks, sizeof(pthread_t));
  for (u64 r = 0; r < ranks; r++) need(pthread_create(id + r, nullptr, run_rank, (void *)r) == 0, "no threads");
  for (u64 r = 0; r < ranks; r++) pthread_join(id[r], nullptr);
  if (status.code != STATUS_OK) {
    fprintf(
        stderr,
        "stress: status %u, block %u replica %u step %u operand %u waited for %u, want %llu have %llu in pass %llu\n",
        status.code, status.block, status.replica, status.step, status.operand, status.what, status.want, status.have,
        status.tile);
    return 2;
  }
  for (u64 c = 0; c < calls; c++)
    for (u64 r = 0; r < ranks; r++)
      for (const Buffer &x : call[c].rank[r].of) fwrite((void *)x.first, 1, x.bytes, out);
  return fclose(out) != 0;
}
