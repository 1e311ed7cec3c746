// Sockets between the processes of a communicator. They carry a byte when a rank leaves, or what it has finished when
// its process exits (exit.cc). A socket that closes without either tells that the process of that rank was
// killed: the communicator has failed, and what waits for that rank ends. Messages keep their bounds (SOCK_SEQPACKET).
#include "../consensus/learner.h"
#include "board.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

const u64 CONNECT_NS = 30 * SECOND;
const char LEAVES = 'L', ABORTS = 'A';

struct Greeting {
  u8 secret[16];
  u32 rank, asks;
};

u8 process[16];
int listener = -1, waker = -1;
u64 admits_from;  // when connections are taken again, after descriptors ran out
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

// full notes that no connection can be taken now: the listener stays readable, so poll leaves it out for a while.
void full(int error) {
  static bool said;
  admits_from = now_ns() + SYS_PAUSE_MS * 1000000;
  if (said) return;
  said = true;
  tell("a connection of another rank must wait: %s (ulimit -n)", strerror(error));
}

// admit takes a peer's connection, and gives it to the communicator whose secret it shows.
void admit() {
  const int fd = sys_accept(listener);
  if (fd < 0) return sys_later(errno) ? full(errno) : (void)0;
  Greeting g;
  if (same_user(fd) && sys_recv_within(fd, &g, sizeof g, SECOND) && g.rank < BUNDLE_RANKS) {
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

// lost notes that a peer has left, or that its process has ended. The peer may have said its last only, and hear from
// the end of the socket that no launch of this rank is left.
Comm lost(Member *e, u32 rank, bool properly) {
  if (e->ended[rank] >= 0) close(e->ended[rank]);
  e->ended[rank] = e->peer[rank];
  e->peer[rank] = -1;
  const bool before = e->left[rank];
  e->left[rank] = true;
  if (before || properly || e->dead || (e->state != STATE_TEAM && e->state != STATE_READY)) return nullptr;
  Why cause = {};
  say(&cause, "the process of rank %u (%llu) has ended", rank, e->pid[rank]);
  peers_fail(e, rank, cause.text);
  return e->comm;
}

// hear reads what a peer says. It gives the communicator that fails by it.
Comm hear(Member *e, u32 rank) {
  static union {
    ExitNote note;
    LearnMessage learned;
  } said;
  ExitNote &note = said.note;
  // A rank may exit before this one has a team, by which it can judge what the other has finished.
  const bool joins = e->agreeing || e->making;
  if (joins && sys_peek(e->peer[rank], &note.what, 1) == 1 && note.what == EXITS) return nap(100000), nullptr;
  ssize_t n = sys_recv_now(e->peer[rank], &said, sizeof said);
  // A peer that has closed its end with a message unread gives this error once. What it has said is still there.
  if (n < 0 && errno == ECONNRESET) n = sys_recv_now(e->peer[rank], &said, sizeof said);
  if (n < 0 && errno == EAGAIN) return nullptr;
  if (n > 1 && note.what == EXITS) {
    learn_gone(e, rank);
    e->quiet[rank] = exit_hear(e, rank, &note, n);
    return e->dead == 1 + (int)rank ? (Comm)e->comm : nullptr;
  }
  if (n > 1 && learn_hears(e, rank, &note, (u64)n)) return nullptr;
  learn_gone(e, rank);
  if (n != 1 || (note.what != LEAVES && note.what != ABORTS)) return lost(e, rank, e->quiet[rank]);
  (note.what == LEAVES ? e->left : e->quiet)[rank] = true;
  return nullptr;
}

enum { LOOK_MS = 100 };

// What the thread polls: its two own descriptors, then peers. The lists grow, and are the thread's own.
struct Polled {
  Member *member;
  u32 rank;
};
struct pollfd *fds;
Polled *polled;
u32 count, room;
u32 polled_count, polled_room;

bool add(int fd, Member *of, u32 rank) {
  struct pollfd *p = grow(&fds, &count, &room);
  Polled *q = p ? grow(&polled, &polled_count, &polled_room) : nullptr;
  if (!q) return false;
  *p = {fd, POLLIN, 0}, *q = Polled{of, rank};
  return true;
}

void list() {
  const Guard guard;
  count = polled_count = 0;
  Member *e;
  bool fits = add(now_ns() < admits_from ? -1 : listener, nullptr, 0) && add(waker, nullptr, 0);
  for (u32 i = 0; (e = member_at(i)); i++)
    for (u32 r = 0; fits && r < BUNDLE_RANKS; r++)
      if (e->peer[r] >= 0) fits = add(e->peer[r], e, r);
  if (polled_count < count) count = polled_count;  // no memory: the later ones wait
}

// hear_all hears all peers that poll found.
void hear_all() {
  for (u32 i = 2; i < count; i++) {
    if (!fds[i].revents) continue;
    Comm failed = nullptr;
    {
      const Guard guard;
      if (polled[i].member->peer[polled[i].rank] == fds[i].fd) failed = hear(polled[i].member, polled[i].rank);
    }
    if (failed) exit_stop(failed);
  }
}

// calls sees whether calls wait for each other, if it is time to, and returns whether it must be called again.
bool calls() {
  static u64 next;
  static bool again;
  if (again && now_ns() < next) return true;
  next = now_ns() + LOOK_CALLS_MS * 1000000ull;
  return again = board_look();
}

// The thread that watches has this lock, but where it waits. over: the process ends.
pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
bool over;

void *watch(void *) {
  for (pthread_mutex_lock(&looking); !over;) {
    list();
    if (count < 2) {  // no memory even for its own descriptors
      pthread_mutex_unlock(&looking);
      nap(SYS_PAUSE_MS * 1000000);
      pthread_mutex_lock(&looking);
      continue;
    }
    const bool looks = exit_look(), soon = networks_look() || looks || fds[0].fd < 0;
    const bool later = calls(), learns = learn_look();
    pthread_mutex_unlock(&looking);
    const int ms = learns ? (int)LOOK_LEARN_MS : soon ? (int)LOOK_MS : later ? (int)LOOK_CALLS_MS : -1;
    const int some = sys_poll(fds, count, ms);
    pthread_mutex_lock(&looking);
    if (over) break;
    if (some < 0) nap(SYS_PAUSE_MS * 1000000);  // more descriptors than the process may have, or no memory
    if (some <= 0) continue;
    if (fds[0].revents) admit();
    u64 wakes;
    if (fds[1].revents && sys_read_some(waker, &wakes, sizeof wakes) < 0) nap(1000000);
    hear_all();
  }
  pthread_mutex_unlock(&looking);
  return nullptr;
}

bool start() {
  if (!random_bytes(process, sizeof process)) return false;
  struct sockaddr_un name;
  const socklen_t size = name_of(process, &name);
  listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener < 0 || waker < 0 || bind(listener, (struct sockaddr *)&name, size) || listen(listener,
      4096)) return false;
  return exit_watch() && thread_begin(watch, nullptr);
}

void begin() {
  ready = start();
  if (!ready) snprintf(failure, sizeof failure, "this process cannot listen on a socket: %s", strerror(errno));
}

// wake has the thread poll new sockets. Those that it does not poll tell nothing.
void wake() {
  const u64 one = 1;
  sure([&] { return !sys_write(waker, &one, sizeof one); });
}

}  // namespace

void peers_fail(Member *e, u32 rank, const char *cause) {
  snprintf(e->cause, sizeof e->cause, "%s", cause);
  member_text(e, "rank %u of %u: %s", e->rank, e->ranks, cause);
  e->died = now_ns();
  e->dead = 1 + (int)rank;
}

void peers_lock() { pthread_mutex_lock(&mu); }
void peers_unlock() { pthread_mutex_unlock(&mu); }

bool peers_expect(Member *e) {
  u8 secret[sizeof e->secret];
  if (!random_bytes(secret, sizeof secret)) return false;
  const Guard guard;
  memcpy(e->secret, secret, sizeof secret);
  return true;
}

bool random_bytes(void *to, u32 bytes) { return sys_random(to, bytes); }

void peers_wake() { wake(); }

bool peers_ready(Why *why) {
  pthread_once(&once, begin);
  if (!ready) say(why, "%s", failure);
  return ready;
}

const u8 *peers_process() { return process; }

int peers_dial(const u8 *id, const u8 *secret, u32 rank, u32 asks) {
  struct sockaddr_un name;
  const socklen_t size = name_of(id, &name);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  Greeting g = {};
  g.rank = rank, g.asks = asks;
  memcpy(g.secret, secret, sizeof g.secret);
  if (fd < 0 || (!sys_connect(fd, (struct sockaddr *)&name, size, CONNECT_NS) && sys_send(fd, &g, sizeof g)))
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

// Without a socket to a rank, nobody would know whether that rank can still write to the memory of this one.
bool peers_admitted(Member *e, Why *why) {
  const u64 limit = now_ns() + 10 * SECOND;  // a thread of this process admits them, and may wait for a processor
  for (u32 r = 0; r < e->ranks; r++) {
    if (r == e->rank || !has_socket(e, r)) continue;
    for (;; nap(100000)) {
      const Guard guard;
      if (e->peer[r] >= 0) break;
      if (r > e->rank || e->left[r] || !e->comm || now_ns() > limit)
        return say(why, "rank %u has no connection to the process of rank %u", e->rank, r), false;
    }
  }
  return true;
}

void peers_leave(Member *e, bool aborted) {
  const Guard guard;
  learn_leaves(e);
  for (int fd : e->peer)
    if (fd >= 0) sys_send_now(fd, aborted ? &ABORTS : &LEAVES, 1);
}

void peers_close(Member *e) {
  const Guard guard;
  memset(e->secret, 0, sizeof e->secret);
  for (int &fd : e->peer)
    if (fd >= 0) close(fd), fd = -1;
  for (int &fd : e->ended)
    if (fd >= 0) close(fd), fd = -1;
  wake();
}

void peers_hush(Member *e) {
  const Guard guard;
  for (int fd : e->peer)
    if (fd >= 0) shutdown(fd, SHUT_WR);
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

// peers_rest has the thread that watches do nothing any more: the driver ends with the process, also while it is
// called.
void peers_rest() {
  const u64 end = now_ns() + SECOND;
  while (pthread_mutex_trylock(&looking))
    if (now_ns() > end) return;
    else nap(100000);
  over = true;
  pthread_mutex_unlock(&looking);
}

void peers_exit() {
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++)
    for (int fd : e->peer)
      if (fd >= 0 && !e->goodbye) sys_send_now(fd, &LEAVES, 1);
}

// peers_child closes a forked child's copies, so that peers see the end of the parent.
void peers_child() {
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++)
    for (u32 r = 0; r < BUNDLE_RANKS; r++) {
      if (e->peer[r] >= 0) close(e->peer[r]);
      if (e->ended[r] >= 0) close(e->ended[r]);
    }
  if (listener >= 0) close(listener);
}
