// This program lays out launches: it reads requests from stdin, and writes for each whether the program can run the
// call, the entry of the kernel, and the launch. layout_test.go compares them with those of executor/abi.
#include "../src/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Request {
  u32 program, rank, dtype, redop, columns, pad;
  u64 elems, tile, blocks, steps, operands, states, status;
  abi_one_memory memory[ONE_RANKS];
};
struct Answer {
  u32 cannot, few;
  char entry[40];
  abi_few_launch launch;
};

static Answer answer(const Set &set, const Request &q) {
  Answer a = {};
  const u32 at = set_find(&set, q.program);
  if (at == BUNDLE_NONE || q.rank >= set.row->ranks) exit(3);
  const Program &p = set.program[at];
  const Shape shape = {q.elems, q.dtype, q.redop, q.columns, q.tile};
  a.cannot = cannot(p, shape);
  if (a.cannot) return a;
  general_launch(p, shape, Where{q.blocks, q.steps, q.operands, q.states, q.status, q.memory, q.rank}, &a.launch.one);
  abi_few few = {};
  a.few = few_launch(p, q.rank, a.launch.one, &few);
  if (a.few) a.launch.few = few;
  strcpy(a.entry, entry_names[entry_of(p, a.few, q.redop, p.row->copies)]);
  return a;
}

int main(int argc, char **argv) {
  Why why = {};
  Set set;
  Bundle *b = argc == 4 ? bundle_open(argv[1], &why) : nullptr;
  if (!b || !set_open(b, (u32)atoi(argv[2]), argv[3], &set, &why)) return fprintf(stderr, "%s\n", why.text), 1;
  Request q;
  while (fread(&q, sizeof q, 1, stdin) == 1) {
    const Answer a = answer(set, q);
    fwrite(&a, sizeof a, 1, stdout);
  }
  set_close(&set);
  bundle_forget(b);
  return fclose(stdout) != 0;
}
