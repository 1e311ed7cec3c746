// What is written while a job runs: MSCCLC_STATS, and in the folder MSCCLC_METRICS metrics and the last calls. One
// thread sleeps 10 s between two writings. There is none if neither variable is set.
#include "../front/front.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

const u64 AWAITED = 5 * SECOND;  // the longest that an error waits for the last calls to be written
pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_mutex_t sleeping = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;  // guards what follows; not held in a call of the driver
pthread_cond_t woken;
Atom<int> begun;     // there was a communicator
Atom<int> writes;    // the thread runs
Atom<u64> asked;     // how often the last calls were to be written
Atom<u64> recorded;  // asked, as it was before they were written last
Atom<u64> given_up;  // asked, of which some call waits no more
Atom<int> recording; // they are being written
u64 dump_seen;       // when the file `dump` changed last
u64 stats_written;   // calls
u64 failures[FAILURES];

// append adds a line to a file that processes share, at once.
bool append(const char *path, const Text &t) {
  const int fd = sys_open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) return false;
  const bool whole = sys_write(fd, t.at, t.size);
  const int code = errno;
  close(fd);
  errno = code;
  return whole;
}

// own_file says whether a variable names a file for each process.
bool own_file(const char *text) {
  for (; *text; text++)
    if (*text == '%' && text[1] == 'p') return true;
    else if (*text == '%' && text[1] == '%') text++;
  return false;
}

// write_stats writes all counts so far. A file of this process is written anew; to one that processes share it adds a
// line if there were calls since: the last line of a process counts.
void write_stats() {
  char path[PATH_ROOM];
  Text t = {};
  u64 calls = 0;
  stats_text(&t, &calls);
  if (!t.at || calls == stats_written || !file_named("MSCCLC_STATS", &path)) return free(t.at);
  stats_written = calls;
  if (own_file(getenv("MSCCLC_STATS"))) {
    char dir[PATH_ROOM];
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
    if (!write_whole(dir, slash ? slash + 1 : path, t)) tell_unwritten("MSCCLC_STATS", path);
  } else if (!append(path, t)) {
    tell_unwritten("MSCCLC_STATS", path);
  }
  free(t.at);
}

void write_named(const char *dir, const char *ending, const Text &t) {
  char name[512];
  snprintf(name, sizeof name, "mscclc-%s-%d.%s", host_name(), (int)getpid(), ending);
  if (!write_whole(dir, name, t)) tell_unwritten("MSCCLC_METRICS", dir);
}

void write_metrics(const char *dir) {
  Text t = {};
  metrics_text(&t);
  write_named(dir, "prom", t);
  free(t.at);
}

void write_record(const char *dir, const char *why, bool exits) {
  Text t = {};
  record_text(&t, why, exits);
  write_named(dir, "calls.json", t);
  free(t.at);
}

// dump_changed is when the file `dump` in the folder was changed last, or 0 if there is none.
u64 dump_changed(const char *dir) {
  char path[PATH_ROOM + 8];
  struct stat about;
  snprintf(path, sizeof path, "%s/dump", dir);
  if (stat(path, &about)) return 0;
  return (u64)about.st_mtim.tv_sec * SECOND + (u64)about.st_mtim.tv_nsec + 1;
}

// look_at_teams finds launches that gave up, also where nobody asks for errors.
void look_at_teams() {
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++) {
    const Comm c = e->comm;
    if (!c || e->state != STATE_TEAM || !member_hold(e, c)) continue;
    if (e->comm == c && e->state == STATE_TEAM && !e->dead && team_failed(e->team, nullptr))
      member_failed(e, FAILED_WAIT);
    member_leave(e);
  }
}

// write_all writes what there is. wait: until another thread has written. Where a process exits, its driver may be
// gone.
void write_all(bool wait, bool exits) {
  if (!begun) return;
  char dir[PATH_ROOM];
  const bool metrics = file_named("MSCCLC_METRICS", &dir);
  if (metrics && !exits) clock_collect();
  for (const u64 limit = now_ns() + SECOND; pthread_mutex_trylock(&writing); nap(1000000))
    if (!wait || now_ns() > limit) return;
  if (observed(OBSERVES_STATS)) write_stats();
  if (metrics) write_metrics(dir);
  pthread_mutex_unlock(&writing);
}

// write_calls writes the last calls if they were asked for. It makes calls of the driver, and holds no lock in them.
void write_calls(bool exits) {
  char dir[PATH_ROOM];
  const u64 asks = asked;
  if (!begun || !file_named("MSCCLC_METRICS", &dir)) return (void)(recorded = asks);
  const u64 changed = dump_changed(dir);
  const bool dump = changed && changed != dump_seen;
  dump_seen = changed ? changed : dump_seen;
  const bool failed = asks != recorded;
  recording = 1;
  if (failed || dump) write_record(dir, failed ? "a communicator has failed" : "asked by the file dump", exits);
  recorded = asks;
  recording = 0;
}

void pause_for(u64 ns) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  const u64 at = (u64)end.tv_nsec + ns;
  end.tv_sec += (time_t)(at / SECOND), end.tv_nsec = (long)(at % SECOND);
  pthread_mutex_lock(&sleeping);
  if (asked == recorded) pthread_cond_timedwait(&woken, &sleeping, &end);
  pthread_mutex_unlock(&sleeping);
}

void *watch(void *) {
  const u64 ns = watch_period();
  for (;;) {
    pause_for(ns);
    write_calls(false);  // a call may wait for it
    if (observed(OBSERVES_METRICS)) look_at_teams();
    write_all(false, false);
  }
}

void begin() {
  char dir[PATH_ROOM];
  pthread_condattr_t how;
  pthread_condattr_init(&how);
  pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
  pthread_cond_init(&woken, &how);
  pthread_condattr_destroy(&how);
  if (file_named("MSCCLC_METRICS", &dir)) dump_seen = dump_changed(dir);
  fork_watch();
  begun = 1;
  writes = 1;
  if (thread_begin(watch, nullptr)) return;
  writes = 0;
  tell("the system gives no thread: counts are written at the end only");
}

}  // namespace

void watch_begin() {
  if (observed(OBSERVES_STATS | OBSERVES_METRICS)) pthread_once(&once, begin);
}

void record_await() {
  const u64 asks = asked, limit = now_ns() + AWAITED;
  if (!writes || asks == given_up) return;
  while (recorded < asks && now_ns() < limit) nap(200000);
  if (recorded < asks) given_up = asks;
}

void stats_write() { write_all(false, false); }

void watch_end() {
  for (const u64 limit = now_ns() + SECOND; recording && now_ns() < limit;) nap(1000000);
  write_calls(true);
  write_all(true, true);
  say_repeats();
}

void member_failed(Member *e, Failure kind) {
  const u32 bit = 1u << kind;
  if (__atomic_load_n(&e->failures, __ATOMIC_ACQUIRE) & bit) return;
  const bool asks = observed(OBSERVES_METRICS);
  if (asks) watch_begin(), __atomic_fetch_add(&asked.value, 1, __ATOMIC_ACQ_REL);  // who sees the bit may wait
  if (!(__atomic_fetch_or(&e->failures, bit, __ATOMIC_ACQ_REL) & bit))
    __atomic_fetch_add(&failures[kind], 1, __ATOMIC_RELAXED), record_look(e);
  if (!asks) return;
  pthread_mutex_lock(&sleeping);
  pthread_cond_signal(&woken);
  pthread_mutex_unlock(&sleeping);
}

u64 failures_of(Failure kind) { return __atomic_load_n(&failures[kind], __ATOMIC_RELAXED); }

const char *failure_name(Failure kind) {
  static const char *const names[FAILURES] = {"peer", "wait", "network", "launch", "aborted", "nccl", "agreement"};
  return names[kind];
}
