// This file checks the sections of sets: rules, and the programs that share an arena.
#include "bundle.h"

#include <stdlib.h>
#include <string.h>

namespace {

enum { MOST_PROGRAMS = 1 << 10, MOST_RULES = 1 << 16, MOST_THREADS = 512 };
const u64 MOST_ARENA = 1ull << 40;

// serves says whether a program is right for all calls of a rule: of its root, in place and not, with the same bits on
// all ranks, and between any buffers unless the rule is for windows.
bool serves(const bundle_program &p, const bundle_rule &r) {
  return r.kind == p.kind && (!kind_rooted(p.kind) || r.root == p.root) && p.outofplace &&
         (p.inplace || p.kind == KIND_ALLTOALL) && (p.bitwise || p.kind != KIND_ALLREDUCE) &&
         (!p.direct || (r.when & RULE_WINDOWS));
}

// even says whether replicas that share CTAs of so many threads have equal parts of them: powers of two, whole warps.
bool even(const Program &p, u32 threads) {
  for (u32 r = 0; r < p.row->ranks; r++)
    for (u32 i = 0; i < p.part[r].blocks; i++) {
      const u32 together = blocks_of(p, r)[i].together;
      if (together && ((threads & (threads - 1)) || threads < 32 * together)) return false;
    }
  return true;
}

bool check_rule(const Set &set, const bundle_rule &r) {
  // Ranks that leave buffers out would choose otherwise.
  if ((r.when & RULE_WINDOWS) && kind_rooted(r.kind)) return false;
  if (r.program == BUNDLE_NCCL) return true;
  const u32 at = set_find(&set, r.program);
  if (at == BUNDLE_NONE) return false;
  const bundle_program &p = *set.program[at].row;
  return serves(p, r) && r.columns > 0 && r.columns <= p.columns && r.tile > 0 && r.threads % 32 == 0 &&
         r.threads <= MOST_THREADS && even(set.program[at], r.threads ? r.threads : (u32)MOST_THREADS);
}

// check_arena says whether each program has memory of its own. What a program has begins at the least of its parts.
bool check_arena(const Set &set, Why *why) {
  const bundle_set &row = *set.row;
  u64 *first = (u64 *)calloc(row.programs + 1, sizeof *first);
  if (!first) return say(why, "no memory"), false;
  bool good = row.arena <= MOST_ARENA;
  for (u32 i = 0; good && i < row.programs; i++) {
    const bundle_program &p = *set.program[i].row;
    first[i] = p.scratch_at < p.packets_at ? p.scratch_at : p.packets_at;
    if (p.flags_at < first[i]) first[i] = p.flags_at;
    good = p.end_at <= row.arena;
    for (u32 k = 0; good && k < i; k++)
      good = p.end_at <= first[k] || set.program[k].row->end_at <= first[i];
  }
  free(first);
  if (!good) say(why, "the programs of %u ranks do not fit into their memory", row.ranks);
  return good;
}

// view checks the lengths of a set's section.
bool view(const u8 *data, u64 bytes, u32 ranks, Set *set) {
  const bundle_set *row = set->row = (const bundle_set *)data;
  if (bytes < sizeof *row || row->ranks != ranks || !memchr(row->device, 0, sizeof row->device)) return false;
  if (row->rules > MOST_RULES || row->programs > MOST_PROGRAMS) return false;
  set->rules = (const bundle_rule *)(row + 1);
  set->programs = (const u32 *)(set->rules + row->rules);
  return bytes - sizeof *row >= row->rules * sizeof(bundle_rule) + row->programs * sizeof(u32);
}

bool fill(Bundle *b, Set *set, Why *why) {
  const bundle_set &row = *set->row;
  set->program = (Program *)calloc(row.programs + 1, sizeof *set->program);
  if (!set->program) return say(why, "no memory"), false;
  for (u32 i = 0; i < row.programs; i++)
    if (!program_open(b, set->programs[i], row.ranks, row.node, set->program + i, why)) return false;
  u32 nodes = 0;
  for (u8 n : row.node) nodes = n >= nodes && n ? n + 1u : nodes;
  for (u32 i = 0; i < row.programs; i++)
    if (set->program[i].row->nodes != nodes)
      return say(why, "program %u is for other nodes than its set", set->programs[i]), false;
  for (u32 i = 0; i < row.rules; i++)
    if (!check_rule(*set, set->rules[i]))
      return say(why, "rule %u of %u ranks names no program that runs all its calls", i, row.ranks), false;
  return check_arena(*set, why);
}

}  // namespace

u32 set_find(const Set *set, u32 program) {
  for (u32 i = 0; i < set->row->programs; i++)
    if (set->programs[i] == program) return i;
  return BUNDLE_NONE;
}

bool set_open(Bundle *b, u32 ranks, const u8 *node, const char *device, Set *set, Why *why) {
  static const u8 one[ONE_RANKS] = {};
  u8 want[ONE_RANKS] = {};
  *set = Set{};
  if (ranks < 2 || ranks > BUNDLE_RANKS) return say(why, "no bundle is for %u ranks", ranks), false;
  if (node) memcpy(want, node, ranks);
  bool found = false;
  for (u32 k = 0; !found; k++) {
    u64 bytes = 0;
    const u8 *data = section_of(b, SECTION_SET, ranks | k << 16, &bytes, why);
    if (!data && k) return say(why, "the ranks are on several nodes, and no rules are for ranks that lie so"), false;
    if (!data) return false;
    if (!view(data, bytes, ranks, set) || !memcmp(set->row->node, one, sizeof one) != !k)
      return say(why, "the rules of %u ranks do not fit together", ranks), false;
    found = !memcmp(set->row->node, want, sizeof want);
  }
  if (strcmp(set->row->device, device))
    return say(why, "the bundle is for %s, and this GPU is %s", set->row->device, device), false;
  if (fill(b, set, why)) return true;
  set_close(set);
  return false;
}

void set_close(Set *set) {
  free(set->program);
  set->program = nullptr;
}

bool bundle_serves(Bundle *b, u32 ranks, const char *device, Why *why) {
  Set set;
  if (!set_open(b, ranks, nullptr, device, &set, why)) return false;
  set_close(&set);
  return true;
}
