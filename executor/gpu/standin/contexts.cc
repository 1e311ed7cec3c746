// What a library that is a guest in a process asks a driver beside the other calls.
#include "calls.h"

#include <cstring>

// A context is a GPU: its primary one, or a green one, whose address is odd.
static thread_local bool green_now;

int do_context(void *context) {
  green_now = (u64)context & 1;
  return do_current((Device *)((u64)context & ~1ull));
}

void *context_now() { return (void *)((u64)current() | green_now); }

int do_green(void **green, int device) {
  if (device < 0 || device >= (int)devices().size()) return INVALID_VALUE;
  return *green = (void *)((u64)devices()[device] | 1), OK;
}

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
