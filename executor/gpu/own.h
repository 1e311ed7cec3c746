// What driver.c, mapped.c and linked.c share.
#pragma once
#include "driver.h"
#include "symbols.h"

struct vendor {
  const char *library, *variable;  // the variable names another library
  int target_options;              // a module is compiled, with a log
  int asks_access;                 // memory is known to be mapped by its access
  u64 packed_end;                  // ends the list of a launch's packed parameters
  unsigned host_flags;             // of memory of the host that a kernel writes and the host polls
  int facts[FACT_COUNT];           // attributes
};
struct gpu_driver {
  const struct vendor *vendor;
  int opened;
  const char *missing;
  struct gpu_symbols f;
};
#define TRY(call)                \
  do {                           \
    int failed_ = (call);        \
    if (failed_) return failed_; \
  } while (0)

// faulted is whether nothing works any more on a card after an error: an access, an
// instruction or a launch that failed, memory that did, a lost device.
static inline int faulted(int code) {
  return code == 214 || code == 700 || code == 702 || code == 709 || code == 710 || (code >= 714 && code <= 721);
}

static inline int noted(struct gpu_card *c, int code) {
  if (faulted(code)) c->fault = code;
  return code;
}
#define CALL(card, call) TRY(noted(card, (card)->driver->f.call))

static inline int use(struct gpu_card *c) {
  const struct gpu_symbols *f = &c->driver->f;
  if (c->fault) return c->fault;
  return f->current ? f->current(c->context) : f->set_device(c->number);
}
