// Times eager calls in a loop, with a thread for each rank, by collective and size: loop FILE.bundle RANKS CALLS SKEW
//
// Each size is timed twice: with ranks that begin together, and with ranks that begin SKEW us after rank 0. A rank that
// was late once must not keep later calls slow. Ranks go round the GPUs.
#include <cuda_runtime.h>
#include <mscclc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RANKS = 16, LEAST = 1 << 10, MOST = 4 << 20, BYTES = 2 };

static int ranks, calls, skew, gpus;
static const char *bundle_file;
static mscclc_unique_id id;
static pthread_barrier_t all;

static void must(mscclc_result result, const char *what) {
  if (result == MSCCLC_OK) return;
  fprintf(stderr, "%s: %s\n", what, mscclc_last_error());
  exit(1);
}

static void cuda(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  exit(1);
}

static double now_us(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1e6 + at.tv_nsec / 1e3;
}

struct rank {
  int number;
  mscclc_programs programs;
  cudaStream_t stream;
  void *send, *recv;
};

static void call(const struct rank *r, mscclc_collective what, size_t bytes, int times) {
  const size_t count = bytes / BYTES / (what == MSCCLC_ALLGATHER ? ranks : 1);
  for (int i = 0; i < times; i++)
    must(mscclc_call(r->programs, what, r->send, r->recv, count, MSCCLC_BF16, MSCCLC_SUM, 0, r->stream), "a call");
  cuda(cudaStreamSynchronize(r->stream), "the end of calls");
}

static void measure(const struct rank *r, mscclc_collective what, const char *name, size_t bytes) {
  double us[2];
  for (int late = 0; late < 2; late++) {
    call(r, what, bytes, 10);
    pthread_barrier_wait(&all);
    const double begin = now_us();
    if (late && r->number) usleep((unsigned)skew);
    call(r, what, bytes, calls);
    us[late] = (now_us() - begin - (late ? skew : 0)) / calls;
    pthread_barrier_wait(&all);
  }
  if (!r->number) printf("%-10s %8zu: %7.2f us a call, %7.2f after a late rank\n", name, bytes, us[0], us[1]);
}

static void *work(void *number) {
  struct rank r = {.number = (int)(long)number};
  mscclc_bundle bundle;
  mscclc_comm comm;
  cuda(cudaSetDevice(r.number % gpus), "a GPU");
  must(mscclc_open(bundle_file, &bundle), "mscclc_open");
  must(mscclc_comm_by_id(&comm, &id, ranks, r.number, MSCCLC_GPU), "mscclc_comm_by_id");
  must(mscclc_load(comm, bundle, &r.programs), "mscclc_load");
  cuda(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking), "a stream");
  cuda(cudaMalloc(&r.send, MOST), "memory");
  cuda(cudaMalloc(&r.recv, MOST), "memory");
  for (size_t bytes = LEAST; bytes <= MOST; bytes *= 4) {
    measure(&r, MSCCLC_ALLREDUCE, "all_reduce", bytes);
    measure(&r, MSCCLC_ALLGATHER, "all_gather", bytes);
  }
  must(mscclc_destroy(comm), "mscclc_destroy");
  must(mscclc_close(bundle), "mscclc_close");
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t thread[MOST_RANKS];
  if (argc == 5) bundle_file = argv[1], ranks = atoi(argv[2]), calls = atoi(argv[3]), skew = atoi(argv[4]);
  if (ranks < 2 || ranks > MOST_RANKS || calls < 1 || skew < 0)
    return fprintf(stderr, "usage: loop FILE.bundle RANKS CALLS SKEW\n"), 2;
  cuda(cudaGetDeviceCount(&gpus), "GPUs");
  must(mscclc_new_id(&id), "mscclc_new_id");
  pthread_barrier_init(&all, NULL, (unsigned)ranks);
  for (long r = 0; r < ranks; r++) pthread_create(&thread[r], NULL, work, (void *)r);
  for (int r = 0; r < ranks; r++) pthread_join(thread[r], NULL);
  return 0;
}
