/* This program runs programs of a bundle in four processes on the CPU, and compares every element of every result:
 *
 *     mscclc bundle --device CPU --ranks 4 --dtype f32 --candidates -o my.bundle --program both_ways=both_ways.mscl \
 *         --program halo=halo/direct --program a2av=unequal_alltoall.mscl
 *     gcc -I FOLDER/include collectives.c -L FOLDER -lmscclc -Wl,-rpath,FOLDER -o collectives
 *     ./collectives my.bundle
 */
#include <mscclc.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, COUNT = 1000 };

static int rank;

/* must ends the process if a call has failed. */
static void must(mscclc_result result, const char *what) {
  if (result == MSCCLC_OK) return;
  fprintf(stderr, "rank %d: %s: %s (%s)\n", rank, what, mscclc_last_error(), mscclc_result_text(result));
  exit(1);
}

/* number is element i of the input of a rank. */
static float number(int of, size_t i) { return (float)(of * 10000 + (int)(i % 5000)); }

/* A Run is a program with buffers of this rank. Outputs begin poisoned. */
struct run {
  mscclc_program_info info;
  float *buffer[2];
  size_t elements[2];
};

static struct run run(mscclc_programs programs, const char *name) {
  struct run r = {.info = {.size = sizeof(mscclc_program_info)}};
  mscclc_program program;
  must(mscclc_find(programs, name, &program), name);
  must(mscclc_program_describe(program, &r.info), name);
  for (int b = 0; b < 2; b++) {
    r.elements[b] = (size_t)r.info.buffer[b].units[rank] * COUNT;
    r.buffer[b] = malloc(r.elements[b] * sizeof(float) + 1);
    for (size_t i = 0; i < r.elements[b]; i++) r.buffer[b][i] = b ? -1 : number(rank, i);
  }
  void *buffers[2] = {r.buffer[0], r.buffer[1]};
  must(mscclc_run(program, buffers, COUNT, MSCCLC_F32, MSCCLC_SUM, NULL), name);
  return r;
}

/* unit compares a unit of the output with a unit of the input of a rank, or with the poison if that is -1. */
static int unit(const struct run *r, int at, int of, int from) {
  int wrong = 0;
  for (size_t i = 0; i < COUNT; i++) {
    const float want = of < 0 ? -1 : number(of, (size_t)from * COUNT + i);
    wrong += r->buffer[1][(size_t)at * COUNT + i] != want;
  }
  return wrong;
}

static int done(struct run *r, int wrong) {
  if (rank == 0 || wrong) printf("rank %d: %s: %zu elements, %d wrong\n", rank, r->info.name, r->elements[1], wrong);
  free(r->buffer[0]);
  free(r->buffer[1]);
  return wrong;
}

/* An AllGather: unit q of the output is what rank q has. */
static int both_ways(mscclc_programs programs) {
  struct run r = run(programs, "both_ways");
  int wrong = 0;
  for (int q = 0; q < RANKS; q++) wrong += unit(&r, q, q, 0);
  return done(&r, wrong);
}

/* A halo exchange of ranks in a row: unit 0 comes from the rank before, and unit 1 from the rank after. */
static int halo(mscclc_programs programs) {
  struct run r = run(programs, "halo");
  const int wrong = unit(&r, 0, rank - 1, 1) + unit(&r, 1, rank + 1 < RANKS ? rank + 1 : -1, 0);
  return done(&r, wrong);
}

/* sent is how many units rank r sends to rank q in unequal_alltoall.mscl. */
static int sent(int r, int q) { return (r + 2 * q) % 4; }

/* An AllToAllV: what rank q sends here lies after what the ranks before q send. */
static int a2av(mscclc_programs programs) {
  struct run r = run(programs, "a2av");
  int wrong = 0, at = 0;
  for (int q = 0; q < RANKS; q++) {
    int from = 0;
    for (int k = 0; k < rank; k++) from += sent(q, k);
    for (int k = 0; k < sent(q, rank); k++) wrong += unit(&r, at++, q, from + k);
  }
  while (at < (int)r.info.buffer[1].units[rank]) wrong += unit(&r, at++, -1, 0);
  return done(&r, wrong);
}

/* An AllReduce in place, by the bundle's rules. */
static int allreduce(mscclc_programs programs) {
  static float data[COUNT];
  int wrong = 0;
  for (size_t i = 0; i < COUNT; i++) data[i] = number(rank, i);
  must(mscclc_call(programs, MSCCLC_ALLREDUCE, data, data, COUNT, MSCCLC_F32, MSCCLC_SUM, 0, NULL), "allreduce");
  for (size_t i = 0; i < COUNT; i++) {
    float want = 0;
    for (int q = 0; q < RANKS; q++) want += number(q, i);
    wrong += data[i] != want;
  }
  if (rank == 0 || wrong) printf("rank %d: allreduce: %d elements, %d wrong\n", rank, COUNT, wrong);
  return wrong;
}

/* work is what a rank does. ids is a pipe by which rank 0 gives all others the unique id. */
static int work(const char *path, const int ids[2]) {
  mscclc_unique_id id;
  mscclc_bundle bundle;
  mscclc_comm comm;
  mscclc_programs programs;
  if (rank == 0) {
    must(mscclc_new_id(&id), "mscclc_new_id");
    for (int r = 1; r < RANKS; r++)
      if (write(ids[1], &id, sizeof id) != sizeof id) return 1;
  } else if (read(ids[0], &id, sizeof id) != sizeof id) {
    return 1;
  }
  must(mscclc_open(path, &bundle), "mscclc_open");
  must(mscclc_comm_by_id(&comm, &id, RANKS, rank, MSCCLC_CPU), "mscclc_comm_by_id");
  must(mscclc_load(comm, bundle, &programs), "mscclc_load");
  must(mscclc_close(bundle), "mscclc_close");
  const int wrong = both_ways(programs) + halo(programs) + a2av(programs) + allreduce(programs);
  must(mscclc_destroy(comm), "mscclc_destroy");
  return wrong != 0;
}

int main(int argc, char **argv) {
  int ids[2], failed = 0;
  if (argc != 2 || pipe(ids)) return fprintf(stderr, "usage: collectives FILE.bundle\n"), 2;
  /* Processes are forked before the library is used: it does not work in forks that come later. */
  for (rank = 0; rank < RANKS; rank++)
    if (fork() == 0) return work(argv[1], ids);
  for (int r = 0; r < RANKS; r++) {
    int status;
    failed |= wait(&status) < 0 || status != 0;
  }
  if (!failed) printf("all is right\n");
  return failed;
}
