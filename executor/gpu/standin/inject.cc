// Which call is to fail. A test maps a file, which MSCCLC_STANDIN_CONTROL names, and
// writes there what it wants (struct Control, and faults_test.go's twin); the calls
// that were made are counted there. MSCCLC_STANDIN_FAIL=NAME:N[:CODE] has the N-th call fail
// without one, or with the code NEVER not return.
#include "standin.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

enum { NAME = 56, COUNTERS = 126, NEVER = 4242 };
struct Counter {
  char name[NAME];
  u64 calls;
};
struct Control {
  u32 generation, nth, code, pad;  // a new generation begins counting anew
  char name[NAME];
  u64 failed;  // calls that did
  Counter counter[COUNTERS];
};

Control *open_control() {
  static Control own;
  if (const char *path = getenv("MSCCLC_STANDIN_CONTROL")) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    void *p = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (p != MAP_FAILED) return (Control *)p;
  }
  if (const char *text = getenv("MSCCLC_STANDIN_FAIL")) {
    const char *colon = strchr(text, ':');
    if (colon && colon - text < NAME) {
      memcpy(own.name, text, (size_t)(colon - text));
      char *end;
      own.nth = (u32)strtoul(colon + 1, &end, 10);
      own.code = *end == ':' ? (u32)strtoul(end + 1, nullptr, 10) : (u32)UNKNOWN;
    }
  }
  return &own;
}

}  // namespace

int injected(const char *name) {
  static std::mutex mu;
  static Control *const control = open_control();
  static u32 generation = 0;
  Lock l(mu);
  Control *c = control;
  const u32 now = __atomic_load_n(&c->generation, __ATOMIC_ACQUIRE);
  if (now != generation) {
    generation = now;
    c->failed = 0;
    memset(c->counter, 0, sizeof c->counter);
  }
  u32 i = 0;
  while (i < COUNTERS - 1 && c->counter[i].name[0] && strcmp(c->counter[i].name, name)) i++;
  strncpy(c->counter[i].name, name, NAME - 1);
  const u64 n = ++c->counter[i].calls;
  if (c->nth == 0 || n != c->nth || strcmp(c->name, name)) return OK;
  c->failed++;
  const int code = (int)c->code;
  l.unlock();
  while (code == NEVER) pause();
  return code;
}
