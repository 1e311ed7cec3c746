// A profiler's library for tests, as NVTX 3 injects it: it writes each push and pop to the file in NVTX_LOG. It also
// has the functions of libnvToolsExt.so.1.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

void note(const char *text, unsigned long long number) {
  char line[256];
  const int n = snprintf(line, sizeof line, "%s %llu\n", text, number);
  const int fd = open(getenv("NVTX_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (fd < 0 || write(fd, line, (size_t)n) != n) abort();
  close(fd);
}

struct Attributes {  // nvtxEventAttributes_t
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const char *message;
};

int the_domain;
void *create(const char *name) { return note(name, 0), &the_domain; }
int push(void *domain, const Attributes *a) {
  if (domain != &the_domain || a->version != 3 || a->size != 48 || a->message_type != 1) abort();
  return note(a->message, a->payload), 0;
}
int pop(void *domain) { return note("pop", domain == &the_domain), 0; }

}  // namespace

extern "C" int InitializeInjectionNvtx2(const void *(*table_of)(uint32_t)) {
  struct Callbacks {
    size_t size;
    int (*module)(int, void ****, unsigned *);
  };
  const Callbacks *c = (const Callbacks *)table_of(1);
  void ***table = nullptr;
  unsigned size = 0;
  if (!c || c->size < sizeof *c || !c->module(5, &table, &size) || size < 16) return 0;
  *(void **)table[12] = (void *)create, *(void **)table[4] = (void *)push, *(void **)table[5] = (void *)pop;
  return c->module(1, &table, &size) && table[8] && !*table[8] ? 1 : 0;
}

#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT void *nvtxDomainCreateA(const char *name) { return create(name); }
EXPORT int nvtxDomainRangePushEx(void *domain, const Attributes *a) { return push(domain, a); }
EXPORT int nvtxDomainRangePop(void *domain) { return pop(domain); }
