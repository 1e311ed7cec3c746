// Memory and windows of the test client: "memory K KIND BYTES" makes memory, "window W COMM K FROM BYTES" registers a
// part of it, and "unwindow W COMM" ends that. Kinds are plain, and those that are made and mapped in two steps:
// mapped, parts (three side by side), and private (of which others get no file). "samefiles" looks for what is left of
// all that since "files".
#include "client.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

namespace {

struct Location {
  int type, id;
};
struct Properties {
  int type, handles;
  Location location;
  void *metadata;
  u8 flags[8];
};
struct Access {
  Location location;
  int flags;
};

struct Maps {
  int (*create)(u64 *, size_t, const Properties *, u64), (*drop)(u64), (*reserve)(u64 *, size_t, size_t, u64, u64);
  int (*map)(u64, size_t, size_t, u64, u64), (*access)(u64, size_t, const Access *, size_t);
  int (*unmap)(u64, size_t), (*reserve_end)(u64, size_t), (*granularity)(size_t *, const Properties *, int);
} maps;

// map makes memory in parts, each of which the rank's GPU may access.
void map(Rank &r, Memory *m, int parts, int device, bool files) {
  const Properties p = {1, files ? 1 : 0, {1, device}, nullptr, {}};
  size_t unit = 0;
  if (maps.granularity(&unit, &p, 0)) fail(r, "memory has no unit");
  const Access own = {{1, device}, 3};
  m->part = (m->bytes / (size_t)parts / unit + 1) * unit, m->parts = parts;
  if (maps.reserve(&m->block, m->part * (size_t)parts, 0, 0, 0)) fail(r, "no addresses");
  for (int i = 0; i < parts; i++) {
    const u64 at = m->block + m->part * (size_t)i;
    u64 handle;
    if (maps.create(&handle, m->part, &p, 0) || maps.map(at, m->part, 0, handle, 0) || maps.drop(handle) ||
        maps.access(at, m->part, &own, 1))
      fail(r, "no mapped memory");
  }
  m->at = m->block;
}

void memory(Rank &r, Memory *m, const std::string &kind, size_t bytes) {
  const int device = gpu_of(r.spread ? (int)(m - r.memories) % 4 : r.rank);
  *m = Memory{0, 0, bytes, 0, 0};
  side(r, device);
  if (kind == "mapped") return map(r, m, 1, device, true);
  if (kind == "parts") return map(r, m, 3, device, true);
  if (kind == "private") return map(r, m, 1, device, false);
  if (cu.alloc(&m->block, bytes + 8192)) fail(r, "no memory");
  m->at = m->block + 256 * (size_t)(r.rank + 1);  // elsewhere in its allocation on each rank
}

void release(Rank &r, Memory *m) {
  int code = 0;
  for (int i = 0; i < m->parts; i++) code |= maps.unmap(m->block + m->part * (size_t)i, m->part);
  code |= m->parts ? maps.reserve_end(m->block, m->part * (size_t)m->parts) : cu.release(m->block);
  if (code) fail(r, "memory cannot be freed");
}

// open_files counts this process's open files: the mock driver's memory is files.
int open_files() {
  int n = 0;
  DIR *d = opendir("/proc/self/fd");
  while (readdir(d)) n++;
  closedir(d);
  return n;
}

// same_files waits until no more files are open than before. What a communicator leaves is freed by later calls.
void same_files(Rank &r) {
  int n = 0;
  for (int i = 0; i < 3000; i++) {
    Comm one;
    if ((n = open_files()) <= r.files) return;
    if (ncclCommInitAll(&one, 1, &r.rank) || ncclCommDestroy(one)) fail(r, "a communicator of one rank");
    usleep(1000);
  }
  fail(r, "%d files are open, and were %d", n, r.files);
}

// strange registers what is no memory.
void strange(Rank &r, Comm c) {
  void *window = nullptr;
  char host[64];
  for (const size_t bytes : {sizeof host, (size_t)-1}) {
    if (ncclCommWindowRegister(c, host, bytes, &window, 1)) fail(r, "memory of the host");
    if (ncclCommWindowDeregister(c, window)) fail(r, "a window of the host");
  }
  if (!ncclCommWindowRegister(c, host, 0, &window, 1) && window) fail(r, "an empty window");
  if (!ncclCommWindowRegister(nullptr, host, 1, &window, 1)) fail(r, "no communicator");
  if (!ncclCommWindowDeregister(nullptr, window)) fail(r, "no communicator");
  if (ncclCommWindowDeregister(c, nullptr)) fail(r, "no window");
}

size_t number(const std::string &s) { return strtoull(s.c_str(), nullptr, 10); }

}  // namespace

void open_maps() {
  void *h = dlopen(getenv("MSCCLC_LIBCUDA"), RTLD_NOW);
  const struct {
    void *at;
    const char *name;
  } all[] = {{&maps.create, "cuMemCreate"}, {&maps.drop, "cuMemRelease"}, {&maps.reserve, "cuMemAddressReserve"},
             {&maps.map, "cuMemMap"}, {&maps.access, "cuMemSetAccess"}, {&maps.unmap, "cuMemUnmap"},
             {&maps.reserve_end, "cuMemAddressFree"}, {&maps.granularity, "cuMemGetAllocationGranularity"}};
  for (const auto &f : all) *(void **)f.at = dlsym(h, f.name);
}

bool windows(Rank &r, const std::vector<std::string> &w) {
  const std::string &what = w[0];
  if (what == "memory") return memory(r, &r.memories[number(w[1])], w[2], number(w[3])), true;
  if (what == "free") return release(r, &r.memories[number(w[1])]), true;
  if (what == "strange") return strange(r, r.comms[number(w[1])]), true;
  if (what == "files") return r.files = open_files(), true;
  if (what == "samefiles") return same_files(r), true;
  if (what == "window") {
    const Memory &m = r.memories[number(w[3])];
    return expect(r, "ncclCommWindowRegister",
                  ncclCommWindowRegister(r.comms[number(w[2])], (void *)(m.at + number(w[4])), number(w[5]),
                                         &r.windows[number(w[1])], w.size() > 6 ? atoi(w[6].c_str()) : 1)),
           true;
  }
  if (what != "unwindow") return false;
  expect(r, "ncclCommWindowDeregister", ncclCommWindowDeregister(r.comms[number(w[2])], r.windows[number(w[1])]));
  return true;
}
