// Memory of the host device: files in memory, which other processes of the user map by way of /proc.
#include "host.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

// A Block is memory of this process, or of another one that it reaches.
struct Block {
  u64 at, bytes;
  int file;
  Block *next;
};
Block *blocks;
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

// A Handle says where another process finds a block.
struct Handle {
  u64 magic, pid, file, bytes;
};
const u64 MAGIC = 0x6d73636c686f7374;
static_assert(sizeof(Handle) <= sizeof(gpu_handle), "a handle has room in the driver's");

int add(int file, u64 bytes, u64 *at) {
  Block *b = (Block *)malloc(sizeof *b);
  void *p = b ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0) : MAP_FAILED;
  if (p == MAP_FAILED) return free(b), close(file), (int)ENGINE_HOST_MEMORY;
  *b = Block{(u64)p, bytes, file, nullptr};
  pthread_mutex_lock(&mu);
  b->next = blocks, blocks = b;
  pthread_mutex_unlock(&mu);
  return *at = b->at, 0;
}

int alloc(u64 *at, u64 bytes) {
  bytes = (bytes + 4095) & ~4095ull;
  const int file = memfd_create("mscclc", MFD_CLOEXEC);
  if (file < 0) return ENGINE_HOST_MEMORY;
  if (sys_truncate(file, bytes)) return close(file), (int)ENGINE_HOST_MEMORY;
  return add(file, bytes, at);
}

int release(u64 at) {
  pthread_mutex_lock(&mu);
  Block **b = &blocks;
  while (*b && (*b)->at != at) b = &(*b)->next;
  Block *found = *b;
  if (found) *b = found->next;
  pthread_mutex_unlock(&mu);
  if (!found) return ENGINE_ARGUMENT;
  munmap((void *)found->at, found->bytes);
  close(found->file);
  free(found);
  return 0;
}

int share(void *handle, u64 at) {
  Handle h = {MAGIC, (u64)getpid(), 0, 0};
  pthread_mutex_lock(&mu);
  for (const Block *b = blocks; b; b = b->next)
    if (b->at == at) h.file = (u64)b->file, h.bytes = b->bytes;
  pthread_mutex_unlock(&mu);
  memset(handle, 0, sizeof(gpu_handle));
  memcpy(handle, &h, sizeof h);
  return h.bytes ? 0 : (int)ENGINE_ARGUMENT;
}

int reach(u64 *at, gpu_handle handle, unsigned) {
  Handle h;
  char path[64];
  memcpy(&h, &handle, sizeof h);
  if (h.magic != MAGIC || !h.bytes) return ENGINE_ARGUMENT;
  snprintf(path, sizeof path, "/proc/%llu/fd/%llu", h.pid, h.file);
  const int file = sys_open(path, O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return ENGINE_HOST_REACH;
  if (lseek(file, 0, SEEK_END) != (off_t)h.bytes) return close(file), (int)ENGINE_HOST_REACH;
  return add(file, h.bytes, at);
}

// words copies whole words, each at once: a launch may read or write them meanwhile.
template <typename T>
void words(void *to, const void *from, u64 bytes) {
  for (u64 i = 0; i < bytes / sizeof(T); i++)
    __atomic_store_n((T *)to + i, __atomic_load_n((const T *)from + i, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

int copy(void *to, const void *from, u64 bytes) {
  const u64 all = (u64)to | (u64)from | bytes;
  if (all % 4) memcpy(to, from, bytes);
  else if (all % 8) words<u32>(to, from, bytes);
  else words<u64>(to, from, bytes);
  return 0;
}

// The engine fills and copies on streams of its own, which have no threads.
int fill(u64 at, unsigned char value, u64 bytes, void *) {
  // Pages that are given back are zero, and take memory only where they are used.
  if (!value && !(at % 4096) && !(bytes % 4096) && !madvise((void *)at, bytes, MADV_REMOVE)) return 0;
  return memset((void *)at, value, bytes), 0;
}
int put(u64 at, const void *from, u64 bytes, void *) { return copy((void *)at, from, bytes); }
int get(void *to, u64 at, u64 bytes, void *) { return copy(to, (const void *)at, bytes); }

// pointer and range describe memory of alloc, as the driver does that of a GPU.
enum { MEMORY_TYPE = 2, ON_DEVICE = 2 };
const Block *block_of(u64 at) {
  const Block *b = blocks;
  while (b && (at < b->at || at - b->at >= b->bytes)) b = b->next;
  return b;
}
int pointer(void *is, int what, u64 at) {
  pthread_mutex_lock(&mu);
  const bool known = block_of(at) != nullptr;
  pthread_mutex_unlock(&mu);
  // No such memory belongs to one device of the process rather than to another.
  if (!known || what != MEMORY_TYPE) return ENGINE_ARGUMENT;
  return *(unsigned *)is = ON_DEVICE, 0;
}
int range(u64 *base, u64 *bytes, u64 at) {
  pthread_mutex_lock(&mu);
  const Block *b = block_of(at);
  if (b) *base = b->at, *bytes = b->bytes;
  pthread_mutex_unlock(&mu);
  return b ? 0 : (int)ENGINE_ARGUMENT;
}

int can_peer(int *can, int, int) { return *can = 1, 0; }
int peer(void *, unsigned) { return 0; }

}  // namespace

void host_memory_symbols(gpu_symbols *f) {
  f->alloc = alloc, f->release = release, f->share = share, f->reach = reach, f->leave = release;
  f->pointer = pointer, f->range = range;
  f->fill = fill, f->put = put, f->get = get, f->can_peer = can_peer, f->peer = peer;
}
