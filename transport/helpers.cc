// This file is an engine with helper threads, as the thread sees it that calls.
#include "helpers.h"
#include "rest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Two helpers send and receive at once. A plugin has threads of its own, or needs none, and may not expect to be opened
// more than once.
enum { USUAL = 2 };

int net_number(const char *variable, unsigned least, unsigned most, unsigned usual, const char *what, unsigned *number,
               char *why, size_t size) {
  const char *text = getenv(variable);
  *number = usual;
  if (!text || !*text) return 0;
  char *end;
  const unsigned long n = strtoul(text, &end, 10);
  if (*text >= '0' && *text <= '9' && !*end && n >= least && n <= most) return *number = (unsigned)n, 0;
  snprintf(why, size, "%s is \"%.40s\", and must be a number from %u to %u: %s", variable, text, least, most, what);
  return 1;
}

int helpers_wanted(const transport_table *below, unsigned *count, char *why, size_t size) {
  return net_number("MSCCLC_NET_THREADS", 0, HELPERS_MOST, below == &transport_ucx && roomy() ? USUAL : 0,
                    "how many helper threads carry data", count, why, size);
}

static int failed(Helpers *e, const char *why) {
  snprintf(e->why, sizeof e->why, "%s", why ? why : "");
  return 1;
}

// on runs something with the engine of a helper, on its thread, or with that of line 0.
template <class F> static int on(Helpers *e, Helper *h, F run) {
  struct Task {
    Helpers *all;
    F *run;
  } task = {e, &run};
  const auto call = [](void *engine, void *with) {
    const Task *t = (const Task *)with;
    return (*t->run)(engine) ? failed(t->all, t->all->below->why(engine)) : 0;
  };
  return h ? helper_call(h, call, &task) : call(e->engine, &task);
}

static void helpers_close(void *engine) {
  Helpers *e = (Helpers *)engine;
  for (unsigned i = 0; i < e->count; i++) {
    helper_stop(e->helper + i);
    if (e->helper[i].engine) e->below->close(e->helper[i].engine);
  }
  if (e->engine) e->below->close(e->engine);
  free(e->helper), free(e);
}

int helpers_open(const transport_table *below, const char *spec, unsigned count, void **engine, char *why,
                 size_t size) {
  *engine = nullptr;
  Helpers *e = (Helpers *)calloc(1, sizeof *e);
  if (!e || !(e->helper = (Helper *)calloc(count + 1, sizeof *e->helper))) {
    free(e);
    snprintf(why, size, "no memory for helper threads");
    return 1;
  }
  e->below = below, e->count = count;
  int code = below->open(spec, 0, &e->engine, why, size);
  for (unsigned i = 0; i < count && !code; i++) {
    Helper *h = e->helper + i;
    h->all = e;
    if ((code = below->open(spec, 1, &h->engine, why, size))) break;
    if ((code = helper_start(h))) snprintf(why, size, "a helper thread does not start: %s", strerror(code));
  }
  if (code) helpers_close(e);
  else *engine = e;
  return code != 0;
}

static int helpers_open_nothing(const char *, int, void **engine, char *why, size_t size) {
  *engine = nullptr;
  snprintf(why, size, "helper threads need an engine below them");
  return 1;
}

static const char *helpers_why(void *engine) { return ((Helpers *)engine)->why; }

static int helpers_properties(void *engine, transport_properties *p) {
  Helpers *e = (Helpers *)engine;
  return on(e, nullptr, [e, p](void *own) { return e->below->properties(own, p); });
}

// helper_of is who carries a line one way. Of two helpers one sends and the other receives.
static Helper *helper_of(Helpers *e, unsigned line, bool receives) {
  return line && e->count ? e->helper + (2 * (line - 1) + receives) % e->count : nullptr;
}

static int helpers_listen(void *engine, unsigned line, transport_handle *handle, void **ear) {
  Helpers *e = (Helpers *)engine;
  *ear = nullptr, *handle = transport_handle{};
  Ear *a = (Ear *)calloc(1, sizeof *a);
  if (!a) return failed(e, "no memory for a connection");
  a->all = e, a->helper = helper_of(e, line, true);
  if (on(e, a->helper, [&](void *own) { return e->below->listen(own, line, handle, &a->ear); })) {
    free(a);
    return 1;
  }
  *ear = a;
  return 0;
}

// linked makes a connection of what `make` makes of the engine below, where that is not null.
template <class F> static int linked(Helpers *e, Helper *h, F make, void **connection) {
  *connection = nullptr;
  Link *l = (Link *)calloc(1, sizeof *l);
  if (!l) return failed(e, "no memory for a connection");
  l->all = e, l->helper = h;
  for (Order &o : l->order) o.of = l;
  const int code = on(e, h, [&](void *own) {
    if (make(own, &l->connection)) return 1;
    if (h && l->connection) l->next = h->links, h->links = l;
    return 0;
  });
  if (!code && l->connection) *connection = l;
  else free(l);
  return code;
}

static int helpers_connect(void *engine, unsigned line, const transport_handle *handle, void *beside,
                           void **to) {
  Helpers *e = (Helpers *)engine;
  Helper *h = helper_of(e, line, false);
  const Link *b = (const Link *)beside;
  void *below = b && b->helper == h ? b->connection : nullptr;  // another helper has another engine
  return linked(e, h, [=](void *own, void **made) { return e->below->connect(own, line, handle, below, made); }, to);
}

static int helpers_accept(void *ear, void **from) {
  Ear *a = (Ear *)ear;
  return linked(a->all, a->helper, [a](void *, void **made) { return a->all->below->accept(a->ear, made); }, from);
}

static void helpers_close_ear(void *ear) {
  Ear *a = (Ear *)ear;
  on(a->all, a->helper, [a](void *) {
    a->all->below->close_ear(a->ear);
    return 0;
  });
  free(a);
}

static void close_link(Link *l, void (*close)(void *)) {
  on(l->all, l->helper, [l, close](void *) {
    for (Link **at = l->helper ? &l->helper->links : nullptr; at && *at; at = &(*at)->next)
      if (*at == l) {
        *at = l->next;
        break;
      }
    close(l->connection);
    return 0;
  });
  free(l);
}
static void helpers_close_to(void *to) { close_link((Link *)to, ((Link *)to)->all->below->close_to); }
static void helpers_close_from(void *from) { close_link((Link *)from, ((Link *)from)->all->below->close_from); }

static int helpers_reg(void *connection, void *data, size_t bytes, int kind, void **region) {
  const Link *l = (const Link *)connection;
  return on(l->all, l->helper, [&](void *) { return l->all->below->reg(l->connection, data, bytes, kind, region); });
}
static void helpers_dereg(void *connection, void *region) {
  Link *l = (Link *)connection;
  on(l->all, l->helper, [&](void *) {
    if (l->helper) orders_drop(l, region);
    l->all->below->dereg(l->connection, region);
    return 0;
  });
}

// order asks for a message. Line 0's begins here.
static int order(void *connection, OrderKind kind, void *data, size_t bytes, void *region, void **request) {
  Link *l = (Link *)connection;
  Order *o = l->order + l->asked % TRANSPORT_REQUESTS;
  *request = nullptr;
  if (o->state != ORDER_FREE) return 0;
  o->kind = kind, o->data = data, o->bytes = bytes, o->region = region, o->request = nullptr, o->dropped = false;
  if (l->helper) {
    __atomic_store_n(&o->state, ORDER_ASKED, __ATOMIC_SEQ_CST);
    helper_wake(l->helper);
  } else {
    if (order_begin(o)) return failed(l->all, l->all->below->why(l->all->engine));
    if (!o->request) return 0;
    o->state = ORDER_ASKED;
  }
  l->asked++;
  *request = o;
  return 0;
}

static int helpers_send(void *to, const void *data, size_t bytes, void *region, void **request) {
  return order(to, ORDER_SEND, (void *)data, bytes, region, request);
}
static int helpers_recv(void *from, void *data, size_t bytes, void *region, void **request) {
  return order(from, ORDER_RECV, data, bytes, region, request);
}
static int helpers_flush(void *from, void *data, size_t bytes, void *region, void **request) {
  return order(from, ORDER_FLUSH, data, bytes, region, request);
}

static int helpers_test(void *engine, void *request, int *done, size_t *bytes) {
  Helpers *e = (Helpers *)engine;
  Order *o = (Order *)request;
  int code = 0;
  *done = 0;
  if (!o->of->helper) {
    if ((code = e->below->test(e->engine, o->request, done, bytes))) failed(e, e->below->why(e->engine));
  } else {
    const int state = __atomic_load_n(&o->state, __ATOMIC_ACQUIRE);
    if ((*done = state == ORDER_DONE)) *bytes = o->bytes;
    if (state == ORDER_FAILED) code = failed(e, o->of->why);
  }
  if (code || *done) __atomic_store_n(&o->state, ORDER_FREE, __ATOMIC_RELAXED);
  return code;
}

static int helpers_progress(void *engine) {
  Helpers *e = (Helpers *)engine;
  return e->below->progress && e->below->progress(e->engine);
}

extern const transport_table transport_helpers = {
    helpers_open_nothing, helpers_close,     helpers_why,      helpers_properties, helpers_listen, helpers_connect,
    helpers_accept,       helpers_close_ear, helpers_close_to, helpers_close_from, helpers_reg,    helpers_dereg,
    helpers_send,         helpers_recv,      helpers_flush,    helpers_test,       helpers_progress};
