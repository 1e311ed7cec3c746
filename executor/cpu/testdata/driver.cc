// Runs one dumped launch with several threads a block, for the sanitizers:
//
//	driver DUMP RESULT THREADS LAUNCHES
//
// A dump is what sanitizer_test.go writes: the numbers of the tables, the
// launch, the tables, and for each rank the lengths of its buffers and what they
// hold. The result is the buffers after the last launch, one after the other.
// Every buffer is an allocation of its own, so that an access beyond it shows.
#include "../../../kernels/platform_cpu.h"
#include "../../../kernels/interp.h"

struct Sum32 {
  KD_CALL void run(const abi_launch &, void *to, const Operands &get, u32 operands, u32 bytes, u32 divisor) {
    fold<i32, Sum>((i32 *)to, get, operands, bytes / 4, divisor);
  }
};
#define HOST_FOLD Sum32
#include "../host.cc"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Header {
  u64 steps, blocks, conns, ranks, wait_ns;
};
struct RankHeader {
  u64 input, output, in_at, out_at, scratch;  // bytes; output is 0 in place
};

static void need(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "driver: %s\n", what);
  exit(3);
}

static u64 table(FILE *f, u64 bytes) {
  void *p = malloc(bytes ? bytes : 1);
  need(fread(p, 1, bytes, f) == bytes, "the dump is short");
  return (u64)p;
}

int main(int argc, char **argv) {
  need(argc == 5, "usage: driver DUMP RESULT THREADS LAUNCHES");
  FILE *f = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
  need(f && out, "cannot open the files");
  const u32 threads = (u32)atoi(argv[3]);
  Header h;
  abi_launch a;
  need(fread(&h, sizeof h, 1, f) == 1 && fread(&a, sizeof a, 1, f) == 1, "the dump is short");
  a.steps = table(f, h.steps * sizeof(abi_step));
  a.blocks = table(f, h.blocks * sizeof(abi_block));
  RankHeader *head = (RankHeader *)malloc(h.ranks * sizeof(RankHeader));
  abi_rank *rank = (abi_rank *)malloc(h.ranks * sizeof(abi_rank));
  u64 *first = (u64 *)malloc(h.ranks * 2 * sizeof(u64)), *buffer = (u64 *)malloc(h.ranks * 2 * sizeof(u64));
  for (u64 r = 0; r < h.ranks; r++) {
    need(fread(head + r, sizeof *head, 1, f) == 1, "the dump is short");
    first[2 * r] = table(f, head[r].input);
    first[2 * r + 1] = table(f, head[r].output);
    for (int i = 0; i < 2; i++) buffer[2 * r + i] = (u64)malloc(i ? head[r].output : head[r].input);
    const u64 base = head[r].output ? buffer[2 * r + 1] : buffer[2 * r];
    rank[r] = abi_rank{buffer[2 * r] + head[r].in_at, base + head[r].out_at, (u64)malloc(head[r].scratch)};
  }
  a.ranks = (u64)rank;
  abi_status status = {};
  a.status = (u64)&status;
  a.states = (u64)calloc(h.blocks, sizeof(abi_state));
  status.limit_ns = h.wait_ns;
  abi_counters *counters = (abi_counters *)calloc(h.conns + 1, sizeof(abi_counters));
  abi_conn *conn = (abi_conn *)calloc(h.conns + 1, sizeof(abi_conn));
  const u64 slots = (u64)calloc(h.conns * a.slots + 1, a.slot_stride);
  for (u64 i = 0; i < h.conns; i++) conn[i] = abi_conn{slots + i * a.slots * a.slot_stride, (u64)&counters[i].head, (u64)&counters[i].tail};
  a.conns = (u64)conn;
  for (int launch = atoi(argv[4]); launch > 0; launch--) {
    for (u64 r = 0; r < h.ranks; r++) {
      memcpy((void *)buffer[2 * r], (void *)first[2 * r], head[r].input);
      memcpy((void *)buffer[2 * r + 1], (void *)first[2 * r + 1], head[r].output);
    }
    mscclc_cpu_threads(&a, threads);
    if (status.code != STATUS_OK) {
      fprintf(stderr, "driver: status %u, block %u step %u waited for %u\n", status.code, status.block, status.step, status.what);
      return 2;
    }
  }
  for (u64 r = 0; r < h.ranks; r++) {
    fwrite((void *)buffer[2 * r], 1, head[r].input, out);
    fwrite((void *)buffer[2 * r + 1], 1, head[r].output, out);
  }
  return fclose(out) != 0;
}
