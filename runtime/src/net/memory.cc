// This file reaches memory of the host that other processes of the node have made: files in memory, which it opens by
// /proc.
#include "net.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

u64 pinned_inode(const Pinned &p) {
  struct stat is;
  return p.file >= 0 && !fstat(p.file, &is) ? (u64)is.st_ino : 0;
}

bool pinned_reach(const Gpu *g, const Offer &from, Pinned *to, Why *why) {
  *to = Pinned{0, 0, -1, false};
  char path[64];
  struct stat is;
  snprintf(path, sizeof path, "/proc/%llu/fd/%d", from.pid, from.inbox_file);
  to->file = sys_open(path, O_RDWR | O_CLOEXEC, 0);
  if (to->file < 0 || fstat(to->file, &is) || (u64)is.st_ino != from.inbox_inode ||
      (u64)is.st_size != from.inbox_bytes) {
    say(why, "memory of process %llu: %s; processes must be of one user, and see each other in /proc", from.pid,
        to->file < 0 ? strerror(errno) : "it is another file");
    return false;
  }
  const bool good = pinned_map(g, from.inbox_bytes, to, why);
  close(to->file);
  to->file = -1;
  return good;
}
