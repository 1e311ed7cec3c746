// Sockets between the processes of a communicator. They carry a byte when a rank leaves. A socket that closes without
// it tells that the process of that rank has ended: the communicator has failed, and what waits for that rank ends.
#include "nccl_front.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

const char LEAVES = 'L', ABORTS = 'A';

struct Greeting {
  u8 secret[16];
  u32 rank, asks;
};

u8 process[16];
int listener = -1, waker = -1;
bool ready;
char failure[256] = "this process has no socket";
pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;  // of all sockets of members; not held in calls that wait

struct Guard {
  Guard() { pthread_mutex_lock(&mu); }
  ~Guard() { pthread_mutex_unlock(&mu); }
};

socklen_t name_of(const u8 *id, struct sockaddr_un *to) {
  memset((void *)to, 0, sizeof *to);
  to->sun_family = AF_UNIX;
  int n = snprintf(to->sun_path + 1, sizeof to->sun_path - 1, "mscclc-");
  for (int i = 0; i < 16; i++) n += snprintf(to->sun_path + 1 + n, 3, "%02x", id[i]);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

bool same_user(int fd) {
  struct ucred who;
  socklen_t size = sizeof who;
  return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) && who.uid == geteuid();
}

// admit takes a peer's connection, and gives it to the communicator whose secret it shows.
void admit() {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  const struct timeval limit = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  Greeting g;
  if (same_user(fd) && recv(fd, &g, sizeof g, MSG_WAITALL) == (ssize_t)sizeof g && g.rank < BUNDLE_RANKS) {
    if (g.asks == ASKS_FILES) return files_give(fd, g.secret), (void)close(fd);
    const Guard guard;
    Member *e;
    for (u32 i = 0; (e = member_at(i)); i++)
      if (e->comm && e->peer[g.rank] < 0 && !memcmp(e->secret, g.secret, sizeof g.secret)) {
        e->peer[g.rank] = fd;
        return;
      }
  }
  close(fd);
}

// lost notes that a peer has left, or that its process has ended.
Comm lost(Member *e, u32 rank, bool properly) {
  close(e->peer[rank]);
  e->peer[rank] = -1;
  const bool before = e->left[rank];
  e->left[rank] = true;
  if (before || properly || e->dead || e->state != STATE_TEAM) return nullptr;
  member_text(e, "rank %u of %u: the process of rank %u (%llu) has ended", e->rank, e->ranks, rank, e->pid[rank]);
  e->died = now_ns();
  e->dead = 1 + (int)rank;
  return e->comm;
}

// hear reads what a peer says. It gives the communicator that fails by it.
Comm hear(Member *e, u32 rank) {
  char byte = 0;
  const ssize_t n = recv(e->peer[rank], &byte, 1, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return nullptr;
  if (n != 1 || (byte != LEAVES && byte != ABORTS)) return lost(e, rank, e->quiet[rank]);
  (byte == LEAVES ? e->left : e->quiet)[rank] = true;
  return nullptr;
}

// stop has launches leave that wait for a dead rank, and says where they waited.
void stop(Comm c) {
  Member *e = member_peek(c);
  if (!e) return;
  Why why = {}, cause = {};
  if (e->state == STATE_TEAM) {
    say(&cause, "the process of rank %d (%llu) has ended", e->dead - 1, e->pid[e->dead - 1]);
    team_abort(e->team);
    if (team_failed(e->team, &why))
      member_text(e, "rank %u of %u: %s; %.440s", e->rank, e->ranks, cause.text, why.text);
    team_stop(e->team, cause.text);
  }
  e->told = 1;
  warn("%s", e->text);
  member_leave(e);
}

// look_at_networks has communicators fail whose network has failed: their launches would wait. It says whether there
// are some that it must look at again.
bool look_at_networks() {
  Member *e;
  bool some = false;
  for (u32 i = 0; (e = member_at(i)); i++) {
    const Comm c = e->comm;
    if (!c || !e->spread) continue;
    some = true;
    if (!member_peek(c)) continue;
    Why why = {};
    if (e->comm == c && e->state == STATE_TEAM && !e->lost && team_lost(e->team) && team_failed(e->team, &why)) {
      e->lost = true;
      warn("%s", why.text);
      team_stop(e->team, why.text), team_abort(e->team);
    }
    member_leave(e);
  }
  return some;
}

enum { MOST = 1024, LOOK_MS = 100 };

u32 listed(struct pollfd *fds, Member **of, u32 *ranks) {
  const Guard guard;
  u32 n = 2;
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++)
    for (u32 r = 0; r < BUNDLE_RANKS && n < MOST; r++)
      if (e->peer[r] >= 0) fds[n] = {e->peer[r], POLLIN, 0}, of[n] = e, ranks[n++] = r;
  return n;
}

void *watch(void *) {
  static struct pollfd fds[MOST];
  static Member *of[MOST];
  static u32 ranks[MOST];
  for (;;) {
    fds[0] = {listener, POLLIN, 0}, fds[1] = {waker, POLLIN, 0};
    const u32 n = listed(fds, of, ranks);
    const int some = poll(fds, n, look_at_networks() ? LOOK_MS : -1);
    if (some <= 0) continue;
    if (fds[0].revents) admit();
    u64 count;
    if (fds[1].revents && read(waker, &count, sizeof count) < 0) nap(1000000);
    for (u32 i = 2; i < n; i++) {
      if (!fds[i].revents) continue;
      Comm failed = nullptr;
      {
        const Guard guard;
        if (of[i]->peer[ranks[i]] == fds[i].fd) failed = hear(of[i], ranks[i]);
      }
      if (failed) stop(failed);
    }
  }
}

bool start() {
  if (!random_bytes(process, sizeof process)) return false;
  struct sockaddr_un name;
  const socklen_t size = name_of(process, &name);
  listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener < 0 || waker < 0 || bind(listener, (struct sockaddr *)&name, size) || listen(listener,
      4096)) return false;
  return thread_begin(watch, nullptr);
}

void begin() {
  ready = start();
  if (!ready) snprintf(failure, sizeof failure, "this process cannot listen on a socket: %s", strerror(errno));
}

void wake() {
  const u64 one = 1;
  if (write(waker, &one, sizeof one) < 0) return;
}

}  // namespace

void peers_lock() { pthread_mutex_lock(&mu); }
void peers_unlock() { pthread_mutex_unlock(&mu); }

bool peers_expect(Member *e) {
  u8 secret[sizeof e->secret];
  if (!random_bytes(secret, sizeof secret)) return false;
  const Guard guard;
  memcpy(e->secret, secret, sizeof secret);
  return true;
}

bool random_bytes(void *to, u32 bytes) { return getrandom(to, bytes, 0) == (ssize_t)bytes; }

bool peers_ready(Why *why) {
  pthread_once(&once, begin);
  if (!ready) say(why, "%s", failure);
  return ready;
}

const u8 *peers_process() { return process; }

int peers_dial(const u8 *id, const u8 *secret, u32 rank, u32 asks) {
  struct sockaddr_un name;
  const socklen_t size = name_of(id, &name);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Greeting g = {};
  g.rank = rank, g.asks = asks;
  memcpy(g.secret, secret, sizeof g.secret);
  if (fd < 0 || (!connect(fd, (struct sockaddr *)&name, size) &&
                 send(fd, &g, sizeof g, MSG_NOSIGNAL) == (ssize_t)sizeof g))
    return fd;
  const int code = errno;
  close(fd);
  return errno = code, -1;
}

// has_socket says whether a rank is of another process of this node. Those have a socket between them.
static bool has_socket(const Member *e, u32 r) {
  return e->node[r] == e->node[e->rank] && memcmp(e->process[r], process, sizeof process);
}

// peers_connect connects to the ranks above this one in other processes; those below connect to this one.
bool peers_connect(Member *e, const Hello *all, Why *why) {
  for (u32 r = e->rank + 1; r < e->ranks; r++) {
    if (!has_socket(e, r)) continue;
    const int fd = peers_dial(all[r].process, all[r].secret, e->rank, ASKS_PLACE);
    if (fd < 0)
      return say(why, "rank %u cannot connect to the process of rank %u: %s", e->rank, r, strerror(errno)), false;
    const Guard guard;
    e->peer[r] = fd;
  }
  wake();
  return true;
}

void peers_admitted(Member *e) {
  const u64 limit = now_ns() + 10 * SECOND;  // a thread of this process admits them, and may wait for a processor
  for (u32 r = 0; r < e->rank; r++) {
    if (!has_socket(e, r)) continue;
    for (;; nap(100000)) {
      const Guard guard;
      if (e->peer[r] >= 0 || e->left[r] || now_ns() > limit) break;
    }
  }
}

void peers_leave(Member *e, bool aborted) {
  const Guard guard;
  for (int fd : e->peer)
    if (fd >= 0 && send(fd, aborted ? &ABORTS : &LEAVES, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) continue;
}

void peers_close(Member *e) {
  const Guard guard;
  memset(e->secret, 0, sizeof e->secret);
  for (int &fd : e->peer)
    if (fd >= 0) close(fd), fd = -1;
  wake();
}

// peers_left says whether all ranks of other processes have left.
bool peers_left(Member *e) {
  const Guard guard;
  for (u32 r = 0; r < e->ranks; r++)
    if (has_socket(e, r) && !e->left[r]) return false;
  return true;
}

bool peers_gone(Member *e) {
  const Guard guard;
  bool gone = e->dead != 0;
  for (u32 r = 0; r < e->ranks; r++) gone |= e->left[r] || e->quiet[r];
  return gone;
}

void peers_exit() {
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++)
    for (int fd : e->peer)
      if (fd >= 0 && send(fd, &LEAVES, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) continue;
}

// peers_child closes a forked child's copies, so that peers see the end of the parent.
void peers_child() {
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++)
    for (int fd : e->peer)
      if (fd >= 0) close(fd);
  if (listener >= 0) close(listener);
}
