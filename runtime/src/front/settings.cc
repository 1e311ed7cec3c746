// Variables that have no meaning: each has a warning, once in a process, as soon as NCCL is used.
#include "front.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

bool is_count(const char *text) {
  char *end;
  errno = 0;
  const long n = strtol(text, &end, 10);
  return !*end && !errno && n >= 1 && n <= MOST_CTAS;
}

// is_limit is what team.cc takes as MSCCLC_TIMEOUT; 0 is no limit.
bool is_limit(const char *text) {
  char *end;
  const double seconds = strtod(text, &end);
  return !*end && seconds >= 0 && seconds <= 1e9;
}

bool is_period(const char *text) {
  char *end;
  const double seconds = strtod(text, &end);
  return !*end && seconds >= 0.01 && seconds <= 3600;
}

bool is_level(const char *text) { return debug_named(text) >= 0; }

bool is_bytes(const char *text) {
  u64 bytes;
  return bytes_read(text, &bytes);
}

bool is_moment(const char *text) { return !strcmp(text, "init") || !strcmp(text, "first"); }

bool is_invariant(const char *text) { return !strcmp(text, "invariant"); }

bool is_switch(const char *text) { return !strcmp(text, "0") || !strcmp(text, "1"); }

bool is_learning(const char *text) { return is_switch(text) || !strcmp(text, "all"); }

bool is_address(const char *text) {
  u8 a[16];
  return inet_pton(AF_INET, text, a) == 1 || inet_pton(AF_INET6, text, a) == 1;
}

enum { MEET_S = 10, MEET_ALONE_S = 30, MOST_MEET_S = 86400 };

bool is_meet(const char *text) {
  char *end;
  const double seconds = strtod(text, &end);
  return !*end && seconds > 0 && seconds <= MOST_MEET_S;
}

// quoted copies a value for a message, in quotes. What cannot be printed becomes a question mark.
const char *quoted(const char *value, char (&to)[80]) {
  char text[sizeof to - 2];
  cut(text, sizeof text, value);
  for (char *c = text; *c; c++)
    if (*c < ' ' || *c > '~') *c = '?';
  return snprintf(to, sizeof to, "\"%s\"", text), to;
}

const char *value_of(const char *name) {
  const char *text = getenv(name);
  return text && *text ? text : nullptr;
}

}  // namespace

u64 meet_limit() {
  const char *text = value_of("MSCCLC_MEET");
  if (text && is_meet(text)) return (u64)(strtod(text, nullptr) * 1e9);
  return (alone() ? MEET_ALONE_S : MEET_S) * SECOND;
}

u64 wait_limit() {
  const char *text = value_of("MSCCLC_TIMEOUT");
  const double seconds = text && is_limit(text) ? strtod(text, nullptr) : 0;
  return seconds > 0 ? (u64)(seconds * 1e9) : FOREVER;
}

u64 watch_period() {
  const char *text = value_of("MSCCLC_PERIOD");
  return text && is_period(text) ? (u64)(strtod(text, nullptr) * 1e9) : 10 * SECOND;
}

bool file_named(const char *variable, char (*path)[PATH_ROOM]) {
  const char *from = value_of(variable);
  if (!from) return false;
  char pid[16];
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  size_t n = 0;
  while (*from) {
    char one[2] = {*from++, 0};
    const char *part = one;
    if (*one == '%' && (*from == 'h' || *from == 'p' || *from == '%')) {
      part = *from == 'h' ? host_name() : *from == 'p' ? pid : one;
      from++;
    }
    const size_t more = strlen(part);
    if (n + more >= sizeof *path) return false;
    memcpy(*path + n, part, more);
    n += more;
  }
  (*path)[n] = 0;
  return true;
}

void tell_unwritten(const char *variable, const char *path) {
  static const char *said[4];
  const int code = errno;
  for (const char *&t : said) {
    const char *is = nullptr;
    if (__atomic_compare_exchange_n(&t, &is, variable, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return code == ENOTDIR && !strcmp(variable, "MSCCLC_METRICS")
                 ? tell("%s=%s is no folder: name a folder for files of metrics and of last calls", variable, path)
                 : tell("%s=%s cannot be written: %s", variable, path, strerror(code));
    if (!strcmp(is, variable)) return;
  }
}

// check_file warns if the file in a variable cannot be opened to write lines to it, and makes it.
static void check_file(const char *variable, const char *instead) {
  char path[PATH_ROOM];
  if (!value_of(variable)) return;
  if (!file_named(variable, &path)) return tell("%s is too long: %s", variable, instead);
  const int fd = sys_open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) return tell_unwritten(variable, path);
  close(fd);
}

u32 observed_by = OBSERVES_ALL;

void settings_check() {
  u32 bits = OBSERVES_RANGES;
  if (value_of("MSCCLC_STATS")) bits |= OBSERVES_STATS;
  if (value_of("MSCCLC_METRICS")) bits |= OBSERVES_METRICS;
  if (traces()) bits |= OBSERVES_TRACE;
  __atomic_store_n(&observed_by, bits, __ATOMIC_RELAXED);
  version("bundles of version %d, kernels %.12s", BUNDLE_VERSION, MSCCLC_KERNELS);
  const char *from = value_of("MSCCLC_NCCL"), *meets = from && !strcmp(from, "none")  // alone() is not known yet
      ? "ranks of a communicator meet within 30 s" : "ranks of a communicator meet within 10 s";
  const struct {
    const char *name;
    bool (*good)(const char *text);
    const char *must, *instead;
  } all[] = {{"MSCCLC_CTAS", is_count, "a number from 1 to 4096", "launches have at most 32 CTAs"},
             {"MSCCLC_TIMEOUT", is_limit, "a number of seconds from 0 to 1000000000", "launches have no limit"},
             {"MSCCLC_DEBUG", is_level, "VERSION, WARN, INFO or TRACE", "warnings alone are printed"},
             {"MSCCLC_FEW", is_switch, "0 or 1", "small calls take the short way"},
             {"MSCCLC_SHARED_GPU", is_switch, "0 or 1", "no ranks share a GPU"},
             {"MSCCLC_PERIOD", is_period, "a number of seconds from 0.01 to 3600", "counts are written every 10 s"},
             {"MSCCLC_MEET", is_meet, "a number of seconds above 0, up to 86400", meets},
             {"MSCCLC_ARENA", is_bytes, "a number of bytes from 0 to 2^64-1, which may end with K, M or G",
              "memory has no bound"},
             {"MSCCLC_ARENA_AT", is_moment, "init or first", "memory is made after the first call"},
             {"MSCCLC_BITS", is_invariant, "invariant", "the order of sums depends on the size of a call"},
             {"MSCCLC_LEARN", is_learning, "0, 1 or all", "sums of floats of more than two ranks are not learned"},
             {"MSCCLC_ADDRESS", is_address, "an IPv4 or IPv6 address", "the address is the host's"}};
  static_assert(MOST_CTAS == 4096 && OUR_CTAS == 32 && MEET_S == 10 && MEET_ALONE_S == 30 && MOST_MEET_S == 86400,
                "the texts above");
  char value[80];
  for (const auto &v : all) {
    const char *text = value_of(v.name);
    if (text && !v.good(text)) tell("%s=%s is not %s: %s", v.name, quoted(text, value), v.must, v.instead);
  }
  char wrong[TERM];
  if (value_of("MSCCLC_SKIP") && skip_wrong(value_of("MSCCLC_SKIP"), wrong))
    tell("MSCCLC_SKIP has %s, which is left out: terms are size<N, size>N, size=N with a number N of ranks, and "
         "name:PATTERN, with commas between", quoted(wrong, value));
  check_file("MSCCLC_STATS", "no counts are written");
  if (warns()) check_file("MSCCLC_DEBUG_FILE", "lines go to stderr");
  char path[PATH_ROOM];
  if (!value_of("MSCCLC_METRICS")) return;
  if (!file_named("MSCCLC_METRICS", &path)) tell("MSCCLC_METRICS is too long: no metrics are written");
  else if (strlen(path) + 2 < sizeof path && access(strcat(path, "/"), W_OK | X_OK))
    path[strlen(path) - 1] = 0, tell_unwritten("MSCCLC_METRICS", path);
}
