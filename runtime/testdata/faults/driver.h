// The functions that faults.cc calls instead: of the C library and of the driver, those that make something or end it.
#pragma once
#include "../../../executor/gpu/symbols.h"

// UNKNOWN is the driver's error of a call that fails.

extern "C" {
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
char *__real_strdup(const char *);
char *__real_realpath(const char *, char *);
int __real_posix_memalign(void **, size_t, size_t);
void __real_free(void *);
int __real_munmap(void *, size_t);
void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__real_dlsym(void *, const char *);
void *__real_dlopen(const char *, int);

#define KEEP __attribute__((visibility("hidden"), used))
static void *kept(void *p) {
  if (p) live_add(LIVE_MEMORY, (u64)p);
  return p;
}
KEEP void *keep_malloc(size_t n) { return kept(__real_malloc(n)); }
KEEP void *keep_calloc(size_t n, size_t of) { return kept(__real_calloc(n, of)); }
KEEP char *keep_realpath(const char *path, char *to) { return (char *)kept(__real_realpath(path, to)); }
KEEP char *keep_strdup(const char *s) { return (char *)kept(__real_strdup(s)); }
KEEP void *keep_realloc(void *p, size_t n) {
  if (p) live_end(LIVE_MEMORY, (u64)p);
  void *q = __real_realloc(p, n);
  return kept(q ? q : p), q;
}
KEEP int keep_posix_memalign(void **p, size_t to, size_t n) {
  const int code = __real_posix_memalign(p, to, n);
  if (!code) kept(*p);
  return code;
}
KEEP void __wrap_free(void *p) {
  if (p) live_end(LIVE_MEMORY, (u64)p);
  __real_free(p);
}
KEEP void *keep_mmap(void *at, size_t n, int how, int flags, int fd, off_t from) {
  void *p = __real_mmap(at, n, how, flags, fd, from);
  if (p != MAP_FAILED) live_add(LIVE_MAPPING, (u64)p);
  return p;
}
KEEP void *keep_dlopen(const char *path, int how) {  // so that dlerror has a text
  return __real_dlopen(fault_late ? "/nowhere/library" : path, how);
}
KEEP int __wrap_munmap(void *p, size_t n) {
  live_end(LIVE_MAPPING, (u64)p);
  return __real_munmap(p, n);
}
}

namespace {

gpu_symbols real;  // the driver's functions

int late(int code) { return code ? code : fault_late; }
int begun(int code, int kind, u64 key) {
  if (!code) live_add(kind, key);
  return code;
}
// begun takes the place of a result that it reads when the call has been made.
int begun(int code, int kind, const u64 *at) { return begun(code, kind, *at); }
int begun(int code, int kind, void **at) { return begun(code, kind, (u64)*at); }
int ended(int kind, u64 key) { return live_end(kind, key), 0; }

}  // namespace

// KEEPS lists the functions that are not called as they are: what makes something, and what ends it.
extern "C" {
KEEP int keep_cu_alloc(u64 *at, u64 n) { return begun(real.alloc(at, n), LIVE_GPU, at); }
KEEP int keep_cu_release(u64 at) { return ended(LIVE_GPU, at), late(real.release(at)); }
KEEP int keep_cu_stream(void **s, unsigned how) { return begun(real.stream(s, how), LIVE_STREAM, s); }
KEEP int keep_cu_stream_end(void *s) { return ended(LIVE_STREAM, (u64)s), late(real.stream_end(s)); }
KEEP int keep_cu_event(void **e, unsigned how) { return begun(real.event(e, how), LIVE_EVENT, e); }
KEEP int keep_cu_event_end(void *e) { return ended(LIVE_EVENT, (u64)e), late(real.event_end(e)); }
KEEP int keep_cu_reach(u64 *at, struct gpu_handle h, unsigned how) {
  return begun(real.reach(at, h, how), LIVE_REACHED, at);
}
KEEP int keep_cu_leave(u64 at) { return ended(LIVE_REACHED, at), late(real.leave(at)); }
KEEP int keep_cu_reserve(u64 *at, size_t n, size_t to, u64 from, unsigned long long how) {
  return begun(real.reserve(at, n, to, from, how), LIVE_RESERVED, at);
}
KEEP int keep_cu_reserve_end(u64 at, size_t n) { return ended(LIVE_RESERVED, at), late(real.reserve_end(at, n)); }
KEEP int keep_cu_map(u64 at, size_t n, size_t from, u64 of, unsigned long long how) {
  return begun(real.map(at, n, from, of, how), LIVE_MAPPED, at);
}
KEEP int keep_cu_unmap(u64 at, size_t n) { return ended(LIVE_MAPPED, at), late(real.unmap(at, n)); }
KEEP int keep_cu_pin(void *p, size_t n, unsigned how) { return begun(real.pin(p, n, how), LIVE_PINNED, (u64)p); }
KEEP int keep_cu_pin_end(void *p) { return ended(LIVE_PINNED, (u64)p), late(real.pin_end(p)); }
KEEP int keep_cu_retain_handle(u64 *h, u64 at) { return begun(real.retain_handle(h, at), LIVE_HANDLE, h); }
KEEP int keep_cu_import_handle(u64 *h, void *file, int how) {
  return begun(real.import_handle(h, file, how), LIVE_HANDLE, h);
}
KEEP int keep_cu_release_handle(u64 h) { return ended(LIVE_HANDLE, h), late(real.release_handle(h)); }
KEEP int keep_cu_host_alloc(void **p, size_t n, unsigned how) {
  return begun(real.host_alloc(p, n, how), LIVE_HOST, p);
}
KEEP int keep_cu_host_free(void *p) { return ended(LIVE_HOST, (u64)p), late(real.host_free(p)); }
}

// Each function of the driver has a row. Which is called is known when the driver is opened.
#define CU_ROW(result, field, params, cu, hip) ROW(cu_##field, fault_stub_##field, 0, 999, 0, 0)
#define CU_STUB(result, field, params, cu, hip) \
  extern "C" void fault_stub_##field() __attribute__((visibility("hidden"))); \
  extern "C" FaultRow fault_row_cu_##field __attribute__((visibility("hidden")));
GPU_SYMBOLS(CU_STUB)
GPU_SYMBOLS(CU_ROW)

namespace {

struct Keep {
  const char *field;
  void *call;
  int ends;
};
#define K(field, ends) {#field, (void *)keep_cu_##field, ends}
const Keep keeps[] = {K(alloc, 0), K(release, 1), K(stream, 0), K(stream_end, 1), K(event, 0), K(event_end, 1),
                      K(reach, 0), K(leave, 1), K(reserve, 0), K(reserve_end, 1), K(map, 0), K(unmap, 1), K(pin, 0),
                      K(pin_end, 1), K(retain_handle, 0), K(import_handle, 0), K(release_handle, 1),
                      K(host_alloc, 0), K(host_free, 1)};
struct Symbol {
  const char *name, *field;
  size_t at;
  FaultRow *row;
  void (*stub)();
};
#define CU_SYMBOL(result, field, params, cu, hip) \
  {cu, #field, offsetof(gpu_symbols, field), &fault_row_cu_##field, fault_stub_##field},
const Symbol symbols[] = {GPU_SYMBOLS(CU_SYMBOL)};

}  // namespace

// keep_dlsym gives a stub for a function of the driver. A text of an error cannot fail.
extern "C" KEEP void *keep_dlsym(void *library, const char *name) {
  void *p = __real_dlsym(library, name);
  for (const Symbol &s : symbols) {
    if (!p || !s.name || strcmp(s.name[0] == '?' ? s.name + 1 : s.name, name) || !strcmp(s.field, "cu_text")) continue;
    memcpy((char *)&real + s.at, &p, sizeof p);
    FaultRow *row = s.row;
    row->real = p;
    for (const Keep &k : keeps)
      if (!strcmp(k.field, s.field)) row->real = k.call, row->ends = k.ends;
    return (void *)s.stub;
  }
  return p;
}
