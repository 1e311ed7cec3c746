// What the parts of the test client share.
#pragma once
#include "../../src/front/abi.h"

#include <map>
#include <string>
#include <vector>

typedef unsigned char u8;
typedef unsigned long long u64;

#define NCCL(result, name, params) extern "C" result nccl##name params;
NCCL_CALLED(NCCL)

struct Driver {
  int gpus;  // how many there are
  int (*init)(unsigned), (*count)(int *), (*retain)(void **, int), (*use)(void *);
  int (*stream)(void **, unsigned), (*sync)(void *);
  int (*alloc)(u64 *, size_t), (*release)(u64), (*put)(u64, const void *, size_t, void *), (*get)(void *, u64, size_t,
      void *), (*room)(size_t *, size_t *);
  int (*capture)(void *, int), (*capture_end)(void *, void **), (*instantiate)(void **, void *, u64), (*replay)(void *,
      void *);
};
extern Driver cu;

// A Rank is what one thread has: its communicators and streams by number.
struct Pending;
struct Memory {
  u64 block, at;  // at: where the part begins that calls use
  size_t bytes, part;
  int parts;
};
struct Rank {
  int rank, ranks;
  Comm comms[128];
  void *streams[4], *sides[16], *graph;
  int graphs;  // made  // a side stream for each GPU
  bool spread;  // it has several ranks, and stream i is of the GPU of rank i
  int expect;   // the result that the next call must have, or -1
  std::vector<Pending *> pending;
  std::map<std::string, UniqueId> ids;
  Memory memories[8];
  u64 pool, taken;  // memory for buffers that is made first (CLIENT_POOL), and how much of it calls have
  void *windows[8];
  int files;
};

[[noreturn]] void fail(const Rank &r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void expect(Rank &r, const char *what, Result got);

// take gives a buffer, and give ends all of them. Who frees memory may wait for all that runs on the GPU: where ranks
// share one, for calls that wait for this rank.
u64 take(Rank &r, size_t bytes);
void give(Rank &r, u64 buffer);

void measure(Rank &r, int count, int bursts);  // what a call costs the host
void alone_on_green(Rank &r);      // makes a green context the thread's

void *side(Rank &r, int device);  // makes the GPU current, too
inline int gpu_of(int rank) { return rank % cu.gpus; }

void open_maps();  // finds functions of the driver, before there are threads
bool windows(Rank &r, const std::vector<std::string> &words);  // false: it is no such command

// collective makes buffers and calls. verify compares what has come with what must come.
void collective(Rank &r, const std::vector<std::string> &words);
void verify(Rank &r);
