// This file checks the sections of sets: rules, and the programs that share an arena. bundle/check.go checks the same.
#include "bundle.h"

#include <stdlib.h>
#include <string.h>

namespace {

bool check_rule(const Set &set, const bundle_rule &r, Why *why) {
  const u32 last = set.row->node[set.row->ranks - 1], at = set_find(&set, r.program);
  if (!check(r, set.row->ranks, last ? last + 1 : 0, why)) return false;
  if (r.program == BUNDLE_NCCL) return true;
  if (at == BUNDLE_NONE) return say(why, "the set does not have program %u", r.program), false;
  const Program &p = set.program[at];
  return check_program(r, *p.row, p.named != nullptr, shared_of(p), set.row->invariant, why);
}

// check_rules checks all rules of a set, whose row says how many CTAs they have at most.
bool check_rules(const Set &set, Why *why) {
  u64 most = 0;
  Why reason = {};
  for (u32 i = 0; i < set.row->rules; i++) {
    const bundle_rule &r = set.rules[i];
    if (!check_rule(set, r, &reason))
      return say(why, "rule %u of %u ranks names no program that runs all its calls: %s", i, set.row->ranks,
                 reason.text), false;
    const u32 ctas = r.program == BUNDLE_NCCL ? 0 : ctas_of(set.program[set_find(&set, r.program)], r.replicas);
    if (ctas > most) most = ctas;
  }
  if (most <= LIMIT_CTAS && most == set.row->ctas) return true;
  say(why, "the rules of %u ranks have up to %llu CTAs, and the set says %u", set.row->ranks, most, set.row->ctas);
  return false;
}

// check_arena says whether the programs of a set, which lie one after another, have room in its memory.
bool check_arena(const Set &set, Why *why) {
  u64 end = 0, pinned = 0;
  bool good = true;
  for (u32 i = 0; good && i < set.row->programs; i++) {
    const bundle_program &p = *set.program[i].row;
    good = p.scratch_at >= end && p.end_at <= set.row->arena;
    end = p.end_at;
    if (good) pinned += pinned_of(set.program[i]), good = pinned <= LIMIT_PINNED;
  }
  if (!good) say(why, "the programs of %u ranks do not fit into their memory", set.row->ranks);
  return good;
}

// view gives what lies in a set's section, whose lengths were checked (sets_check).
void view(const u8 *data, Set *set) {
  set->row = (const bundle_set *)data;
  set->rules = (const bundle_rule *)(set->row + 1);
  set->programs = (const u32 *)(set->rules + set->row->rules);
}

bool fill(Bundle *b, Set *set, Why *why) {
  const bundle_set &row = *set->row;
  set->program = (Program *)calloc(row.programs + 1, sizeof *set->program);
  if (!set->program) return say(why, "no memory"), false;
  for (u32 i = 0; i < row.programs; i++)
    if (!program_open(b, set->programs[i], row.ranks, row.node, set->program + i, why)) return false;
  const u32 last = row.node[row.ranks - 1], nodes = last ? last + 1 : 0;
  for (u32 i = 0; i < row.programs; i++)
    if (set->program[i].row->nodes != nodes)
      return say(why, "program %u is for other nodes than its set", set->programs[i]), false;
  return check_rules(*set, why) && named_check(*set, why) && check_arena(*set, why);
}

}  // namespace

u32 set_find(const Set *set, u32 program) {
  const u32 first = set->row->programs ? set->programs[0] : 0;  // they are numbered in order
  return program >= first && program - first < set->row->programs ? program - first : BUNDLE_NONE;
}

bool set_open(Bundle *b, u32 ranks, const u8 *node, bool invariant, const char *device, Set *set, Why *why) {
  u8 want[ONE_RANKS] = {};
  *set = Set{};
  if (ranks < 2 || ranks > BUNDLE_RANKS) return say(why, "no bundle is for %u ranks", ranks), false;
  if (node) memcpy(want, node, ranks);
  bool known = false;
  const bundle_set *found = nullptr;
  for (u32 i = 0; i < sections_of(b)->sets; i++) {
    const bundle_set *row = set_at(b, i, why);
    if (!row) return false;
    if (row->ranks != ranks) continue;
    known = true;
    if (!memcmp(row->node, want, sizeof want) && (!found || invariant)) found = row;  // of two, the second is invariant
  }
  if (!known) return say(why, "the bundle is not for communicators of %u ranks", ranks), false;
  if (!found) return say(why, "the ranks are on several nodes, and no rules are for ranks that lie so"), false;
  view((const u8 *)found, set);
  if (device && strcmp(set->row->device, device))
    return say(why, "the bundle is for %s, and this GPU is %s", set->row->device, device), false;
  if (fill(b, set, why)) return true;
  set_close(set);
  return false;
}

void set_close(Set *set) {
  free(set->program);
  set->program = nullptr;
}

bool set_image(Bundle *b, const Set *set, u32 dtype, bool moves, Why *why) {
  const u32 number = (moves ? set->row->copier : set->row->image)[dtype];
  const bundle_image *image = nullptr;
  if (number == BUNDLE_NONE) return true;
  if (!image_open(b, number, &image, why)) return false;
  bool shares = false;
  for (u32 i = 0; i < set->row->programs; i++) shares |= shared_of(set->program[i]) > 1;
  const char *prefix = !set->row->node[set->row->ranks - 1] ? "onesided_" : shares ? "together_" : "net_";
  const bool fits = moves ? size_of(image->dtype) == size_of(dtype) : image->dtype == dtype;
  if (fits && !strncmp(image->name, prefix, strlen(prefix))) return true;
  say(why, "image %u of the bundle is not for the calls that its set names it for", number);
  return false;
}

bool set_finisher(Bundle *b, const Set *set, u32 dtype, u32 *number, Why *why) {
  const u32 first = set->row->finishers, last = set->row->node[set->row->ranks - 1];
  const bundle_image *image = nullptr;
  static const char prefix[] = "rows_";
  *number = BUNDLE_NONE;
  if (!first) return true;
  for (u32 i = first > 1 ? first - 2 : 0; i < sections_of(b)->images; i++) {
    if (!image_open(b, i, &image, why)) return false;
    const bool finishes = !strncmp(image->name, prefix, sizeof prefix - 1);
    if ((i + 1 == first && !finishes) || (i + 1 < first && finishes) || last)
      return say(why, "image %u of the bundle is not the first that finishes rows", first - 1), false;
    if (i + 1 > first && !finishes) return true;
    if (i + 1 >= first && image->dtype == dtype && *number == BUNDLE_NONE) *number = i;
  }
  return first <= sections_of(b)->images || (say(why, "the bundle has no image %u", first - 1), false);
}

bool bundle_serves(Bundle *b, u32 ranks, const char *device, Why *why) {
  Set set;
  if (!set_open(b, ranks, nullptr, false, device, &set, why)) return false;
  set_close(&set);
  return true;
}
