// Times the kernels of hand/hand.cc on the GPUs of one host, and NCCL beside them: one thread a GPU, a CUDA graph of
// many launches, the median of several replays, the slowest rank. Results are checked before and after.
//
//   bench HAND INTERPRETER RANKS LIBNCCL|- SECONDS <CASES >ROWS
//
// HAND is hand/hand.cc's PTX, INTERPRETER an image of one-sided programs for bf16. A case is a line: KERNEL BYTES
// REPLICAS THREADS TILE. KERNEL is an entry of HAND without its _RANKS, a program of programs.h, or nccl-ar, nccl-ag,
// nccl-rs, nccl-aa.
#include <pthread.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>
#include <chrono>

#include "driver.h"
#include "hand/hand.h"
#include "programs.h"

enum { TABLES = 768 << 10, CAPTURE_THREAD = 1, NCCL_BF16 = 9, REPLAYS = 7 };
static const u64 MOST = 1ull << 30, SCRATCH = 1ull << 30, PACKETS = 256ull << 20, FLAGS = 1ull << 20;

struct gpu {
  handle context, stream, module, interpreter, comm, begin, end;
  u64 in, out, scratch, packets, flags, state, wrong;
  std::map<std::string, handle> functions;
};
static std::vector<gpu> gpus;
static pthread_barrier_t meet;

struct experiment {
  std::string kernel;
  u64 bytes, tile;
  unsigned replicas, threads;
};

static unsigned kind_of(const std::string &k) {
  if (k[0] == 'i') return k.substr(0, 3) == "iag" ? ALLGATHER : ALLREDUCE;
  const std::string c = k.substr(0, 5) == "nccl-" ? k.substr(5, 2) : k.substr(0, 2);
  return c == "ag" ? ALLGATHER : c == "rs" ? REDUCESCATTER : c == "aa" ? ALLTOALL : ALLREDUCE;
}

static hand parameters(const experiment &x, unsigned rank) {
  hand a = {};
  const unsigned n = (unsigned)gpus.size();
  for (unsigned r = 0; r < n; r++) {
    a.out[r] = gpus[r].out, a.scratch[r] = gpus[r].scratch, a.packets[r] = gpus[r].packets, a.flags[r] = gpus[r].flags;
  }
  a.in = gpus[rank].in, a.state = gpus[rank].state, a.abort = gpus[rank].state + FLAGS / 2;
  a.part = x.kernel.substr(0, 3) == "ar1" ? x.bytes : x.bytes / n;
  a.slot = a.part * 2, a.tile = x.tile, a.rank = rank, a.ranks = n;
  return a;
}

static handle function_of(gpu &g, const std::string &name) {
  handle &f = g.functions[name];
  if (!f) CU(cu.function(&f, name.substr(0, 7) == "mscclc_" ? g.interpreter : g.module, name.c_str()));
  return f;
}

static void launch(gpu &g, const std::string &name, unsigned blocks, unsigned threads, unsigned shared, void **args) {
  CU(cu.launch(function_of(g, name), blocks, 1, 1, threads, 1, 1, shared, g.stream, args, nullptr));
}

// interpreted is the launch of a program by hand (programs.h) on one rank.
static abi_one_launch interpreted(const experiment &x, unsigned rank) {
  abi_one_launch a;
  program(x.kernel, rank, (unsigned)gpus.size(), x.bytes, x.replicas, x.tile, &a);
  for (unsigned r = 0; r < gpus.size(); r++)
    a.rank[r] = abi_one_memory{gpus[r].in, gpus[r].out, gpus[r].scratch, gpus[r].packets, gpus[r].flags};
  a.states = gpus[rank].state, a.status = gpus[rank].state + FLAGS / 2 + 4096;
  a.blocks = gpus[rank].state + TABLES, a.steps = a.blocks + sizeof(abi_one_block),
  a.operands = a.steps + 16 * a.step_count;
  return a;
}

static void enqueue(const experiment &x, unsigned rank) {
  gpu &g = gpus[rank];
  const unsigned n = (unsigned)gpus.size();
  if (x.kernel.substr(0, 5) == "nccl-") {
    const u64 elems = x.bytes / 2, part = elems / n;
    switch (kind_of(x.kernel)) {
      case ALLREDUCE: NC(nccl.allreduce((void *)g.in, (void *)g.out, elems, NCCL_BF16, 0, g.comm, g.stream)); break;
      case ALLGATHER: NC(nccl.allgather((void *)g.in, (void *)g.out, part, NCCL_BF16, g.comm, g.stream)); break;
      case REDUCESCATTER:
        NC(nccl.reducescatter((void *)g.in, (void *)g.out, part, NCCL_BF16, 0, g.comm, g.stream));
        break;
      default:
        NC(nccl.begin());
        for (unsigned r = 0; r < n; r++) {
          NC(nccl.send((u8 *)g.in + r * part * 2, part, NCCL_BF16, (int)r, g.comm, g.stream));
          NC(nccl.recv((u8 *)g.out + r * part * 2, part, NCCL_BF16, (int)r, g.comm, g.stream));
        }
        NC(nccl.end());
    }
    return;
  }
  if (x.kernel[0] == 'i' || x.kernel == "empty_large") {
    abi_one_launch a = interpreted(x, rank);
    void *args[] = {&a};
    launch(g, x.kernel[0] == 'i' ? "mscclc_onesided_sum" : "empty_large", x.replicas, x.threads, 0, args);
    return;
  }
  hand a = parameters(x, rank);
  void *args[] = {&a};
  const bool empty = x.kernel == "empty", bulk = x.kernel == "agb" || x.kernel == "aab";
  launch(g, empty ? x.kernel : x.kernel + "_" + std::to_string(n), x.replicas, x.threads,
         bulk ? 6 * (unsigned)x.tile : 0, args);
}

// fits says whether all blocks of a launch are on the GPU together: they wait for one another.
static bool fits(const experiment &x) {
  if (x.kernel.substr(0, 5) == "nccl-" || x.kernel.substr(0, 5) == "empty") return true;
  int blocks = 0, sms = 0;
  const std::string entry = x.kernel[0] == 'i' ? "mscclc_onesided_sum" : x.kernel + "_" + std::to_string(gpus.size());
  CU(cu.occupancy(&blocks, function_of(gpus[0], entry), (int)x.threads, x.kernel[2] == 'b' ? 6 * x.tile : 0));
  CU(cu.attribute(&sms, 16, 0));
  return x.replicas <= (unsigned)(blocks * sms);
}

static void sync(unsigned rank) { CU(cu.sync(gpus[rank].stream)); }

// wrong counts what is wrong in a rank's output; NCCL's sums are of another order, and not looked at.
static unsigned wrong(const experiment &x, unsigned rank) {
  gpu &g = gpus[rank];
  const unsigned n = (unsigned)gpus.size(), kind = kind_of(x.kernel);
  if (x.kernel.substr(0, 5) == "empty" ||
      (x.kernel.substr(0, 5) == "nccl-" && (kind == ALLREDUCE || kind == REDUCESCATTER)))
    return 0;
  hand a = parameters(x, rank);
  a.part = x.bytes / n;
  u64 elems = (kind == REDUCESCATTER ? x.bytes / n : x.bytes) / 2;
  u32 what = kind, count = 0;
  void *args[] = {&a, &elems, &what, &g.wrong};
  CU(cu.set8(g.wrong, 0, 4, g.stream));
  launch(g, "check", 264, 512, 0, args);
  CU(cu.get(&count, g.wrong, 4, g.stream));
  u32 aborted = 0;
  CU(cu.get(&aborted, a.abort, 4, g.stream));
  abi_status status;
  CU(cu.get(&status, g.state + FLAGS / 2 + 4096, sizeof status, g.stream));
  sync(rank);
  if (status.code)
    fprintf(stderr, "%s: rank %u: code %u, replica %u, step %u, operand %u, what %u: want %llu, have %llu, tile %llu\n",
            x.kernel.c_str(), rank, status.code, status.replica, status.step, status.operand, status.what, status.want,
            status.have, status.tile);
  aborted |= status.code;
  return count | (aborted ? 1u << 31 : 0);
}

static void zero(unsigned rank) {
  gpu &g = gpus[rank];
  CU(cu.set8(g.flags, 0, FLAGS, g.stream));
  CU(cu.set8(g.state, 0, FLAGS, g.stream));
  CU(cu.set8(g.packets, 0, PACKETS, g.stream));
  static const u64 limit = 500000000;
  CU(cu.put(g.state + FLAGS / 2 + 4096 + __builtin_offsetof(abi_status, limit_ns), &limit, 8, g.stream));
  sync(rank);
}

struct result {
  float us;
  unsigned wrong;
};
static std::vector<result> results;

static void measure(const experiment &x, unsigned rank) {
  gpu &g = gpus[rank];
  zero(rank);
  if (x.kernel[0] == 'i') {
    const abi_one_launch a = interpreted(x, rank);
    CU(cu.put(a.blocks, a.code, sizeof a.code, g.stream));
    sync(rank);
  }
  pthread_barrier_wait(&meet);
  CU(cu.set8(g.out, 0x5a, x.bytes, g.stream));
  sync(rank);
  pthread_barrier_wait(&meet);
  for (int i = 0; i < 3; i++) enqueue(x, rank);
  sync(rank);
  pthread_barrier_wait(&meet);
  results[rank].wrong = wrong(x, rank);
  const int each = x.bytes <= 1 << 20 ? 50 : x.bytes <= 16 << 20 ? 20 : 5;
  handle graph, exec;
  CU(cu.capture(g.stream, CAPTURE_THREAD));
  for (int i = 0; i < each; i++) enqueue(x, rank);
  CU(cu.captured(g.stream, &graph));
  CU(cu.instantiate(&exec, graph, 0));
  CU(cu.upload(exec, g.stream));
  sync(rank);
  CU(cu.set8(g.out, 0x5a, x.bytes, g.stream));
  sync(rank);
  std::vector<float> us;
  for (int i = 0; i <= REPLAYS; i++) {
    pthread_barrier_wait(&meet);
    CU(cu.record(g.begin, g.stream));
    CU(cu.replay(exec, g.stream));
    CU(cu.record(g.end, g.stream));
    sync(rank);
    float ms;
    CU(cu.elapsed(&ms, g.begin, g.end));
    if (i) us.push_back(ms * 1000 / each);
  }
  std::sort(us.begin(), us.end());
  results[rank].us = us[REPLAYS / 2];
  pthread_barrier_wait(&meet);
  results[rank].wrong |= wrong(x, rank);
  CU(cu.free_exec(exec));
  CU(cu.free_graph(graph));
  pthread_barrier_wait(&meet);
}

static std::vector<u8> image, interpreter;
static void start(unsigned rank) {
  gpu &g = gpus[rank];
  int device;
  CU(cu.device(&device, (int)rank));
  CU(cu.retain(&g.context, device));
  CU(cu.current(g.context));
  pthread_barrier_wait(&meet);
  for (unsigned r = 0; r < gpus.size(); r++)
    if (r != rank) CU(cu.peer(gpus[r].context, 0));
  CU(cu.stream(&g.stream, 1));
  CU(cu.event(&g.begin, 0));
  CU(cu.event(&g.end, 0));
  CU(cu.alloc(&g.in, MOST));
  CU(cu.alloc(&g.out, MOST));
  CU(cu.alloc(&g.scratch, SCRATCH));
  CU(cu.alloc(&g.packets, PACKETS));
  CU(cu.alloc(&g.flags, FLAGS));
  CU(cu.alloc(&g.state, FLAGS));
  CU(cu.alloc(&g.wrong, 64));
  CU(cu.load(&g.module, image.data()));
  CU(cu.load(&g.interpreter, interpreter.data()));
  const std::string n = "_" + std::to_string(gpus.size());
  for (const char *name : {"agb", "aab"}) CU(cu.function_set(function_of(g, name + n), 8, 200 << 10));
  pthread_barrier_wait(&meet);
  hand a = parameters(experiment{"", MOST, 0, 0, 0}, rank);
  u64 elems = MOST / 2;
  void *args[] = {&a, &elems};
  launch(g, "fill", 264, 512, 0, args);
  sync(rank);
  pthread_barrier_wait(&meet);
}

static std::vector<u8> contents(const char *name) {
  std::vector<u8> all;
  FILE *f = fopen(name, "rb");
  for (int c; f && (c = fgetc(f)) != EOF;) all.push_back((u8)c);
  all.push_back(0);
  return all;
}

int main(int argc, char **argv) {
  if (argc != 6 || !open_cuda()) return 1;
  image = contents(argv[1]), interpreter = contents(argv[2]);
  const unsigned n = (unsigned)atoi(argv[3]);
  const double limit = atof(argv[5]);
  gpus.resize(n), results.resize(n);
  pthread_barrier_init(&meet, nullptr, n);
  std::vector<experiment> todo;
  char kernel[64];
  experiment x;
  while (scanf("%63s %llu %u %u %llu", kernel, &x.bytes, &x.replicas, &x.threads, &x.tile) == 5)
    x.kernel = kernel, todo.push_back(x);
  const bool with = strcmp(argv[4], "-") && open_nccl(argv[4]);
  const auto began = std::chrono::steady_clock::now();
  auto seconds = [=] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
  static bool stop = false, all_there;
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < n; rank++)
    threads.emplace_back([&, rank] {
      start(rank);
      if (rank == 0 && with) {
        std::vector<handle> comms(n);
        NC(nccl.init_all(comms.data(), (int)n, nullptr));
        for (unsigned r = 0; r < n; r++) gpus[r].comm = comms[r];
        CU(cu.current(gpus[0].context));
      }
      if (rank == 0) fprintf(stderr, "ready after %.1f s\n", seconds());
      pthread_barrier_wait(&meet);
      for (const experiment &x : todo) {
        if (x.kernel.substr(0, 5) == "nccl-" && !with) continue;
        if (rank == 0) all_there = fits(x);
        pthread_barrier_wait(&meet);
        if (!all_there) {
          if (rank == 0)
            printf("%s %llu %u %u %llu does not fit\n", x.kernel.c_str(), x.bytes, x.replicas, x.threads, x.tile);
          pthread_barrier_wait(&meet);
          continue;
        }
        measure(x, rank);
        if (rank == 0) {
          float us = 0;
          unsigned bad = 0;
          for (const result &r : results) us = std::max(us, r.us), bad |= r.wrong;
          const double bus = kind_of(x.kernel) == ALLREDUCE ? 2.0 * (n - 1) / n : 1.0 * (n - 1) / n;
          printf("%s %llu %u %u %llu %.2f us %.1f busbw%s\n", x.kernel.c_str(), x.bytes, x.replicas, x.threads, x.tile,
                 us, x.bytes / us / 1e3 * bus,
                 bad >> 31 ? " LOST"
                 : bad     ? " WRONG"
                           : "");
          fflush(stdout);
          stop = seconds() > limit || bad >> 31;
        }
        pthread_barrier_wait(&meet);
        if (stop) break;
      }
    });
  for (auto &t : threads) t.join();
  for (auto &f : gpus[0].functions) {
    int registers, local;
    CU(cu.function_get(&registers, 4, f.second));
    CU(cu.function_get(&local, 3, f.second));
    fprintf(stderr, "%s: %d registers, %d bytes of local memory\n", f.first.c_str(), registers, local);
  }
  fprintf(stderr, "ended after %.1f s\n", seconds());
  fflush(stdout);
  _Exit(stop);
}
