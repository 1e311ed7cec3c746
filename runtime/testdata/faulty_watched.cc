// Scenes whose memory is made later, and in which the library writes metrics and the last calls.
#include "faulty.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string>
#include <unistd.h>

namespace {

// captured has NCCL do a captured call: the bundle has no programs for integers.
bool captured(Rank &r, Comm c) {
  void *noted = nullptr;
  if (cu.capture(r.streams[0], 2)) return ok(r, "a capture", CUDA_ERROR);
  const bool good = ok(r, "a captured ncclAllReduce of integers",
                       ncclAllReduce((void *)r.in, (void *)r.out, 100, INT, SUM, c, r.streams[0]));
  const int code = cu.capture_end(r.streams[0], &noted);
  if (!code) cu.noted_end(noted);
  return good && (!code || ok(r, "the end of a capture", CUDA_ERROR));
}

bool ours(const Try &t) { return *(const unsigned *)t.out != 0x5b5b5b5b; }  // the mock NCCL leaves outputs as they are

}  // namespace

// later calls until a program runs a call, which is the same call on all ranks, but no more than some times.
void later(Rank &r) {
  enum { MOST = 400 };
  if (!init(r, 0)) return;
  for (int i = 0; i < MOST && !r.over; i++) {
    const Try t = tried(r, "ncclAllReduce before and after the memory", 0, 300, false);
    if (!reduce(r, t, r.comm[0], 0)) return;
    finish(r, &t, 1);
    if (ours(t)) break;
    usleep(i < 100 ? 100 : 2000);
  }
  if (!r.over && captured(r, r.comm[0])) destroy(r, 0);
}

// watched has as many calls as it takes until one has its time taken, and has the last calls written while one is open.
void watched(Rank &r) {
  enum { CALLS = 66 };
  const std::string dump = std::string(getenv("MSCCLC_METRICS")) + "/dump";
  if (!init(r, 0)) return;
  for (int i = 0; i < CALLS && !r.over; i++) {
    const Try t = tried(r, "ncclAllReduce with metrics", 0, 20, false);
    if (!reduce(r, t, r.comm[0], 0)) return;
    if (i % 16 == 0) finish(r, &t, 1);
  }
  idle(r);
  if (r.over) return;
  const Try t = tried(r, "ncclAllReduce that is open while it is written", 0, 500, false);
  if (r.rank == 0 && !reduce(r, t, r.comm[0], 0)) return;
  meet(r);
  close(open(dump.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  usleep(50000);
  meet(r);
  if (r.over || (r.rank && !reduce(r, t, r.comm[0], 0))) return;
  finish(r, &t, 1);
  if (!r.over) destroy(r, 0);
}
