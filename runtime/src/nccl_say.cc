// Messages, as MSCCLC_DEBUG asks for them, and counts of calls, for MSCCLC_STATS.
#include "nccl_front.h"

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
  return (u64)ts.tv_sec * 1000000000ull + (u64)ts.tv_nsec;
}

void nap(u64 ns) {
  const struct timespec ts = {(time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull)};
  nanosleep(&ts, nullptr);
}

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
  return !code;
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
  char path[4096];
  if (debug_level() < SAYS_WARN || !debug_file(path, sizeof path)) return 2;
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  return fd < 0 ? 2 : fd;  // nccl_settings.cc warns
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

// print writes one line at once, so that lines of several processes stay whole.
void print(const char *kind, const char *format, va_list args) {
  char line[1024];
  int n = snprintf(line, sizeof line, "mscclc %s [%d] ", kind, (int)getpid());
  n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
  if (n > (int)sizeof line - 2) n = (int)sizeof line - 2;
  line[n++] = '\n';
  if (write(output(), line, (size_t)n) < 0) return;
}

// Counts by function and reason. A row is taken once, and never given back.
struct Row {
  const char *why;
  Fn fn;
  u64 calls;
  int taken;  // 1: being written, 2: written
};
enum { ROWS = 512 };
Row rows[ROWS];
const char NATIVE[] = "native";

Atom<int> wants_stats = {-1};
u64 calls_written;

}  // namespace

#define PRINT(kind)                \
  va_list args;                    \
  va_start(args, format);          \
  print(kind, format, args);       \
  va_end(args)

bool warns() { return debug_level() >= SAYS_WARN; }
void warn(const char *format, ...) {
  if (debug_level() < SAYS_WARN) return;
  PRINT("WARN");
}
void info(const char *format, ...) {
  if (debug_level() < SAYS_INFO) return;
  PRINT("INFO");
}
static void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void trace(const char *format, ...) {
  if (debug_level() < SAYS_TRACE) return;
  PRINT("TRACE");
}
void version(const char *format, ...) {
  if (debug_level() < SAYS_VERSION) return;
  PRINT("VERSION");
}
void tell(const char *format, ...) { PRINT("WARN"); }

const char *fn_name(Fn fn) {
  static const char *const names[] = {
#define X(result, name, params) #name,
      NCCL_CALLED(X)
#undef X
  };
  return names[fn];
}

const char *interned(const char *text) {
  static const char *texts[64];
  static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
  const char *found = nullptr;
  pthread_mutex_lock(&mu);
  for (u32 i = 0; i < 64 && !found; i++) {
    if (!texts[i]) texts[i] = strdup(text);
    if (texts[i] && !strcmp(texts[i], text)) found = texts[i];
  }
  pthread_mutex_unlock(&mu);
  return found ? found : "one of many reasons";
}

// debug_named is the level of a text, or -1.
int debug_named(const char *text) {
  static const char *const names[] = {"NONE", "VERSION", "WARN", "INFO", "TRACE"};
  for (int i = 0; text && i <= SAYS_TRACE; i++)
    if (!strcasecmp(text, names[i])) return i;
  return -1;
}

// debug_file writes the path that MSCCLC_DEBUG_FILE names: %h is the host, up to its first dot, %p the process, and %%
// a percent sign, as in NCCL_DEBUG_FILE. It gives false where the variable is not set, or the path is too long.
bool debug_file(char *path, size_t size) {
  const char *from = getenv("MSCCLC_DEBUG_FILE");
  if (!from || !*from) return false;
  char host[256] = {}, pid[16];
  gethostname(host, sizeof host - 1);
  host[strcspn(host, ".")] = 0;
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  size_t n = 0;
  while (*from) {
    char one[2] = {*from++, 0};
    const char *part = one;
    if (*one == '%' && (*from == 'h' || *from == 'p' || *from == '%')) {
      part = *from == 'h' ? host : *from == 'p' ? pid : one;
      from++;
    }
    const size_t more = strlen(part);
    if (n + more >= size) return false;
    memcpy(path + n, part, more);
    n += more;
  }
  path[n] = 0;
  return true;
}

void count_call(Fn fn, const char *why) {
  trace("nccl%s: %s", fn_name(fn), why ? why : NATIVE);
  if (wants_stats < 0) {
    const char *path = getenv("MSCCLC_STATS");
    wants_stats = path && *path;
  }
  if (!wants_stats) return;
  if (!why) why = NATIVE;
  for (u32 n = 0, i = (u32)(((u64)why >> 3) + fn * 37u) % ROWS; n < ROWS; n++, i = (i + 1) % ROWS) {
    Row &r = rows[i];
    int free = 0;
    if (__atomic_load_n(&r.taken, __ATOMIC_ACQUIRE) == 0 &&
        __atomic_compare_exchange_n(&r.taken, &free, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      r.why = why, r.fn = fn;
      __atomic_store_n(&r.taken, 2, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&r.taken, __ATOMIC_ACQUIRE) == 1) {
    }
    if (r.why == why && r.fn == fn) {
      __atomic_fetch_add(&r.calls, 1, __ATOMIC_RELAXED);
      return;
    }
  }
}

namespace {

struct Text {
  char *at, *end;
};
void put(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void put(Text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(t->at, (size_t)(t->end - t->at), format, args);
  va_end(args);
  t->at = n < t->end - t->at ? t->at + n : t->end - 1;
}
void put_string(Text *t, const char *s) {
  put(t, "\"");
  for (; *s; s++)
    if (*s == '"' || *s == '\\') put(t, "\\%c", *s);
    else put(t, "%c", (unsigned char)*s < ' ' ? ' ' : *s);
  put(t, "\"");
}

}  // namespace

// stats_write appends a line with all counts so far. The last line of a process counts.
void stats_write() {
  const char *path = getenv("MSCCLC_STATS");
  if (!path || !*path || wants_stats <= 0) return;
  static char line[1 << 16];
  static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
  if (pthread_mutex_trylock(&mu)) return;
  Text t{line, line + sizeof line - 8};
  u64 calls = 0;
  for (Row &r : rows) calls += __atomic_load_n(&r.calls, __ATOMIC_RELAXED);
  const bool news = calls != calls_written;
  calls_written = calls;
  put(&t, "{\"pid\":%d,\"calls\":[", (int)getpid());
  const char *comma = "";
  for (Row &r : rows) {
    if (__atomic_load_n(&r.taken, __ATOMIC_ACQUIRE) != 2) continue;
    const bool native = r.why == NATIVE;
    put(&t, "%s{\"function\":\"nccl%s\",\"native\":%s,\"calls\":%llu", comma, fn_name(r.fn), native ? "true" : "false",
        __atomic_load_n(&r.calls, __ATOMIC_RELAXED));
    if (!native) put(&t, ",\"reason\":"), put_string(&t, r.why);
    put(&t, "}");
    comma = ",";
  }
  put(&t, "]}");
  *t.at++ = '\n';
  const int fd = news ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (fd >= 0) {
    if (write(fd, line, (size_t)(t.at - line)) < 0) warn("%s cannot be written", path);
    close(fd);
  }
  pthread_mutex_unlock(&mu);
}
