// The few calls of the driver that the front makes: memory and a stream for the agreement.
#include "front.h"

#include <pthread.h>
extern "C" {
#include "../../../executor/gpu/own.h"
}

namespace {

enum { GPUS = 64, NO_DRIVER = 100, RELAXED = 2, NON_BLOCKING = 1, NOT_READY = 600 };
const gpu_symbols *f;  // null if there is no driver that can be used
int refusal = NO_DRIVER;  // why there is none
void *contexts[GPUS];
pthread_once_t once = PTHREAD_ONCE_INIT;

void open_driver() {
  gpu_driver *d;
  const char *missing = nullptr;
  const int code = mscclc_gpu_open(GPU_CUDA, &d, &missing);
  if (code == 0 && d->f.get_current && d->f.context_device)
    f = &d->f;
  else if (code)
    refusal = code;
  if (!f && (missing || code == 0))
    warn("the driver: %s", missing ? missing : "it is too old");
}

__thread int mode_before __attribute__((tls_model("initial-exec")));

}  // namespace

static int primary(int number, void **context) {
  pthread_once(&once, open_driver);
  if (!f) return refusal;
  if (number < 0 || number >= GPUS) return NO_DRIVER;
  *context = __atomic_load_n(&contexts[number], __ATOMIC_ACQUIRE);
  if (*context) return 0;
  int device = 0;
  if (const int code = f->device(&device, number)) return code;
  if (const int code = f->retain(context, device)) return code;
  __atomic_store_n(&contexts[number], *context, __ATOMIC_RELEASE);
  return 0;
}

// gpu_enter makes the GPU's primary context current, and has the thread do what it likes while others capture.
int gpu_enter(int number, void **before) {
  void *context;
  if (const int code = sure([&] { return primary(number, &context); })) return code;
  if (const int code = sure([&] { return f->get_current(before); })) return code;
  if (const int code = sure([&] { return f->current(context); })) return code;
  mode_before = RELAXED;
  const int code = sure([] { return f->capture_mode(&mode_before); });
  if (code) sure([&] { return f->current(*before); });
  return code;
}

bool gpu_foreign(int number) {
  void *context, *now = nullptr;
  int device = -1;
  if (primary(number, &context) || f->get_current(&now) || !now || f->context_device(&device)) return false;
  return device == number && now != context;
}

int gpu_current(int *device) {
  pthread_once(&once, open_driver);
  return f ? f->context_device(device) : (int)NO_DRIVER;
}

void gpu_leave(void *before) {
  sure([] { return f->capture_mode(&mode_before); });
  sure([&] { return f->current(before); });
}

Unbound::Unbound(bool captured) : mode(RELAXED), bound(!captured) {
  if (bound) return;
  pthread_once(&once, open_driver);
  bound = !f || f->capture_mode(&mode);
}
Unbound::~Unbound() {
  if (!bound) f->capture_mode(&mode);
}

int gpu_stream(void **stream) { return f->stream(stream, NON_BLOCKING); }
void gpu_stream_end(void *stream) { f->stream_end(stream); }
int gpu_copy(u64 to, u64 from, u64 bytes, void *stream) {
  return f->copy(to, from, bytes, stream);
}
int gpu_busy(void *stream, bool *busy) {
  const int code = f->query(stream);
  *busy = code == NOT_READY;
  return *busy ? 0 : code;
}
int gpu_captured(void *stream, bool *captured) {
  int status = 0;
  u64 number;
  const int code = f->capturing(stream, &status, &number, nullptr, nullptr, nullptr);
  *captured = status != 0;
  return code;
}

// Events that take times.
int gpu_event(void **event) { return f->event(event, 0); }
int gpu_version() {
  int version = 0;
  return f && !f->version(&version) ? version : 0;
}
void gpu_event_end(void *event) {
  if (event) f->event_end(event);
}
int gpu_record(void *event, void *stream) { return f->record(event, stream); }
bool gpu_happened(void *event) { return f->happened(event) == 0; }
bool gpu_between(void *begin, void *end, double *seconds) {
  float ms = 0;
  if (f->elapsed(&ms, begin, end)) return false;
  return *seconds = (double)ms / 1000, true;
}
