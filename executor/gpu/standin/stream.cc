// Streams and graphs.
#include "standin.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <thread>

std::vector<Device *> &devices() {
  static auto &list = *[] {  // never destroyed: threads may launch while their process exits
    const char *text = getenv("MSCCLC_STANDIN_GPUS");
    auto *all = new std::vector<Device *>;
    for (int i = 0; i < (text ? atoi(text) : 4); i++) {
      all->push_back(new Device);
      all->back()->number = i;
    }
    return all;
  }();
  return list;
}

Device *&current() {
  static thread_local Device *d = nullptr;
  return d;
}

static void *serve(void *arg) {
  Stream *s = (Stream *)arg;
  current() = s->device;
  for (;;) {
    Lock l(s->mu);
    s->changed.wait(l, [s] { return s->ended || !s->queue.empty(); });
    if (s->queue.empty()) return nullptr;
    Task t = std::move(s->queue.front());
    s->queue.pop_front();
    l.unlock();
    if (!s->device->fault) t();
    l.lock();
    s->left--;
    s->changed.notify_all();
  }
}

// The signals of the process are for the Go runtime's threads.
Stream *new_stream(Device *d) {
  Stream *s = new Stream;
  s->device = d;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t id;
  const bool ok = pthread_create(&id, nullptr, serve, s) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!ok) return nullptr;
  pthread_detach(id);
  Lock l(d->mu);
  d->streams.push_back(s);
  return s;
}

Stream *stream_of(Device *d, void *stream) {
  static std::mutex making;
  if (stream) return (Stream *)stream;
  Lock l(making);
  if (!d->null) d->null = new_stream(d);
  return d->null;
}

// full waits while a stream's queue is full. For the stream without a name, the driver does that with the lock of the
// context: until there is room, no other thread's call comes back (seen on H200s, driver 580).
static void full(Stream *s, Lock &l) {
  const auto room = [s] { return s->ended || s->capture || s->left < QUEUE; };
  if (room()) return;
  std::atomic<u64> none{0}, &holder = s == s->device->null ? s->device->holder : none;
  holder = (u64)pthread_self();
  s->changed.wait(l, room);
  holder = 0;
}

void wait_for_driver() {
  const Device *d = current();
  while (d && d->holder && d->holder != (u64)pthread_self()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

int enqueue(Stream *s, Task t) {
  Lock l(s->mu);
  full(s, l);
  if (s->ended) return INVALID_HANDLE;
  if (s->capture) {
    capture_node(s, [t = std::move(t)] { return t; });
    return OK;
  }
  s->queue.push_back(std::move(t));
  s->left++;
  s->changed.notify_all();
  return OK;
}

void drain(Stream *s) {
  Lock l(s->mu);
  s->changed.wait(l, [s] { return !s->left; });
}
