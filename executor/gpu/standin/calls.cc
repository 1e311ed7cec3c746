// What the calls of a driver do.
#include "calls.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <time.h>

namespace {

Device *device(int n) { return n >= 0 && n < (int)devices().size() ? devices()[n] : nullptr; }

// A Module knows which entries its image has.
struct Module {
  Device *device;
  std::string text;  // of PTX; of an object nothing is known
};

bool contains(const char *text, const char *what) { return strstr(text, what) != nullptr; }

}  // namespace

int do_init(unsigned) { return OK; }
int do_version(int *v) { return *v = 13000, OK; }
int do_count(int *n) { return *n = (int)devices().size(), OK; }
int do_device(int *d, int n) { return *d = n, device(n) ? OK : INVALID_VALUE; }
int do_name(char *name, int bytes, int n) {
  const char *given = getenv("MSCCLC_STANDIN_NAME");  // of all GPUs
  return given && *given ? snprintf(name, (size_t)bytes, "%s", given) : snprintf(name, (size_t)bytes, "stand-in %d", n),
         OK;
}
int do_attribute(int *value, int which, int n) {
  NEED(device(n));
  switch (which) {
    case 75: case 23: *value = MAJOR; return OK;
    case 76: case 61: *value = MINOR; return OK;
    case 16: case 63: *value = SMS; return OK;
    case 33: case 67: *value = 0xa0 + n; return OK;  // where it is on PCI: bus, device, domain
    case 34: case 68: *value = 0x1f; return OK;
    case 50: case 69: *value = 0; return OK;
    case 133: *value = getenv("MSCCLC_STANDIN_MPS") != nullptr; return OK;  // whether MPS shares the GPU
  }
  return INVALID_VALUE;
}
const char *text_of(int code) {
  switch (code) {
    case OUT_OF_MEMORY: return "out of memory";
    case ILLEGAL_ADDRESS: return "an illegal memory access was encountered";
    case INVALID_IMAGE: return "device kernel image is invalid";
    case NO_BINARY: return "no kernel image is available for execution on the device";
    case UNKNOWN: return "unknown error";
  }
  return "stand-in error";
}

int do_current(Device *d) { return current() = d, OK; }
int do_can_peer(int *can, int a, int b) {
  NEED(device(a) && device(b));
  const char *apart = getenv("MSCCLC_STANDIN_APART");  // no GPU reaches another
  return *can = a != b && !(apart && *apart), OK;
}
// do_pair is an attribute of a pair of GPUs, of which drivers of this library ask for native atomics: NVLink has them.
int do_pair(int *is, int a, int b) {
  const char *pcie = getenv("MSCCLC_STANDIN_PCIE");  // GPUs reach each other over PCIe
  if (pcie && *pcie) return *is = 0, OK;
  return do_can_peer(is, a, b);
}
int do_peer(Device *to) {
  CONTEXT;
  Lock l(d->mu);
  return d->peers.insert(to->number).second ? OK : PEER_ALREADY;
}

int do_alloc(u64 *address, u64 bytes) {
  CONTEXT;
  return memory_alloc(d, bytes, address);
}
int do_release(u64 address) {
  CONTEXT;
  // As a driver may: it waits for all work of the GPU.
  Lock l(d->mu);
  const std::vector<Stream *> streams = d->streams;
  l.unlock();
  for (Stream *s : streams) drain(s);
  return memory_free(address);
}
int do_pointer(void *value, int which, u64 address) {
  u64 base, bytes;
  const int owner = memory_owner(address, &base, &bytes);
  NEED(owner >= 0);
  if (which == 2) *(unsigned *)value = 2;
  else if (which == 9) *(int *)value = owner;
  else return INVALID_VALUE;
  return OK;
}
int do_range(u64 *base, u64 *bytes, u64 address) { return memory_owner(address, base, bytes) < 0 ? NOT_FOUND : OK; }
int do_share(void *handle, u64 base) { return memory_share(base, handle); }
int do_reach(u64 *address, const gpu_handle &h) {
  CONTEXT;
  return memory_reach(d, h.bytes, address);
}
int do_leave(u64 address) { return memory_leave(address); }

int do_import(u64 *handle, int file) {
  CONTEXT;
  return physical_import(d, handle, file);
}

// holds is whether there is memory, in one block or in several side by side.
static bool holds(u64 address, u64 bytes) {
  for (const u64 end = address + bytes; address < end;) {
    u64 base, length;
    if (memory_owner(address, &base, &length) < 0) return false;
    address = base + length;
  }
  return true;
}
int do_fill(u64 address, unsigned char value, u64 bytes, void *stream) {
  STREAM;
  NEED(holds(address, bytes));
  return enqueue(s, [=] { memory_fill(address, value, bytes); });
}
int do_put(u64 address, const void *from, u64 bytes, void *stream) {
  STREAM;
  NEED(holds(address, bytes));
  const std::string copy((const char *)from, bytes);
  return enqueue(s, [=] { memcpy((void *)address, copy.data(), bytes); });
}
int do_get(void *to, u64 address, u64 bytes, void *stream) {
  STREAM;
  NEED(holds(address, bytes));
  if (s->capture) return CAPTURE_UNSUPPORTED;
  if (const int code = enqueue(s, [=] { memcpy(to, (const void *)address, bytes); })) return code;
  drain(s);
  return d->fault;
}
int do_copy(u64 to, u64 from, u64 bytes, void *stream) {
  STREAM;
  NEED(holds(to, bytes) && holds(from, bytes));
  return enqueue(s, [=] { memmove((void *)to, (const void *)from, bytes); });
}

int do_stream(void **stream, unsigned) {
  CONTEXT;
  return (*stream = new_stream(d)) ? OK : OUT_OF_MEMORY;
}
int do_stream_end(void *stream) {
  STREAM;
  Lock l(s->mu);
  s->ended = true;
  s->changed.notify_all();
  return OK;
}
int do_sync(void *stream) {
  STREAM;
  if (s->capture) return CAPTURE_UNSUPPORTED;
  drain(s);
  return d->fault;
}
int do_query(void *stream) {
  STREAM;
  if (s->capture) return CAPTURE_UNSUPPORTED;
  Lock l(s->mu);
  return s->left && !d->fault ? NOT_READY : (int)d->fault;
}

int do_host_alloc(void **p, size_t bytes, unsigned flags) {
  enum { MAPPED = 2 };
  NEED(flags & MAPPED);
  return (*p = host_alloc(bytes)) ? OK : OUT_OF_MEMORY;
}
int do_pin(void *p, size_t bytes, unsigned flags) {
  enum { PORTABLE = 1, MAPPED = 2 };
  NEED(flags == (PORTABLE | MAPPED) && bytes && (u64)p % 4096 == 0);
  if (getenv("MSCCLC_STANDIN_UNPINNED")) return NOT_SUPPORTED;
  return host_pin(p, bytes) ? OK : INVALID_VALUE;
}
int do_pin_address(u64 *address, void *p) {
  NEED(host_reaches((u64)p));
  return *address = (u64)p, OK;
}
int do_host_free(void *p) { return host_free(p) ? OK : INVALID_VALUE; }
int do_write_word(void *stream, u64 word, u64 value) {
  STREAM;
  return enqueue(s, [=] { __atomic_store_n((u64 *)word, value, __ATOMIC_RELEASE); });
}
int do_wait_word(void *stream, u64 word, u64 value) {
  STREAM;
  return enqueue(s, [=] {
    const struct timespec nap = {0, 20000};
    // As drivers compare: what is 2^63 or more above counts as below.
    while ((i64)(__atomic_load_n((u64 *)word, __ATOMIC_ACQUIRE) - value) < 0 && !d->fault) nanosleep(&nap, nullptr);
  });
}

int load_ptx(void **module, const void *image, void *log, u32 log_bytes) {
  CONTEXT;
  const char *text = (const char *)image;
  if (!contains(text, ".version")) {
    if (log && log_bytes) snprintf((char *)log, log_bytes, "ptxas: this is no PTX");
    return INVALID_IMAGE;
  }
  *module = new Module{d, text};
  return OK;
}
int load_object(void **module, const void *image) {
  CONTEXT;
  const unsigned char *elf = (const unsigned char *)image;
  enum { FLAGS = 48, GFX90A = 0x3f };  // as it is of this arch, the driver refuses others
  if (memcmp(elf, "\177ELF", 4)) return INVALID_IMAGE;
  if (elf[FLAGS] != GFX90A) return NO_BINARY;
  *module = new Module{d, ""};
  return OK;
}
// The entries of the images, by name. It is made before any thread runs: tests look for data races.
struct Named {
  const char *name;
  Entry entry;
};
const Named entries[] = {
    {"mscclc_simple", TWO_SIMPLE}, {"mscclc_ll", TWO_LL}, {"mscclc_ll128", TWO_LINES}, {"mscclc_onesided", ONE_ANY},
    {"mscclc_net", ONE_ANY}, {"mscclc_net_lines", ONE_LINES}, {"mscclc_trace_simple", TWO_SIMPLE},
    {"mscclc_trace_ll", TWO_LL}, {"mscclc_trace_ll128", TWO_LINES}, {"mscclc_onesided_sum", ONE_SUM},
    {"mscclc_onesided_avg", ONE_AVG}, {"mscclc_onesided_copy", ONE_COPY}, {"mscclc_few_sum", FEW_SUM},
    {"mscclc_few_copy", FEW_COPY}, {"mscclc_onesided_lines", ONE_LINES}, {"mscclc_few_lines_sum", FEW_LINES_SUM},
    {"mscclc_few_lines_copy", FEW_LINES_COPY}, {"mscclc_rows_sum", ROWS_SUM}, {"mscclc_rows_lines", ROWS_LINES},
    {"mscclc_few_rows", FEW_ROWS}, {"mscclc_few_lines_rows", FEW_LINES_ROWS}};
int do_function(void **function, void *module, const char *name) {
  CONTEXT;
  const Module *m = (const Module *)module;
  const Named *const end = entries + sizeof entries / sizeof *entries;
  const Named *const found = std::find_if(entries, end, [=](const Named &e) { return !strcmp(e.name, name); });
  if (m->device != d) return INVALID_HANDLE;
  if (!m->text.empty() && !contains(m->text.c_str(), (std::string(".entry ") + name + "(").c_str())) return NOT_FOUND;
  if (found == end) return NOT_FOUND;
  *function = new Function{d, found->entry, contains(name, "_trace_"),
                           contains(name, "_net") || contains(m->text.c_str(), "%globaltimer")};
  return OK;
}
int do_occupancy(int *blocks, void *, int threads) { return *blocks = (int)blocks_per_sm((u32)threads), OK; }
int do_launch(void *function, unsigned x, unsigned y, unsigned threads, void *stream, void **packed, u64 end_mark) {
  STREAM;
  const Function *f = (const Function *)function;
  if (f->device != d) return INVALID_HANDLE;
  NEED(packed && packed[0] == (void *)1 && packed[2] == (void *)2 && packed[4] == (void *)end_mark);
  const std::string params((const char *)packed[1], *(const size_t *)packed[3]);
  if (const int code = check_launch(f, x * y, threads, params)) return code;
  return enqueue(s, [=] { run_kernel(f, x, y, threads, params); });
}
