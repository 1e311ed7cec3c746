// This file is a GPU of this process, as teams use it. GPUs, and what is loaded on them, stay until the process ends.
#pragma once
#include "../bundle/bundle.h"
#include "driver.h"

#include <pthread.h>
extern "C" {
#include "../../../executor/gpu/own.h"
}

// Errors beside the driver's.
enum {
  ENGINE_FORKED = -101, ENGINE_ABORTED = -102, ENGINE_ARGUMENT = -103,
  ENGINE_HOST_MEMORY = -104, ENGINE_HOST_REACH = -105  // of the host as a device
};

// The entries of an image. One that an image does not have is null.
enum Entry {
  ENTRY_ANY, ENTRY_SUM, ENTRY_AVG, ENTRY_COPY, ENTRY_LINES, ENTRY_NET, ENTRY_NET_LINES, ENTRY_ROWS, ENTRY_ROWS_LINES,
  ENTRY_FEW_ROWS, ENTRY_FEW_LINES_ROWS,
  ENTRY_FEW_SUM, ENTRY_FEW_COPY, ENTRY_FEW_LINES_SUM, ENTRY_FEW_LINES_COPY,
  ENTRIES
};
extern const char *const entry_names[ENTRIES];

struct Module {
  const Bundle *bundle;
  u32 number;  // of the image
  void *function[ENTRIES];
  Module *next;
};

// An Admission orders the launches of the teams on a GPU (team/admission.cc).
struct Admission {
  u32 orders, ctas;        // of all teams, whose launches follow each other in each order; ctas: at once
  pthread_mutex_t mu;      // guards what follows; it is held for a moment only
  pthread_cond_t changed;
  bool starting;           // a team is starting an eager call: the next one waits
  void *last;              // an event after the last eager call while the GPU was oversubscribed
  bool any;                // there was one
  u64 turns;               // so far
};

struct Gpu {
  gpu_driver *driver;
  const gpu_symbols *f;
  void *context;
  int number, sms;
  char name[64];
  u8 uuid[16];
  pthread_mutex_t loading;  // guards what follows
  Module *modules;
  u64 spare;  // memory for kernels that do nothing
  Admission admission[BUNDLE_RANKS];  // by rank where ranks may share a GPU, else the first
  bool host;  // it is the host (host/host.h), and runs bundles for any GPU
};

// gpu_of_thread gives the GPU of the calling thread's context, which must be the GPU's primary one.
Gpu *gpu_of_thread(Why *why);
Gpu *gpu_numbered(u32 number);  // that a team of this process has, or null

// gpu_add keeps a device that is none of the driver's, and numbers it. gpu_gone ends it once no team uses it, and what
// the device made was freed.
Gpu *gpu_add(const Gpu &made, Why *why);
void gpu_gone(Gpu *g);

// module_of loads an image, unless it is loaded, with all functions, so that no launch loads anything. The GPU must be
// current.
Module *module_of(Gpu *g, Bundle *b, u32 number, Why *why);

// room_of is how many blocks of `threads` threads the GPU holds, of the entry that takes the most.
int room_of(Gpu *g, const Module *m, u32 threads, u32 *blocks);

// A Current makes a GPU the calling thread's. The one before comes back when it goes. What ends things needs it, too.
struct Current {
  const Gpu *gpu;
  void *before;
  int code;  // an error of the driver
  explicit Current(const Gpu *g) : gpu(g), before(nullptr), code(sure([this] { return enter(); })) {}
  int enter() {
    TRY(gpu->f->get_current(&before));
    return before == gpu->context ? 0 : gpu->f->current(gpu->context);
  }
  ~Current() {
    if (before != gpu->context) gpu->f->current(before);
  }
};

// A Relaxed lets the calling thread do all it likes while others capture.
struct Relaxed {
  const Gpu *gpu;
  int mode, code;
  explicit Relaxed(const Gpu *g) : gpu(g), mode(2), code(gpu->f->capture_mode(&mode)) {}
  ~Relaxed() {
    if (!code) gpu->f->capture_mode(&mode);
  }
};

// alive is false in a process that was forked since the engine began: there, no call of the driver is made.
bool alive();
void alive_from_now();
