// Ranges of native calls for profilers, by NVTX: in domain mscclc, with the function as text and the bytes as payload.
// A profiler names its library in NVTX_INJECTION64_PATH. That fills in tables of functions which this file gives it, as
// a program that includes NVTX 3's headers does. Where there is none, libnvToolsExt.so.1 counts if the program has
// loaded it.
#include "../front/front.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace {

// What NVTX 3 fixes: numbers of export tables, modules and functions.
enum { TABLE_CALLBACKS = 1, TABLE_VERSION = 3 };
enum { MODULE_CORE = 1, MODULE_DOMAINS = 5, MODULES = 7 };
enum { DOMAIN_PUSH = 4, DOMAIN_POP = 5, DOMAIN_CREATE = 12, MOST_FUNCTIONS = 16 };
const u32 VERSION_3 = 3;

// Event is what a range shows (nvtxEventAttributes_t).
struct Event {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const char *message;
};
static_assert(sizeof(Event) == 48, "NVTX's");
enum { PAYLOAD_U64 = 1, MESSAGE_ASCII = 1 };

typedef void (*Function)();
Function functions[MODULES][MOST_FUNCTIONS];   // which the profiler fills in
Function *pointers[MODULES][MOST_FUNCTIONS + 1];
const u32 sizes[MODULES] = {0, 16, 9, 15, 7, 16, 7};

int module_table(int module, Function ***table, unsigned *size) {
  if (module <= 0 || module >= MODULES) return 0;
  for (u32 i = 1; i < sizes[module]; i++) pointers[module][i] = &functions[module][i];
  if (table) *table = pointers[module];
  if (size) *size = sizes[module];
  return 1;
}
void take_version(uint32_t) {}

const struct {
  size_t size;
  int (*module)(int, Function ***, unsigned *);
} callbacks = {sizeof callbacks, module_table};
const struct {
  size_t size;
  uint32_t version, reserved;
  void (*take)(uint32_t);
} versions = {sizeof versions, VERSION_3, 0, take_version};

const void *table_of(uint32_t number) {
  if (number == TABLE_CALLBACKS) return &callbacks;
  return number == TABLE_VERSION ? &versions : nullptr;
}

int (*push)(void *domain, const Event *);
int (*pop)(void *domain);
void *domain;
pthread_once_t once = PTHREAD_ONCE_INIT;

bool injected() {
  const char *path = getenv("NVTX_INJECTION64_PATH");
  void *h = path && *path ? dlopen(path, RTLD_LAZY) : nullptr;
  int (*init)(const void *(*)(uint32_t)) = nullptr;
  if (h) *(void **)&init = dlsym(h, "InitializeInjectionNvtx2");
  return init && init(table_of);
}

void begin() {
  void *(*create)(const char *) = nullptr;
  if (injected()) {
    const Function *of = functions[MODULE_DOMAINS];
    memcpy((void *)&create, (const void *)&of[DOMAIN_CREATE], sizeof create);
    memcpy((void *)&push, (const void *)&of[DOMAIN_PUSH], sizeof push);
    memcpy((void *)&pop, (const void *)&of[DOMAIN_POP], sizeof pop);
  } else if (void *h = dlopen("libnvToolsExt.so.1", RTLD_NOLOAD | RTLD_LAZY)) {
    *(void **)&create = dlsym(h, "nvtxDomainCreateA");
    *(void **)&push = dlsym(h, "nvtxDomainRangePushEx");
    *(void **)&pop = dlsym(h, "nvtxDomainRangePop");
  }
  if (!create) push = nullptr;  // ranges are of this domain, or there are none
  if (push && pop) domain = create("mscclc");
  else __atomic_fetch_and(&observed_by, ~(u32)OBSERVES_RANGES, __ATOMIC_RELAXED);
}

}  // namespace

bool range_open(Fn fn, u64 bytes) {
  pthread_once(&once, begin);
  if (!push || !pop) return false;
  const Event e = {(uint16_t)VERSION_3, (uint16_t)sizeof e, 0, 0, 0, PAYLOAD_U64, 0, bytes, MESSAGE_ASCII, fn_name(fn)};
  push(domain, &e);
  return true;
}

void range_close() { pop(domain); }
