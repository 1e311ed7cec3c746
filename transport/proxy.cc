// This file is the thread of a proxy: it does what other threads ask, and the rounds of its jobs.
#include "helpers.h"
#include "job.h"
#include "rest.h"
#include "system.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const u64 IDLE_NS = 1 * MS;  // how long the thread sleeps between two looks while it has no job

// Threads help if one did a round during the last HELP. Meanwhile the proxy's own looks every HELPED whether they do.
static const u64 HELP_NS = 50000, HELPED_NS = 150000;

u64 net_now() { return now_ns(); }
void net_nap(u64 ns) { sys_nap(ns); }
int net_word(const int *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void net_set(int *word, int value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
void net_count(uint64_t *counter, u64 more) { __atomic_fetch_add(counter, more, __ATOMIC_RELAXED); }

int net_say(net_failure *f, net_code code, u32 process, const char *format, ...) {
  if (!f) return 1;
  f->code = code, f->process = process;
  va_list list;
  va_start(list, format);
  vsnprintf(f->text, sizeof f->text, format, list);
  va_end(list);
  return 1;
}

int on_thread(net_proxy *p, int (*run)(net_proxy *, void *), void *with) {
  pthread_mutex_lock(&p->calls);
  p->call = Call{run, with};
  net_set(&p->called, 1);
  sys_wait(&p->answered);
  const int result = p->result;
  pthread_mutex_unlock(&p->calls);
  return result;
}

// rested has no peer be blamed for a time in which this process did not run.
static void rested(net_proxy *p) {
  for (net_job *j = p->jobs; j; j = j->next)
    for (u32 i = 0; i < j->peers; i++) j->peer[i].received = p->now;
}

static void sleep_in(Load &load, u64 usual) {
  const u64 rest = load.rest(usual), begin = net_now();
  net_nap(rest);
  load.woke(rest, net_now() - begin);
}

// answered does what another thread asks.
static bool answered(net_proxy *p) {
  if (!net_word(&p->called)) return false;
  p->result = p->call.run(p, p->call.with);
  net_set(&p->called, 0);
  sem_post(&p->answered);
  return true;
}

// round is what there is to do at present, of the thread that has its turn.
static bool round(net_proxy *p) {
  const u64 now = net_now(), gap = now - p->now;
  p->now = now;
  if (gap > PAUSE_NS) rested(p);
  bool found = false;
  for (net_job *j = p->jobs; j; j = j->next) found |= job_round(j);
  return found | (p->jobs && p->table->progress && p->table->progress(p->engine));
}

// helping says whether other threads do the rounds.
static bool helping(const net_proxy *p) {
  return net_now() - __atomic_load_n(&p->helped, __ATOMIC_RELAXED) < HELP_NS;
}

int mscclc_net_help(net_proxy *p) {
  if (pthread_mutex_trylock(&p->turn)) {
    __atomic_store_n(&p->helped, 0, __ATOMIC_RELAXED);  // whoever is at a round does another one: this thread may not
    return 0;
  }
  const bool found = round(p);
  __atomic_store_n(&p->helped, p->now, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&p->turn);
  return found;
}

static void *serve(void *proxy) {
  net_proxy *p = (net_proxy *)proxy;
  const bool room = roomy();
  Load load;
  for (u64 last = net_now(); !net_word(&p->stop);) {
    if (!net_word(&p->called) && helping(p)) {
      net_nap(HELPED_NS);
      continue;
    }
    pthread_mutex_lock(&p->turn);
    const bool found = answered(p) | round(p);
    const u64 now = p->now;
    const bool jobs = p->jobs;
    pthread_mutex_unlock(&p->turn);
    if (found) last = now;
    else if (const u64 usual = jobs ? rest_ns(room, now - last) : IDLE_NS) sleep_in(load, usual);
    else sched_yield();
  }
  return nullptr;
}

// The arguments of opening and closing the engine.
struct Opening {
  const transport_table *table;
  const char *spec;
  net_failure *failure;
};
static int open_engine(net_proxy *p, void *with) {
  const Opening *o = (const Opening *)with;
  char why[sizeof o->failure->text] = "";
  unsigned helpers = 0, silence = 0;
  p->table = o->table;
  int code = net_number("MSCCLC_SILENCE", 1, 3600, 15, "how many seconds a process may be silent", &silence, why,
                        sizeof why);
  p->silence = silence * 1000 * MS;
  if (!code) code = helpers_wanted(o->table, &helpers, why, sizeof why);
  if (!code && helpers) {
    p->table = &transport_helpers;
    code = helpers_open(o->table, o->spec, helpers, &p->engine, why, sizeof why);
  } else if (!code) {
    code = p->table->open(o->spec, 0, &p->engine, why, sizeof why);
  }
  if (!code) return 0;
  p->engine = nullptr;
  return net_say(o->failure, NET_ENGINE, ~0u, "%s", why[0] ? why : "the engine does not open");
}
static int close_engine(net_proxy *p, void *) {
  if (p->engine) p->table->close(p->engine);
  return 0;
}

int mscclc_net_proxy_of(const transport_table *table, const char *spec, net_proxy **proxy, net_failure *f) {
  *proxy = nullptr;
  net_proxy *p = (net_proxy *)calloc(1, sizeof *p);
  if (!p) return net_say(f, NET_STATE, ~0u, "no memory for a proxy");
  pthread_mutex_init(&p->calls, nullptr);
  pthread_mutex_init(&p->turn, nullptr);
  p->now = net_now();
  sem_init(&p->answered, 0, 0);
  if (const int code = start_thread(&p->thread, serve, p)) {
    free(p);
    return net_say(f, NET_STATE, ~0u, "the proxy's thread does not start: %s", strerror(code));
  }
  Opening opening = {table, spec, f};
  if (on_thread(p, open_engine, &opening)) {
    mscclc_net_proxy_end(p);
    return 1;
  }
  *proxy = p;
  return 0;
}

uint64_t mscclc_net_silence(const net_proxy *p) { return p->silence; }

static const transport_table *test_engine;
void mscclc_net_test_engine(const transport_table *table) { test_engine = table; }

int mscclc_net_proxy(const char *name, net_proxy **proxy, net_failure *f) {
  const char *colon = strchr(name, ':');
  const size_t n = colon ? (size_t)(colon - name) : strlen(name);
  const char *spec = colon ? colon + 1 : "";
  const struct {
    const char *name;
    const transport_table *table;
  } known[] = {{"ucx", &transport_ucx}, {"ncclnet", &transport_ncclnet}, {"test", test_engine}};
  for (const auto &k : known)
    if (k.table && strlen(k.name) == n && !memcmp(k.name, name, n)) return mscclc_net_proxy_of(k.table, spec, proxy, f);
  *proxy = nullptr;
  return net_say(f, NET_ENGINE, ~0u, "there is no engine %s; say ucx, or ncclnet:PLUGIN", name);
}

void mscclc_net_proxy_end(net_proxy *p) {
  on_thread(p, close_engine, nullptr);
  net_set(&p->stop, 1);
  pthread_join(p->thread, nullptr);
  pthread_mutex_destroy(&p->calls);
  pthread_mutex_destroy(&p->turn);
  sem_destroy(&p->answered);
  free(p);
}

// What mscclc_net_properties asks the thread for.
static int ask_properties(net_proxy *p, void *with) {
  return p->table->properties(p->engine, (transport_properties *)with);
}
int mscclc_net_properties(net_proxy *p, transport_properties *properties) {
  memset(properties, 0, sizeof *properties);
  return on_thread(p, ask_properties, properties);
}
