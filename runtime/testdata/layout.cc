// This program lays out launches: it reads requests from stdin, and writes for each whether the program can run the
// call, the entry of the kernel, and the launch. layout_test.go compares them with those of executor/abi. With a fourth
// argument it writes how many us it takes to open the bundle with all that a communicator uses, the least of that many
// times.
#include "../src/launch/layout.h"
#include "../src/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct Request {
  // length and threads: of rows and of blocks, where the program has an epilogue
  u32 program, rank, dtype, redop, replicas, length, threads, pad;
  u64 elems, tile, blocks, steps, operands, states, status;
  abi_one_memory memory[ONE_RANKS];
};
struct Answer {
  u32 cannot, few;
  char entry[40];
  abi_few_launch launch;
  abi_rows rows;
};

static Answer answer(const Set &set, const Request &q) {
  Answer a = {};
  const u32 at = set_find(&set, q.program);
  if (at == BUNDLE_NONE || q.rank >= set.row->ranks) exit(3);
  const Program &p = set.program[at];
  const bool finishes = p.row->stages;
  const u64 row = finishes ? (u64)q.length * size_of(q.dtype) : 0;
  const Shape shape = {q.elems, q.dtype, q.redop, q.replicas, q.tile, row};
  if (row > p.row->tile) return a.cannot = 1, a;  // as team_choose finds
  a.cannot = cannot(p, shape);
  if (a.cannot) return a;
  general_launch(p, shape, Where{q.blocks, q.steps, q.operands, q.states, q.status, q.memory, q.rank}, &a.launch.one);
  abi_few few = {};
  if (finishes) {
    double values[ROW_STAGES] = {};
    abi_row_memory memory = {};
    for (u32 i = 0; i < p.row->stages; i++) {
      if (*stage_kinds[p.row->stage[i]].value) values[i] = 0.5 * (i + 1);
      memory.first[i] = (8ull << 40) + i * 256, memory.second[i] = (9ull << 40) + i * 256;
    }
    rows_launch(p, q.dtype, q.length, values, memory, q.rank, &a.rows);
    a.few = few_rows_launch(p, q.rank, a.launch.one, a.rows, q.threads, &few);
  } else {
    a.few = few_launch(p, q.rank, a.launch.one, &few);
  }
  if (a.few) a.launch.few = few;
  strcpy(a.entry, entry_names[entry_of(p, a.few, q.dtype, q.redop, p.row->copies)]);
  return a;
}

static bool use(Bundle *b, u32 number, Why *why) {
  const bundle_image *row;
  return number == BUNDLE_NONE || image_open(b, number, &row, why);
}

// opened opens a bundle's header, a set with its programs and its images, and forgets it all.
static bool opened(char **argv, Why *why) {
  Set set;
  Bundle *b = bundle_open(argv[1], why);
  if (!b || !set_open(b, (u32)atoi(argv[2]), nullptr, false, argv[3], &set, why)) return false;
  bool good = true;
  for (u32 t = 0; t < DT_COUNT; t++) good = good && use(b, set.row->image[t], why) && use(b, set.row->copier[t], why);
  set_close(&set);
  bundle_forget(b);
  return good;
}

// hashes compares both ways to hash the beginning of a file, of many lengths.
static bool hashes(const char *path) {
  static u8 data[4096];
  FILE *f = fopen(path, "rb");
  const size_t bytes = f ? fread(data, 1, sizeof data, f) : 0;
  if (f) fclose(f);
  for (size_t n = 0; n <= bytes; n++) {
    u8 quick[32], plain[32];
    sha256(data, n, quick), sha256(data, n, plain, true);
    if (memcmp(quick, plain, 32)) return false;
  }
  return bytes == sizeof data;
}

static double now_us() {
  struct timespec ts;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
  return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int measure(char **argv) {
  Why why = {};
  double least = 1e30;
  if (!hashes(argv[1])) return fprintf(stderr, "the two ways to hash differ\n"), 1;
  for (int n = atoi(argv[4]); n > 0; n--) {
    const double start = now_us();
    if (!opened(argv, &why)) return fprintf(stderr, "%s\n", why.text), 1;
    const double took = now_us() - start;
    if (took < least) least = took;
  }
  return printf("%.0f\n", least) < 0;
}

int main(int argc, char **argv) {
  if (argc == 5) return measure(argv);
  Why why = {};
  Set set;
  Bundle *b = argc == 4 ? bundle_open(argv[1], &why) : nullptr;
  if (!b || !set_open(b, (u32)atoi(argv[2]), nullptr, false, argv[3], &set, &why))
    return fprintf(stderr, "%s\n", why.text), 1;
  Request q;
  while (fread(&q, sizeof q, 1, stdin) == 1) {
    const Answer a = answer(set, q);
    fwrite(&a, sizeof a, 1, stdout);
  }
  set_close(&set);
  bundle_forget(b);
  return fclose(stdout) != 0;
}
