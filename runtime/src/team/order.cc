// This file has the calls of a team follow each other over streams, since they share states and an arena. So do calls
// of all teams of a communicator: then they need no more room on the GPU at once than one of them.
//
// Eager calls: an event is recorded after each on its own stream. A call on another stream waits for it first. A
// stream is known by its number, not by its handle, which the driver may use again once the stream is destroyed.
//
// capture.cc has captured calls. Where graphs record the event of eager calls, too, these always wait for it: the
// host does not see when a graph is launched.
#include "team.h"

#include <stdlib.h>

namespace {

enum { NOT_READY = 600, PER_THREAD = 2, NO_TIMING = 2 };
const u64 NO_STREAM = ~0ull;
const u64 LOOK_AGAIN = 100000;  // ns

// number_of is a number that no other stream ever has, or NO_STREAM.
u64 number_of(const gpu_symbols *f, void *stream) {
  u64 number = 0;
  if (f->stream_id) return f->stream_id(stream, &number) == 0 ? number : NO_STREAM;
  return (u64)stream == PER_THREAD ? NO_STREAM : (u64)stream;
}

int capture_of(const gpu_symbols *f, void *stream, u64 *capture) {
  int status = 0;
  *capture = 0;
  TRY(f->capturing(stream, &status, capture, nullptr, nullptr, nullptr));
  if (!status) *capture = 0;
  return 0;
}

}  // namespace

bool order_join(Team *t, const Team *other) {
  t->order = other ? other->order : (Order *)calloc(1, sizeof(Order));
  if (!t->order) return false;
  t->beside = t->order->teams, t->order->teams = t;
  t->order->mixes = team_orders_graphs(t);
  return true;
}

int order_make(Team *t) {
  const gpu_symbols *f = t->gpu->f;
  Order &o = *t->order;
  for (Capture &c : o.capture)
    if (!c.noted) TRY(f->event(&c.noted, NO_TIMING));
  if (o.made) return 0;
  if (!o.last) TRY(f->event(&o.last, NO_TIMING));
  TRY(f->record(o.last, t->side));  // so that the first graph has something to wait for
  return o.made = true, 0;
}

void order_leave(Team *t) {
  Order *o = t->order;
  if (!o) return;
  Team **at = &o->teams;
  while (*at != t) at = &(*at)->beside;
  *at = t->beside;
  if (o->teams) return;
  if (o->last) t->gpu->f->event_end(o->last);
  for (const Capture &c : o->capture)
    if (c.noted) t->gpu->f->event_end(c.noted);
  free(o);
}

int order_before(Team *t, void *stream, StreamSeen *seen) {
  const gpu_symbols *f = t->gpu->f;
  Order &o = *t->order;
  *seen = StreamSeen{};
  if (__atomic_load_n(&o.unseen, __ATOMIC_ACQUIRE)) return ENGINE_ABORTED;
  if (o.asked && o.asked_stream == stream) seen->capture = o.asked_capture;
  else TRY(capture_of(f, stream, &seen->capture));
  o.asked = false;
  if (seen->capture) return capture_before(t, stream, seen->capture);
  seen->stream = number_of(f, stream);
  if (!o.any) return 0;
  return seen->stream == o.stream && seen->stream != NO_STREAM && !o.mixed ? 0 : f->await(stream, o.last, 0);
}

// Without an event nobody sees when the launch has ended.
int order_record(Team *t, void *event, void *stream) {
  const int code = sure([&] { return t->gpu->f->record(event, stream); });
  if (!code) return 0;
  __atomic_store_n(&t->order->unseen, true, __ATOMIC_RELEASE);
  team_unseen(t, code);
  return code;
}

int order_after(Team *t, void *stream, const StreamSeen &seen) {
  Order &o = *t->order;
  __atomic_store_n(&t->used, true, __ATOMIC_RELEASE);
  if (seen.capture) return capture_after(t, stream, seen.capture);
  o.stream = seen.stream;
  TRY(order_record(t, o.last, stream));
  __atomic_store_n(&o.any, true, __ATOMIC_RELEASE);
  return 0;
}

// A GPU with a fault runs nothing.
bool order_idle(Team *t, u64 limit_ns) {
  if (__atomic_load_n(&t->order->unseen, __ATOMIC_ACQUIRE)) return false;
  if (!__atomic_load_n(&t->used, __ATOMIC_ACQUIRE) || !__atomic_load_n(&t->order->any, __ATOMIC_ACQUIRE)) return true;
  for (const u64 begin = now_of_engine();; nap_of_engine(LOOK_AGAIN)) {
    if (t->gpu->f->happened(t->order->last) != NOT_READY) return true;
    if (now_of_engine() - begin >= limit_ns) return false;
  }
}

bool team_busy(Team *t) {
  if (!alive()) return false;
  Current current(t->gpu);
  return !current.code && !order_idle(t, 0);
}

int team_before(Team *t, void *stream, bool *captured) {
  if (!alive()) return ENGINE_FORKED;
  Current current(t->gpu);
  TRY(current.code);
  StreamSeen seen;
  TRY(order_before(t, stream, &seen));
  if (captured) *captured = seen.capture != 0;
  return 0;
}

int team_after(Team *t, void *stream) {
  if (!alive()) return ENGINE_FORKED;
  Current current(t->gpu);
  TRY(current.code);
  StreamSeen seen = {};
  TRY(capture_of(t->gpu->f, stream, &seen.capture));
  if (!seen.capture) seen.stream = number_of(t->gpu->f, stream);
  return order_after(t, stream, seen);
}

int team_captured(Team *t, void *stream, bool *captured) {
  *captured = false;
  if (!alive()) return ENGINE_FORKED;
  Current current(t->gpu);
  TRY(current.code);
  Order &o = *t->order;
  TRY(capture_of(t->gpu->f, stream, &o.asked_capture));
  o.asked = true, o.asked_stream = stream;
  *captured = o.asked_capture != 0;
  return 0;
}
