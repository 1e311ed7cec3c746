// Memory of a GPU is a file in memory, so that another process can map it too.
#include "standin.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

// A Block is memory at an address: plain, reached of another process, or mapped, of which access says who may
// use it.
enum Kind { PLAIN, REACHED, MAPPED };
struct Block {
  u64 bytes;
  int device, file;
  Kind kind;
  std::set<int> access;
  int exported = 0;  // kinds of handles of what is mapped
};

// A Physical is memory without an address. Handles and what is mapped keep it.
struct Physical {
  u64 bytes;
  int device, file, handles;  // kinds of handles, by bits
};
// No table of the mock driver is destroyed: threads may free memory while their process exits.
auto &physical = *new std::map<u64, Physical>;  // by handle
auto &reserved = *new std::map<u64, u64>;       // bytes, by address
u64 last_handle;

std::mutex mu;
auto &blocks = *new std::map<u64, Block>;
auto &of_host = *new std::map<u64, u64>;  // bytes, by address
auto &pinned = *new std::set<u64>;        // those of them that are another's

// A Handle names a file of a process.
struct Handle {
  u32 magic, device;
  i32 process, file;
  u64 bytes;
};
const u32 MAGIC = 0x5eed1e55;

std::map<u64, Block>::iterator find(u64 address) {
  auto it = blocks.upper_bound(address);
  if (it == blocks.begin()) return blocks.end();
  --it;
  return address - it->first < it->second.bytes ? it : blocks.end();
}

u64 map_file(int file, u64 bytes) {
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  return p == MAP_FAILED ? 0 : (u64)p;
}

int unmap(u64 address, Kind kind) {
  Lock l(mu);
  auto it = blocks.find(address);
  if (it == blocks.end() || it->second.kind != kind) return INVALID_VALUE;
  const Block b = it->second;
  munmap((void *)address, b.bytes);
  close(b.file);
  blocks.erase(it);
  l.unlock();  // memory_alloc locks a device first
  if (kind == PLAIN) {
    Device *d = devices()[b.device];
    Lock of_device(d->mu);
    d->used -= b.bytes;
  }
  return OK;
}

}  // namespace

u64 memory_limit() {
  const char *text = getenv("MSCCLC_STANDIN_MEMORY");
  return text ? strtoull(text, nullptr, 10) : 16ull << 30;
}

int memory_alloc(Device *d, u64 bytes, u64 *address) {
  if (!bytes) return INVALID_VALUE;
  bytes = (bytes + 4095) & ~4095ull;
  Lock of_device(d->mu);
  if (bytes > memory_limit() || d->used > memory_limit() - bytes) return OUT_OF_MEMORY;
  const int file = memfd_create("standin", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)bytes) || !(*address = map_file(file, bytes))) {
    if (file >= 0) close(file);
    return OUT_OF_MEMORY;
  }
  d->used += bytes;
  Lock l(mu);
  blocks[*address] = Block{bytes, d->number, file, PLAIN, {}};
  return OK;
}

// Pages that are to be zero are given back where they are many: a plan clears all of its scratch, of which most calls
// touch little, and writing each page was half the time of tests.
void memory_fill(u64 address, u8 value, u64 bytes) {
  const u64 page = 4096, end = address + bytes, first = (address + page - 1) & ~(page - 1), last = end & ~(page - 1);
  if (value || bytes < 64 * page || madvise((void *)first, last - first, MADV_REMOVE)) {
    memset((void *)address, value, bytes);
    return;
  }
  memset((void *)address, 0, first - address);
  memset((void *)last, 0, end - last);
}

int memory_free(u64 address) { return unmap(address, PLAIN); }
int memory_leave(u64 address) { return unmap(address, REACHED); }

int memory_owner(u64 address, u64 *base, u64 *bytes) {
  Lock l(mu);
  auto it = find(address);
  if (it == blocks.end()) return -1;
  *base = it->first;
  *bytes = it->second.bytes;
  return it->second.device;
}

int memory_share(u64 base, void *handle) {
  Lock l(mu);
  auto it = blocks.find(base);
  if (it == blocks.end() || it->second.kind != PLAIN) return INVALID_VALUE;
  const Handle h = {MAGIC, (u32)it->second.device, getpid(), it->second.file, it->second.bytes};
  memset(handle, 0, 64);
  memcpy(handle, &h, sizeof h);
  return OK;
}

int memory_reach(Device *d, const void *handle, u64 *address) {
  Handle h;
  memcpy(&h, handle, sizeof h);
  if (h.magic != MAGIC || h.process == getpid() || h.device >= devices().size()) return INVALID_CONTEXT;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", h.process, h.file);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return INVALID_VALUE;
  *address = map_file(file, h.bytes);
  if (!*address) {
    close(file);
    return OUT_OF_MEMORY;
  }
  (void)d;
  Lock l(mu);
  blocks[*address] = Block{h.bytes, (int)h.device, file, REACHED, {}};
  return OK;
}

// in_reach is whether a kernel of a GPU may access an address: of its own memory, of
// that of peers, and of what it reached of other processes.
bool in_reach(Device *d, u64 address) {
  int owner;
  {
    Lock l(mu);
    auto it = find(address);
    if (it == blocks.end()) return false;
    if (it->second.kind == REACHED) return true;
    if (it->second.kind == MAPPED) return it->second.access.count(d->number);
    owner = it->second.device;
  }
  Lock l(d->mu);
  return owner == d->number || d->peers.count(owner);
}

void *host_alloc(u64 bytes) {
  void *p = calloc(1, bytes);
  Lock l(mu);
  if (p) of_host[(u64)p] = bytes;
  return p;
}
bool host_free(void *p) {
  Lock l(mu);
  if (pinned.count((u64)p) || !of_host.erase((u64)p)) return false;
  free(p);
  return true;
}
bool host_pin(void *p, u64 bytes) {
  Lock l(mu);
  auto next = of_host.lower_bound((u64)p);
  if (next != of_host.end() && next->first < (u64)p + bytes) return false;
  if (next != of_host.begin() && (--next)->first + next->second > (u64)p) return false;
  of_host[(u64)p] = bytes;
  pinned.insert((u64)p);
  return true;
}
bool host_unpin(void *p) {
  Lock l(mu);
  return pinned.erase((u64)p) && of_host.erase((u64)p);
}
bool host_reaches(u64 address) {
  Lock l(mu);
  auto next = of_host.upper_bound(address);
  return next != of_host.begin() && (--next, address - next->first < next->second);
}

// What follows is memory that is made and mapped in two steps.
enum { UNIT = 1 << 16, POSIX_FILE = 1, READ_WRITE = 3 };

static u64 add_physical(const Physical &p) {
  physical[++last_handle] = p;
  return last_handle;
}

int physical_create(u64 *handle, u64 bytes, const gpu_properties *p) {
  if (!bytes || bytes % UNIT || p->location.id < 0 || p->location.id >= (int)devices().size()) return INVALID_VALUE;
  const int file = memfd_create("standin", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)bytes)) return OUT_OF_MEMORY;
  Lock l(mu);
  *handle = add_physical({bytes, p->location.id, file, p->handles});
  return OK;
}

int physical_release(u64 handle) {
  Lock l(mu);
  auto it = physical.find(handle);
  if (it == physical.end()) return INVALID_VALUE;
  close(it->second.file);
  physical.erase(it);
  return OK;
}

int physical_retain(u64 *handle, u64 address) {
  Lock l(mu);
  auto it = find(address);
  if (it == blocks.end() || it->second.kind != MAPPED) return INVALID_VALUE;
  const Block &b = it->second;
  *handle = add_physical({b.bytes, b.device, dup(b.file), b.exported});
  return OK;
}

int physical_properties(gpu_properties *p, u64 handle) {
  Lock l(mu);
  auto it = physical.find(handle);
  if (it == physical.end()) return INVALID_VALUE;
  *p = gpu_properties{1, it->second.handles, {1, it->second.device}, nullptr, {}};
  return OK;
}

int physical_export(void *file, u64 handle) {
  Lock l(mu);
  auto it = physical.find(handle);
  if (it == physical.end() || !(it->second.handles & POSIX_FILE)) return INVALID_VALUE;
  *(int *)file = fcntl(it->second.file, F_DUPFD_CLOEXEC, 0);
  return OK;
}

int physical_import(Device *d, u64 *handle, int file) {
  const off_t bytes = lseek(file, 0, SEEK_END);
  const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (own < 0 || bytes <= 0 || bytes % UNIT) return INVALID_VALUE;
  Lock l(mu);
  *handle = add_physical({(u64)bytes, d->number, own, POSIX_FILE});
  return OK;
}

int memory_unit(size_t *bytes) { return *bytes = UNIT, OK; }

int memory_reserve(u64 *address, u64 bytes) {
  void *p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes % UNIT || p == MAP_FAILED) return INVALID_VALUE;
  Lock l(mu);
  *address = (u64)p;
  reserved[*address] = bytes;
  return OK;
}

int memory_reserve_end(u64 address, u64 bytes) {
  Lock l(mu);
  auto it = reserved.find(address);
  if (it == reserved.end() || it->second != bytes) return INVALID_VALUE;
  auto next = blocks.lower_bound(address);
  if (next != blocks.end() && next->first < address + bytes) return INVALID_VALUE;
  munmap((void *)address, bytes);
  reserved.erase(it);
  return OK;
}

int memory_map(u64 address, u64 bytes, u64 handle) {
  Lock l(mu);
  auto it = physical.find(handle);
  auto in = reserved.upper_bound(address);
  if (it == physical.end() || it->second.bytes != bytes || in == reserved.begin()) return INVALID_VALUE;
  --in;
  if (address + bytes > in->first + in->second || find(address) != blocks.end()) return INVALID_VALUE;
  const int file = dup(it->second.file);
  if (mmap((void *)address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) ==
      MAP_FAILED)
    return OUT_OF_MEMORY;
  blocks[address] = Block{bytes, it->second.device, file, MAPPED, {}};
  blocks[address].exported = it->second.handles;
  return OK;
}

int memory_unmap(u64 address, u64 bytes) {
  Lock l(mu);
  auto it = blocks.find(address);
  if (it == blocks.end() || it->second.kind != MAPPED || it->second.bytes != bytes) return INVALID_VALUE;
  mmap((void *)address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  close(it->second.file);
  blocks.erase(it);
  return OK;
}

int memory_get_access(unsigned long long *flags, const gpu_location *at, u64 address) {
  Lock l(mu);
  auto it = find(address);
  if (it == blocks.end() || it->second.kind != MAPPED) return INVALID_VALUE;
  return *flags = it->second.access.count(at->id) ? READ_WRITE : 0, OK;
}

int memory_set_access(u64 address, u64 bytes, const gpu_access *list, size_t count) {
  Lock l(mu);
  for (u64 at = address; at < address + bytes;) {
    auto it = blocks.find(at);
    if (it == blocks.end() || it->second.kind != MAPPED) return INVALID_VALUE;
    for (size_t i = 0; i < count; i++) it->second.access.insert(list[i].location.id);
    at += it->second.bytes;
  }
  return OK;
}
