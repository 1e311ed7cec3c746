// This file makes memory of the host that GPUs reach at the same address.
#include "pinned.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

enum { PORTABLE = 1, MAPPED = 2 };

bool fail(const char *what, u64 bytes, Why *why) {
  return say(why, "%s of %llu bytes of the host's memory: %s", what, bytes, strerror(errno)), false;
}

bool map(u64 bytes, Pinned *to, Why *why) {
  // A private page may have another place once the process has forked, and the GPU keeps the first.
  const int flags = MAP_SHARED | (to->file >= 0 ? 0 : MAP_ANONYMOUS);
  void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, to->file, 0);
  if (at == MAP_FAILED) return fail("mapping", bytes, why);
  to->at = (u64)at, to->bytes = bytes;
  return true;
}

// pin has the GPU reach mapped memory at the same address.
bool pin(const Gpu *g, Pinned *p, Why *why) {
  u64 there = 0;
  if (!g->f->pin || !g->f->pin_end || !g->f->pin_address) return say(why, "this driver cannot pin memory"), false;
  int code = g->f->pin((void *)p->at, p->bytes, PORTABLE | MAPPED);
  p->pinned = code == 0;
  if (!code) code = g->f->pin_address(&there, (void *)p->at, 0);
  if (!code && there == p->at) return true;
  say(why, "pinning %llu bytes of the host's memory (ulimit -l): %s", p->bytes,
      code ? driver_text(code) : "the GPU has other addresses");
  return false;
}

u64 pages(u64 bytes) {
  const u64 page = (u64)sysconf(_SC_PAGESIZE);
  return (bytes + page) / page * page;
}

}  // namespace

bool pinned_make(const Gpu *g, u64 bytes, bool shared, Pinned *to, Why *why) {
  *to = Pinned{0, 0, -1, false};
  bytes = pages(bytes);
  if (shared) {
    to->file = memfd_create("mscclc", MFD_CLOEXEC);
    if (to->file < 0 || sys_truncate(to->file, bytes)) return fail("a file", bytes, why);
  }
  return map(bytes, to, why) && pin(g, to, why);
}

bool pinned_map(const Gpu *g, u64 bytes, Pinned *to, Why *why) { return map(bytes, to, why) && pin(g, to, why); }

PinnedFile pinned_file(const Pinned &p) {
  struct stat is;
  const u64 inode = p.file >= 0 && !fstat(p.file, &is) ? (u64)is.st_ino : 0;
  return {p.at, p.bytes, inode, p.file};
}

bool pinned_reach(const Gpu *g, u64 pid, const PinnedFile &from, Pinned *to, Why *why) {
  *to = Pinned{0, 0, -1, false};
  char path[64];
  struct stat is;
  snprintf(path, sizeof path, "/proc/%llu/fd/%d", pid, from.file);
  to->file = sys_open(path, O_RDWR | O_CLOEXEC, 0);
  if (to->file < 0 || fstat(to->file, &is) || (u64)is.st_ino != from.inode || (u64)is.st_size != from.bytes) {
    say(why, "memory of process %llu: %s; processes must be of one user, and see each other in /proc", pid,
        to->file < 0 ? strerror(errno) : "it is another file");
    return false;
  }
  const bool good = pinned_map(g, from.bytes, to, why);
  close(to->file);
  to->file = -1;
  return good;
}

void pinned_end(const Gpu *g, Pinned *p) {
  if (p->pinned) g->f->pin_end((void *)p->at);
  if (p->at) munmap((void *)p->at, p->bytes);
  if (p->file >= 0) close(p->file);
  *p = Pinned{0, 0, -1, false};
}
