// What a call of NCCL's interface costs the host: ./host_cost GPUS
//
// One thread calls AllReduce and Send with Recv on all GPUs in bursts that the queues hold. It prints the time of a
// call in the fastest burst. Nothing in it knows of mscclc: run it alone, and by `mscclc with`. Build it by
//
//     g++ -O2 -I/usr/local/cuda/include host_cost.cc -o host_cost -lnccl -L/usr/local/cuda/lib64 -lcudart
#include <cuda_runtime.h>
#include <nccl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(int code, const char *what) {
  if (!code) return;
  fprintf(stderr, "%s gives error %d: %s\n", what, code, ncclGetLastError(nullptr));
  exit(1);
}

struct Rank {
  ncclComm_t comm;
  cudaStream_t stream;
  float *send, *recv;
};

// best_of returns the microseconds that one call of one rank takes the host, in the fastest of 200 bursts.
template <typename F>
static double best_of(std::vector<Rank> &ranks, int calls, F call) {
  double best = 1e9;
  for (int burst = 0; burst < 200; burst++) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; i++) call();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (took.count() < best) best = took.count();
    for (size_t r = 0; r < ranks.size(); r++) {
      check(cudaSetDevice((int)r), "cudaSetDevice");
      check(cudaStreamSynchronize(ranks[r].stream), "cudaStreamSynchronize");
    }
  }
  return best / calls / (double)ranks.size();
}

int main(int argc, char **argv) {
  const int gpus = argc > 1 ? atoi(argv[1]) : 2;
  const size_t most = 1 << 16;
  std::vector<Rank> ranks((size_t)gpus);
  std::vector<ncclComm_t> comms((size_t)gpus);
  check(ncclCommInitAll(comms.data(), gpus, nullptr), "ncclCommInitAll");
  for (int r = 0; r < gpus; r++) {
    Rank &k = ranks[(size_t)r];
    check(cudaSetDevice(r), "cudaSetDevice");
    k.comm = comms[(size_t)r];
    check(cudaStreamCreateWithFlags(&k.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaMalloc((void **)&k.send, most), "cudaMalloc");
    check(cudaMalloc((void **)&k.recv, most), "cudaMalloc");
    check(cudaMemset(k.send, 1, most), "cudaMemset");
  }
  auto reduce = [&](ncclDataType_t type, size_t count) {
    check(ncclGroupStart(), "ncclGroupStart");
    for (Rank &k : ranks) check(ncclAllReduce(k.send, k.recv, count, type, ncclSum, k.comm, k.stream), "ncclAllReduce");
    check(ncclGroupEnd(), "ncclGroupEnd");
  };
  auto exchange = [&] {
    check(ncclGroupStart(), "ncclGroupStart");
    for (int r = 0; r < gpus; r++) {
      Rank &k = ranks[(size_t)r];
      check(ncclSend(k.send, 256, ncclFloat, (r + 1) % gpus, k.comm, k.stream), "ncclSend");
      check(ncclRecv(k.recv, 256, ncclFloat, (r + gpus - 1) % gpus, k.comm, k.stream), "ncclRecv");
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
  };
  for (int warm = 0; warm < 20; warm++) reduce(ncclBfloat16, 512), reduce(ncclUint64, 512), exchange();
  printf("host us a call: AllReduce of 512 bf16 %.2f,", best_of(ranks, 25, [&] { reduce(ncclBfloat16, 512); }));
  printf(" AllReduce of 512 u64 (no rule) %.2f,", best_of(ranks, 25, [&] { reduce(ncclUint64, 512); }));
  printf(" Send and Recv %.2f\n", best_of(ranks, 25, exchange));
  for (Rank &k : ranks) check(ncclCommDestroy(k.comm), "ncclCommDestroy");
}
