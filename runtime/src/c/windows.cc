// Memory that ranks register together, so that direct programs reach it. Each team that has rules for windows has one
// of its own for it. The ranks tell each other how their memory is reached, map that of others, and tell who succeeded.
#include "handles.h"

#include <stdlib.h>
#include <unistd.h>

namespace {

// An Opening is the window of one team while its ranks agree on it.
struct Opening {
  mscclc_comm_s *comm;
  Team *team;
  Window *window;
  WindowOffer all[MSCCLC_MAX_RANKS];
  Files files;
  Why why;
};

// offers has all ranks hear how the memory of each is reached.
mscclc_result offers(Opening *o, void *memory, size_t bytes) {
  WindowOffer mine = {};
  o->window = window_begin(o->team, memory, bytes, &mine, &o->files);
  for (u32 i = 0; i < o->files.count; i++) close(o->files.file[i]);
  return line_gather(o->comm->line, ROUND_WINDOW, &mine, o->all, sizeof mine, "memory", &o->why);
}

bool reach(Opening *o) {
  if (!window_fits(o->all, o->comm->ranks, &o->why)) return false;
  for (u32 r = 0; r < o->comm->ranks; r++) {
    if (o->all[r].reach == REACH_MAPPED && o->all[r].pid != (u64)getpid())
      return say(&o->why, "the memory of rank %u was mapped, and is reached by its own process only", r), false;
    if (!window_reach(o->team, o->window, r, o->all[r], nullptr, &o->why)) return false;
  }
  return true;
}

// reached has each rank reach all others, and all hear whether that went well.
mscclc_result reached(Opening *o) {
  const bool good = reach(o);
  return line_agree(o->comm->line, ROUND_REACHED, good, MSCCLC_UNSUPPORTED, &o->why);
}

// opened gives a team its window.
mscclc_result opened(mscclc_comm_s *c, Team *t, const mscclc_window_s *name, void *memory, size_t bytes) {
  Opening *o = (Opening *)calloc(1, sizeof *o);
  if (!o) return failed(MSCCLC_SYSTEM, "no memory");
  o->comm = c, o->team = t;
  mscclc_result r = offers(o, memory, bytes);
  if (!r) r = reached(o);
  if (!r) window_use(t, o->window, name);
  else if (o->window) window_end(t, o->window);
  if (r) failed(r, "mscclc_register: %s", o->why.text);
  free(o);
  return r;
}

void dropped(mscclc_comm_s *c, const mscclc_window_s *name) {
  for (const mscclc_programs_s *p = c->programs; p; p = p->next) window_drop(p->team, name);
}

// device_of is the device of a communicator, as the engine has it.
const Gpu *device_of(mscclc_comm_s *c, Why *why) { return c->host ? c->host : gpu_of_thread(why); }

}  // namespace

extern "C" {

mscclc_result mscclc_register(mscclc_comm c, void *memory, size_t bytes, mscclc_window *window) {
  if (forked()) return MSCCLC_FORKED;
  if (!c || !window) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_register: an argument is null");
  if (const mscclc_result r = comm_state(c)) return r;
  mscclc_window_s *w = (mscclc_window_s *)calloc(1, sizeof *w);
  if (!w) return failed(MSCCLC_SYSTEM, "no memory");
  w->comm = c;
  mscclc_result r = MSCCLC_OK;
  // All ranks have loaded the same programs, in the same order.
  for (const mscclc_programs_s *p = c->programs; p && !r; p = p->next)
    if (team_wants_windows(p->team)) r = opened(c, p->team, w, memory, bytes);
  if (r) return dropped(c, w), free(w), r;
  w->next = c->windows, c->windows = w;
  return *window = w, MSCCLC_OK;
}

mscclc_result mscclc_deregister(mscclc_window w) {
  if (forked()) return MSCCLC_FORKED;
  if (!w) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_deregister: the window is null");
  dropped(w->comm, w);
  mscclc_window_s **at = &w->comm->windows;
  while (*at && *at != w) at = &(*at)->next;
  if (*at) *at = w->next;
  free(w);
  return MSCCLC_OK;
}

mscclc_result mscclc_alloc(mscclc_comm c, size_t bytes, void **memory) {
  Why why = {};
  if (forked()) return MSCCLC_FORKED;
  if (!c || !memory || !bytes) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_alloc: an argument is null, or no bytes");
  const Gpu *g = device_of(c, &why);
  if (!g) return failed(MSCCLC_DEVICE, "mscclc_alloc: %s", why.text);
  Current current(g);
  Relaxed relaxed(g);
  u64 at = 0;
  const int code = current.code ? current.code : g->f->alloc(&at, bytes);
  if (code) return failed(MSCCLC_DEVICE, "mscclc_alloc: %zu bytes: %s", bytes, driver_text(code));
  return *memory = (void *)at, MSCCLC_OK;
}

mscclc_result mscclc_free(mscclc_comm c, void *memory) {
  Why why = {};
  if (forked()) return MSCCLC_FORKED;
  if (!c || !memory) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_free: an argument is null");
  const Gpu *g = device_of(c, &why);
  if (!g) return failed(MSCCLC_DEVICE, "mscclc_free: %s", why.text);
  Current current(g);
  Relaxed relaxed(g);
  const int code = current.code ? current.code : g->f->release((u64)memory);
  return code ? failed(MSCCLC_DEVICE, "mscclc_free: %s", driver_text(code)) : MSCCLC_OK;
}
}
