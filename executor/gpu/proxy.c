// This file is the proxy of a port: a thread of the host that polls the lanes of a card's blocks, and copies
// what it finds there on streams of its own, one for each peer. After a copy the stream itself
// writes that it is over, to memory of the card, so that the thread waits for none.
#include "driver.h"

#include "../../kernels/abi/rows_onesided.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRY(call)                \
  do {                           \
    int failed_ = (call);        \
    if (failed_) return failed_; \
  } while (0)

// How long a thread that finds nothing looks on without sleep, and then with short ones.
static const u64 SPIN_NS = 1000000, SOON_NS = 100000000;
static const long SHORT_NS = 20000, LONG_NS = 200000;
enum { MOST_STREAMS = 16 };

struct gpu_port {
  struct gpu_card *card;
  struct abi_port_lane *lane;  // memory of the host
  u64 ends, *taken;            // copies that were taken of each lane
  void *stream[MOST_STREAMS];
  u32 lanes, streams;
  int runs, stop, failed;  // runs: the thread is there
};

static u64 host_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}
static void nap(long ns) {
  const struct timespec ts = {0, ns};
  nanosleep(&ts, 0);
}
static int is(const int *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
static void set(int *word, int value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

// take begins the copies of lane i that were pushed. A row is the kernel's again when its copy is over.
static int take(struct gpu_port *p, u32 i, int *found) {
  struct abi_port_lane *l = p->lane + i;
  const u64 pushed = __atomic_load_n(&l->pushed, __ATOMIC_ACQUIRE);
  for (; p->taken[i] < pushed && !is(&p->stop); p->taken[i]++, *found = 1) {
    const u64 n = p->taken[i], row = n % PORT_DEPTH;
    const struct abi_port_copy c = l->copy[row];
    void *stream = p->stream[c.peer % p->streams];
    const u64 done =
        p->ends + i * sizeof(struct abi_port_ends) + offsetof(struct abi_port_ends, done) + row * sizeof(u64);
    TRY(mscclc_gpu_copy(p->card, stream, c.dst, c.src, c.bytes));
    TRY(mscclc_gpu_raise(p->card, stream, (u64 *)done, n + 1));
  }
  return 0;
}

static int serve_lanes(struct gpu_port *p) {
  TRY(mscclc_gpu_relax(p->card));
  for (u64 last = host_ns(); !is(&p->stop);) {
    int found = 0;
    for (u32 i = 0; i < p->lanes; i++) TRY(take(p, i, &found));
    const u64 now = host_ns();
    if (found) last = now;
    else if (now - last > SPIN_NS) nap(now - last > SOON_NS ? LONG_NS : SHORT_NS);
  }
  return 0;
}

static void *serve(void *port) {
  struct gpu_port *p = port;
  set(&p->failed, serve_lanes(p));
  set(&p->runs, 0);  // from here on p may be gone
  return 0;
}

// warm makes a stream's first copy, of words that nobody needs: what a driver makes for it then, it might
// else make only when kernels are over that wait for the copy.
static int warm(struct gpu_port *p, void *stream) {
  const u64 pad = p->ends + offsetof(struct abi_port_ends, pad);
  TRY(mscclc_gpu_copy(p->card, stream, pad, pad + sizeof(u64), sizeof(u64)));
  return mscclc_gpu_raise(p->card, stream, (u64 *)pad, 0);
}

int mscclc_gpu_port(struct gpu_card *c, u32 lanes, u32 peers, u64 ends, struct gpu_port **port) {
  struct gpu_port *p = *port = calloc(1, sizeof *p);
  p->card = c, p->lanes = lanes, p->ends = ends;
  p->taken = calloc(lanes, sizeof *p->taken);
  while (p->streams < peers && p->streams < MOST_STREAMS) {
    TRY(mscclc_gpu_stream(c, p->stream + p->streams));
    TRY(warm(p, p->stream[p->streams++]));
  }
  return mscclc_gpu_words(c, lanes * sizeof *p->lane, (u64 **)&p->lane);
}

u64 mscclc_gpu_port_lanes(struct gpu_port *p) { return (u64)p->lane; }

int mscclc_gpu_port_failed(struct gpu_port *p) { return is(&p->failed); }

// The signals of the process are for the Go runtime's threads.
int mscclc_gpu_port_start(struct gpu_port *p) {
  memset(p->lane, 0, p->lanes * sizeof *p->lane);
  memset(p->taken, 0, p->lanes * sizeof *p->taken);
  p->stop = p->failed = 0;
  p->runs = 1;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int none = pthread_create(&thread, 0, serve, p);
  pthread_sigmask(SIG_SETMASK, &before, 0);
  if (none) {
    p->runs = 0;
    return GPU_STUCK;
  }
  return pthread_detach(thread);
}

int mscclc_gpu_port_stop(struct gpu_port *p, u64 limit_ns) {
  const u64 begin = host_ns();
  set(&p->stop, 1);
  for (; is(&p->runs); nap(SHORT_NS))
    if (host_ns() - begin > limit_ns) return GPU_STUCK;
  for (u32 i = 0; i < p->streams; i++)
    for (int busy = 1;; nap(SHORT_NS)) {
      TRY(mscclc_gpu_busy(p->card, p->stream[i], &busy));
      if (!busy) break;
      if (host_ns() - begin > limit_ns) return GPU_STUCK;
    }
  return 0;
}

int mscclc_gpu_port_end(struct gpu_port *p) {
  int first = 0;
  for (u32 i = 0; i < p->streams; i++) {
    const int code = mscclc_gpu_stream_end(p->card, p->stream[i]);
    if (!first) first = code;
  }
  if (p->lane) {
    const int code = mscclc_gpu_words_end(p->card, (u64 *)p->lane);
    if (!first) first = code;
  }
  free(p->taken);
  free(p);
  return first;
}
