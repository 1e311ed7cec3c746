// Messages, as MSCCLC_DEBUG asks for them, and threads. A line is
//
//   mscclc LEVEL [PID] TIME HOST rank=RANK/RANKS comm=NAME call=NUMBER: TEXT
//
// without what is not known. The text begins after the first colon that a space follows.
#include "../front/front.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

u64 now_ns() {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * SECOND + (u64)ts.tv_nsec;
}

u64 realtime_ns() {
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  return (u64)ts.tv_sec * SECOND + (u64)ts.tv_nsec;
}

void nap(u64 ns) { sys_nap(ns); }

bool thread_begin(void *(*work)(void *), void *of) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  pthread_attr_t how;
  pthread_attr_init(&how);
  pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  const int code = pthread_create(&thread, &how, work, of);
  pthread_attr_destroy(&how);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !code || (errno = code, false);
}

namespace {

// The levels of MSCCLC_DEBUG, as NCCL_DEBUG has them. Each prints what those before it print.
enum { SAYS_NONE, SAYS_VERSION, SAYS_WARN, SAYS_INFO, SAYS_TRACE };

int debug_level() {
  static Atom<int> level = {-1};
  if (level < 0) {
    const int named = debug_named(getenv("MSCCLC_DEBUG"));
    level = named < 0 ? SAYS_NONE : named;
  }
  return level;
}

// open_output opens the file of MSCCLC_DEBUG_FILE, or says 2, which is stderr. As NCCL's, it is for WARN and more.
int open_output() {
  char path[PATH_ROOM];
  if (debug_level() < SAYS_WARN || !file_named("MSCCLC_DEBUG_FILE", &path)) return 2;
  const int fd = sys_open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  return fd < 0 ? 2 : fd;  // front/settings.cc warns
}

// output is where lines go: one file for the process.
int output() {
  static int known = -1;
  int fd = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
  if (fd >= 0) return fd;
  const int mine = open_output();
  if (__atomic_compare_exchange_n(&known, &fd, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return mine;
  if (mine != 2) close(mine);
  return fd;
}

// start writes what a line begins with.
int start(char *line, size_t size, const char *kind) {
  char at[TIME_TEXT], name[SHORT_NAME];
  time_text(realtime_ns(), &at);
  int n = snprintf(line, size, "mscclc %s [%d] %s %s", kind, (int)getpid(), at, host_name());
  const Member *e = own.about;
  if (!e || !e->comm) return n + snprintf(line + n, size - (size_t)n, ": ");
  if (e->ranks) n += snprintf(line + n, size - (size_t)n, " rank=%u/%u", e->rank, e->ranks);
  name_of_comm(e, e->comm, &name);
  n += snprintf(line + n, size - (size_t)n, " comm=%s", name);
  if (const u64 calls = __atomic_load_n(&e->calls, __ATOMIC_RELAXED))
    n += snprintf(line + n, size - (size_t)n, " call=%llu", calls);
  return n + snprintf(line + n, size - (size_t)n, ": ");
}

// print writes one line at once, so that lines of several processes stay whole.
void print(const char *kind, const char *text) {
  char line[1400];
  int n = start(line, sizeof line, kind);
  n += snprintf(line + n, sizeof line - (size_t)n - 1, "%s", text);
  if (n > (int)sizeof line - 2) n = (int)sizeof line - 2;
  line[n++] = '\n';
  sys_write(output(), line, (size_t)n);
}

// A Cause is what warnings have in common that differ in numbers only.
struct Cause {
  u64 key, count, printed;
  int written;  // text is
  char text[200];
};
enum { CAUSES = 128, FIRST_AGAIN = 8 };
Cause causes[CAUSES];
u64 warned;

u64 key_of(const char *text) {
  u64 key = 0xcbf29ce484222325ull;
  for (; *text; text++)
    if (*text < '0' || *text > '9') key = (key ^ (unsigned char)*text) * 0x100000001b3ull;
  return key ? key : 1;
}

// cause_of finds the cause of a warning, or null where there are too many.
Cause *cause_of(const char *text) {
  const u64 key = key_of(text);
  for (u32 i = 0; i < CAUSES; i++) {
    Cause &c = causes[(key + i) % CAUSES];
    u64 is = 0;
    if (__atomic_compare_exchange_n(&c.key, &is, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      snprintf(c.text, sizeof c.text, "%s", text);
      __atomic_store_n(&c.written, 1, __ATOMIC_RELEASE);
      return &c;
    }
    if (is == key) return &c;
  }
  return nullptr;
}

// print_once prints the first warning of a cause, and the count of all each time that it has doubled, from 8 on.
void print_once(const char *text) {
  Cause *c = cause_of(text);
  const u64 n = c ? __atomic_add_fetch(&c->count, 1, __ATOMIC_RELAXED) : 1;
  if (n > 1 && (n < FIRST_AGAIN || (n & (n - 1)))) return;
  if (c) __atomic_store_n(&c->printed, n, __ATOMIC_RELAXED);
  if (n == 1) return print("WARN", text);
  char line[1024];
  snprintf(line, sizeof line, "%llu warnings like this one: %.900s", n, text);
  print("WARN", line);
}

}  // namespace

#define FORMATTED(text)                        \
  char text[1024];                             \
  va_list args;                                \
  va_start(args, format);                      \
  vsnprintf(text, sizeof text, format, args);  \
  va_end(args)

bool warns() { return debug_level() >= SAYS_WARN; }
bool traces() { return debug_level() >= SAYS_TRACE; }
u64 warnings() { return __atomic_load_n(&warned, __ATOMIC_RELAXED); }

void tell(const char *format, ...) {
  __atomic_fetch_add(&warned, 1, __ATOMIC_RELAXED);
  FORMATTED(text);
  print_once(text);
}
void warn(const char *format, ...) {
  __atomic_fetch_add(&warned, 1, __ATOMIC_RELAXED);
  if (!warns()) return;
  FORMATTED(text);
  print_once(text);
}
void info(const char *format, ...) {
  if (debug_level() < SAYS_INFO) return;
  FORMATTED(text);
  print("INFO", text);
}
void trace(const char *format, ...) {
  if (!traces()) return;
  FORMATTED(text);
  print("TRACE", text);
}
void version(const char *format, ...) {
  if (debug_level() < SAYS_VERSION) return;
  FORMATTED(text);
  print("VERSION", text);
}

void say_repeats() {
  for (Cause &c : causes) {
    const u64 n = __atomic_load_n(&c.count, __ATOMIC_RELAXED);
    if (!__atomic_load_n(&c.written, __ATOMIC_ACQUIRE) || n == __atomic_load_n(&c.printed, __ATOMIC_RELAXED)) continue;
    char line[300];
    snprintf(line, sizeof line, "%llu warnings in all like this one: %s", n, c.text);
    print("WARN", line);
  }
}

Where::Where(Member *e) : before(own.about) { own.about = e; }
Where::~Where() { own.about = before; }

bool Slow::now() {
  const u64 at = now_ns();
  if (!begin) begin = at;
  if (said || at - begin < 2 * SECOND) return false;
  return said = true;
}

// debug_named is the level of a text, or -1.
int debug_named(const char *text) {
  static const char *const names[] = {"NONE", "VERSION", "WARN", "INFO", "TRACE"};
  for (int i = 0; text && i <= SAYS_TRACE; i++)
    if (!strcasecmp(text, names[i])) return i;
  return -1;
}
