// This file is how the GPUs of a team's ranks reach each other.
//
// Packets may be lines of 128 bytes only over NVLink. Who waits for a line looks at its last word, so all of a line
// must arrive at once, as it does there. Over PCIe some words may arrive before others: NCCL has LL128 for NVLink only.
//
// On machines without NVLink, PCIe switches or an IOMMU may keep GPUs apart. Then arenas are memory of the host.
#include "team.h"

#include <string.h>

namespace {

// A Bit is what a rank says of the GPUs that it sees, a bit of each, and of all others.
struct Bit {
  u32 Offer::*seen, Offer::*unseen;
  bool own;  // of its own GPU
};
const Bit whole = {&Offer::seen_whole, &Offer::unseen_whole, true};
const Bit apart = {&Offer::seen_apart, &Offer::unseen_apart, false};

// says is what one rank says of the GPU of another.
bool says(const Offer &from, const Offer &to, const Bit &what) {
  if (!memcmp(from.uuid, to.uuid, sizeof from.uuid)) return what.own;
  for (u32 i = 0; i < from.seen_count && i < SEEN_GPUS; i++)
    if (!memcmp(from.seen[i], to.uuid, sizeof to.uuid)) return from.*what.seen >> i & 1;
  return from.*what.unseen;
}

// some returns whether one rank of a node says `is` of another.
bool some(const Offer *all, u32 ranks, const u8 *node, const Bit &what, bool is) {
  for (u32 a = 0; a < ranks; a++)
    for (u32 b = 0; b < ranks; b++)
      if (node[a] == node[b] && says(all[a], all[b], what) == is) return true;
  return false;
}

}  // namespace

void links_see(const Gpu *g, Offer *mine) {
  int count = 0, device;
  mine->unseen_whole = g->host || mscclc_gpu_whole_lines(g->driver, g->number, -1);
  mine->unseen_apart = !g->host && mscclc_gpu_apart(g->driver, g->number, -1);
  if (g->host || !g->f->uuid || mscclc_gpu_count(g->driver, &count)) return;
  for (int i = 0; i < count && mine->seen_count < SEEN_GPUS; i++) {
    const u32 n = mine->seen_count;
    if (g->f->device(&device, i) || g->f->uuid(mine->seen[n], device)) continue;
    if (mscclc_gpu_whole_lines(g->driver, g->number, i)) mine->seen_whole |= 1u << n;
    if (mscclc_gpu_apart(g->driver, g->number, i)) mine->seen_apart |= 1u << n;
    mine->seen_count++;
  }
}

bool links_whole(const Offer *all, u32 ranks, const u8 *node) { return !some(all, ranks, node, whole, false); }
bool links_apart(const Offer *all, u32 ranks, const u8 *node) { return some(all, ranks, node, apart, true); }
