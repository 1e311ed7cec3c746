// This file checks the sections of sets: rules, and the programs that share an arena. bundle/check.go checks the same.
#include "bundle.h"

#include <stdlib.h>
#include <string.h>

namespace {

enum { RULE_ALL = RULE_EAGER | RULE_CAPTURED | RULE_WINDOWS | RULE_CANDIDATE };

// check_calls says whether there are calls that a rule is for.
bool check_calls(const bundle_set &s, const bundle_rule &r, bool nodes) {
  return r.kind <= KIND_SCATTER && (r.dtype < DT_COUNT || r.dtype == BUNDLE_ANY) &&
         (r.redop < RED_COUNT || r.redop == BUNDLE_ANY) && (r.root < s.ranks || r.root == BUNDLE_ANY) &&
         (r.when & (RULE_EAGER | RULE_CAPTURED)) && r.when <= RULE_ALL &&
         (!(r.when & RULE_CANDIDATE) || (!nodes && !(r.when & RULE_WINDOWS) && r.program != BUNDLE_NCCL)) &&
         // Ranks that leave buffers out would choose otherwise, and windows are memory of one node.
         (!(r.when & RULE_WINDOWS) || (!nodes && !kind_rooted(r.kind))) && blank(r.pad0, sizeof r.pad0);
}

// check_launch says whether a program is right for all calls of a rule, of its root, and between any buffers unless the
// rule is for windows; and whether a launch may be so wide.
bool check_launch(const Program &of, const bundle_rule &r) {
  const bundle_program &p = *of.row;
  const u32 shared = shared_of(of);  // replicas that share a CTA have equal parts of it: powers of two, whole warps
  return r.kind == p.kind && (!kind_rooted(p.kind) || r.root == p.root) && (!p.direct || (r.when & RULE_WINDOWS)) &&
         r.columns > 0 && r.columns <= p.columns && tile_fits(r.tile) && r.threads >= LIMIT_WARP &&
         r.threads <= LIMIT_THREADS && r.threads % LIMIT_WARP == 0 &&
         (shared == 1 || (!(r.threads & (r.threads - 1)) && r.threads >= LIMIT_WARP * shared));
}

bool check_rule(const Set &set, const bundle_rule &r) {
  const bool named = r.when & RULE_NAMED;
  if (named ? !named_rule(r) : !check_calls(*set.row, r, set.row->node[set.row->ranks - 1])) return false;
  if (r.program == BUNDLE_NCCL) return !r.columns && !r.threads && !r.tile;
  const u32 at = set_find(&set, r.program);
  return at != BUNDLE_NONE && named == (set.program[at].named != nullptr) && check_launch(set.program[at], r);
}

// check_rules checks all rules of a set, whose row says how many CTAs they have at most.
bool check_rules(const Set &set, Why *why) {
  u64 most = 0;
  for (u32 i = 0; i < set.row->rules; i++) {
    const bundle_rule &r = set.rules[i];
    if (!check_rule(set, r))
      return say(why, "rule %u of %u ranks names no program that runs all its calls", i, set.row->ranks), false;
    const u32 ctas = r.program == BUNDLE_NCCL ? 0 : ctas_of(set.program[set_find(&set, r.program)], r.columns);
    if (ctas > most) most = ctas;
  }
  if (most <= LIMIT_CTAS && most == set.row->ctas) return true;
  say(why, "the rules of %u ranks have up to %llu CTAs, and the set says %u", set.row->ranks, most, set.row->ctas);
  return false;
}

// check_arena says whether the programs of a set, which lie one behind the other, have room in its memory.
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

bool set_open(Bundle *b, u32 ranks, const u8 *node, const char *device, Set *set, Why *why) {
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
    view(data, set);
    found = !memcmp(set->row->node, want, sizeof want);
  }
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

bool bundle_serves(Bundle *b, u32 ranks, const char *device, Why *why) {
  Set set;
  if (!set_open(b, ranks, nullptr, device, &set, why)) return false;
  set_close(&set);
  return true;
}
