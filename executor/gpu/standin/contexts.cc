// What a library that is a guest in a process asks a driver beside the other calls.
#include "calls.h"

#include <cstring>

int do_context_device(int *number) {
  const Device *d = current();
  if (!d) return INVALID_CONTEXT;
  return *number = d->number, OK;
}

int do_uuid(void *uuid, int n) {
  if (n < 0 || n >= (int)devices().size()) return INVALID_VALUE;
  const int words[4] = {n + 1, 0, 0, 0};
  return memcpy(uuid, words, sizeof words), OK;
}

int do_memory_info(size_t *left, size_t *total) {
  Device *d = current();
  if (!d) return INVALID_CONTEXT;
  Lock l(d->mu);
  *total = memory_limit();
  return *left = *total - d->used, OK;
}

// Streams are never freed, so that addresses are numbers of them.
int do_stream_id(void *stream, u64 *id) { return stream ? (*id = (u64)stream, OK) : INVALID_HANDLE; }
