// This file checks what a bundle's table says: which sections there are, and in which order. It also checks the rows of
// all sets when a bundle is opened: they are short, and say which set has which programs. bundle/check.go,
// bundle/decode.go and bundle/net.go check the same.
#include "bundle.h"

#include <stdio.h>
#include <string.h>

bool blank(const void *data, u64 bytes) {
  for (u64 i = 0; i < bytes; i++)
    if (((const u8 *)data)[i]) return false;
  return true;
}

bool check_name(const char *name, u64 room, Why *why) {
  const u64 n = strnlen(name, room);
  bool good = n > 0 && n < room && blank(name + n, room - n);
  for (u64 i = 0; i < n; i++) good &= (u8)name[i] >= ' ';
  return good || (say(why, "its name is empty, does not end, or is no text"), false);
}

bool check_sections(const bundle_section *table, u32 sections, Sections *count, Why *why) {
  u32 *const of[] = {nullptr, nullptr, &count->sets, &count->programs, &count->sources, &count->images,
                     &count->wheres, &count->nets, &count->named};
  u32 last = 0, next = 0;  // next: the least number of a section that not all programs have
  for (u32 i = 0; i < sections; i++) {
    const bundle_section &s = table[i];
    bool good = s.kind >= SECTION_ABOUT && s.kind <= SECTION_NAMED && s.kind >= last;
    if (!good || (i == 0) != (s.kind == SECTION_ABOUT))
      return say(why, "section %u is of kind %u, and not in order", i, s.kind), false;
    if (last != s.kind) next = 0;
    last = s.kind;
    if (s.kind == SECTION_ABOUT) good = s.number == 0;
    else if (s.kind >= SECTION_NET) good = s.number >= next && s.number < count->programs, next = s.number + 1;
    else if (s.kind != SECTION_SET) good = s.number == *of[s.kind];
    if (!good) return say(why, "section %u, of kind %u, cannot have number %u", i, s.kind, s.number), false;
    if (s.kind != SECTION_ABOUT) ++*of[s.kind];
  }
  if (sections && count->programs == count->sources && count->programs == count->wheres) return true;
  say(why, "it has %u programs with %u sources, or does not say what it is", count->programs, count->sources);
  return false;
}

namespace {

// check_nodes says whether ranks may lie on nodes so, and gives how many nodes there are, or 0 for one.
bool check_nodes(const bundle_set &s, u32 *nodes) {
  for (u32 r = 0; r < BUNDLE_RANKS; r++) {
    const u32 before = r ? s.node[r - 1] : 0;
    if (r >= s.ranks ? s.node[r] != 0 : s.node[r] != before && (!r || s.node[r] != before + 1)) return false;
  }
  *nodes = s.node[s.ranks - 1] ? s.node[s.ranks - 1] + 1u : 0;
  return true;
}

// layout_text writes the ranks of each node, by which sets for as many ranks are in order.
void layout_text(const bundle_set &s, u32 nodes, char text[4 * BUNDLE_RANKS]) {
  char *at = text;
  *at = 0;
  for (u32 n = 0; n < nodes; n++) {
    u32 ranks = 0;
    for (u32 r = 0; r < s.ranks; r++) ranks += s.node[r] == n;
    at += snprintf(at, 4, n ? ",%u" : "%u", ranks);
  }
}

// check_row checks a set's row, which says how long its section is, and gives how many nodes there are.
bool check_row(const bundle_set &s, u64 bytes, u32 *nodes, Why *why) {
  if (bytes < sizeof s) return say(why, "it is too short"), false;
  if (!check(s, why)) return false;
  if (bytes != sizeof s + s.rules * sizeof(bundle_rule) + s.programs * sizeof(u32))
    return say(why, "its length is not that of its rules and programs"), false;
  return check_nodes(s, nodes) || (say(why, "no ranks lie on nodes so"), false);
}

}  // namespace

bool sets_check(Bundle *b, Why *why) {
  const Sections *count = sections_of(b);
  const bundle_set *first = nullptr, *last = nullptr;
  char text[4 * BUNDLE_RANKS] = "", before[4 * BUNDLE_RANKS] = "";
  u32 next = 0, number = 0;
  for (u32 i = 0; i < count->sets; i++) {
    u64 bytes = 0;
    u32 nodes = 0, is = 0;
    const bundle_set *s = set_at(b, i, why, &is, &bytes);
    if (!s) return false;
    Why reason = {};
    if (!check_row(*s, bytes, &nodes, &reason)) return say(why, "set %u: %s", i, reason.text), false;
    const bool again = last && last->ranks == s->ranks;
    number = again ? number + (1 << 16) : s->ranks;
    layout_text(*s, nodes, text);
    const bool follows = !again        ? !nodes && !s->invariant && (!last || last->ranks < s->ranks)
                         : s->invariant ? !nodes && !*before && !last->invariant
                                        : strcmp(before, text) < 0;
    if (is != number || !follows)
      return say(why, "set %u, for %u ranks, is not in order", i, s->ranks), false;
    if (first && strcmp(first->device, s->device)) return say(why, "its sets are for several kinds of GPUs"), false;
    const u32 *programs = (const u32 *)((const bundle_rule *)(s + 1) + s->rules);
    for (u32 k = 0; k < s->programs; k++)
      if (programs[k] != next++)
        return say(why, "the set for %u ranks cannot have program %u", s->ranks, programs[k]), false;
    if (!first) first = s;
    last = s, memcpy(before, text, sizeof before);
  }
  return next == count->programs || (say(why, "no set has program %u", next), false);
}
