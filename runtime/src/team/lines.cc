// This file says whether packets may be lines of 128 bytes. Who waits for a line looks at its last word only. So all of
// a line must arrive at once, as it does over NVLink. Over PCIe some words may arrive before others: NCCL has LL128 for
// NVLink only.
#include "team.h"

#include <string.h>

namespace {

// whole says whether the lines of one rank arrive at once at another: by what the first one sees of its GPU.
bool whole(const Offer &from, const Offer &to) {
  if (!memcmp(from.uuid, to.uuid, sizeof from.uuid)) return true;
  for (u32 i = 0; i < from.seen_count && i < SEEN_GPUS; i++)
    if (!memcmp(from.seen[i], to.uuid, sizeof to.uuid)) return from.seen_whole >> i & 1;
  return from.unseen_whole;
}

}  // namespace

void lines_see(const Gpu *g, Offer *mine) {
  int count = 0, device;
  mine->unseen_whole = g->host || mscclc_gpu_whole_lines(g->driver, g->number, -1);
  if (g->host || !g->f->uuid || mscclc_gpu_count(g->driver, &count)) return;
  for (int i = 0; i < count && mine->seen_count < SEEN_GPUS; i++) {
    const u32 n = mine->seen_count;
    if (g->f->device(&device, i) || g->f->uuid(mine->seen[n], device)) continue;
    if (mscclc_gpu_whole_lines(g->driver, g->number, i)) mine->seen_whole |= 1u << n;
    mine->seen_count++;
  }
}

bool lines_whole(const Offer *all, u32 ranks, const u8 *node) {
  for (u32 a = 0; a < ranks; a++)
    for (u32 b = 0; b < ranks; b++)
      if (node[a] == node[b] && !whole(all[a], all[b])) return false;
  return true;
}
