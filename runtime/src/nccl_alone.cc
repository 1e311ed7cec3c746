// Communicators without NCCL (MSCCLC_NCCL=none). Who makes an identity serves it: a thread gathers bytes of all ranks
// over TCP, round by round, until a rank closes its connection. Collectives that no program runs are errors.
#include "nccl_front.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nccl_alone.h"

namespace {

enum { ALONE_VERSION = 22809, MOST_RANKS = 1024, MOST_BYTES = 1 << 16 };

// A Hub serves one identity.
struct Hub {
  int listener;
  u8 secret[16];
};

struct Arrival {
  u8 secret[16];
  u32 rank, ranks;
};

bool round_of(int *fds, u32 ranks, char *all) {
  u32 bytes = 0;
  for (u32 r = 0; r < ranks; r++) {
    u32 n;
    if (!recv_all(fds[r], &n, sizeof n) || n > MOST_BYTES || (r && n != bytes)) return false;
    bytes = n;
    if (!recv_all(fds[r], all + (size_t)r * bytes, bytes)) return false;
  }
  for (u32 r = 0; r < ranks; r++)
    if (!send_all(fds[r], all, (size_t)ranks * bytes)) return false;
  return true;
}

// greet takes one connection. It gives false where no more come.
bool greet(Hub *h, int *fds, u32 *ranks, u32 *arrived) {
  const int fd = accept4(h->listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return false;
  const struct timeval limit = {10, 0}, none = {0, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  Arrival a;
  const bool ok = recv_all(fd, &a, sizeof a) && !memcmp(a.secret, h->secret, sizeof a.secret) && a.ranks >= 1 &&
                  a.ranks <= MOST_RANKS && (!*ranks || a.ranks == *ranks) && a.rank < a.ranks && fds[a.rank] < 0;
  if (!ok) return close(fd), true;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
  quick(fd);
  fds[a.rank] = fd, *ranks = a.ranks, ++*arrived;
  return true;
}

void *serve(void *p) {
  Hub *h = (Hub *)p;
  int *fds = (int *)malloc(MOST_RANKS * sizeof(int));
  u32 ranks = 0, arrived = 0;
  for (u32 i = 0; fds && i < MOST_RANKS; i++) fds[i] = -1;
  while (fds && (!ranks || arrived < ranks) && greet(h, fds, &ranks, &arrived)) {
  }
  close(h->listener);
  char *all = (char *)malloc((size_t)(ranks ? ranks : 1) * MOST_BYTES);
  while (fds && all && arrived == ranks && round_of(fds, ranks, all)) {
  }
  for (u32 i = 0; fds && i < MOST_RANKS; i++)
    if (fds[i] >= 0) close(fds[i]);
  free(all), free(fds), free(h);
  return nullptr;
}

bool begin_thread(Hub *h) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int code = pthread_create(&thread, nullptr, serve, h);
  if (!code) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !code;
}

// address_of gives the address that other ranks reach this process at: the machine's own, or MSCCLC_ADDRESS.
u32 address_of() {
  const char *text = getenv("MSCCLC_ADDRESS");
  struct in_addr a;
  return text && inet_pton(AF_INET, text, &a) == 1 ? a.s_addr : htonl(INADDR_LOOPBACK);
}

}  // namespace

Result alone_id(UniqueId *id) {
  Identity i = {};
  memcpy(i.magic, ALONE_MAGIC, sizeof i.magic);
  Hub *h = (Hub *)calloc(1, sizeof(Hub));
  struct sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = address_of();
  socklen_t size = sizeof at;
  if (!h || !random_bytes(h->secret, sizeof h->secret)) return free(h), SYSTEM_ERROR;
  h->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (h->listener < 0 || bind(h->listener, (struct sockaddr *)&at, size) || listen(h->listener, MOST_RANKS) ||
      getsockname(h->listener, (struct sockaddr *)&at, &size)) {
    if (h->listener >= 0) close(h->listener);
    return free(h), SYSTEM_ERROR;
  }
  memcpy(i.secret, h->secret, sizeof i.secret);
  i.address = at.sin_addr.s_addr, i.port = at.sin_port;
  if (!begin_thread(h)) return close(h->listener), free(h), SYSTEM_ERROR;
  memset(id, 0, sizeof *id);
  memcpy(id, &i, sizeof i);
  return SUCCESS;
}

bool alone_connect(AloneComm *c, const UniqueId *id) {
  Identity i;
  memcpy(&i, id, sizeof i);
  if (memcmp(i.magic, ALONE_MAGIC, sizeof i.magic)) return false;
  struct sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = i.address, at.sin_port = i.port;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Arrival a = {};
  memcpy(a.secret, i.secret, sizeof a.secret);
  a.rank = (u32)c->rank, a.ranks = (u32)c->ranks;
  if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&at, sizeof at)) return false;
  quick(c->fd);
  return send_all(c->fd, &a, sizeof a);
}

bool send_all(int fd, const void *bytes, size_t count) {
  for (const char *p = (const char *)bytes; count;) {
    const ssize_t n = send(fd, p, count, MSG_NOSIGNAL);
    if (n <= 0) return false;
    p += n, count -= (size_t)n;
  }
  return true;
}
bool recv_all(int fd, void *bytes, size_t count) {
  return !count || recv(fd, bytes, count, MSG_WAITALL) == (ssize_t)count;
}
void quick(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

bool alone_send(Comm comm, const void *bytes, u32 count) {
  const AloneComm *c = (const AloneComm *)comm;
  return send_all(c->fd, &count, sizeof count) && send_all(c->fd, bytes, count);
}
bool alone_recv(Comm comm, void *all, u32 count) {
  const AloneComm *c = (const AloneComm *)comm;
  return recv_all(c->fd, all, (size_t)count * (size_t)c->ranks);
}
