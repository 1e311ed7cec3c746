// Memory that is made and mapped in two steps, by the driver's own calls: what a caller brings.
#include "mapped.h"

#include <dlfcn.h>
#include <stdio.h>

typedef struct {
  int type, id;
} location;
typedef struct {
  int type, handles;
  location at;
  void *metadata;
  unsigned char flags[8];
} properties;
typedef struct {
  location at;
  int flags;
} access_to;

static int call(void *library, int hip, const char *name, void **f) {
  char text[64];
  snprintf(text, sizeof text, "%s%s", hip ? "hip" : "cu", name);
  return !(*f = dlsym(library, text));
}
#define CALL(type, name) \
  int(*name) type;       \
  if (call(library, hip, #name, (void **)&name)) return -1
#define TRY(x)             \
  do {                     \
    int code = (x);        \
    if (code) return code; \
  } while (0)

int mapped_make(const char *path, int hip, int device, u64 segments, int handles, u64 *address, u64 *unit) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return -2;
  CALL((u64 *, size_t, const properties *, u64), MemCreate);
  CALL((size_t *, const properties *, int), MemGetAllocationGranularity);
  CALL((u64 *, size_t, size_t, u64, u64), MemAddressReserve);
  CALL((u64, size_t, size_t, u64, u64), MemMap);
  CALL((u64, size_t, const access_to *, size_t), MemSetAccess);
  CALL((u64), MemRelease);
  const properties p = {1, handles, {1, device}, 0, {0}};
  const access_to own = {{1, device}, 3};
  size_t bytes;
  TRY(MemGetAllocationGranularity(&bytes, &p, 0));
  *unit = bytes;
  TRY(MemAddressReserve(address, bytes * segments, 0, 0, 0));
  for (u64 i = 0; i < segments; i++) {
    u64 handle;
    TRY(MemCreate(&handle, bytes, &p, 0));
    TRY(MemMap(*address + i * bytes, bytes, 0, handle, 0));
    TRY(MemRelease(handle));
  }
  return MemSetAccess(*address, bytes * segments, &own, 1);
}

int mapped_free(const char *path, int hip, u64 address, u64 unit, u64 segments) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return -2;
  CALL((u64, size_t), MemUnmap);
  CALL((u64, size_t), MemAddressFree);
  for (u64 i = 0; i < segments; i++) TRY(MemUnmap(address + i * unit, unit));
  return MemAddressFree(address, unit * segments);
}
