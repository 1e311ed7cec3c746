// Communicators without NCCL (MSCCLC_NCCL=none). Who makes an identity serves it: a thread gathers bytes of all ranks
// over TCP, round by round, until a rank closes its connection. Collectives that no program runs are errors.
#include "nccl_front.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nccl_alone.h"

namespace {

enum { MOST_RANKS = BUNDLE_RANKS, MOST_BYTES = 1 << 16, HELLO_S = 10, ALL_S = 30 };

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

// Hub ranks that have come.
struct Table {
  int fds[MOST_RANKS];
  u32 ranks, arrived;
  u64 end;  // of the time for all to come, from the first on
};

void limit_recv(int fd, long seconds) {
  const struct timeval limit = {seconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

void tell_rank(int fd, Result verdict) { send_all(fd, &verdict, sizeof verdict); }

// greet takes one connection. It gives IN_PROGRESS while all is well.
Result greet(Hub *h, Table *t) {
  struct pollfd p = {h->listener, POLLIN, 0};
  const u64 now = now_ns();
  const int ms = !t->end ? -1 : now < t->end ? (int)((t->end - now) / 1000000) + 1 : 0;
  const int ready = poll(&p, 1, ms);
  if (ready <= 0) return ready < 0 && errno == EINTR ? IN_PROGRESS : INVALID_USAGE;
  const int fd = accept4(h->listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return errno == EINTR || errno == ECONNABORTED ? IN_PROGRESS : SYSTEM_ERROR;
  limit_recv(fd, HELLO_S);
  Arrival a;
  if (!recv_all(fd, &a, sizeof a) || memcmp(a.secret, h->secret, sizeof a.secret)) return close(fd), IN_PROGRESS;
  if (a.ranks < 1 || a.ranks > MOST_RANKS || a.rank >= a.ranks || (t->ranks && a.ranks != t->ranks) ||
      t->fds[a.rank] >= 0) {
    tell_rank(fd, INVALID_ARGUMENT);
    return close(fd), INVALID_ARGUMENT;
  }
  limit_recv(fd, 0);
  quick(fd);
  t->fds[a.rank] = fd, t->ranks = a.ranks, t->arrived++;
  if (!t->end) t->end = now_ns() + ALL_S * SECOND;
  return IN_PROGRESS;
}

void *serve(void *p) {
  Hub *h = (Hub *)p;
  Table t = {};
  for (int &fd : t.fds) fd = -1;
  Result r = IN_PROGRESS;
  while (r == IN_PROGRESS && (!t.ranks || t.arrived < t.ranks)) r = greet(h, &t);
  if (r == IN_PROGRESS) r = SUCCESS;
  close(h->listener);
  char *all = (char *)malloc((size_t)MOST_RANKS * MOST_BYTES);
  if (!all && !r) r = SYSTEM_ERROR;
  for (const int fd : t.fds)
    if (fd >= 0) tell_rank(fd, r);
  while (!r && round_of(t.fds, t.ranks, all)) {
  }
  for (const int fd : t.fds)
    if (fd >= 0) close(fd);
  free(all), free(h);
  return nullptr;
}

// address_of gives the address that other ranks reach this process at: the machine's own, or MSCCLC_ADDRESS.
u32 address_of() {
  const char *text = getenv("MSCCLC_ADDRESS");
  struct in_addr a;
  return text && inet_pton(AF_INET, text, &a) == 1 ? a.s_addr : htonl(INADDR_LOOPBACK);
}

}  // namespace

Result alone_id(UniqueId *id) {
  if (!id) return INVALID_ARGUMENT;
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
  if (!thread_begin(serve, h)) return close(h->listener), free(h), SYSTEM_ERROR;
  memset(id, 0, sizeof *id);
  memcpy(id, &i, sizeof i);
  return SUCCESS;
}

Result alone_connect(AloneComm *c, const UniqueId *id) {
  Identity i;
  memcpy(&i, id, sizeof i);
  if (memcmp(i.magic, ALONE_MAGIC, sizeof i.magic)) return INVALID_ARGUMENT;
  struct sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = i.address, at.sin_port = i.port;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Arrival a = {};
  memcpy(a.secret, i.secret, sizeof a.secret);
  a.rank = (u32)c->rank, a.ranks = (u32)c->ranks;
  const struct timeval limit = {ALL_S, 0}, none = {0, 0};
  if (c->fd < 0) return SYSTEM_ERROR;
  setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(c->fd, (struct sockaddr *)&at, sizeof at))
    return errno == ECONNREFUSED || errno == ECONNRESET ? INVALID_USAGE : SYSTEM_ERROR;
  setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
  quick(c->fd);
  return send_all(c->fd, &a, sizeof a) ? SUCCESS : INVALID_USAGE;
}

// hear waits for the verdict of a hub, or looks whether it is there.
static Result hear(AloneComm *c, bool wait) {
  struct pollfd p = {c->fd, POLLIN, 0};
  int ready;
  do ready = poll(&p, 1, wait ? (ALL_S + HELLO_S) * 1000 : 0);
  while (ready < 0 && errno == EINTR);
  if (!wait && ready <= 0) return IN_PROGRESS;
  Result r = INVALID_USAGE;
  if (ready > 0 && !recv_all(c->fd, &r, sizeof r)) r = INVALID_USAGE;
  if (r == SUCCESS) return r;
  const char *why = "not all ranks came within 30 s, or the process of the identity has ended";
  if (r == INVALID_ARGUMENT) why = "a rank is out of range, or two are the same, or they differ in the number of ranks";
  snprintf(c->text, sizeof c->text, "rank %d of %d: there is no communicator: %s", c->rank, c->ranks, why);
  tell("%s", c->text);
  return r;
}

Result alone_settle(AloneComm *c, bool wait) {
  if (c->verdict != IN_PROGRESS) return c->verdict;
  if (wait) pthread_mutex_lock(&c->mu);
  else if (pthread_mutex_trylock(&c->mu)) return IN_PROGRESS;
  if (c->verdict == IN_PROGRESS) c->verdict = hear(c, wait);
  pthread_mutex_unlock(&c->mu);
  return c->verdict;
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
  AloneComm *c = (AloneComm *)comm;
  return alone_settle(c, true) == SUCCESS && send_all(c->fd, &count, sizeof count) && send_all(c->fd, bytes, count);
}
bool alone_recv(Comm comm, void *all, u32 count) {
  const AloneComm *c = (const AloneComm *)comm;
  return recv_all(c->fd, all, (size_t)count * (size_t)c->ranks);
}
