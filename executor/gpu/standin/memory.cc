// Memory of a GPU is a file in memory, so that another process can map it too.
#include "standin.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

struct Block {
  u64 bytes;
  int device, file;
  bool reached;  // of another process
};

std::mutex mu;
std::map<u64, Block> blocks;
std::set<void *> of_host;

u64 limit() {
  const char *text = getenv("MSCCLC_STANDIN_MEMORY");
  return text ? strtoull(text, nullptr, 10) : 16ull << 30;
}

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

int unmap(u64 address, bool reached) {
  Lock l(mu);
  auto it = blocks.find(address);
  if (it == blocks.end() || it->second.reached != reached) return INVALID_VALUE;
  munmap((void *)address, it->second.bytes);
  close(it->second.file);
  if (!reached) {
    Device *d = devices()[it->second.device];
    Lock of_device(d->mu);
    d->used -= it->second.bytes;
  }
  blocks.erase(it);
  return OK;
}

}  // namespace

int memory_alloc(Device *d, u64 bytes, u64 *address) {
  if (!bytes) return INVALID_VALUE;
  bytes = (bytes + 4095) & ~4095ull;
  Lock of_device(d->mu);
  if (bytes > limit() || d->used > limit() - bytes) return OUT_OF_MEMORY;
  const int file = memfd_create("standin", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)bytes) || !(*address = map_file(file, bytes))) {
    if (file >= 0) close(file);
    return OUT_OF_MEMORY;
  }
  d->used += bytes;
  Lock l(mu);
  blocks[*address] = Block{bytes, d->number, file, false};
  return OK;
}

int memory_free(u64 address) { return unmap(address, false); }
int memory_leave(u64 address) { return unmap(address, true); }

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
  if (it == blocks.end() || it->second.reached) return INVALID_VALUE;
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
  blocks[*address] = Block{h.bytes, (int)h.device, file, true};
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
    if (it->second.reached) return true;
    owner = it->second.device;
  }
  Lock l(d->mu);
  return owner == d->number || d->peers.count(owner);
}

void *host_alloc(u64 bytes) {
  void *p = calloc(1, bytes);
  Lock l(mu);
  if (p) of_host.insert(p);
  return p;
}
bool host_free(void *p) {
  Lock l(mu);
  if (!of_host.erase(p)) return false;
  free(p);
  return true;
}
bool host_reaches(u64 address) {
  Lock l(mu);
  return of_host.count((void *)address);
}
