// This file opens libcuda.so.1 and libamdhip64.so and calls them. The names are the
// drivers' ABI: CUDA's with the versions that they have had since CUDA 3.2 to 12,
// and HIP's, which are CUDA's in all but name, but for what symbols.h says.
#include "own.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTABLE = 1, MAPPED = 2, COHERENT = 0x40000000 };
static const struct vendor vendors[GPU_VENDORS] = {
    {"libcuda.so.1", "MSCCLC_LIBCUDA", 1, 0, 0, PORTABLE | MAPPED, {75, 76, 16}},
    {"libamdhip64.so", "MSCCLC_LIBHIP", 0, 1, 3, PORTABLE | MAPPED | COHERENT, {23, 61, 63}},
};

static struct gpu_driver drivers[GPU_VENDORS];

static const struct {
  size_t at;
  const char *name[2];  // by gpu_vendor
} symbols[] = {
#define GPU_ROW(result, field, params, cu, hip) {offsetof(struct gpu_symbols, field), {cu, hip}},
    GPU_SYMBOLS(GPU_ROW)
#undef GPU_ROW
};

enum { NO_DRIVER = -2 };
enum { NOT_READY = 600, PEER_ALREADY = 704, NON_BLOCKING = 1, LOG_BUFFER = 5, LOG_BYTES = 6, RELAXED = 2 };

// A kernel that is loaded only when it is launched would wait for the end of the
// one that spins for it: modules are loaded whole. A guest is in a process that others have made
// (runtime/): it changes no variable, and has each function loaded by itself.
static void open_driver(struct gpu_driver *d, int which) {
  const struct vendor *v = d->vendor = vendors + which;
  d->opened = NO_DRIVER;
#ifndef GPU_GUEST
  if (which == GPU_CUDA) setenv("CUDA_MODULE_LOADING", "EAGER", 1);
#endif
  const char *other = getenv(v->variable);
  void *library = dlopen(other && *other ? other : v->library, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();  // which does not stay
    d->missing = why ? strdup(why) : 0;
    if (!d->missing) d->missing = v->library;
    return;
  }
  for (unsigned i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    const char *name = symbols[i].name[which];
    if (!name) continue;
    const int optional = *name == '?';
    void *p = dlsym(library, name + optional);
    if (!p && !optional) {
      d->missing = name;
      return;
    }
    memcpy((char *)&d->f + symbols[i].at, &p, sizeof p);
  }
  d->opened = d->f.init(0);
}
static void open_cuda(void) { open_driver(drivers + GPU_CUDA, GPU_CUDA); }
static void open_hip(void) { open_driver(drivers + GPU_HIP, GPU_HIP); }

int mscclc_gpu_open(int vendor, struct gpu_driver **driver, const char **why) {
  static pthread_once_t once[GPU_VENDORS] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};
  pthread_once(once + vendor, vendor == GPU_CUDA ? open_cuda : open_hip);
  *driver = drivers + vendor;
  *why = drivers[vendor].missing;
  return drivers[vendor].opened;
}

const char *mscclc_gpu_error(struct gpu_driver *d, int code) {
  const char *text = 0;
  if (code == GPU_STUCK) return "a copy does not end, or the driver does not return";
  if (code == NO_DRIVER) return "no driver";
  if (code == GPU_NO_CALL) return "this driver cannot map memory of others";
  if (code == GPU_NO_LINKER) return "this driver has no linker";
  if (code == GPU_NO_PINS) return "this driver does not let kernels access memory of the host at its own addresses";
  if (code == GPU_NO_MEMORY) return "the host is out of memory";
  if (d->f.cu_text) d->f.cu_text(code, &text);
  if (d->f.hip_text) text = d->f.hip_text(code);
  return text ? text : "an error without a name";
}

int mscclc_gpu_use(struct gpu_card *c) { return use(c); }

int mscclc_gpu_version(struct gpu_driver *d, int *version) { return d->f.version(version); }
int mscclc_gpu_count(struct gpu_driver *d, int *count) { return d->f.count(count); }

int mscclc_gpu_name(struct gpu_driver *d, int number, char *name, int bytes) {
  int device;
  TRY(d->f.device(&device, number));
  return d->f.name(name, bytes - 1, device);
}

// peers_off says whether GPUs are not to access each other's memory, as on machines where that is broken.
static int peers_off(void) {
  const char *is = getenv("MSCCLC_P2P_DISABLE");
  if (!is) is = getenv("NCCL_P2P_DISABLE");
  return is && strcmp(is, "1") == 0;
}

int mscclc_gpu_reach_kind(struct gpu_driver *d, int a, int b, enum gpu_link *link) {
  enum { NATIVE_ATOMIC = 3 };  // CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
  int from, to, can = 0, atomic = 0;
  TRY(d->f.device(&from, a));
  TRY(d->f.device(&to, b));
  if (!peers_off()) TRY(d->f.can_peer(&can, from, to));
  if (can && d->f.pair && d->f.pair(&atomic, NATIVE_ATOMIC, from, to)) atomic = 0;
  *link = can ? atomic ? LINK_ATOMIC : LINK_ACCESS : LINK_NONE;
  return 0;
}

int mscclc_gpu_card(struct gpu_driver *d, int number, struct gpu_card *c) {
  c->driver = d;
  c->number = number;
  TRY(d->f.device(&c->device, number));
  TRY(mscclc_gpu_name(d, number, c->name, sizeof c->name));
  for (int i = 0; i < FACT_COUNT; i++) TRY(d->f.attribute(c->facts + i, d->vendor->facts[i], c->device));
  if (d->f.retain) TRY(d->f.retain(&c->context, c->device));
  TRY(use(c));
  CALL(c, stream(&c->memory, NON_BLOCKING));
  CALL(c, stream(&c->side, NON_BLOCKING));
  return 0;
}

void mscclc_gpu_pci(struct gpu_driver *d, int device, char *address, int bytes) {
  static const int attributes[GPU_VENDORS][3] = {{50, 33, 34}, {69, 67, 68}};  // domain, bus, device
  int is[3];
  address[0] = 0;
  for (int i = 0; i < 3; i++)
    if (d->f.attribute(is + i, attributes[d->vendor - vendors][i], device)) return;
  snprintf(address, bytes, "%04x:%02x:%02x.0", is[0], is[1], is[2]);
}

int mscclc_gpu_find(struct gpu_driver *d, const char *address) {
  int count = 0, device;
  for (int i = 0; mscclc_gpu_count(d, &count) == 0 && i < count; i++) {
    char is[32] = "";
    if (d->f.device(&device, i) == 0) mscclc_gpu_pci(d, device, is, sizeof is);
    if (strcmp(is, address) == 0) return i;
  }
  return -1;
}

int mscclc_gpu_apart(struct gpu_driver *d, int a, int b) {
  enum gpu_link link;
  if (a == b) return 0;
  if (b < 0) return peers_off();
  return mscclc_gpu_reach_kind(d, a, b, &link) == 0 && link == LINK_NONE;
}

static int multicast(struct gpu_driver *d, int device) {
  enum { MULTICAST_SUPPORTED = 132 };  // of NVIDIA; older drivers do not know it
  int can = 0;
  return d->vendor == vendors + GPU_CUDA && d->f.attribute(&can, MULTICAST_SUPPORTED, device) == 0 && can;
}

int mscclc_gpu_multicast(struct gpu_card *c) { return multicast(c->driver, c->device); }

int mscclc_gpu_whole_lines(struct gpu_driver *d, int a, int b) {
  enum gpu_link link;
  int device;
  if (d->vendor != vendors + GPU_CUDA || a == b) return 1;  // AMD's kernels do not ask for whole lines
  if (b >= 0) return mscclc_gpu_reach_kind(d, a, b, &link) == 0 && link == LINK_ATOMIC;
  return d->f.device(&device, a) == 0 && multicast(d, device);
}

int mscclc_gpu_peer(struct gpu_card *c, struct gpu_card *to, int *can) {
  TRY(use(c));
  CALL(c, can_peer(can, c->device, to->device));
  if (!*can) return 0;
  const struct gpu_symbols *f = &c->driver->f;
  const int code = f->peer ? f->peer(to->context, 0) : f->peer_device(to->device, 0);
  return code == PEER_ALREADY ? 0 : noted(c, code);
}

int mscclc_gpu_alloc(struct gpu_card *c, u64 bytes, u64 *address) {
  enum { UNCACHED = 3 };  // of AMD: else what a kernel writes may not be seen by others while it runs
  TRY(use(c));
  const struct gpu_symbols *f = &c->driver->f;
  TRY(noted(c, f->alloc ? f->alloc(address, bytes) : f->alloc_flags((void **)address, bytes, UNCACHED)));
  const int code = mscclc_gpu_zero(c, *address, bytes);
  if (code) f->release(*address);
  return code;
}
int mscclc_gpu_free(struct gpu_card *c, u64 address) {
  TRY(use(c));
  CALL(c, release(address));
  return 0;
}

int mscclc_gpu_owner(struct gpu_card *c, u64 address, int *number, u64 *base, u64 *bytes) {
  enum { MEMORY_TYPE = 2, DEVICE_ORDINAL = 9, ON_DEVICE = 2 };
  unsigned type = 0;
  *number = -1;
  TRY(use(c));
  // An address that the driver does not know is an error, and no fault.
  if (c->driver->f.pointer(&type, MEMORY_TYPE, address) || type != ON_DEVICE) return 0;
  CALL(c, pointer(number, DEVICE_ORDINAL, address));
  CALL(c, range(base, bytes, address));
  return 0;
}

int mscclc_gpu_share(struct gpu_card *c, u64 base, void *handle) {
  TRY(use(c));
  CALL(c, share(handle, base));
  return 0;
}
int mscclc_gpu_reach(struct gpu_card *c, const void *handle, u64 *address) {
  enum { LAZY_PEER_ACCESS = 1 };
  struct gpu_handle h;
  memcpy(&h, handle, sizeof h);
  TRY(use(c));
  CALL(c, reach(address, h, LAZY_PEER_ACCESS));
  return 0;
}
int mscclc_gpu_leave(struct gpu_card *c, u64 address) {
  TRY(use(c));
  CALL(c, leave(address));
  return 0;
}

int mscclc_gpu_put(struct gpu_card *c, void *stream, u64 address, const void *from, u64 bytes) {
  TRY(use(c));
  CALL(c, put(address, from, bytes, stream));
  CALL(c, sync(stream));
  return 0;
}
int mscclc_gpu_get(struct gpu_card *c, void *stream, void *to, u64 address, u64 bytes) {
  TRY(use(c));
  CALL(c, get(to, address, bytes, stream));
  CALL(c, sync(stream));
  return 0;
}
int mscclc_gpu_copy(struct gpu_card *c, void *stream, u64 to, u64 from, u64 bytes) {
  TRY(use(c));
  CALL(c, copy(to, from, bytes, stream));
  return 0;
}
int mscclc_gpu_fill(struct gpu_card *c, void *stream, u64 address, u8 value, u64 bytes) {
  TRY(use(c));
  CALL(c, fill(address, value, bytes, stream));
  return 0;
}
int mscclc_gpu_zero(struct gpu_card *c, u64 address, u64 bytes) {
  TRY(mscclc_gpu_fill(c, c->memory, address, 0, bytes));
  CALL(c, sync(c->memory));
  return 0;
}

int mscclc_gpu_stream(struct gpu_card *c, void **stream) {
  TRY(use(c));
  CALL(c, stream(stream, NON_BLOCKING));
  return 0;
}
int mscclc_gpu_stream_end(struct gpu_card *c, void *stream) {
  TRY(use(c));
  CALL(c, stream_end(stream));
  return 0;
}
int mscclc_gpu_busy(struct gpu_card *c, void *stream, int *busy) {
  TRY(use(c));
  const int code = c->driver->f.query(stream);
  *busy = code == NOT_READY;
  return *busy ? 0 : noted(c, code);
}

int mscclc_gpu_event(struct gpu_card *c, void **event) {
  TRY(use(c));
  CALL(c, event(event, 0));
  return 0;
}
int mscclc_gpu_event_end(struct gpu_card *c, void *event) {
  TRY(use(c));
  CALL(c, event_end(event));
  return 0;
}
int mscclc_gpu_record(struct gpu_card *c, void *event, void *stream) {
  TRY(use(c));
  CALL(c, record(event, stream));
  return 0;
}
int mscclc_gpu_await(struct gpu_card *c, void *stream, void *event) {
  TRY(use(c));
  CALL(c, await(stream, event, 0));
  return 0;
}
int mscclc_gpu_happened(struct gpu_card *c, void *event, int *busy) {
  TRY(use(c));
  const int code = c->driver->f.happened(event);
  *busy = code == NOT_READY;
  return *busy ? 0 : noted(c, code);
}
int mscclc_gpu_elapsed(struct gpu_card *c, void *begin, void *end, float *ms) {
  TRY(use(c));
  CALL(c, elapsed(ms, begin, end));
  return 0;
}

int mscclc_gpu_capture(struct gpu_card *c, void *stream) {
  TRY(use(c));
  CALL(c, capture(stream, RELAXED));
  return 0;
}
static int capturing(struct gpu_card *c, void *stream, u64 *capture) {
  int status = 0;
  CALL(c, capturing(stream, &status, capture, 0, 0, 0));
  if (!status) *capture = 0;
  return 0;
}
int mscclc_gpu_capturing(struct gpu_card *c, void *stream, u64 *capture) {
  TRY(use(c));
  return capturing(c, stream, capture);
}
int mscclc_gpu_relax(struct gpu_card *c) {
  int mode = RELAXED;
  TRY(use(c));
  CALL(c, capture_mode(&mode));
  return 0;
}
int mscclc_gpu_capture_end(struct gpu_card *c, void *stream, void **graph) {
  void *noted_work = 0;
  TRY(use(c));
  CALL(c, capture_end(stream, &noted_work));
  const int code = noted(c, c->driver->f.instantiate(graph, noted_work, 0));
  const int end = c->driver->f.noted_end(noted_work);
  return code ? code : end;
}
int mscclc_gpu_graph(struct gpu_card *c, void *graph, void *stream) {
  TRY(use(c));
  CALL(c, graph(graph, stream));
  return 0;
}
int mscclc_gpu_graph_end(struct gpu_card *c, void *graph) {
  TRY(use(c));
  CALL(c, graph_end(graph));
  return 0;
}

int mscclc_gpu_module(struct gpu_card *c, const void *image, char *log, u32 log_bytes, void **module) {
  int options[] = {LOG_BUFFER, LOG_BYTES};
  void *values[] = {log, (void *)(u64)log_bytes};
  log[0] = 0;
  TRY(use(c));
  CALL(c, load(module, image, c->driver->vendor->target_options ? 2 : 0, options, values));
  return 0;
}
int mscclc_gpu_function(struct gpu_card *c, void *module, const char *name, void **function) {
  TRY(use(c));
  CALL(c, function(function, module, name));
  return 0;
}
int mscclc_gpu_blocks(struct gpu_card *c, void *function, u32 threads, u32 *blocks) {
  TRY(use(c));
  CALL(c, occupancy((int *)blocks, function, (int)threads, 0));
  return 0;
}

int mscclc_gpu_words(struct gpu_card *c, u64 bytes, u64 **words) {
  TRY(use(c));
  CALL(c, host_alloc((void **)words, bytes, c->driver->vendor->host_flags));
  memset(*words, 0, bytes);
  return 0;
}
int mscclc_gpu_words_end(struct gpu_card *c, u64 *words) {
  TRY(use(c));
  CALL(c, host_free(words));
  return 0;
}
int mscclc_gpu_pin(struct gpu_card *c, u64 address, u64 bytes) {
  const struct gpu_symbols *f = &c->driver->f;
  u64 there = 0;
  TRY(use(c));
  if (!f->pin || !f->pin_end || !f->pin_address) return GPU_NO_PINS;
  CALL(c, pin((void *)address, bytes, PORTABLE | MAPPED));
  int code = noted(c, f->pin_address(&there, (void *)address, 0));
  if (!code && there != address) code = GPU_NO_PINS;
  if (code) f->pin_end((void *)address);
  return code;
}
int mscclc_gpu_pin_end(struct gpu_card *c, u64 address) {
  TRY(use(c));
  CALL(c, pin_end((void *)address));
  return 0;
}
int mscclc_gpu_raise(struct gpu_card *c, void *stream, u64 *word, u64 value) {
  TRY(use(c));
  CALL(c, write_word(stream, (u64)word, value, 0));
  return 0;
}
int mscclc_gpu_hold(struct gpu_card *c, void *stream, u64 *word, u64 value) {
  enum { AT_LEAST = 0 };
  TRY(use(c));
  CALL(c, wait_word(stream, (u64)word, value, AT_LEAST, ~0ull));
  return 0;
}

// launch starts a kernel, of which params has all parameters as they lie in memory.
static int launch(struct gpu_card *c, void *function, u32 x, u32 y, u32 threads, void *params, u64 bytes,
                  void *stream) {
  enum { PARAMS = 1, BYTES = 2 };
  size_t size = bytes;
  void *packed[] = {(void *)PARAMS, params, (void *)BYTES, &size, (void *)c->driver->vendor->packed_end};
  CALL(c, launch(function, x, y, 1, threads, 1, 1, 0, stream, 0, packed));
  return 0;
}

int mscclc_gpu_launch(struct gpu_card *c, struct gpu_prepared *prepared, void *stream, u64 *launched,
                      const u32 *by_ticket, u64 *capture) {
  TRY(use(c));
  TRY(capturing(c, stream, capture));
  const int counts = launched && !*capture;
  if (counts) {
    __atomic_fetch_add(launched, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(by_ticket, __ATOMIC_SEQ_CST)) {
      __atomic_fetch_sub(launched, 1, __ATOMIC_SEQ_CST);
      return GPU_OVERSUBSCRIBED;
    }
  }
  const int code = launch(c, prepared->function, prepared->replicas, prepared->blocks, prepared->threads, prepared + 1,
                          prepared->bytes, stream);
  if (code && counts) __atomic_fetch_sub(launched, 1, __ATOMIC_SEQ_CST);
  return code;
}
