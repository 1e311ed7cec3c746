// On communicators for which NCCL may connect ranks in threads of its own, the first eager call of each kind is NCCL's
// if a captured one would be. The captured one then finds them connected, as with NCCL alone. Where NCCL connects in
// the calling thread, Unbound is enough: what the driver permits depends on the mode of the thread that asks.
#include "../front/front.h"

namespace {

// CONNECTS_INSIDE is the first release that connects a communicator in the calling thread, if it is the only one.
enum { CONNECTS_INSIDE = 22800 };
const u64 FNV_OFFSET = 0xcbf29ce484222325, FNV_PRIME = 0x100000001b3;

// bit_of is where a kind has its bit. Two kinds may have one, on all ranks alike: then the later one is not NCCL's.
u32 bit_of(const Op &op) {
  const u64 parts[] = {(u64)op.fn, (u64)op.type, (u64)op.op, (u64)op.root, op.count, op.call.windows};
  u64 h = FNV_OFFSET;
  for (const u64 part : parts) h = (h ^ part) * FNV_PRIME, h ^= h >> 29;
  return (u32)(h % MOST_KINDS);
}

}  // namespace

bool kinds_matter(const Member *e) {
  int version = 0;
  if (alone()) return false;
  const Inside inside;
  const bool old = !nccl()->GetVersion || nccl()->GetVersion(&version) || version < CONNECTS_INSIDE;
  return old || !e->blocking || e->among;
}

void kinds_begin(Member *e, bool matter) {
  e->by_kind = matter;
  for (u64 &word : e->kinds) word = 0;
}

bool first_of_kind(Member *e, const Op &op) {
  if (!e->by_kind) return false;
  const u32 bit = bit_of(op);
  u64 *word = &e->kinds[bit / 64];
  const u64 mask = 1ull << bit % 64;
  if (*word & mask) return false;
  *word |= mask;
  Call captured = op.call;
  captured.group = ~0u;  // in a group of any size
  return !team_choose(e->team, &captured, true).rule;
}
