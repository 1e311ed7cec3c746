// A scene in which ranks learn which candidate of the bundle is faster than the mock NCCL, which is slow.
#include "faulty.h"

#include <unistd.h>

// learns calls until all ranks have a choice, but no more than some times, alone and in groups. Trials are waited for,
// so that each has its time.
void learns(Rank &r) {
  enum { TRIALS = 28, CALLS = 110 };
  if (!init(r, 0)) return;
  for (int i = 0; i < CALLS && !r.over; i++) {
    const Try t = tried(r, "ncclAllGather of a class that is learned", 0, 300, true);
    const bool group = i % 9 == 4;
    if (group && !ok(r, "ncclGroupStart", ncclGroupStart())) return;
    const bool good = ok(r, t.name, ncclAllGather((void *)t.in, (void *)t.out, t.n, FLOAT, r.comm[0], r.streams[0]));
    if (group && !ok(r, "ncclGroupEnd", ncclGroupEnd())) return;
    if (!good) return;
    if (i % 8 == 7 || i < TRIALS) finish(r, &t, 1);
    if (i == TRIALS + 1) usleep(20000);
  }
  idle(r);
  if (!r.over) destroy(r, 0);
}
