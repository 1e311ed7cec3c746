// This file has the driver's linker make machine code of PTX. Only NVIDIA's driver has one.
#include "own.h"

#include <stdlib.h>
#include <string.h>

enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6, INPUT_PTX = 1 };

// The linker's code lives as long as its state: the caller has a copy.
static int finish(struct gpu_card *c, void *state, const void *ptx, u64 bytes, void **code, u64 *length) {
  void *made = 0;
  size_t n = 0;
  CALL(c, link_data(state, INPUT_PTX, (void *)ptx, bytes, "kernel", 0, 0, 0));
  CALL(c, link_complete(state, &made, &n));
  *code = malloc(n ? n : 1);
  if (!*code) return GPU_NO_MEMORY;
  memcpy(*code, made, n);
  *length = n;
  return 0;
}

int mscclc_gpu_link(struct gpu_card *c, const void *ptx, u64 bytes, char *log, u32 log_bytes, void **code,
                    u64 *length) {
  const struct gpu_symbols *f = &c->driver->f;
  int options[] = {ERROR_LOG, ERROR_LOG_BYTES};
  void *values[] = {log, (void *)(u64)log_bytes}, *state = 0;
  log[0] = 0;
  TRY(use(c));
  if (!f->link || !f->link_data || !f->link_complete || !f->link_end) return GPU_NO_LINKER;
  CALL(c, link(2, options, values, &state));
  const int failed = finish(c, state, ptx, bytes, code, length);
  const int ended = noted(c, f->link_end(state));
  return failed ? failed : ended;
}
