// This file is the thread of a helper: it does calls, and carries the messages that were ordered.
#include "helpers.h"
#include "rest.h"
#include "system.h"

#include <stdio.h>

// How long a helper without messages sleeps at most between two looks: its engine may owe other ends an answer.
static const uint64_t IDLE_NS = 1000000;

int order_begin(Order *o) {
  const transport_table *t = o->of->all->below;
  void *c = o->of->connection;
  switch (o->kind) {
    case ORDER_SEND: return t->send(c, o->data, o->bytes, o->region, &o->request);
    case ORDER_RECV: return t->recv(c, o->data, o->bytes, o->region, &o->request);
    case ORDER_FLUSH: return t->flush(c, o->data, o->bytes, o->region, &o->request);
  }
  return 1;
}

static Order *at(Link *l, uint64_t number) { return l->order + number % TRANSPORT_REQUESTS; }

static void end(Order *o, OrderState state) { __atomic_store_n(&o->state, state, __ATOMIC_RELEASE); }

static bool asked(Link *l) {
  return l->begun - l->ended < TRANSPORT_REQUESTS &&
         __atomic_load_n(&at(l, l->begun)->state, __ATOMIC_SEQ_CST) == ORDER_ASKED;
}

// broke has all orders of a connection fail that has. Messages that are under way below keep their memory until the
// connection is closed, which is all that may be done with it.
static void broke(Helper *h, Link *l) {
  if (!l->failed) snprintf(l->why, sizeof l->why, "%s", h->all->below->why(h->engine));
  l->failed = true;
  for (; asked(l); l->begun++) {}
  for (; l->ended < l->begun; l->ended++) end(at(l, l->ended), ORDER_FAILED);
}

void orders_drop(Link *l, const void *region) {
  for (uint64_t n = l->begun; n - l->ended < TRANSPORT_REQUESTS; n++) {
    Order *o = at(l, n);
    if (__atomic_load_n(&o->state, __ATOMIC_ACQUIRE) != ORDER_ASKED) return;
    if (o->region == region) o->dropped = true;
  }
}

// link_round begins and ends what it can of a connection's messages, in their order.
static bool link_round(Helper *h, Link *l) {
  bool found = false;
  for (; asked(l); l->begun++, found = true) {
    Order *o = at(l, l->begun);
    if (l->failed || (!o->dropped && order_begin(o))) {
      broke(h, l);
      return true;
    }
    if (!o->request && !o->dropped && o->kind != ORDER_FLUSH) break;  // it takes no more at present
  }
  for (int done = 1; l->ended < l->begun; l->ended++, found = true) {
    Order *o = at(l, l->ended);
    if (o->request && h->all->below->test(h->engine, o->request, &done, &o->bytes)) {
      broke(h, l);
      return true;
    }
    if (!done) break;
    end(o, o->dropped ? ORDER_FAILED : ORDER_DONE);
  }
  return found;
}

// busy says whether messages are under way, or wait.
static bool busy(const Helper *h) {
  for (Link *l = h->links; l; l = l->next)
    if (l->ended < l->begun || asked(l)) return true;
  return false;
}

static bool called(Helper *h) {
  HelperCall *c = __atomic_load_n(&h->call, __ATOMIC_SEQ_CST);
  if (!c) return false;
  c->result = c->run(h->engine, c->with);
  __atomic_store_n(&h->call, nullptr, __ATOMIC_SEQ_CST);
  sem_post(&h->answered);
  return true;
}

static bool stopped(Helper *h) { return __atomic_load_n(&h->stop, __ATOMIC_SEQ_CST); }

// doze sleeps until the helper is woken, or for some time. Who wakes it sees `asleep`, or the helper sees what it was
// to be woken for: a call, its end, or an order. With messages under way it sleeps so briefly that it does not look for
// orders again.
static void doze(Helper *h, uint64_t ns, bool under_way) {
  const uint64_t until = now_ns() + ns;
  const timespec ts = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
  pthread_mutex_lock(&h->sleep);
  __atomic_store_n(&h->asleep, 1, __ATOMIC_SEQ_CST);
  const bool news = stopped(h) || __atomic_load_n(&h->call, __ATOMIC_SEQ_CST) || (!under_way && busy(h));
  while (!news && __atomic_load_n(&h->asleep, __ATOMIC_SEQ_CST) &&
         pthread_cond_timedwait(&h->wake, &h->sleep, &ts) != ETIMEDOUT)
    continue;
  __atomic_store_n(&h->asleep, 0, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&h->sleep);
}

void helper_wake(Helper *h) {
  if (!__atomic_load_n(&h->asleep, __ATOMIC_SEQ_CST)) return;
  pthread_mutex_lock(&h->sleep);
  __atomic_store_n(&h->asleep, 0, __ATOMIC_SEQ_CST);
  pthread_cond_signal(&h->wake);
  pthread_mutex_unlock(&h->sleep);
}

static void *serve(void *helper) {
  Helper *h = (Helper *)helper;
  const bool room = roomy();
  for (uint64_t last = now_ns(); !stopped(h);) {
    bool found = called(h);
    for (Link *l = h->links; l; l = l->next) found |= link_round(h, l);
    found |= h->all->below->progress && h->all->below->progress(h->engine);
    const uint64_t time = now_ns();
    if (found) {
      last = time;
      continue;
    }
    const bool under_way = busy(h);
    if (const uint64_t rest = rest_ns(room, time - last)) doze(h, under_way ? rest : IDLE_NS, under_way);
    else sched_yield();
  }
  return nullptr;
}

int helper_call(Helper *h, int (*run)(void *engine, void *with), void *with) {
  HelperCall call = {run, with, 0};
  __atomic_store_n(&h->call, &call, __ATOMIC_SEQ_CST);
  helper_wake(h);
  sys_wait(&h->answered);
  return call.result;
}

static void free_signals(Helper *h) {
  sem_destroy(&h->answered);
  pthread_cond_destroy(&h->wake);
  pthread_mutex_destroy(&h->sleep);
}

int helper_start(Helper *h) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&h->sleep, nullptr);
  pthread_cond_init(&h->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  sem_init(&h->answered, 0, 0);
  const int code = start_thread(&h->thread, serve, h);
  if (!(h->started = !code)) free_signals(h);
  return code;
}

void helper_stop(Helper *h) {
  if (!h->started) return;
  __atomic_store_n(&h->stop, 1, __ATOMIC_SEQ_CST);
  helper_wake(h);
  pthread_join(h->thread, nullptr);
  free_signals(h);
}
