// This file is memory that was made and mapped in two steps (cuMemCreate, cuMemMap), as
// by PyTorch's expandable segments and ncclMemAlloc: segments side by side, each of which is exported as a
// file, and which peer access says nothing of.
#include "own.h"

enum { DEVICE = 1, POSIX_FILE = 1, READ_WRITE = 3 };

static struct gpu_location here(struct gpu_card *c) { return (struct gpu_location){DEVICE, c->device}; }

static int present(struct gpu_card *c) {
  const struct gpu_symbols *f = &c->driver->f;
  return f->retain_handle && f->release_handle && f->properties && f->export_handle && f->import_handle &&
         f->granularity && f->reserve && f->reserve_end && f->map && f->unmap && f->get_access && f->set_access;
}

// A driver's error here is its answer. AMD's of some versions does not bear to be asked for a handle
// of plain memory, but says whether there is access.
int mscclc_gpu_mapped(struct gpu_card *c, u64 address, int *mapped) {
  const struct gpu_symbols *f = &c->driver->f;
  *mapped = 0;
  TRY(use(c));
  if (!present(c)) return 0;
  u64 handle;
  unsigned long long flags;
  const struct gpu_location at = here(c);
  if (c->driver->vendor->asks_access) *mapped = f->get_access(&flags, &at, address) == 0;
  else if ((*mapped = f->retain_handle(&handle, address) == 0)) CALL(c, release_handle(handle));
  return 0;
}

int mscclc_gpu_admit(struct gpu_card *c, u64 address, u64 bytes) {
  const struct gpu_access wanted = {here(c), READ_WRITE};
  unsigned long long flags = 0;
  TRY(use(c));
  CALL(c, get_access(&flags, &wanted.location, address));
  if (flags == READ_WRITE) return 0;
  CALL(c, set_access(address, bytes, &wanted, 1));
  return 0;
}

int mscclc_gpu_export(struct gpu_card *c, u64 address, int *file) {
  struct gpu_properties p;
  u64 handle;
  *file = -1;
  TRY(use(c));
  CALL(c, retain_handle(&handle, address));
  const struct gpu_symbols *f = &c->driver->f;
  int code = noted(c, f->properties(&p, handle));
  if (!code && p.handles & POSIX_FILE) code = noted(c, f->export_handle(file, handle, POSIX_FILE, 0));
  const int end = noted(c, f->release_handle(handle));
  return code ? code : end;
}

int mscclc_gpu_granularity(struct gpu_card *c, u64 *bytes) {
  const struct gpu_properties p = {1, POSIX_FILE, here(c), 0, {0}};
  size_t n = 0;
  TRY(use(c));
  CALL(c, granularity(&n, &p, 0));
  *bytes = n;
  return 0;
}

// one maps a file at an address. What is mapped keeps the memory, without the handle.
static int one(struct gpu_card *c, int file, u64 address, u64 bytes) {
  const struct gpu_symbols *f = &c->driver->f;
  u64 handle;
  // AMD's older drivers want the address of the number of the file, and would look there if they were given
  // the number; newer ones find no file of such a number.
  int code = c->driver->vendor->asks_access ? f->import_handle(&handle, &file, POSIX_FILE) : 1;
  if (code) code = noted(c, f->import_handle(&handle, (void *)(u64)file, POSIX_FILE));
  if (code) return code;
  code = noted(c, f->map(address, bytes, 0, handle, 0));
  const int end = noted(c, f->release_handle(handle));
  if (code || !end) return code;
  f->unmap(address, bytes);
  return end;
}

int mscclc_gpu_import(struct gpu_card *c, const int *files, const u64 *bytes, u32 count, u64 *address) {
  const struct gpu_access wanted = {here(c), READ_WRITE};
  const struct gpu_symbols *f = &c->driver->f;
  u64 all = 0, base, at;
  for (u32 i = 0; i < count; i++) all += bytes[i];
  TRY(use(c));
  if (!present(c)) return GPU_NO_CALL;
  CALL(c, reserve(&base, all, 0, 0, 0));
  at = base;
  for (u32 i = 0; i < count; at += bytes[i++]) {
    int code = one(c, files[i], at, bytes[i]);
    if (!code && (code = noted(c, f->set_access(at, bytes[i], &wanted, 1)))) f->unmap(at, bytes[i]);
    if (!code) continue;
    while (i-- > 0) f->unmap(at -= bytes[i], bytes[i]);
    f->reserve_end(base, all);
    return code;
  }
  *address = base;
  return 0;
}

int mscclc_gpu_import_end(struct gpu_card *c, u64 address, const u64 *bytes, u32 count) {
  u64 at = address;
  TRY(use(c));
  for (u32 i = 0; i < count; at += bytes[i++]) CALL(c, unmap(at, bytes[i]));
  CALL(c, reserve_end(address, at - address));
  return 0;
}
