// The agreement of ranks that are on several nodes: they begin anew, with the programs for these nodes, and connect.
#include "nccl_agree.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

namespace {

enum { FNV_OFFSET = 2166136261u, FNV_PRIME = 16777619u };

// each_handle has ranks exchange their handles of a link, each with one other in a round. It says whether all had them.
bool each_handle(Side *s, u32 link, bool *heard) {
  Member *e = s->e;
  const void *mine = &s->link;
  void *all = s->links;
  bool good = true;
  for (u32 k = 1; *heard && k < e->ranks; k++) {
    const u32 to = (e->rank + k) % e->ranks, from = (e->rank + e->ranks - k) % e->ranks;
    s->link.ok = team_link(s->team, link, to, s->link.handle, &s->why);
    *heard = gather(&e, 1, &mine, &all, sizeof(Link), &s->why);
    memcpy(s->handle[from], s->links[from].handle, sizeof s->handle[from]);
    for (u32 i = 0; i < e->ranks; i++) good &= s->links[i].ok != 0;
  }
  return good;
}

// goodbye has ranks of other nodes hear that this process ends properly.
void goodbye() {
  if (forked()) return;
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++)
    if (Team *t = e->spread ? (Team *)e->team : nullptr) team_leave(t);
}
// The network's library is open by now, so goodbye comes before its destructors, after which no job may call it.
void before_exit() { atexit(goodbye); }

}  // namespace

u32 settings(u32 ctas) {
  u32 h = (u32)FNV_OFFSET ^ ctas;
  static const char *const names[] = {"MSCCLC_TIMEOUT", "MSCCLC_FEW", "MSCCLC_SHARED_GPU", "MSCCLC_NET"};
  for (const char *name : names) {
    const char *text = getenv(name);
    for (; text && *text; text++) h = (h ^ (u8)*text) * (u32)FNV_PRIME;
    h = (h ^ 256u) * (u32)FNV_PRIME;
  }
  return h;
}

bool begin_over(Side *s) {
  Member *e = s->e;
  Offer offers[BUNDLE_RANKS];
  for (u32 i = 0; i < e->ranks; i++) {
    if (s->all[i].version != HELLO_VERSION || !s->all[i].offer.able) return false;
    offers[i] = s->all[i].offer;
  }
  if (team_nodes(offers, e->ranks, e->node) < 2) return false;
  const char *no_bundle;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  team_end(s->team, false);
  s->team = team_begin(the_bundle(&no_bundle), e->ranks, e->rank, e->ctas, settings(e->ctas), e->node, &s->mine.offer);
  e->spread = 1;
  pthread_once(&once, before_exit);
  return true;
}

bool connect_links(Side *s) {
  bool heard = true, good = true;
  for (u32 link = 0; heard && link < team_links(s->team); link++)
    good = each_handle(s, link, &heard) && good && heard && team_connect(s->team, link, s->handle, &s->why);
  return good && heard;
}
