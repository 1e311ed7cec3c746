// This file is the windows of a team: memory that all ranks have registered together, and that each reaches of all
// others. Direct programs read and write it. A call is between windows where all bytes of its buffers lie in them. By
// NCCL's contract the buffers of all ranks then lie at the same offset of the same windows.
#include "team.h"

#include <stdlib.h>
#include <string.h>

namespace {

const u64 PATIENCE = 200000000;  // ns

// A Span is where the buffers of a call lie on this rank.
struct Span {
  u64 piece;  // bytes
  u64 send, send_bytes, recv, recv_bytes;
};

bool span_of(const Team *t, const Call *c, Span *s) {
  const u64 size = size_of(c->dtype), longest = 1ull << 48;
  if (c->kind > KIND_ALLTOALL || !size || c->count == 0 || c->count > longest) return false;
  s->piece = c->count * size;
  s->send = (u64)c->send, s->recv = (u64)c->recv;
  s->send_bytes = s->piece * (c->kind == KIND_REDUCESCATTER || c->kind == KIND_ALLTOALL ? t->ranks : 1);
  s->recv_bytes = s->piece * (c->kind == KIND_ALLGATHER || c->kind == KIND_ALLTOALL ? t->ranks : 1);
  return true;
}

// window_of finds the oldest window that holds some bytes. Windows may overlap.
const Window *window_of(const Team *t, u64 at, u64 bytes) {
  const Windows &ws = t->windows;
  u32 low = 0, high = ws.count;
  while (low < high) {
    const u32 middle = (low + high) / 2;
    if (ws.row[middle].at <= at) low = middle + 1;
    else high = middle;
  }
  const Window *found = nullptr;
  while (low-- > 0 && ws.row[low].most_end > at) {
    const WindowRow &r = ws.row[low];
    if (r.end > at && bytes <= r.end - at && (!found || r.window->number < found->number)) found = r.window;
  }
  return found;
}

// changed has the next launches be made anew, and finds the ends of rows.
void changed(Team *t) {
  u64 most = 0;
  for (u32 i = 0; i < t->windows.count; i++) {
    WindowRow &r = t->windows.row[i];
    if (r.end > most) most = r.end;
    r.most_end = most;
  }
  for (u32 i = 0; i < READY; i++) t->ready[i].rule = nullptr;
}

bool room_for_one(Windows *ws) {
  if (ws->count < ws->room) return true;
  const u32 room = ws->room ? ws->room * 2 : 16;
  WindowRow *more = (WindowRow *)realloc((void *)ws->row, room * sizeof *more);
  if (more) ws->row = more, ws->room = room;
  return more != nullptr;
}

void unmap(Team *t, Window *w) {
  for (Mapping &m : w->map) unreach(t->gpu, &m);
  free(w);
}

// clear unmaps windows that were dropped, unless calls still run.
void clear(Team *t) {
  if (!t->windows.dropped || !order_idle(t, PATIENCE)) return;
  while (Window *w = t->windows.dropped) t->windows.dropped = w->next, unmap(t, w);
}

}  // namespace

bool team_wants_windows(const Team *t) { return t->windows.wanted; }

Window *window_begin(Team *t, const void *memory, u64 bytes, WindowOffer *mine, Files *files) {
  Why why = {};
  *mine = WindowOffer{};
  files->count = 0;
  Window *w = alive() && room_for_one(&t->windows) ? (Window *)calloc(1, sizeof *w) : nullptr;
  if (!w) {
    say(&why, "%s", alive() ? "no memory" : driver_text(ENGINE_FORKED));
  } else {
    Current current(t->gpu);
    Relaxed relaxed(t->gpu);
    clear(t);
    w->at = (u64)memory, w->bytes = bytes;
    if (t->hosted) say(&why, "GPUs do not reach each other's memory");
    else if (!current.code && offer_of(t->gpu, w->at, bytes, mine, files, &why)) return w;
    if (current.code) say(&why, "the GPU: %s", driver_text(current.code));
    free(w);
  }
  mine->reach = REACH_NOT;
  memcpy(mine->why, why.text, sizeof mine->why - 1);
  return nullptr;
}

bool window_fits(const WindowOffer *all, u32 ranks, Why *why) {
  for (u32 r = 0; r < ranks; r++) {
    if (all[r].reach == REACH_NOT) return say(why, "rank %u: %s", r, all[r].why), false;
    if (all[r].reach > REACH_MAPPED || all[r].files > MOST_FILES) return say(why, "rank %u: its offer", r), false;
    if (all[r].bytes != all[0].bytes) return say(why, "ranks 0 and %u have windows of different sizes", r), false;
  }
  return true;
}

void window_use(Team *t, Window *w, const void *name) {
  Windows &ws = t->windows;
  w->name = name, w->number = ws.numbers++;
  u32 i = ws.count++;
  for (; i > 0 && ws.row[i - 1].at > w->at; i--) ws.row[i] = ws.row[i - 1];
  ws.row[i] = WindowRow{w->at, w->at + w->bytes, 0, w};
  changed(t);
}

void window_end(Team *t, Window *w) {
  Current current(t->gpu);
  Relaxed relaxed(t->gpu);
  unmap(t, w);
}

u32 window_drop(Team *t, const void *name) {
  Windows &ws = t->windows;
  u32 kept = 0, dropped = 0;
  if (!alive()) return 0;
  for (u32 i = 0; i < ws.count; i++) {
    Window *w = ws.row[i].window;
    if (w->name != name) ws.row[kept++] = ws.row[i];
    else w->next = ws.dropped, ws.dropped = w, dropped++;
  }
  ws.count = kept;
  if (!dropped) return 0;
  changed(t);
  Current current(t->gpu);
  Relaxed relaxed(t->gpu);
  clear(t);
  return dropped;
}

void windows_free(Team *t) {
  Windows &ws = t->windows;
  for (u32 i = 0; i < ws.count; i++) unmap(t, ws.row[i].window);
  while (Window *w = ws.dropped) ws.dropped = w->next, unmap(t, w);
  free(ws.row);
  ws = Windows{};
}

bool team_windows(const Team *t, const Call *c) {
  Span s;
  return t->windows.count && span_of(t, c, &s) && window_of(t, s.send, s.send_bytes) &&
         window_of(t, s.recv, s.recv_bytes);
}

// In place, the smaller buffer of an AllGather or a ReduceScatter is a part of the larger one, another on each rank.
bool windows_place(const Team *t, const Call *c, abi_one_memory *rank) {
  Span s;
  if (!span_of(t, c, &s)) return false;
  const Window *in = window_of(t, s.send, s.send_bytes), *out = window_of(t, s.recv, s.recv_bytes);
  if (!in || !out) return false;
  const u64 own = t->rank * s.piece;
  const bool gathers = c->kind == KIND_ALLGATHER && s.send == s.recv + own;
  const bool scatters = c->kind == KIND_REDUCESCATTER && s.recv == s.send + own;
  for (u32 r = 0; r < t->ranks; r++) {
    rank[r].input = in->rank[r] + (s.send - in->at), rank[r].output = out->rank[r] + (s.recv - out->at);
    if (gathers) rank[r].input = rank[r].output + r * s.piece;
    if (scatters) rank[r].output = rank[r].input + r * s.piece;
  }
  return true;
}
