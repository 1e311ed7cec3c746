// This file orders the calls of a team that are captured. Those of one capture follow each other, by an event that is
// part of it. Launches of graphs follow each other and eager calls, over all streams: the first call of a capture waits
// for Order.last, and the graph records that event after the last call, when it runs. The node that records is a leaf,
// so that kernels follow each other as before: with each call it moves after that call.
//
// NCCL does so, too, unless NCCL_GRAPH_MIXING_SUPPORT is 0. Then, and where the driver is older than these functions,
// the caller orders launches of graphs, by putting them on one stream or by events.
#include "team.h"

#include <stdlib.h>
#include <string.h>

namespace {

enum { EXTERNAL = 1, LOSSY_QUERY = 402 };

Capture *find(Order &o, u64 number) {
  for (Capture &c : o.capture)
    if (c.number == number) return &c;
  return nullptr;
}

// begun is the place of a new capture: of the one that had no call for the longest time.
Capture *begun(Order &o, u64 number) {
  Capture *oldest = o.capture;
  for (Capture &c : o.capture)
    if (c.used < oldest->used) oldest = &c;
  oldest->number = number;
  oldest->record = nullptr, oldest->count = 0;
  return oldest;
}

bool has(void *const *list, u32 count, const void *node) {
  for (u32 i = 0; i < count; i++)
    if (list[i] == node) return true;
  return false;
}

// move has the graph record the event after these nodes, instead of after the previous ones, which they depend on.
int move(const gpu_symbols *f, Capture *c, void *graph, void *const *nodes, u32 count) {
  for (u32 i = 0; i < count; i++) {
    void *node = nodes[i];
    if (!has(c->depends, c->count, node)) TRY(f->graph_depend(graph, &node, &c->record, 1));
  }
  for (u32 i = 0; i < c->count; i++)
    if (!has(nodes, count, c->depends[i])) TRY(f->graph_part(graph, c->depends + i, &c->record, 1));
  return 0;
}

// leaf has the graph record the event after all that the stream has captured. Where the driver cannot say what that
// is, since it is no whole node, the record stays after the previous call.
int leaf(const gpu_symbols *f, Order &o, Capture *c, void *stream) {
  int status = 0;
  u64 number;
  void *graph = nullptr, **nodes = nullptr, *list[DEPENDS];
  size_t count = 0;
  const int code = f->capturing(stream, &status, &number, &graph, &nodes, &count);
  if (code == LOSSY_QUERY || count > DEPENDS) return 0;
  if (code) return code;
  memcpy(list, nodes, count * sizeof *list);
  TRY(c->record ? move(f, c, graph, list, (u32)count) : f->graph_record(&c->record, graph, list, count, o.last));
  memcpy(c->depends, list, count * sizeof *list);
  c->count = (u32)count;
  __atomic_store_n(&o.any, true, __ATOMIC_RELEASE);
  o.mixed = true;
  return 0;
}

}  // namespace

bool team_orders_graphs(const Team *t) {
  const gpu_symbols *f = t->gpu->f;
  const char *mixing = getenv("NCCL_GRAPH_MIXING_SUPPORT");
  return !(mixing && !strcmp(mixing, "0")) && f->graph_record && f->graph_depend && f->graph_part;
}

int capture_before(Team *t, void *stream, u64 number) {
  const gpu_symbols *f = t->gpu->f;
  Order &o = *t->order;
  const Capture *c = find(o, number);
  if (c) return c->stream == stream ? 0 : f->await(stream, c->noted, 0);
  return o.mixes ? f->await(stream, o.last, EXTERNAL) : 0;
}

int capture_after(Team *t, void *stream, u64 number) {
  const gpu_symbols *f = t->gpu->f;
  Order &o = *t->order;
  Capture *c = find(o, number);
  if (!c) c = begun(o, number);
  c->stream = stream;
  c->used = o.captured + 1;
  __atomic_store_n(&o.captured, c->used, __ATOMIC_RELEASE);
  TRY(f->record(c->noted, stream));
  return o.mixes ? leaf(f, o, c, stream) : 0;
}
