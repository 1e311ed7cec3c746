// This file is the engine of tests. One lock guards all of it.
#include "engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

namespace {

typedef unsigned long long u64;

enum Fault { NONE, CUT, LOSE, CORRUPT, DROP, KILL, SILENT, FAULTS };
const char *const fault_names[FAULTS] = {"", "cut", "lose", "corrupt", "drop", "kill", "silent"};

struct Engine {
  char world[64];
  u64 seed, delay, at, sent, handle;
  Fault fault;
  bool mute;
  const char *why;
};

// A Request of a send has its bytes in `own` where they were read at once. It lasts while it is on its way (queued), or
// its user has not been notified that it is done (held).
struct Request {
  struct Link *link;
  unsigned char *data, *own;
  size_t bytes, got;
  u64 due;
  bool queued, held, done, failed, lost;
  Request *next;
};
struct Region {
  unsigned char *data;
  size_t bytes;
  Region *next;
};
// An End is one end of a Link, and what users have as a connection.
struct End {
  Engine *engine;
  struct Link *link;
  Request *requests;  // in order
  Region *regions;
  bool closed;
};
struct Link {
  End to, from;
  bool broken;
  Link *next, *next_waiting;
};
struct Ear {
  Engine *engine;
  u64 number;
  Link *waiting;
  Ear *next;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
u64 ears_made = 1;
Ear *ears;
Link *links;
Fault next_fault;  // of the next message of any engine

struct Locked {
  Locked() { pthread_mutex_lock(&lock); }
  ~Locked() { pthread_mutex_unlock(&lock); }
};

u64 now() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}
// dice gives a number below n.
u64 dice(Engine *e, u64 n) {
  e->seed = e->seed * 6364136223846793005u + 1442695040888963407u;
  return (e->seed >> 33) % n;
}
template <class T> T *made() { return (T *)calloc(1, sizeof(T)); }

// sweep frees the requests of an end that have ended. counts says how many are left: of the user's, and on their way.
void sweep(End *end) {
  for (Request **at = &end->requests; *at;) {
    Request *r = *at;
    if (r->queued || r->held) {
      at = &r->next;
    } else {
      *at = r->next;
      free(r->own), free(r);
    }
  }
}
struct Counts {
  int held, queued;
};
Counts counts(const End &end) {
  Counts c = {0, 0};
  for (const Request *r = end.requests; r; r = r->next) c.held += r->held, c.queued += r->queued;
  return c;
}
Request *first_queued(const End &end) {
  Request *r = end.requests;
  while (r && !r->queued) r = r->next;
  return r;
}
void push(End *end, Request *r) {
  Request **at = &end->requests;
  while (*at) at = &(*at)->next;
  *at = r;
}

int failed(Engine *e, const char *why) {
  e->why = why;
  return 1;
}

Fault fault_of(const char *name) {
  for (int f = CUT; f < FAULTS; f++)
    if (!strcmp(name, fault_names[f])) return (Fault)f;
  return NONE;
}

bool parse(Engine *e, const char *spec) {
  const size_t n = strcspn(spec, ",");
  if (n >= sizeof e->world) return false;
  memcpy(e->world, spec, n);
  for (spec += n; *spec == ','; spec += strcspn(spec, ",")) {
    char name[16];
    u64 number;
    if (sscanf(++spec, "%15[a-z]=%llu", name, &number) != 2) return false;
    if (!strcmp(name, "seed")) e->seed = number;
    else if (!strcmp(name, "delay")) e->delay = number;
    else if (!strcmp(name, "handle")) e->handle = number;
    else e->at = number;
    if (const Fault f = fault_of(name)) e->fault = f;
  }
  return true;
}

int open(const char *spec, int, void **engine, char *why, size_t size) {
  Engine *e = made<Engine>();
  e->why = "";
  *engine = e;
  if (parse(e, spec)) return 0;
  snprintf(why, size, "the engine of tests does not understand %s", spec);
  free(e);
  *engine = nullptr;
  return 1;
}
void close(void *engine) { free(engine); }
const char *why(void *engine) { return ((Engine *)engine)->why; }
int properties(void *, transport_properties *p) {
  snprintf(p->name, sizeof p->name, "memory of the tests");
  return 0;
}

int listen(void *engine, unsigned, transport_handle *handle, void **to) {
  Locked locked;
  Ear *ear = made<Ear>();
  ear->engine = (Engine *)engine, ear->number = ears_made++;
  ear->next = ears, ears = ear;
  const u64 bytes = ear->engine->handle > sizeof ear->number ? ear->engine->handle : sizeof ear->number;
  *handle = transport_handle{(unsigned char *)calloc(1, bytes), (unsigned)bytes};
  memcpy(handle->at, &ear->number, sizeof ear->number);
  *to = ear;
  return 0;
}

int connect(void *engine, unsigned, const transport_handle *handle, void *, void **to) {
  Locked locked;
  Engine *e = (Engine *)engine;
  u64 number;
  *to = nullptr;
  if (handle->bytes < sizeof number) return failed(e, "a handle of another engine");
  memcpy(&number, handle->at, sizeof number);
  Ear *ear = ears;
  while (ear && ear->number != number) ear = ear->next;
  if (!ear || strcmp(ear->engine->world, e->world)) return failed(e, "nobody listens there");
  if (dice(e, 4)) return 0;
  Link *l = made<Link>();
  l->to.engine = e, l->to.link = l->from.link = l;
  l->next = links, links = l;
  l->next_waiting = ear->waiting, ear->waiting = l;
  *to = &l->to;
  return 0;
}

int accept(void *of, void **from) {
  Locked locked;
  Ear *ear = (Ear *)of;
  *from = nullptr;
  if (!ear->waiting || dice(ear->engine, 4)) return 0;
  Link *l = ear->waiting;
  ear->waiting = l->next_waiting;
  l->from.engine = ear->engine;
  *from = &l->from;
  return 0;
}

void close_ear(void *of) {
  Locked locked;
  Ear *ear = (Ear *)of;
  Ear **at = &ears;
  while (*at != ear) at = &(*at)->next;
  *at = ear->next;
  for (Link *l = ear->waiting; l; l = l->next_waiting) l->broken = l->from.closed = true;
  free(ear);
}

// close_end ends the requests of one end. What was sent and read is still to arrive at the other.
void close_end(End *end, bool sends) {
  Locked locked;
  Link *l = end->link;
  end->closed = true;
  if (!sends) l->broken = true;
  bool arrives = sends;
  for (Request *r = end->requests; r; r = r->next) {
    arrives &= !r->queued || r->own;  // one that was not read ends all after it
    r->held = false, r->queued &= arrives;
  }
  sweep(end);
  for (Region *r = end->regions; r;) {
    Region *next = r->next;
    free(r);
    r = next;
  }
  end->regions = nullptr;
  if (!l->to.closed || !l->from.closed) return;
  for (Request *r = l->to.requests; r; r = r->next) r->queued = false;
  sweep(&l->to);
  Link **at = &links;
  while (*at != l) at = &(*at)->next;
  *at = l->next;
  free(l);
}
void close_to(void *end) { close_end((End *)end, true); }
void close_from(void *end) { close_end((End *)end, false); }

int reg(void *connection, void *data, size_t bytes, int kind, void **region) {
  Locked locked;
  End *end = (End *)connection;
  if (kind != TRANSPORT_HOST) return failed(end->engine, "this engine reaches memory of the host only");
  Region *r = made<Region>();
  r->data = (unsigned char *)data, r->bytes = bytes, r->next = end->regions;
  *region = end->regions = r;
  return 0;
}
void dereg(void *connection, void *region) {
  Locked locked;
  Region **at = &((End *)connection)->regions;
  while (*at && *at != region) at = &(*at)->next;
  if (!*at) abort();
  *at = (*at)->next;
  free(region);
}

bool inside(const Region *r, const unsigned char *data, size_t bytes) {
  return r && data >= r->data && bytes <= r->bytes && (size_t)(data - r->data) <= r->bytes - bytes;
}

// begin has the rules kept that all requests have. What it gives is null where the request is to be tried again.
int begin(End *end, void *data, size_t bytes, void *region, Request **r) {
  Engine *e = end->engine;
  *r = nullptr;
  if (end->link->broken) return failed(e, "the connection has ended");
  if (!inside((Region *)region, (unsigned char *)data, bytes)) return failed(e, "memory that is not registered");
  const Counts c = counts(*end);
  if (c.held >= TRANSPORT_REQUESTS) return failed(e, "more requests than a connection has");
  if (c.queued >= 2 * TRANSPORT_REQUESTS || dice(e, 8) == 0) return 0;
  *r = made<Request>();
  (*r)->link = end->link, (*r)->data = (unsigned char *)data, (*r)->bytes = bytes;
  (*r)->queued = (*r)->held = true;
  return 0;
}

void read_now(Request *r) {
  r->own = (unsigned char *)malloc(r->bytes + 1);
  memcpy(r->own, r->data, r->bytes);
  r->done = true;
}

void end_all(const Engine *e) {
  for (Link *l = links; l; l = l->next)
    if (l->to.engine == e || l->from.engine == e) l->broken = true;
}

// befall has a fault come over a message.
void befall(Engine *e, Request *r) {
  if (e->mute) {
    r->lost = true;
  } else {
    const Fault fault = next_fault ? next_fault : ++e->sent == e->at ? e->fault : NONE;
    next_fault = NONE;
    switch (fault) {
      case CUT: r->bytes /= 2; break;
      case LOSE: r->lost = true; break;
      case CORRUPT:
        if (!r->own) read_now(r);
        if (r->bytes) r->own[dice(e, r->bytes < 88 ? r->bytes : 88)] ^= (unsigned char)(1 + dice(e, 255));
        break;
      case DROP: r->link->broken = true; break;
      case KILL: end_all(e); break;
      case SILENT: r->lost = e->mute = true; break;
      default: break;
    }
  }
}

int send(void *to, const void *data, size_t bytes, void *region, void **request) {
  Locked locked;
  End *end = (End *)to;
  Request *r;
  const int code = begin(end, (void *)data, bytes, region, &r);
  *request = r;
  if (!r) return code;
  if (end->engine->delay) r->due = now() + dice(end->engine, end->engine->delay);
  if (dice(end->engine, 2)) read_now(r);
  befall(end->engine, r);
  push(end, r);
  return 0;
}
int recv(void *from, void *data, size_t bytes, void *region, void **request) {
  Locked locked;
  End *end = (End *)from;
  Request *r;
  const int code = begin(end, data, bytes, region, &r);
  *request = r;
  if (r) push(end, r);
  return code;
}
int flush(void *, void *, size_t, void *, void **request) {
  *request = nullptr;
  return 0;
}

// deliver brings what is due.
void deliver(Link *l) {
  for (Request *s, *r; !l->broken && (s = first_queued(l->to)) && now() >= s->due;) {
    if (!s->lost) {
      if (!(r = first_queued(l->from))) break;
      if (s->bytes > r->bytes) r->failed = true;
      else memcpy(r->data, s->own ? s->own : s->data, r->got = s->bytes);
      r->queued = false, r->done = true;
    }
    s->queued = false, s->done = true;
  }
  sweep(&l->to);
  if (l->to.closed && !l->to.requests) l->broken = true;
}

int test(void *engine, void *request, int *done, size_t *bytes) {
  Locked locked;
  Request *r = (Request *)request;
  Link *l = r->link;
  deliver(l);
  *done = r->done;
  if (!r->done && !l->broken) return 0;
  *bytes = r->got;
  const bool bad = r->failed || !r->done;
  const char *wrong = r->failed ? "a message is longer than its room" : "the connection has ended";
  r->held = false, r->queued &= r->done;
  sweep(&l->to), sweep(&l->from);
  return bad ? failed((Engine *)engine, wrong) : 0;
}

}  // namespace

extern "C" void transport_test_fault(const char *name) {
  Locked locked;
  next_fault = fault_of(name);
}

extern "C" const transport_table transport_test = {
    open,  close,    why,        properties, listen, connect, accept, close_ear,
    close_to, close_from, reg, dereg, send, recv, flush, test, nullptr};
