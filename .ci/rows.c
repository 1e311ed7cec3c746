/* Times AllReduces of rows that are finished, and plain ones, on two ranks of one process: threads, on two GPUs or on
 * one that they share. Each line has rows, the median and the least time of a launch in a graph of 20, in us, and a sum
 * over all results, which must be the same however rows are launched (MSCCLC_FEW=0 has no short launches).
 *
 *   cc -O2 -std=gnu11 -I INCLUDE .ci/rows.c -o rows -L LIB -lmscclc -lcuda -lpthread
 *   MSCCLC_NCCL=none MSCCLC_SHARED_GPU=1 ./rows FILE.bundle 0 0 [MOST ROWS [STAGES]]
 *
 * `mscclc bundle --ranks 2 --dtype bf16 --then "residual, rms_norm(eps)"` makes the bundle. STAGES are of residual,
 * rms_norm, scale and quantise (of whole rows), as the bundle's. On one GPU its rules have at most 64 CTAs. */
#include <cuda.h>
#include <mscclc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CU(call) check((call), #call)
#define MU(call) must((call), #call)

enum { LENGTH = 8192, LAUNCHES = 20, ROUNDS = 21, ROWS = 512 };

static int gpu[2];
static size_t most = ROWS;
static const char *path, *stages = "residual, rms_norm(eps)";
static mscclc_unique_id id;
static pthread_barrier_t all;
static float took[2][ROUNDS];

static void check(CUresult code, const char *what) {
  const char *text = "";
  if (!code) return;
  cuGetErrorString(code, &text);
  fprintf(stderr, "%s: %s\n", what, text), exit(1);
}

static void must(mscclc_result code, const char *what) {
  if (code) fprintf(stderr, "%s: %s\n", what, mscclc_last_error()), exit(1);
}

/* A Side is what one rank has. */
struct side {
  int rank;
  CUstream stream;
  CUevent begin, end;
  mscclc_comm comm;
  mscclc_programs programs;
  CUdeviceptr in, out, residual, weight, scales;
  uint16_t *host;
};

static void side_new(struct side *s, int rank) {
  CUcontext context;
  CUdevice device;
  mscclc_bundle bundle;
  const size_t bytes = (size_t)ROWS * LENGTH * 2;
  s->rank = rank;
  CU(cuInit(0)), CU(cuDeviceGet(&device, gpu[rank]));
  CU(cuDevicePrimaryCtxRetain(&context, device)), CU(cuCtxSetCurrent(context));
  CU(cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
  CU(cuEventCreate(&s->begin, 0)), CU(cuEventCreate(&s->end, 0));
  MU(mscclc_comm_by_id(&s->comm, &id, 2, rank, MSCCLC_GPU));
  MU(mscclc_open(path, &bundle)), MU(mscclc_load(s->comm, bundle, &s->programs));
  CU(cuMemAlloc(&s->in, bytes)), CU(cuMemAlloc(&s->out, bytes));
  CU(cuMemAlloc(&s->residual, bytes)), CU(cuMemAlloc(&s->weight, LENGTH * 2));
  CU(cuMemAlloc(&s->scales, ROWS * 4)), CU(cuMemsetD16(s->scales, 0, ROWS * 2));
  CU(cuMemsetD16(s->out, 0, bytes / 2));
  s->host = malloc(bytes);
  uint32_t z = 1234567 + 77 * (uint32_t)rank;
  for (size_t i = 0; i < bytes / 2; i++) { /* numbers of both signs from 1/8 to 1/2 */
    z = z * 1664525 + 1013904223;
    s->host[i] = (uint16_t)(0x3e00 + (z >> 20 & 0xff) + (z >> 31 << 15));
  }
  CU(cuMemcpyHtoD(s->in, s->host, bytes)), CU(cuMemsetD16(s->weight, 0x3f80, LENGTH));
}

static void call(struct side *s, size_t rows, int finishes) {
  mscclc_epilogue e = {.size = sizeof e, .stages = stages};
  int i = 0;
  for (const char *at = stages; at; at = strchr(at + 1, ','), i++) {
    const char *name = at + 2 * (*at == ',');
    const int is_residual = !strncmp(name, "residual", 8), scales = !strncmp(name, "quantise", 8);
    e.stage[i] = (mscclc_stage){1e-5, (void *)(is_residual ? s->residual : s->weight), NULL,
                                (void *)(scales ? s->scales : s->residual)};
  }
  if (finishes)
    MU(mscclc_all_reduce_rows(s->programs, (void *)s->in, (void *)s->out, rows, LENGTH, MSCCLC_BF16, &e, s->stream));
  else
    MU(mscclc_call(s->programs, MSCCLC_ALLREDUCE, (void *)s->in, (void *)s->out, rows * LENGTH, MSCCLC_BF16, MSCCLC_SUM,
                   0, s->stream));
}

static uint32_t sum(struct side *s, CUdeviceptr at, size_t n, uint32_t so_far) {
  CU(cuMemcpyDtoH(s->host, at, n * 2));
  for (size_t i = 0; i < n; i++) so_far = so_far * 31 + s->host[i];
  return so_far;
}

static int by_time(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* report prints what the rank took that began last: the other waited for it. */
static void report(struct side *s, size_t rows, int finishes) {
  float t[ROUNDS];
  for (int r = 0; r < ROUNDS; r++) t[r] = took[0][r] < took[1][r] ? took[0][r] : took[1][r];
  qsort(t, ROUNDS, sizeof *t, by_time);
  uint32_t of = sum(s, s->out, rows * LENGTH, 0);
  if (finishes) of = sum(s, s->scales, rows * 2, sum(s, s->residual, rows * LENGTH, of));
  printf("%-8s %4zu rows %8.2f us, least %8.2f  %08x\n", finishes ? "finished" : "plain", rows,
         t[ROUNDS / 2] * 1e3 / LAUNCHES, t[0] * 1e3 / LAUNCHES, of);
  fflush(stdout);
}

static void measure(struct side *s, size_t rows, int finishes) {
  CUgraph graph;
  CUgraphExec exec;
  mscclc_result state = MSCCLC_OK;
  CU(cuMemsetD16(s->residual, 0, (size_t)ROWS * LENGTH)), CU(cuCtxSynchronize());
  pthread_barrier_wait(&all);  /* else, on one GPU, this rank could wait here for a call of the other */
  call(s, rows, finishes), CU(cuStreamSynchronize(s->stream));
  CU(cuStreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int i = 0; i < LAUNCHES; i++) call(s, rows, finishes);
  CU(cuStreamEndCapture(s->stream, &graph)), CU(cuGraphInstantiate(&exec, graph, 0));
  for (int r = 0; r < ROUNDS; r++) {
    pthread_barrier_wait(&all);
    CU(cuEventRecord(s->begin, s->stream)), CU(cuGraphLaunch(exec, s->stream)), CU(cuEventRecord(s->end, s->stream));
    CU(cuStreamSynchronize(s->stream)), CU(cuEventElapsedTime(&took[s->rank][r], s->begin, s->end));
  }
  MU(mscclc_error(s->comm, &state)), must(state, "a launch");
  pthread_barrier_wait(&all);
  if (s->rank == 0) report(s, rows, finishes);
  CU(cuGraphExecDestroy(exec)), CU(cuGraphDestroy(graph));
  pthread_barrier_wait(&all);
}

static void *run(void *rank) {
  struct side s;
  side_new(&s, (int)(intptr_t)rank);
  for (int finishes = 1; finishes >= 0; finishes--)
    for (size_t rows = 1; rows <= most; rows *= 2) measure(&s, rows, finishes);
  return NULL;
}

int main(int count, char **words) {
  if (count < 4) return fprintf(stderr, "rows FILE.bundle GPU GPU [MOST ROWS [STAGES]]\n"), 2;
  path = words[1], gpu[0] = atoi(words[2]), gpu[1] = atoi(words[3]);
  if (count > 4 && (most = strtoul(words[4], NULL, 10)) > ROWS) most = ROWS;
  if (count > 5) stages = words[5];
  pthread_t other;
  MU(mscclc_new_id(&id)), pthread_barrier_init(&all, NULL, 2);
  pthread_create(&other, NULL, run, (void *)1), run((void *)0), pthread_join(other, NULL);
  return 0;
}
