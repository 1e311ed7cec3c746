// Variables that have no meaning: each has a warning, once in a process, as soon as NCCL is used.
#include "nccl_front.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

bool is_level(const char *text) { return debug_named(text) >= 0; }

bool is_switch(const char *text) { return !strcmp(text, "0") || !strcmp(text, "1"); }

bool is_address(const char *text) {
  struct in_addr a;
  return inet_pton(AF_INET, text, &a) == 1;
}

const char *value_of(const char *name) {
  const char *text = getenv(name);
  return text && *text ? text : nullptr;
}

}  // namespace

// writable says whether a file can be opened to write lines to it, and makes it.
static bool writable(const char *path) {
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

void settings_check() {
  version("bundles of version %d, kernels %.12s", BUNDLE_VERSION, MSCCLC_ABI);
  static const struct {
    const char *name;
    bool (*good)(const char *text);
    const char *must, *instead;
  } all[] = {{"MSCCLC_CTAS", is_count, "a number from 1 to 4096", "launches have at most 32 CTAs"},
             {"MSCCLC_TIMEOUT", is_limit, "a number of seconds", "launches have no limit"},
             {"MSCCLC_DEBUG", is_level, "VERSION, WARN, INFO or TRACE", "warnings alone are printed"},
             {"MSCCLC_FEW", is_switch, "0 or 1", "small calls take the short way"},
             {"MSCCLC_SHARED_GPU", is_switch, "0 or 1", "no ranks share a GPU"},
             {"MSCCLC_ADDRESS", is_address, "an IPv4 address", "the address is 127.0.0.1"}};
  static_assert(MOST_CTAS == 4096 && OUR_CTAS == 32, "the text above");
  for (const auto &v : all) {
    const char *text = value_of(v.name);
    if (text && !v.good(text)) tell("%s=%s is not %s: %s", v.name, text, v.must, v.instead);
  }
  const char *file = value_of("MSCCLC_STATS");
  if (file && !writable(file)) tell("MSCCLC_STATS=%s cannot be written: %s", file, strerror(errno));
  char path[4096];
  file = warns() ? value_of("MSCCLC_DEBUG_FILE") : nullptr;
  if (file && !debug_file(path, sizeof path)) tell("MSCCLC_DEBUG_FILE is too long: lines go to stderr");
  else if (file && !writable(path)) tell("MSCCLC_DEBUG_FILE=%s cannot be written: %s", path, strerror(errno));
}
