// This file makes the system calls that a signal can interrupt, or that may move fewer bytes than asked for.
#include "system.h"

#include "rest.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

namespace {

template <class F> auto again(F call) {
  for (;;) {
    const auto n = call();
    if (n != -1 || errno != EINTR) return n;
  }
}

// all repeats a call that moves some of the bytes, which gets how many were moved before.
template <class F> bool all(size_t bytes, F some) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = again([&] { return some(done); });
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

// rest_ms is the rest of a time, rounded up, for poll.
int rest_ms(uint64_t begin, uint64_t limit_ns) {
  if (limit_ns == SYS_FOREVER) return -1;
  const uint64_t passed = now_ns() - begin;
  const uint64_t ms = passed < limit_ns ? (limit_ns - passed + 999999) / 1000000 : 0;
  return ms < 1u << 30 ? (int)ms : 1 << 30;
}

// ready waits for an event of a socket until so much time has passed since `begin`.
bool ready(int fd, short event, uint64_t begin, uint64_t limit_ns) {
  struct pollfd p = {fd, event, 0};
  const int n = sys_poll(&p, 1, rest_ms(begin, limit_ns));
  if (n == 0) errno = ETIMEDOUT;
  return n > 0;
}

// blocks has calls of a socket wait, or not.
bool blocks(int fd, bool wait) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && !fcntl(fd, F_SETFL, wait ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

// finished waits for a connection that was begun. A Unix socket whose listener has no room has begun nothing (EAGAIN).
int finished(int fd, const struct sockaddr *to, socklen_t size, uint64_t begin, uint64_t limit_ns) {
  for (;;) {
    if (!again([&] { return connect(fd, to, size); }) || errno == EISCONN) return 0;
    if (errno == EAGAIN) {
      if (limit_ns != SYS_FOREVER && now_ns() - begin >= limit_ns) return errno = ETIMEDOUT, -1;
      sys_nap(1000000);
      continue;
    }
    if (errno != EINPROGRESS && errno != EALREADY) return -1;
    if (!ready(fd, POLLOUT, begin, limit_ns)) return -1;
    int code = 0;
    socklen_t length = sizeof code;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length)) return -1;
    if (code) return errno = code, -1;
  }
}

}  // namespace

int sys_open(const char *path, int flags, int mode) {
  return again([&] { return open(path, flags, mode); });
}
bool sys_read(int fd, void *to, size_t bytes) {
  return all(bytes, [&](size_t done) { return read(fd, (char *)to + done, bytes - done); });
}
bool sys_read_at(int fd, void *to, size_t bytes, uint64_t offset) {
  return all(bytes, [&](size_t done) { return pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done)); });
}
ssize_t sys_read_some(int fd, void *to, size_t most) {
  return again([&] { return read(fd, to, most); });
}
bool sys_write(int fd, const void *from, size_t bytes) {
  return all(bytes, [&](size_t done) { return write(fd, (const char *)from + done, bytes - done); });
}
int sys_truncate(int fd, uint64_t bytes) {
  return again([&] { return ftruncate(fd, (off_t)bytes); });
}

int sys_text(const char *path, char *to, size_t room) {
  const int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return -1;
  size_t length = 0;
  ssize_t n = 1;
  while (n > 0 && length + 1 < room)
    if ((n = sys_read_some(fd, to + length, room - 1 - length)) > 0) length += (size_t)n;
  const int code = errno;
  close(fd);
  to[length] = 0;
  return n < 0 ? errno = code, -1 : (int)length;
}

bool sys_send(int fd, const void *from, size_t bytes) {
  return all(bytes, [&](size_t done) { return send(fd, (const char *)from + done, bytes - done, MSG_NOSIGNAL); });
}
bool sys_recv(int fd, void *to, size_t bytes) {
  return all(bytes, [&](size_t done) { return recv(fd, (char *)to + done, bytes - done, 0); });
}
bool sys_recv_within(int fd, void *to, size_t bytes, uint64_t limit_ns) {
  const uint64_t begin = now_ns();
  return all(bytes, [&](size_t done) -> ssize_t {
    if (!ready(fd, POLLIN, begin, limit_ns)) return 0;
    const ssize_t n = recv(fd, (char *)to + done, bytes - done, MSG_DONTWAIT);
    return n == -1 && errno == EAGAIN ? errno = EINTR, n : n;
  });
}
ssize_t sys_send_now(int fd, const void *from, size_t bytes) {
  return again([&] { return send(fd, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT); });
}
ssize_t sys_recv_now(int fd, void *to, size_t most) {
  return again([&] { return recv(fd, to, most, MSG_DONTWAIT); });
}
ssize_t sys_peek(int fd, void *to, size_t most) {
  return again([&] { return recv(fd, to, most, MSG_DONTWAIT | MSG_PEEK); });
}
ssize_t sys_send_message(int fd, const struct msghdr *m, int flags) {
  return again([&] { return sendmsg(fd, m, flags | MSG_NOSIGNAL); });
}
ssize_t sys_recv_message(int fd, struct msghdr *m, int flags) {
  return again([&] { return recvmsg(fd, m, flags); });
}

// A connect that was interrupted goes on, and cannot simply be repeated. So it does not wait, and poll does.
int sys_connect(int fd, const struct sockaddr *to, socklen_t size, uint64_t limit_ns) {
  if (!blocks(fd, false)) return -1;
  const int n = finished(fd, to, size, now_ns(), limit_ns), code = errno;
  if (!blocks(fd, true)) return -1;
  return errno = code, n;
}

int sys_connect_now(int fd, const struct sockaddr *to, socklen_t size) {
  const int n = connect(fd, to, size);
  if (n == -1 && errno == EINTR) errno = EINPROGRESS;
  return n;
}

int sys_accept(int listener) {
  const int fd = again([&] { return accept4(listener, nullptr, nullptr, SOCK_CLOEXEC); });
  if (fd >= 0) return fd;
  switch (errno) {  // what Linux reports of a connection that has failed already
    case ECONNABORTED: case EPROTO: case EPERM: case ENETDOWN: case ENETUNREACH: case EHOSTDOWN: case EHOSTUNREACH:
    case ENOPROTOOPT: case ENONET: case ETIMEDOUT: errno = EAGAIN;
  }
  return -1;
}
bool sys_later(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

int sys_poll(struct pollfd *fds, uint64_t count, int ms) {
  const uint64_t begin = now_ns(), limit_ns = ms < 0 ? SYS_FOREVER : (uint64_t)ms * 1000000;
  for (int rest = ms;; rest = rest_ms(begin, limit_ns)) {
    const int n = poll(fds, (nfds_t)count, rest);
    if (n != -1 || errno != EINTR) return n;
  }
}

int sys_epoll(int fd, struct epoll_event *events, int most, int ms) {
  const uint64_t begin = now_ns(), limit_ns = ms < 0 ? SYS_FOREVER : (uint64_t)ms * 1000000;
  for (int rest = ms;; rest = rest_ms(begin, limit_ns)) {
    const int n = epoll_wait(fd, events, most, rest);
    if (n != -1 || errno != EINTR) return n;
  }
}

void sys_nap(uint64_t ns) {
  timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
  while (nanosleep(&left, &left) && errno == EINTR) continue;
}

void sys_wait(sem_t *s) {
  while (sem_wait(s) && errno == EINTR) continue;
}

bool sys_random(void *to, size_t bytes) {
  return all(bytes, [&](size_t done) { return getrandom((char *)to + done, bytes - done, 0); });
}
