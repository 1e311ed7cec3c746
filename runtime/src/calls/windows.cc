// Windows: memory that all ranks of a communicator register together (ncclCommWindowRegister). NCCL registers first.
// Then the ranks tell each other how their memory is reached, map that of the others, and tell who succeeded: all use
// the window, or none. Windows of a group are met at its outermost end, in their order.
#include "../front/front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A Pane is a window that NCCL has, or has at the end of the group. The thread counts as a user of its member.
struct Pane {
  Member *e;
  const void *memory;
  size_t bytes;
  void **name;  // where NCCL writes the window
};

namespace {

enum { SYMMETRIC = 1 };  // NCCL_WIN_COLL_SYMMETRIC

// An Opening is a window of one communicator while its ranks agree on it.
struct Opening {
  Pane pane;
  WindowOffer mine, all[BUNDLE_RANKS];
  Files files;
  Window *window;
  Why why;
};

void close_all(const Files &f) {
  for (u32 i = 0; i < f.count; i++)
    if (f.file[i] >= 0) close(f.file[i]);
}

// begin makes a rank's offer.
void begin(Opening *o) {
  Member *e = o->pane.e;
  void *before;
  u8 key[16];
  if (const int code = gpu_enter(e->device, &before)) {
    snprintf(o->mine.why, sizeof o->mine.why, "GPU %d: %s", e->device, driver_text(code));
    return;
  }
  o->window = window_begin(e->team, o->pane.memory, o->pane.bytes, &o->mine, &o->files);
  gpu_leave(before);
  if (!o->window || !o->mine.files || !random_bytes(key, sizeof key)) return;
  memcpy(o->mine.key, key, sizeof key);
  files_show(o->mine.key, &o->files);
}

// reach_rank reaches the memory of one rank, with its files if it is of another process.
bool reach_rank(Opening *o, u32 rank) {
  Member *e = o->pane.e;
  const WindowOffer &offer = o->all[rank];
  Files files = {};
  const bool far = offer.pid != (u64)getpid() && offer.reach == REACH_MAPPED && offer.files;
  if (far && !files_fetch(e->process[rank], offer.key, offer.files, &files, &o->why)) return false;
  const bool reached = window_reach(e->team, o->window, rank, offer, far ? &files : nullptr, &o->why);
  close_all(files);
  return reached;
}

bool reach(Opening *o) {
  Member *e = o->pane.e;
  if (!window_fits(o->all, e->ranks, &o->why)) return false;
  void *before;
  if (gpu_enter(e->device, &before)) return say(&o->why, "rank %u lost its GPU", e->rank), false;
  bool reached = true;
  for (u32 i = 0; reached && i < e->ranks; i++) reached = reach_rank(o, (e->rank + i) % e->ranks);
  gpu_leave(before);
  return reached;
}

// finish has calls use the window, or says in one line for each communicator why none does.
void finish(Opening *o, bool used) {
  Member *e = o->pane.e;
  if (o->mine.files) files_hide(o->mine.key);
  close_all(o->files);
  if (used) {
    window_use(e->team, o->window, *o->pane.name);
    count_call(FN_CommWindowRegister, nullptr);
    return info("rank %u of %u uses a window of %zu bytes", e->rank, e->ranks, o->pane.bytes);
  }
  void *before;
  if (o->window && !gpu_enter(e->device, &before)) window_end(e->team, o->window), gpu_leave(before);
  const char *why = o->why.text;
  count_call(FN_CommWindowRegister, interned(why));
  if ((e->rank == 0 && !e->warned_window) || warns())
    tell("no program uses a window of %zu bytes of a communicator of %u ranks: %.200s", o->pane.bytes, e->ranks, why);
  e->warned_window = true;
}

// A Turn is one window of each of some communicators of this thread.
struct Turn {
  Opening *opening;
  Saying *saying;
};

void agree_on(Turn r, u32 count) {
  for (u32 i = 0; i < count; i++) {
    Opening *o = &r.opening[i];
    begin(o);
    r.saying[i] = Saying{o->pane.e, true, &o->mine, o->all, sizeof(WindowOffer), 0, {}};
  }
  gather(r.saying, count, false, "the other ranks to register a window");
  for (u32 i = 0; i < count; i++) {
    Opening *o = &r.opening[i];
    Saying *s = &r.saying[i];
    if (s->outcome != 1) say(&o->why, "the ranks could not agree: %.400s", s->why.text);
    const bool good = s->outcome == 1 && reach(o);
    *s = Saying{o->pane.e, good, nullptr, nullptr, 0, 0, o->why};
  }
  gather(r.saying, count, true, "the other ranks to reach a window");
  for (u32 i = 0; i < count; i++) {
    Opening *o = &r.opening[i];
    o->why = r.saying[i].why;
    finish(o, r.saying[i].outcome == 1);
  }
}

// takes_part says whether the ranks of a window's communicator agree on it. It is the same on all of them.
bool takes_part(const Pane &p) { return teamed(p.e) && team_wants_windows(p.e->team); }

// memory_made has ranks make the memory of programs that are for windows. All ranks register, so that all come.
void memory_made(const Pane *list, u32 count) {
  for (u32 i = 0; i < count; i++)
    if (list[i].e->state == STATE_READY && list[i].e->plans_windows) ready_ask(list[i].e);
  for (u32 i = 0; i < count; i++)
    if (list[i].e->plans_windows) member_made(list[i].e, FOREVER);
}

// rounds meets windows in order, so that no communicator has two of them in a round. It fails where this rank cannot
// take part: the others wait for it.
Result rounds(Pane *list, u32 count) {
  Turn r = {(Opening *)calloc(count, sizeof(Opening)), (Saying *)calloc(count, sizeof(Saying))};
  const bool room = r.opening && r.saying;
  for (bool more = room; more;) {
    u32 n = 0;
    for (u32 i = 0; i < count; i++) {
      bool seen = !list[i].name || !takes_part(list[i]);
      for (u32 k = 0; k < n; k++) seen |= r.opening[k].pane.e == list[i].e;
      if (seen) continue;
      memset((void *)&r.opening[n], 0, sizeof(Opening));
      r.opening[n++].pane = list[i], list[i].name = nullptr;
    }
    more = n > 0;
    if (more) agree_on(r, n);
  }
  free(r.opening), free(r.saying);
  return room ? SUCCESS : no_memory("ncclCommWindowRegister");
}

// open_all has windows used that NCCL has registered with this result. It leaves their members.
Result open_all(Pane *list, u32 count, Result r) {
  for (u32 i = 0; i < count && r == IN_PROGRESS; i++) {
    const Comm c = list[i].e->comm;  // null: another thread has aborted it
    const Result late = c ? settle(c) : INVALID_ARGUMENT;
    if (late != SUCCESS || i + 1 == count) r = late;
  }
  if (r == SUCCESS) memory_made(list, count);
  if (r == SUCCESS) r = rounds(list, count);
  for (u32 i = 0; i < count; i++) member_leave(list[i].e);
  return r;
}

}  // namespace

Result windows_made(Result r) {
  Pane *list = own.panes;
  const u32 count = own.pane_count;
  own.panes = nullptr, own.pane_count = own.pane_room = 0;
  if (count) r = open_all(list, count, r);
  free(list);
  return r;
}

EXPORT Result ncclCommWindowRegister(Comm comm, void *buffer, size_t bytes, void **window, int flags) {
  BEGIN(CommWindowRegister);
  const Result r = NCCL_DOES(CommWindowRegister(comm, buffer, bytes, window, flags));
  if (direct() || !(flags & SYMMETRIC) || !window || (r != SUCCESS && r != IN_PROGRESS)) return r;
  Member *e = member_enter(comm);
  if (!e || e->state == STATE_FAILED) {
    const Result failed = e ? e->error : r;
    if (e) member_failed(e, FAILED_AGREEMENT), member_leave(e);
    return e ? answered(failed) : failed;
  }
  Pane one = {e, buffer, bytes, window};
  if (!own.depth) return answered(open_all(&one, 1, r));
  Pane *kept = grow(&own.panes, &own.pane_count, &own.pane_room);
  if (kept) return *kept = one, r;
  member_leave(e);
  return no_memory("ncclCommWindowRegister in a group");
}

// A window whose name NCCL left null is dropped with all such windows.
EXPORT Result ncclCommWindowDeregister(Comm comm, void *window) {
  BEGIN(CommWindowDeregister);
  Member *e = direct() ? nullptr : member_enter(comm);
  void *before;
  if (e && e->team && !gpu_enter(e->device, &before)) window_drop(e->team, window), gpu_leave(before);
  if (e) member_leave(e);
  return NCCL_DOES(CommWindowDeregister(comm, window));
}
