// Events, captures and graphs. A graph runs node by node, in an order that its dependencies allow: of several nodes
// that could be next, the one that was captured last.
#include "calls.h"

#include <pthread.h>
#include <time.h>

namespace {

enum { EXTERNAL = 1 };

double now_ms() {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec * 1e-6;
}

// recorded counts a record of an event, from now on, and gives what is to be done where it happens.
Task recorded(Event *e) {
  Lock l(e->mu);
  e->capture = nullptr;
  const u64 n = ++e->recorded;
  e->open.insert(n);
  return [=] {
    Lock l(e->mu);
    e->open.erase(n);
    e->at_ms = now_ms();
    e->changed.notify_all();
  };
}

// awaited waits for the last record of an event until now.
Task awaited(Event *e) {
  Lock l(e->mu);
  const u64 n = e->recorded;
  return [=] {
    Lock l(e->mu);
    e->changed.wait(l, [&] { return !e->open.count(n) || e->device->fault; });
  };
}

// tasks are what a launch of a graph does, in order.
Task tasks(const std::vector<Node> &nodes, Device *d) {
  auto list = std::make_shared<std::vector<Task>>();
  std::set<size_t> done;
  while (done.size() < nodes.size()) {
    size_t next = nodes.size();
    for (size_t i = 0; i < nodes.size() && (next == nodes.size() || !nodes[next].early); i++) {
      bool ready = !done.count(i);
      for (size_t before : nodes[i].after) ready &= done.count(before) != 0;
      if (ready) next = i;
    }
    if (next == nodes.size()) abort();  // a circle
    list->push_back(nodes[next].begin());
    done.insert(next);
  }
  return [=] {
    for (const Task &t : *list)
      if (!d->fault) t();
  };
}

// joined says whether all streams of a capture have come back to its first one.
bool joined(const Graph &g) {
  std::set<size_t> before = g.origin->leaves;
  for (size_t n = 0; n != before.size();) {
    n = before.size();
    for (size_t i : std::set<size_t>(before)) before.insert(g.nodes[i].after.begin(), g.nodes[i].after.end());
  }
  for (const Stream *s : g.streams)
    for (size_t i : s->leaves)
      if (!before.count(i)) return false;
  return true;
}

// Captures that go on, by the number of their graph: with their mode, and the thread that began them.
enum { GLOBAL = 0, RELAXED = 2 };
struct Going {
  int mode;
  pthread_t thread;
};
std::mutex going_mu;
auto &going = *new std::map<u64, Going>;  // never destroyed: threads may capture while their process exits
thread_local int own_mode = GLOBAL;

void *handle_of(size_t node) { return (void *)(node + 1); }
bool is_node(const Graph *g, const void *handle) { return handle && (size_t)handle <= g->nodes.size(); }

}  // namespace

void capture_node(Stream *s, std::function<Task()> begin) {
  Graph *g = s->capture;
  g->nodes.push_back(Node{std::move(begin), s->leaves, false});
  s->leaves = {g->nodes.size() - 1};
}

int do_event(void **event, unsigned) {
  CONTEXT;
  Event *e = new Event;
  e->device = d;
  return *event = e, OK;
}
int do_event_end(void *event) { return event ? OK : INVALID_HANDLE; }
int do_happened(void *event) {
  CONTEXT;
  Event *e = (Event *)event;
  Lock l(e->mu);
  return e->capture ? CAPTURE_UNSUPPORTED : e->open.count(e->recorded) ? NOT_READY : OK;
}
int do_record(void *event, void *stream) {
  STREAM;
  Event *e = (Event *)event;
  if (e->device != d) return INVALID_HANDLE;
  {
    Lock of_stream(s->mu);
    Lock l(e->mu);
    e->capture = s->capture;
    if (s->capture) return e->leaves = s->leaves, OK;
  }
  return enqueue(s, recorded(e));
}
int do_await(void *stream, void *event, unsigned flags) {
  STREAM;
  Event *e = (Event *)event;
  Lock of_stream(s->mu);
  Lock l(e->mu);
  Graph *g = e->capture;
  const bool any = e->recorded != 0;
  if (flags == EXTERNAL) {
    NEED(s->capture);
    return capture_node(s, [=] { return awaited(e); }), OK;
  }
  if (g) {
    if (s->capture && s->capture != g) return CAPTURE_ISOLATION;
    s->capture = g;
    s->leaves.insert(e->leaves.begin(), e->leaves.end());
    g->streams.insert(s);
    return OK;
  }
  if (s->capture) return any ? CAPTURE_ISOLATION : OK;
  l.unlock(), of_stream.unlock();
  return enqueue(s, awaited(e));
}
int do_elapsed(float *ms, void *begin, void *end) {
  CONTEXT;
  Event *a = (Event *)begin, *b = (Event *)end;
  if (a->open.count(a->recorded) || b->open.count(b->recorded)) return NOT_READY;
  NEED(a->recorded && b->recorded);
  return *ms = (float)(b->at_ms - a->at_ms), OK;
}

int do_capture_mode(int *mode) {
  if (*mode < GLOBAL || *mode > RELAXED) return INVALID_VALUE;
  return std::swap(own_mode, *mode), OK;
}
// while_capturing says whether the calling thread may make a call that is unsafe during captures. A thread that is not
// relaxed may not during a capture of its own that is not, nor, where it is global, during a global one of another.
int while_capturing() {
  if (own_mode == RELAXED) return OK;
  Lock l(going_mu);
  for (const auto &c : going) {
    const bool own = pthread_equal(c.second.thread, pthread_self());
    if (own ? c.second.mode != RELAXED : c.second.mode == GLOBAL && own_mode == GLOBAL) return CAPTURE_UNSUPPORTED;
  }
  return OK;
}

int do_capture(void *stream, int mode) {
  static std::atomic<u64> numbers;
  STREAM;
  NEED(mode >= GLOBAL && mode <= RELAXED);
  Lock l(s->mu);
  if (s->capture || !stream) return CAPTURE_UNSUPPORTED;
  s->capture = new Graph{++numbers, {}, {s}, s};
  s->leaves.clear();
  Lock all(going_mu);
  going[s->capture->number] = {mode, pthread_self()};
  return OK;
}
int do_capturing(void *stream, int *status, u64 *number, void **graph, void ***nodes, size_t *count) {
  static thread_local std::vector<void *> list;
  STREAM;
  Lock l(s->mu);
  *status = s->capture != nullptr;
  if (!s->capture) return OK;
  *number = s->capture->number;
  list.clear();
  for (size_t i : s->leaves) list.push_back(handle_of(i));
  if (graph) *graph = s->capture;
  if (nodes) *nodes = list.data();
  if (count) *count = list.size();
  return OK;
}
int do_capture_end(void *stream, void **graph) {
  STREAM;
  Graph *g = s->capture;
  if (!g || g->origin != s) return INVALID_VALUE;
  const bool whole = joined(*g);
  {
    Lock all(going_mu);
    going.erase(g->number);
  }
  for (Stream *of : g->streams) {
    Lock l(of->mu);
    of->capture = nullptr;
    of->leaves.clear();
  }
  if (!whole) return delete g, CAPTURE_UNJOINED;
  return *graph = g, OK;
}
int do_instantiate(void **executable, void *graph) {
  CONTEXT;
  return *executable = new Graph(*(Graph *)graph), OK;
}
int do_noted_end(void *graph) { return delete (Graph *)graph, OK; }
int do_graph(void *executable, void *stream) {
  STREAM;
  const std::vector<Node> nodes = ((Graph *)executable)->nodes;
  {
    Lock l(s->mu);
    if (s->capture) return capture_node(s, [=] { return tasks(nodes, d); }), OK;
  }
  return enqueue(s, tasks(nodes, d));
}
int do_graph_end(void *executable) { return delete (Graph *)executable, OK; }

int do_graph_record(void **node, void *graph, void **after, size_t count, void *event) {
  CONTEXT;
  Graph *g = (Graph *)graph;
  Event *e = (Event *)event;
  if (e->device != d) return INVALID_HANDLE;
  Node made{[=] { return recorded(e); }, {}, true};
  for (size_t i = 0; i < count; i++) {
    NEED(is_node(g, after[i]));
    made.after.insert((size_t)after[i] - 1);
  }
  g->nodes.push_back(made);
  return *node = handle_of(g->nodes.size() - 1), OK;
}
int do_graph_depend(void *graph, void **from, void **to, size_t count, bool depend) {
  Graph *g = (Graph *)graph;
  for (size_t i = 0; i < count; i++) {
    NEED(is_node(g, from[i]) && is_node(g, to[i]) && from[i] != to[i]);
    std::set<size_t> &after = g->nodes[(size_t)to[i] - 1].after;
    const size_t node = (size_t)from[i] - 1;
    NEED((after.count(node) != 0) != depend);
    if (depend) after.insert(node);
    else after.erase(node);
  }
  return OK;
}
