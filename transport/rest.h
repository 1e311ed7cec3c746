// This file says how the threads of a process start and look for work: the proxy's and its helpers'.
#pragma once
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

// now_ns is the time of a clock that nobody sets.
static inline uint64_t now_ns() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

// start_thread starts a thread, and returns an errno. The signals of the process are for its other threads.
static inline int start_thread(pthread_t *thread, void *(*run)(void *), void *with) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int code = pthread_create(thread, nullptr, run, with);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return code;
}

// Where a process may use fewer than ROOMY processors, threads that look for work take them from others.
enum { ROOMY = 8 };
static inline bool roomy() {
  cpu_set_t set;  // of 1,024 processors: a machine with more has EINVAL
  return sched_getaffinity(0, sizeof set, &set) ? errno == EINVAL : CPU_COUNT(&set) >= ROOMY;
}

// rest_ns is how long a thread sleeps that has found nothing for `since` ns, or 0: it only yields. A thread that sleeps
// notices a message late, and each message of a call that waits for the one before is late by that. So with processors
// enough a thread looks on for as long as the next message of a call may take.
static inline uint64_t rest_ns(bool room, uint64_t since) {
  const uint64_t look = 50000, later = 5000000;
  if (since < (room ? later : look)) return 0;
  return since < later ? 20000 : 150000;
}

// A Load finds by how late a thread wakes whether more threads want to run than there are processors. Then it sleeps
// longer: each look takes the time of a thread that has something to do.
struct Load {
  uint64_t late = 0;  // an average, in ns

  uint64_t rest(uint64_t ns) const {
    const uint64_t few = 500000, most = 2000000;
    if (late < few) return ns;
    return 2 * late < most ? 2 * late : most;
  }
  void woke(uint64_t asked, uint64_t slept) { late = (7 * late + (slept > asked ? slept - asked : 0)) / 8; }
};
