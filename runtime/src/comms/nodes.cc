// The agreement of ranks that are on several nodes: they begin anew, with the programs for these nodes, and connect.
#include "agree.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

enum { FNV_OFFSET = 2166136261u, FNV_PRIME = 16777619u };

// parts_of is how many parts the longest of all handles has: all ranks hear the same, and count alike.
u32 parts_of(const Side *s) {
  u32 bytes = 1;
  for (u32 i = 0; i < s->e->ranks; i++)
    if (s->links[i].bytes > bytes && s->links[i].bytes <= TEAM_HANDLE_MOST) bytes = s->links[i].bytes;
  return (bytes + LINK_PART - 1) / LINK_PART;
}

u32 part_bytes(u32 left) { return left < (u32)LINK_PART ? left : (u32)LINK_PART; }

// put_part stores a part of the handle that a rank has said.
bool put_part(TeamHandle *h, u32 part, const Link &said) {
  if (!part && said.bytes <= TEAM_HANDLE_MOST) *h = TeamHandle{(u8 *)malloc(said.bytes + 1), said.bytes};
  const u32 at = part * LINK_PART;
  if (!h->at || said.bytes != h->bytes) return false;
  if (at < h->bytes) memcpy(h->at + at, said.part, part_bytes(h->bytes - at));
  return true;
}

// trade_handle has ranks exchange handles of a link, each with one other, in parts.
bool trade_handle(Side *s, u32 link, u32 to, u32 from, bool *good) {
  TeamHandle own;
  s->link.ok = team_link(s->team, link, to, &own, &s->why);
  s->link.bytes = own.bytes;
  for (u32 part = 0, parts = 1; part < parts; part++) {
    const u32 at = part * LINK_PART, left = at < own.bytes ? own.bytes - at : 0;
    memset(s->link.part, 0, LINK_PART);
    if (left) memcpy(s->link.part, own.at + at, part_bytes(left));
    if (!tell_all(s, EVENT_MORE, &s->link, sizeof(Link), s->links, "the other ranks to connect")) return false;
    if (!part) parts = parts_of(s);
    for (u32 i = 0; i < s->e->ranks; i++) *good &= s->links[i].ok != 0;
    if (!put_part(&s->handle[from], part, s->links[from])) {
      *good = false, s->link.ok = 0;
      if (!*s->why.text) say(&s->why, "rank %u: rank %u sent what is no handle", s->e->rank, from);
    }
  }
  return true;
}

// each_handle has ranks exchange their handles of a link, each with one other in a round. good is false where some had
// none. The result says whether the agreement goes on.
bool each_handle(Side *s, u32 link, bool *good) {
  const Member *e = s->e;
  for (u32 k = 1; k < e->ranks; k++)
    if (!trade_handle(s, link, (e->rank + k) % e->ranks, (e->rank + e->ranks - k) % e->ranks, good)) return false;
  return true;
}

void before_exit() { exit_watch(); }

}  // namespace

// Variables that must be equal on all ranks. The last setting is the most CTAs, which also a configuration says.
static const char LEARN[] = "MSCCLC_LEARN";
static const char *const names[SETTINGS - 1] = {"MSCCLC_TIMEOUT", "MSCCLC_FEW", "MSCCLC_SHARED_GPU", "MSCCLC_NET",
                                                "MSCCLC_ARENA_AT", "MSCCLC_BITS", LEARN};

// text_of is what a variable says. Of learning, that is what follows from all variables.
static const char *text_of(const char *name) { return name == LEARN ? learn_setting() : getenv(name); }

u32 settings(u32 ctas) {
  u32 h = (u32)FNV_OFFSET ^ ctas;
  for (const char *name : names) {
    const char *text = text_of(name);
    for (; text && *text; text++) h = (h ^ (u8)*text) * (u32)FNV_PRIME;
    h = (h ^ 256u) * (u32)FNV_PRIME;
  }
  return h;
}

void settings_tell(Hello *mine) {
  for (u32 i = 0; i < SETTINGS - 1; i++) {
    const char *text = text_of(names[i]);
    snprintf(mine->settings[i], sizeof mine->settings[i], "%s", text ? text : "");
  }
  snprintf(mine->settings[SETTINGS - 1], sizeof mine->settings[0], "%u", mine->offer.ctas);
}

// ranks_with lists the ranks that have the value of a rank, unless one before it has it, too.
static int ranks_with(const Hello *all, u32 ranks, u32 setting, u32 rank, char *to, size_t size) {
  const char *value = all[rank].settings[setting], *comma = " ";
  for (u32 i = 0; i < rank; i++)
    if (!strcmp(all[i].settings[setting], value)) return 0;
  u32 count = 0;
  for (u32 i = rank; i < ranks; i++) count += !strcmp(all[i].settings[setting], value);
  int n = snprintf(to, size, "%s%.40s on rank%s", rank ? "; " : "", *value ? value : "not set", count == 1 ? "" : "s");
  for (u32 i = rank; i < ranks; i++) {
    if (strcmp(all[i].settings[setting], value) || n >= (int)size) continue;
    n += snprintf(to + n, size - (size_t)n, "%s%u", comma, i);
    comma = ", ";
  }
  return n;
}

bool settings_same(const Hello *all, u32 ranks, Why *why) {
  for (u32 k = 0; k < SETTINGS; k++) {
    bool same = true;
    for (u32 i = 1; i < ranks; i++) same &= !strcmp(all[i].settings[k], all[0].settings[k]);
    if (same) continue;
    char list[300];
    int n = 0;
    for (u32 i = 0; i < ranks && n < (int)sizeof list; i++)
      n += ranks_with(all, ranks, k, i, list + n, sizeof list - (size_t)n);
    const bool ctas = k == SETTINGS - 1;
    say(why, "ranks have different values of %s: %s", ctas ? "MSCCLC_CTAS, NCCL_MAX_CTAS or maxCTAs" : names[k], list);
    return false;
  }
  return true;
}

void nodes_made(Member *e) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  e->spread = 1;
  pthread_once(&once, before_exit);  // the network's library is open, whose destructors come after it
}

bool open_over(Side *s) {
  Member *e = s->e;
  Offer offers[BUNDLE_RANKS];
  offers_of(s, offers);
  s->nodes = team_nodes(offers, e->ranks, e->node);
  if (s->nodes < 2) return false;
  const char *no_bundle;
  team_end(s->team, false);
  s->team = team_open(the_bundle(&no_bundle), e->ranks, e->rank, e->ctas, settings(e->ctas), e->node, &s->mine.offer);
  settings_tell(&s->mine);
  if (!s->team) say(&s->why, "rank %u: %.*s", e->rank, (int)sizeof s->mine.offer.why, s->mine.offer.why);
  return true;
}

static int in_vain(void *side) { return line_gone(*((Side *)side)->line); }

bool connect_links(Side *s, bool *good) {
  bool goes_on = true;
  for (u32 link = 0; goes_on && link < team_links(s->team); link++) {
    goes_on = each_handle(s, link, good);
    *good = *good && goes_on && team_connect(s->team, link, s->handle, meet_limit(), in_vain, s, &s->why);
    for (TeamHandle &h : s->handle) free(h.at), h = TeamHandle{};
  }
  return goes_on;
}
