// This file joins teams: reaches arenas, and loads kernels.
#include "team.h"

#include <string.h>
#include <unistd.h>

namespace {

enum { PEER_ALREADY = 704, LAZY_PEER_ACCESS = 1 };

// reach_near reaches the arena of a rank of this process: by peer access, unless it is memory of the host.
bool reach_near(Team *t, const Offer &o, u32 rank, Why *why) {
  const gpu_symbols *f = t->gpu->f;
  const Gpu *to = gpu_numbered(o.ordinal);
  t->reach[rank] = o.address;
  if (t->hosted) return true;
  if (!to) return say(why, "rank %u names GPU %u, which nobody uses here", rank, o.ordinal), false;
  if (to == t->gpu) return true;
  int can = 0, code = f->can_peer(&can, t->gpu->number, to->number);
  if (!code && !can) return say(why, "GPU %d cannot reach GPU %d", t->gpu->number, to->number), false;
  if (!code) code = f->peer(to->context, 0);
  if (code == 0 || code == PEER_ALREADY) return true;
  say(why, "access to GPU %d: %s", to->number, driver_text(code));
  return false;
}

// reach_far reaches the arena of a rank of another process: by its handle, or its file.
bool reach_far(Team *t, const Offer &o, u32 rank, Why *why) {
  if (t->hosted) {
    if (!pinned_reach(t->gpu, o.pid, o.hosted, t->host_reached + rank, why)) return false;
    return t->reach[rank] = t->host_reached[rank].at, true;
  }
  gpu_handle handle;
  memcpy(&handle, o.handle, sizeof handle);
  const int code = t->gpu->f->reach(t->reach + rank, handle, LAZY_PEER_ACCESS);
  t->opened[rank] = code == 0;
  if (code) say(why, "the memory of rank %u: %s", rank, driver_text(code));
  return code == 0;
}

bool reach_all(Team *t, const Offer *all, Why *why) {
  const u64 own = (u64)getpid();
  t->pieces = t->hosted || !links_whole(all, t->ranks, t->node);
  for (u32 r = 0; r < t->ranks; r++) {
    if (all[r].ctas < t->ctas) t->ctas = all[r].ctas;
    if (all[r].oversubscribed) t->late = true;
    t->shares += memcmp(all[r].uuid, t->gpu->uuid, sizeof t->gpu->uuid) == 0;
    if (t->node[r] != t->node[t->rank]) continue;
    if (r == t->rank) t->reach[r] = t->arena;
    else if (!(all[r].pid == own ? reach_near(t, all[r], r, why) : reach_far(t, all[r], r, why))) return false;
  }
  return true;
}

// load_type loads the images that rules need for a type: of what is reduced, or only moved. Without an image, calls of
// that type are NCCL's.
bool load_type(Team *t, u32 dtype, Why *why) {
  bool folds = false, copies = false, finishes = false;
  for (u32 i = 0; i < t->set.row->rules; i++) {
    const bundle_rule &r = t->set.rules[i];
    if (t->of_rule[i] == BUNDLE_NONE || (r.dtype != dtype && r.dtype != BUNDLE_ANY)) continue;
    const bundle_program &p = *t->set.program[t->of_rule[i]].row;
    (p.stages ? finishes : p.copies ? copies : folds) = true;
  }
  u32 finisher = BUNDLE_NONE;
  if (finishes && !set_finisher(t->bundle, &t->set, dtype, &finisher, why)) return false;
  if (finisher != BUNDLE_NONE && !(t->finisher[dtype] = module_of(t->gpu, t->bundle, finisher, why))) return false;
  const u32 image = t->set.row->image[dtype], copier = t->set.row->copier[dtype];
  if (folds && !set_image(t->bundle, &t->set, dtype, false, why)) return false;
  if (copies && !set_image(t->bundle, &t->set, dtype, true, why)) return false;
  if (folds && image != BUNDLE_NONE && !(t->image[dtype] = module_of(t->gpu, t->bundle, image, why))) return false;
  if (copies && copier != BUNDLE_NONE && !(t->copier[dtype] = module_of(t->gpu, t->bundle, copier, why))) return false;
  return true;
}

// room_for says whether all blocks of a rule have room on the GPU at once: they wait for each other. Ranks that share a
// GPU have equal parts of it.
bool room_for(Team *t, const Module *m, u32 rule, Why *why) {
  const bundle_rule &r = t->set.rules[rule];
  const u32 threads = r.threads, blocks = t->ctas_of[rule];
  u32 room = 0;
  const int code = room_of(t->gpu, m, threads, &room);
  if (code) return say(why, "room on the GPU: %s", driver_text(code)), false;
  room /= t->shares;
  if (blocks <= room) return true;
  say(why, "rule %u has %u blocks of %u threads, and the GPU has room for %u of each of its %u ranks", rule, blocks,
      threads, room, t->shares);
  return false;
}

bool room_for_all(Team *t, Why *why) {
  for (u32 i = 0; i < t->set.row->rules; i++) {
    if (t->of_rule[i] == BUNDLE_NONE) continue;
    const bundle_program &p = *t->set.program[t->of_rule[i]].row;
    Module *const *list = p.stages ? t->finisher : p.copies ? t->copier : t->image;
    const Module *last = nullptr;
    for (u32 d = 0; d < DT_COUNT; d++) {
      if (!list[d] || list[d] == last) continue;
      last = list[d];
      if (!room_for(t, last, i, why)) return false;
    }
  }
  return true;
}

}  // namespace

bool team_join(Team *t, const Offer *all, Why *why) {
  if (!alive()) return say(why, "%s", driver_text(ENGINE_FORKED)), false;
  Current current(t->gpu);
  if (current.code) return say(why, "the GPU: %s", driver_text(current.code)), false;
  Relaxed relaxed(t->gpu);
  if (!reach_all(t, all, why) || !own_make(t, why) || (t->net && !net_join(t, all, why))) return false;
  for (u32 d = 0; d < DT_COUNT; d++)
    if (!load_type(t, d, why)) return false;
  return room_for_all(t, why);
}
