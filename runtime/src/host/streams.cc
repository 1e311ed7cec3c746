// Streams and events of the host device. A stream with a thread does what is queued in order. An event is a place in a
// stream's queue.
#include "host.h"

#include <signal.h>
#include <stdlib.h>

struct HostTask {
  void (*run)(void *);
  void *with;
  HostTask *next;
};

struct HostStream {
  bool threaded;
  u64 number;
  pthread_t thread;
  pthread_mutex_t mu;     // guards what follows
  pthread_cond_t changed;
  HostTask *first, **last;
  u64 queued, done;
  bool ended;
};

namespace {

enum { NOT_READY = 600 };
u64 numbers;

struct Event {
  HostStream *stream;  // null: it happened at once
  u64 at;
};

void *serve(void *arg) {
  HostStream *s = (HostStream *)arg;
  pthread_mutex_lock(&s->mu);
  for (;;) {
    while (!s->first && !s->ended) pthread_cond_wait(&s->changed, &s->mu);
    HostTask *t = s->first;
    if (!t) break;
    if (!(s->first = t->next)) s->last = &s->first;
    pthread_mutex_unlock(&s->mu);
    t->run(t->with);
    free(t->with);
    free(t);
    pthread_mutex_lock(&s->mu);
    s->done++;
    pthread_cond_broadcast(&s->changed);
  }
  pthread_mutex_unlock(&s->mu);
  return nullptr;
}

// start starts the thread, which takes no signals of the process.
bool start(HostStream *s) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool good = pthread_create(&s->thread, nullptr, serve, s) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return good;
}

void wait_for(HostStream *s, u64 at) {
  pthread_mutex_lock(&s->mu);
  while (s->done < at) pthread_cond_wait(&s->changed, &s->mu);
  pthread_mutex_unlock(&s->mu);
}

bool threaded(const void *stream) { return stream && ((const HostStream *)stream)->threaded; }

int stream(void **made, unsigned) { return (*made = host_stream(false)) ? 0 : (int)ENGINE_HOST_MEMORY; }
int stream_end(void *s) { return host_stream_end((HostStream *)s), 0; }
int sync(void *s) { return host_stream_wait((HostStream *)s), 0; }
int event(void **made, unsigned) { return (*made = calloc(1, sizeof(Event))) ? 0 : (int)ENGINE_HOST_MEMORY; }
int event_end(void *e) { return free(e), 0; }

int record(void *event, void *stream) {
  Event *e = (Event *)event;
  HostStream *s = (HostStream *)stream;
  *e = Event{};
  if (!threaded(s)) return 0;
  pthread_mutex_lock(&s->mu);
  *e = Event{s, s->queued};
  pthread_mutex_unlock(&s->mu);
  return 0;
}

int happened(void *event) {
  const Event *e = (const Event *)event;
  if (!e->stream) return 0;
  pthread_mutex_lock(&e->stream->mu);
  const bool over = e->stream->done >= e->at;
  pthread_mutex_unlock(&e->stream->mu);
  return over ? 0 : NOT_READY;
}

void await_now(void *with) { wait_for(((Event *)with)->stream, ((Event *)with)->at); }

int await(void *stream, void *event, unsigned) {
  const Event e = *(const Event *)event;
  if (!e.stream || e.stream == stream) return 0;
  Event *copy = (Event *)malloc(sizeof e);
  if (!copy) return ENGINE_HOST_MEMORY;
  *copy = e;
  return host_later(stream, await_now, copy);
}

int stream_id(void *stream, u64 *number) { return *number = stream ? ((HostStream *)stream)->number : 0, 0; }

// Nothing is captured on a host.
int capturing(void *, int *status, u64 *, void **, void ***, size_t *) { return *status = 0, 0; }
int capture_mode(int *) { return 0; }

}  // namespace

HostStream *host_stream(bool thread) {
  HostStream *s = (HostStream *)calloc(1, sizeof *s);
  if (!s) return nullptr;
  s->threaded = thread, s->last = &s->first, s->number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
  pthread_mutex_init(&s->mu, nullptr);
  pthread_cond_init(&s->changed, nullptr);
  if (!thread || start(s)) return s;
  free(s);
  return nullptr;
}

bool host_stream_wait(HostStream *s) {
  if (!threaded(s)) return true;
  pthread_mutex_lock(&s->mu);
  const u64 at = s->queued;
  pthread_mutex_unlock(&s->mu);
  return wait_for(s, at), true;
}

void host_stream_end(HostStream *s) {
  if (s->threaded) {
    pthread_mutex_lock(&s->mu);
    s->ended = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mu);
    pthread_join(s->thread, nullptr);
  }
  pthread_mutex_destroy(&s->mu);
  pthread_cond_destroy(&s->changed);
  free(s);
}

int host_later(void *stream, void (*run)(void *), void *with) {
  HostStream *s = (HostStream *)stream;
  if (!threaded(s)) return run(with), free(with), 0;
  HostTask *t = (HostTask *)malloc(sizeof *t);
  if (!t) return free(with), (int)ENGINE_HOST_MEMORY;
  *t = HostTask{run, with, nullptr};
  pthread_mutex_lock(&s->mu);
  *s->last = t, s->last = &t->next;
  s->queued++;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
  return 0;
}

void host_stream_symbols(gpu_symbols *f) {
  f->stream = stream, f->stream_end = stream_end, f->sync = sync, f->stream_id = stream_id;
  f->event = event, f->event_end = event_end, f->record = record, f->happened = happened, f->await = await;
  f->capturing = capturing, f->capture_mode = capture_mode;
}
