// Files of memory that processes map. Who exports them shows them under a random key, which the agreement on a window
// carries. Who maps them asks the other process on its socket, and gets them as open files.
#include "../front/front.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

struct Shown {
  u8 key[16];
  const Files *files;  // null: the row is free
};
enum { SHOWN = 256 };
Shown shown[SHOWN];
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

// A Letter is what goes with open files: the bytes of each.
struct Letter {
  u32 count, pad;
  u64 bytes[MOST_FILES];
};
union Room {
  struct cmsghdr align;
  char bytes[CMSG_SPACE(MOST_FILES * sizeof(int))];
};

// receive takes a letter and its files.
bool receive(int fd, Letter *l, Files *to) {
  Room room;
  struct iovec part = {l, sizeof *l};
  struct msghdr m = {};
  m.msg_iov = &part, m.msg_iovlen = 1, m.msg_control = &room, m.msg_controllen = sizeof room;
  const ssize_t n = sys_recv_message(fd, &m, MSG_CMSG_CLOEXEC);
  to->count = 0;
  for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : nullptr; c; c = CMSG_NXTHDR(&m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    to->count = (u32)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(to->file, CMSG_DATA(c), to->count * sizeof(int));
  }
  memcpy(to->bytes, l->bytes, sizeof to->bytes);
  return n == (ssize_t)sizeof *l && !(m.msg_flags & MSG_CTRUNC) && to->count == l->count;
}

bool send_files(int fd, const Files &f) {
  Room room;
  Letter l = {};
  l.count = f.count;
  memcpy(l.bytes, f.bytes, f.count * sizeof l.bytes[0]);
  struct iovec part = {&l, sizeof l};
  struct msghdr m = {};
  m.msg_iov = &part, m.msg_iovlen = 1, m.msg_control = &room, m.msg_controllen = CMSG_SPACE(f.count * sizeof(int));
  memset(&room, 0, sizeof room);
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(f.count * sizeof(int));
  memcpy(CMSG_DATA(c), f.file, f.count * sizeof(int));
  return sys_send_message(fd, &m, MSG_DONTWAIT) == (ssize_t)sizeof l;
}

}  // namespace

void say_files(Why *why, u32 rank) {
  enum { FEW = 4 };  // what the driver may need at once
  int fd[FEW], count = 0;
  while (count < FEW && (fd[count] = sys_open("/dev/null", O_RDONLY | O_CLOEXEC, 0)) >= 0) count++;
  const bool full = count < FEW && (errno == EMFILE || errno == ENFILE);
  while (count) close(fd[--count]);
  if (!full || strstr(why->text, "open files")) return;
  Why is = *why;
  cut(is.text, sizeof is.text - 80, why->text);
  say(why, "%.430s; the process of rank %u has no descriptors left, or few (ulimit -n)", is.text, rank);
}

void files_show(const u8 *key, const Files *f) {
  pthread_mutex_lock(&mu);
  Shown *row = nullptr;
  for (Shown &s : shown)
    if (!s.files && !row) row = &s;
  if (row) memcpy(row->key, key, sizeof row->key), row->files = f;
  pthread_mutex_unlock(&mu);
}

void files_hide(const u8 *key) {
  pthread_mutex_lock(&mu);
  for (Shown &s : shown)
    if (s.files && !memcmp(s.key, key, sizeof s.key)) s.files = nullptr;
  pthread_mutex_unlock(&mu);
}

void files_give(int fd, const u8 *key) {
  pthread_mutex_lock(&mu);
  for (const Shown &s : shown)
    if (s.files && !memcmp(s.key, key, sizeof s.key) && !send_files(fd, *s.files))
      info("a process does not take the files of a window: %s", strerror(errno));
  pthread_mutex_unlock(&mu);
}

bool files_fetch(const u8 *process, const u8 *key, u32 count, Files *to, Why *why) {
  Letter letter;
  const int fd = peers_dial(process, key, 0, ASKS_FILES);
  const bool good = fd >= 0 && receive(fd, &letter, to) && to->count == count;
  if (!good)
    say(why, "a process does not give the files of its memory: %s", fd < 0 ? strerror(errno)
        : "too many open files (ulimit -n)");
  if (fd >= 0) close(fd);
  if (good) return true;
  for (u32 i = 0; i < to->count; i++) close(to->file[i]);
  to->count = 0;
  return false;
}
