// This file is the rule for system calls of the library and of the proxy: a call that a signal interrupts is repeated,
// and what may move fewer bytes than asked for goes on until all are moved. A handler without SA_RESTART, as Python's
// are, ends a call with EINTR. So only system.cc makes these calls, and a test looks at what all other objects need
// (TestSystemCalls). Functions return what the system's do, except that none fails with EINTR.
#pragma once
#include <poll.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

// Files. close is called as it is, and never repeated: Linux has freed the descriptor also where it says EINTR.
int sys_open(const char *path, int flags, int mode);
bool sys_read(int fd, void *to, size_t bytes);          // all bytes; false at the end of the file, too
bool sys_read_at(int fd, void *to, size_t bytes, uint64_t offset);
ssize_t sys_read_some(int fd, void *to, size_t most);   // one read
bool sys_write(int fd, const void *from, size_t bytes);  // all bytes
int sys_truncate(int fd, uint64_t bytes);

// sys_text reads a short file, such as those of /proc, and ends it with a zero byte. It returns the length, or -1.
int sys_text(const char *path, char *to, size_t room);

// Sockets. With a limit (ns) a call fails with ETIMEDOUT once so much time has passed; SYS_FOREVER is none. Without
// it, a limit that the socket has (SO_RCVTIMEO) begins anew after each signal.
static const uint64_t SYS_FOREVER = ~0ull;
bool sys_send(int fd, const void *from, size_t bytes);  // all bytes, without SIGPIPE
bool sys_recv(int fd, void *to, size_t bytes);          // all bytes
bool sys_recv_within(int fd, void *to, size_t bytes, uint64_t limit_ns);
ssize_t sys_send_now(int fd, const void *from, size_t bytes);  // what goes without waiting, else EAGAIN
ssize_t sys_recv_now(int fd, void *to, size_t most);           // what is there, else EAGAIN
ssize_t sys_peek(int fd, void *to, size_t most);               // the same, and it stays there
ssize_t sys_send_message(int fd, const struct msghdr *m, int flags);
ssize_t sys_recv_message(int fd, struct msghdr *m, int flags);
int sys_connect(int fd, const struct sockaddr *to, socklen_t size, uint64_t limit_ns);
int sys_connect_now(int fd, const struct sockaddr *to, socklen_t size);  // EINPROGRESS: it goes on, as poll says

// sys_accept takes a connection. Where it gives -1, sys_later says whether a later call may succeed, but not at once:
// descriptors or memory are used up, so that the listener stays readable, and who polls it must pause. Errors of the
// connection itself are EAGAIN.
int sys_accept(int listener);
bool sys_later(int error);
enum { SYS_PAUSE_MS = 50 };

// Waits. ms below 0 is for ever. A signal makes none of them shorter or longer.
int sys_poll(struct pollfd *fds, uint64_t count, int ms);
int sys_epoll(int fd, struct epoll_event *events, int most, int ms);
void sys_nap(uint64_t ns);
void sys_wait(sem_t *s);

bool sys_random(void *to, size_t bytes);
