// What ranks that have met do to become a team. First they tell what each has, which costs no memory of a GPU. Then
// they make their memory, and reach each other's: at once, or in a later meeting (ready.cc).
#include "agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

// opens finds a rank's rules, or says why it has none.
bool opens(Side *s) {
  Member *e = s->e;
  Hello *h = &s->mine;
  memset((void *)h, 0, sizeof *h);
  h->by_kind = kinds_matter(e);
  char *why = h->offer.why;
  const char *no_bundle = nullptr;
  Bundle *b = the_bundle(&no_bundle);
  void *before;
  const int code = gpu_enter(e->device, &before);
  if (code) {
    say(&s->why, "rank %u: GPU %d: %s", e->rank, e->device, driver_text(code));
    return false;
  }
  const size_t room = sizeof h->offer.why;
  if (skipped(e->ranks, e->name, why, room)) b = nullptr;
  else if (s->foreign) snprintf(why, room, "GPU %d: the context is not the primary one", e->device);
  else if (!b) cut(why, room, no_bundle);
  else s->team = team_open(b, e->ranks, e->rank, e->ctas, settings(e->ctas), nullptr, &h->offer);
  gpu_leave(before);
  Tail second = {};
  const bool hosts = s->team && !e->rank && !arena_at_init();
  const bool meets = !hosts || hub_open(nullptr, *s->line, FOREVER, &second, &s->why);
  if (hosts) memcpy(h->second, (const void *)&second, sizeof second), memcpy(e->second, h->second, sizeof h->second);
  settings_tell(h);
  if (!s->team) say(&s->why, "rank %u: %.*s", e->rank, (int)room, why);
  return s->team && meets;
}

bool hello(Side *s, bool begun) {
  return tell_all(s, begun ? EVENT_MORE : EVENT_CANNOT, &s->mine, sizeof s->mine, s->all,
                  "what the other ranks have (bundle, GPU, memory)");
}

// make makes a rank's memory, or says why it cannot.
bool make(Side *s) {
  Member *e = s->e;
  Hello *h = &s->mine;
  char *why = h->offer.why;
  const size_t room = sizeof h->offer.why;
  void *before;
  bool made = false;
  char card[CARD_NAME];
  line_card(*s->line, card);
  const int code = gpu_enter(e->device, &before);
  if (code) return say(&s->why, "rank %u: GPU %d: %s", e->rank, e->device, driver_text(code)), false;
  if (!stream_open(e)) snprintf(why, room, "GPU %d gives no stream", e->device);
  else if (!peers_ready(&s->why) || !peers_expect(e)) cut(why, room, s->why.text);
  else made = team_make(s->team, card, &h->offer);
  if (made && !e->rank) s->board = board_make(e->secret);
  gpu_leave(before);
  memcpy(h->process, peers_process(), sizeof h->process);
  memcpy(h->secret, e->secret, sizeof h->secret);
  if (!made) say(&s->why, "rank %u: %.*s", e->rank, (int)room, why);
  else if (s->nodes > 1) nodes_made(e);
  return made;
}

// all_fit judges what ranks have said.
bool all_fit(Side *s) {
  const u32 ranks = s->e->ranks;
  if (!settings_same(s->all, ranks, &s->why)) return false;
  Offer offers[BUNDLE_RANKS];
  offers_of(s, offers);
  return team_fits(offers, ranks, &s->why);
}

bool join(Side *s) {
  Member *e = s->e;
  if (!all_fit(s)) return false;
  Offer offers[BUNDLE_RANKS];
  offers_of(s, offers);
  for (u32 i = 0; i < e->ranks; i++) {
    memcpy(e->process[i], s->all[i].process, sizeof e->process[i]);
    e->pid[i] = s->all[i].offer.pid;
  }
  bool by_kind = false;
  for (u32 i = 0; i < e->ranks; i++) by_kind |= s->all[i].by_kind != 0;
  kinds_begin(e, by_kind);
  if (!learn_begin(e, s->team, s->nodes)) return say(&s->why, "rank %u: no memory", e->rank), false;
  void *before;
  if (gpu_enter(e->device, &before)) return say(&s->why, "rank %u lost its GPU", e->rank), false;
  const bool joined = team_join(s->team, offers, &s->why);
  gpu_leave(before);
  board_open(e, s->all[0].secret);
  return joined && peers_connect(e, s->all, &s->why);
}

}  // namespace

void offers_of(const Side *s, Offer *offers) {
  for (u32 i = 0; i < s->e->ranks; i++) offers[i] = s->all[i].offer;
}

// tell_known has all ranks receive what rank 0 knows of trials in earlier jobs, if they learn.
static bool tell_known(Side *s) {
  const void *mine;
  const u32 bytes = learn_tells(s->e, &mine);
  if (!bytes) return true;
  u8 *all = (u8 *)malloc(bytes * s->e->ranks);
  if (!all) say(&s->why, "rank %u: no memory", s->e->rank);
  const bool done = tell_all(s, all ? EVENT_MORE : EVENT_CANNOT, mine, bytes, all, "what rank 0 has learned earlier");
  if (done) learn_known(s->e, all);
  return free(all), done;
}

void make_all(Side *s) {
  if (!hello(s, make(s))) return;
  bool good = join(s);
  if (!tell_all(s, good ? EVENT_MORE : EVENT_CANNOT, nullptr, 0, nullptr,
                "the other ranks to reach each other's memory")) return;
  if (!tell_known(s)) return;
  good = peers_admitted(s->e, &s->why);
  if (team_links(s->team) && !connect_links(s, &good)) return;
  if (s->later && good) s->promise = gate_promise(&s->e->gate, SLACK);
  tell_all(s, good ? EVENT_DONE : EVENT_CANNOT, s->later ? &s->promise : nullptr, s->later ? sizeof s->promise : 0,
           s->later ? s->promises : nullptr, "the other ranks to connect");
}

// What all have said is the same everywhere, and so is what follows from it.
void agree_all(Side *s) {
  Member *e = s->e;
  if (e->ranks > BUNDLE_RANKS) {
    say(&s->why, "bundles have no such number of ranks");
    return act(s, rank_step(&s->stage, EVENT_ONLY));
  }
  void *before;
  if (gpu_enter(e->device, &before)) before = nullptr;  // opens says why; else it is current until the thread ends
  if (!hello(s, opens(s))) return;
  if (open_over(s) && !hello(s, s->team != nullptr)) return;
  const bool fit = all_fit(s);
  Offer offers[BUNDLE_RANKS];
  offers_of(s, offers);
  if (fit) team_meet(s->team, offers);
  if (fit && arena_at_init()) return make_all(s);
  s->ready = fit;
  act(s, rank_step(&s->stage, EVENT_ONLY));
}
