// This file runs a launch of all of a program's cards and waits for its end: what
// two-sided programs need, whose buffers are copied to and fro.
#include "driver.h"

#include <time.h>

#define TRY(call)          \
  do {                     \
    int code = (call);     \
    if (code) return code; \
  } while (0)

static u64 host_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

static int start(struct gpu_part *p) {
  struct gpu_card *c = p->card;
  struct {
    struct gpu_shot shot;
    struct abi_launch launch;
    u64 numbers;
  } s = {{p->function, p->blocks, 1, p->threads, sizeof(struct abi_launch) + sizeof(u64)}, p->launch, p->numbers};
  TRY(mscclc_gpu_put(c, c->work, p->launch.status, &p->status, sizeof p->status));
  TRY(mscclc_gpu_record(c, c->begin, c->work));
  u64 capture;
  TRY(mscclc_gpu_shoot(c, &s.shot, c->work, &capture));
  return mscclc_gpu_record(c, c->end, c->work);
}

// poll looks whether a part has ended, and how.
static int poll(struct gpu_part *p) {
  struct gpu_card *c = p->card;
  int busy;
  TRY(mscclc_gpu_busy(c, c->work, &busy));
  if (busy) return 0;
  p->ended = 1;
  TRY(mscclc_gpu_get(c, c->work, &p->status, p->launch.status, sizeof p->status));
  return mscclc_gpu_elapsed(c, c->begin, c->end, &p->ms);
}

// leave tells all parts that still run to leave. The word goes beside the stream
// on which their kernels are.
static int leave(struct gpu_part *part, u32 parts) {
  static const u32 cancelled = STATUS_CANCELLED;
  for (u32 i = 0; i < parts; i++)
    if (!part[i].ended) TRY(mscclc_gpu_put(part[i].card, part[i].card->side, part[i].launch.status, &cancelled, sizeof cancelled));
  return 0;
}

// A launch that was told to leave has so long to do so. Until then it may take
// any time: each of its waits has a limit, and work has none.
static const u64 GRACE_NS = 10000000000u;

int mscclc_gpu_launch(struct gpu_part *part, u32 parts, const u32 *cancel) {
  u64 left = 0;
  int failed = 0;
  u32 started = 0;
  for (; started < parts && !failed; started++) failed = start(part + started);
  started -= failed != 0;
  for (u32 polls = 0;; polls++) {
    u32 running = 0, stop = failed != 0 || __atomic_load_n(cancel, __ATOMIC_RELAXED);
    for (u32 i = 0; i < started; i++) {
      if (!part[i].ended) TRY(poll(part + i));
      running += !part[i].ended;
      stop |= part[i].ended && part[i].status.code != STATUS_OK;
    }
    if (!running) return failed;
    if (stop && !left) {
      TRY(leave(part, started));
      left = host_ns();
    }
    if (left && host_ns() - left > GRACE_NS) return GPU_HUNG;
    if (polls > 2000) {
      const struct timespec nap = {0, 20000};
      nanosleep(&nap, 0);
    }
  }
}
