// Runs one dumped launch with several threads a block, for the sanitizers:
//
//	driver DUMP RESULT THREADS LAUNCHES
//
// A dump is what sanitizer_test.go or sanitizer_onesided_test.go writes: which of the two,
// some numbers, the launch, its tables, and for each rank the lengths of its buffers and what
// they hold. The result is the buffers after the last launch, one after the other.
// Every buffer is an allocation of its own, so that an access beyond it shows.
#include "../../../kernels/platform/cpu.h"
#include "../../../kernels/loop/interp.h"
#include "../../../kernels/loop/interp_onesided.h"

struct Sum32 {
  KD_CALL void run(const abi_launch &, void *to, const Operands &get, u32 operands, u32 bytes, u32 divisor) {
    fold<i32, Sum>((i32 *)to, get, operands, bytes / 4, divisor);
  }
};
struct OneSum32 {
  KD_CALL bool fold(const Strip &p, void *to) { return fold_strip<i32, Plainly<i32, Sum>>(p, (i32 *)to); }
};
#define HOST_FOLD Sum32
#define HOST_TYPE OneSum32
#include "../../fibers/host.cc"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "driver: %s\n", what);
  exit(3);
}

static void get(FILE *f, void *p, u64 bytes) { need(fread(p, 1, bytes, f) == bytes, "the dump is short"); }

static u64 table(FILE *f, u64 bytes) {
  void *p = malloc(bytes ? bytes : 1);
  get(f, p, bytes);
  return (u64)p;
}

// Buffers are the ranks' inputs and outputs, as they are to be and as they are.
struct Buffers {
  struct Rank {
    u64 bytes[2], in_at, out_at;  // bytes[1] is 0 in place
    u64 first[2], now[2];
    u64 input() const { return now[0] + in_at; }
    u64 output() const { return (bytes[1] ? now[1] : now[0]) + out_at; }
  };
  Rank *rank;
  u64 ranks;

  Buffers(FILE *f, u64 n) : rank((Rank *)calloc(n, sizeof(Rank))), ranks(n) {
    for (Rank *r = rank; r < rank + n; r++) {
      get(f, r, 4 * sizeof(u64));
      for (int i = 0; i < 2; i++) r->first[i] = table(f, r->bytes[i]), r->now[i] = (u64)malloc(r->bytes[i]);
    }
  }
  void refill() const {
    for (const Rank *r = rank; r < rank + ranks; r++)
      for (int i = 0; i < 2; i++) memcpy((void *)r->now[i], (void *)r->first[i], r->bytes[i]);
  }
  void write(FILE *out) const {
    for (const Rank *r = rank; r < rank + ranks; r++)
      for (int i = 0; i < 2; i++) fwrite((void *)r->now[i], 1, r->bytes[i], out);
  }
};

static abi_status status;

// launches runs a launch again and again.
template <class Run> static bool launches(const Buffers &b, int n, Run run) {
  for (; n > 0; n--) {
    b.refill();
    run();
    if (status.code == STATUS_OK) continue;
    fprintf(stderr, "driver: status %u, block %u step %u waited for %u\n", status.code, status.block, status.step,
            status.what);
    return false;
  }
  return true;
}

static bool run_two(FILE *f, FILE *out, u32 threads, int n) {
  u64 h[4];  // steps, blocks, conns, ranks
  abi_launch a;
  get(f, h, sizeof h);
  get(f, &a, sizeof a);
  a.steps = table(f, h[0] * sizeof(abi_step));
  a.blocks = table(f, h[1] * sizeof(abi_block));
  abi_rank *rank = (abi_rank *)malloc(h[3] * sizeof(abi_rank));
  u64 *scratch = (u64 *)table(f, h[3] * sizeof(u64));
  const Buffers b(f, h[3]);
  for (u64 r = 0; r < h[3]; r++) rank[r] = abi_rank{b.rank[r].input(), b.rank[r].output(), (u64)malloc(scratch[r])};
  a.ranks = (u64)rank;
  a.status = (u64)&status;
  a.states = (u64)calloc(h[1], sizeof(abi_state));
  abi_counters *counters = (abi_counters *)calloc(h[2] + 1, sizeof(abi_counters));
  abi_conn *conn = (abi_conn *)calloc(h[2] + 1, sizeof(abi_conn));
  const u64 slots = (u64)calloc(h[2] * a.slots + 1, a.slot_stride);
  for (u64 i = 0; i < h[2]; i++)
    conn[i] = abi_conn{slots + i * a.slots * a.slot_stride, (u64)&counters[i].head, (u64)&counters[i].tail};
  a.conns = (u64)conn;
  if (!launches(b, n, [&] { mscclc_cpu_threads(&a, nullptr, threads); })) return false;
  b.write(out);
  return true;
}

static bool run_one(FILE *f, FILE *out, u32 threads, int n) {
  u64 h[4];  // bytes of a rank's scratch, packets and flags; states
  static abi_one_launch a;
  get(f, h, sizeof h);
  get(f, &a, sizeof a);
  a.blocks = table(f, a.block_count * sizeof(abi_one_block));
  a.steps = table(f, a.step_count * sizeof(abi_one_step));
  a.operands = table(f, a.operand_count * sizeof(abi_one_operand));
  const Buffers b(f, a.rank_count);
  abi_one_memory *memory = (abi_one_memory *)malloc(a.rank_count * sizeof(abi_one_memory));
  for (u32 r = 0; r < a.rank_count; r++) {
    memory[r] = abi_one_memory{b.rank[r].input(), b.rank[r].output(), (u64)malloc(h[0]), (u64)calloc(1, h[1]),
                               (u64)calloc(1, h[2])};
    if (r < ONE_RANKS) a.rank[r] = memory[r];
  }
  a.ranks = (u64)memory;
  a.status = (u64)&status;
  a.states = (u64)calloc(h[3], sizeof(abi_one_state));
  if (!launches(b, n, [&] { mscclc_cpu_threads_onesided(&a, threads); })) return false;
  b.write(out);
  return true;
}

int main(int argc, char **argv) {
  need(argc == 5, "usage: driver DUMP RESULT THREADS LAUNCHES");
  FILE *f = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
  need(f && out, "cannot open the files");
  u64 h[2];  // whether one-sided, and how long a wait may last
  get(f, h, sizeof h);
  status.limit_ns = h[1];
  if (!(h[0] ? run_one : run_two)(f, out, (u32)atoi(argv[3]), atoi(argv[4]))) return 2;
  return fclose(out) != 0;
}
