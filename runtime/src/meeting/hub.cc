// The hubs of this process: one socket that listens, one thread, and a Meeting for each identity that this process has
// made.
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hub.h"

static const Hub none = {false, false, -1, -1, -1, 0, nullptr, nullptr, 0};
Hub hub = none;

namespace {

enum { REFUSED = 64 };
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
unsigned short port;

}  // namespace

Hosted *hosted_find(const u8 *secret) {
  Hosted *h = hub.hosted;
  while (h && memcmp(h->secret, secret, sizeof h->secret)) h = h->next;
  return h;
}

void hosted_end(Hosted *h) {
  Hosted **at = &hub.hosted;
  while (*at != h) at = &(*at)->next;
  *at = h->next;
  meeting_free(&h->m);
  free(h->conn), free(h);
}

// hosted_gone ends the hub of a communicator whose ranks have all gone. Where they did not come together, the last of
// these stay, for ranks that come late.
void hosted_gone(Hosted *h) {
  u32 count = 0;
  if (h->m.word == WORD_GO) return hosted_end(h);
  h->refused = true;
  Hosted *oldest = nullptr;
  for (Hosted *i = hub.hosted; i; i = i->next)
    if (i->refused && !i->conns) count++, oldest = i;  // the list begins with the newest
  if (count > REFUSED) hosted_end(oldest);
}

namespace {

// note says once of a meeting who has not come yet.
void note(Hosted *h, u64 now) {
  char list[100];
  if (h->noted || h->m.limit == FOREVER) return;
  if (!h->m.ranks || h->m.word != WORD_NONE || now - h->m.begun < 2 * SECOND) return;
  const u32 count = meeting_missing(&h->m, list, sizeof list);
  h->noted = true;
  warn("a communicator of %u ranks waits for %s %s, %llu s at most", h->m.ranks, count == 1 ? "rank" : "ranks", list,
       h->m.limit / SECOND);
}

// tick acts on what time does, and says whether it must come again.
bool tick() {
  const u64 now = now_ns();
  bool again = hub.paused;
  while (hub_drop(now, STRANGER_NS)) {
  }
  for (Hosted *h = hub.hosted, *next; h; h = next) {
    next = h->next;
    const Teller t = {h, hub_tell};
    note(h, now);
    meeting_time(&h->m, now, t);
    again |= h->m.ranks && h->m.word == WORD_NONE && h->m.limit != FOREVER;
  }
  if (hub.paused) hub_spare();
  if (now - hub.paused_at >= TICK_MS * 1000000ull) hub_pause(false);
  return again || hub.strangers;
}

void *serve(void *) {
  struct epoll_event events[64];
  for (bool again = false;;) {
    const int n = sys_epoll(hub.poller, events, 64, again ? TICK_MS : -1);
    pthread_mutex_lock(&mu);
    for (int i = 0; i < n; i++) {
      Conn *c = hub.conns;
      while (c && c != events[i].data.ptr) c = c->next;  // it may have ended by an event before
      if (!events[i].data.ptr) hub_admit();
      else if (c && !((!(events[i].events & EPOLLOUT) || conn_flush(c)) && conn_hear(c))) conn_lose(c);
    }
    again = tick();
    pthread_mutex_unlock(&mu);
  }
}

// A forked child has none of the hub: its copies of the sockets would hide the end of this process.
void before_fork() { pthread_mutex_lock(&mu); }
void after_fork_here() { pthread_mutex_unlock(&mu); }
void in_child() {
  for (Conn *c = hub.conns; c; c = c->next) close(c->fd);
  if (hub.listener >= 0) close(hub.listener), close(hub.poller), close(hub.spare);
  hub = none;
  pthread_mutex_unlock(&mu);
}

bool listens(int family) {
  struct sockaddr_in6 at = {};
  socklen_t size = family == AF_INET6 ? sizeof at : sizeof(struct sockaddr_in);
  at.sin6_family = (sa_family_t)family;  // all addresses, and any port
  const int no = 0;
  hub.listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (hub.listener < 0) return false;
  if (family == AF_INET6) setsockopt(hub.listener, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (!bind(hub.listener, (struct sockaddr *)&at, size) && !listen(hub.listener, 4096) &&
      !getsockname(hub.listener, (struct sockaddr *)&at, &size))
    return port = at.sin6_port, true;  // at the same place in both families
  close(hub.listener), hub.listener = -1;
  return false;
}

bool start(Why *why) {
  static bool watched;
  if (hub.running) return true;
  if (!watched) watched = !pthread_atfork(before_fork, after_fork_here, in_child);
  if (!listens(AF_INET6) && !listens(AF_INET))
    return say(why, "this process cannot listen: %s", strerror(errno)), false;
  hub.poller = epoll_create1(EPOLL_CLOEXEC);
  if (hub.poller >= 0) hub_spare();
  const bool watches = hub.spare >= 0 && hub_watch(hub.listener, nullptr, EPOLLIN, EPOLL_CTL_ADD);
  hub.running = watches && thread_begin(serve, nullptr);
  if (hub.running) return true;
  say(why, "this process has no %s for a meeting: %s", watches ? "thread" : "descriptor", strerror(errno));
  if (hub.poller >= 0) close(hub.poller);
  if (hub.spare >= 0) close(hub.spare);
  close(hub.listener), hub.listener = hub.poller = hub.spare = -1;
  return false;
}

// unsent says whether some rank has not been sent all that it is to hear.
bool unsent() {
  for (const Conn *c = hub.conns; c; c = c->next)
    if (c->sent < c->to_send) return true;
  return false;
}

}  // namespace

// close_hub takes no more connections, and says whether all that has come has been taken.
static bool close_hub() {
  struct pollfd one = {hub.listener, POLLIN, 0};
  if (hub.listener < 0) return true;
  if (sys_poll(&one, 1, 0) > 0) return false;
  close(hub.listener), hub.listener = -1;  // who comes now is refused, and finds no connection that is lost
  return true;
}

// fresh says whether some connection has not had the time to show its secret.
static bool fresh() {
  for (const Conn *c = hub.conns; c; c = c->next)
    if (!c->of && now_ns() - c->since < LEAST_NS) return true;
  return false;
}

void hub_exit() {
  for (const u64 limit = now_ns() + SECOND; hub.running && now_ns() < limit; nap(1000000)) {
    pthread_mutex_lock(&mu);  // not in the midst of an answer
    const bool over = close_hub() && !unsent() && !fresh();
    pthread_mutex_unlock(&mu);
    if (over) return;
  }
}

bool hub_open(const UniqueId *at, const Line *line, u64 limit, Tail *tail, Why *why) {
  Hosted *h = (Hosted *)calloc(1, sizeof(Hosted));
  if (!h) return say(why, "no memory"), false;
  if (!random_bytes(h->secret, sizeof h->secret))
    return free(h), say(why, "the system gives no random bytes: %s", strerror(errno)), false;
  h->m.limit = limit, h->m.most = alone() ? (u32)BUNDLE_RANKS : 1u << 20;
  memset((void *)tail, 0, sizeof *tail);
  memcpy(tail->secret, h->secret, sizeof tail->secret);
  if (!tail_address(at, line, tail))
    return say(why, "the addresses of this host cannot be read: %s", strerror(errno)), free(h), false;
  pthread_mutex_lock(&mu);
  const bool good = start(why);
  if (good) h->next = hub.hosted, hub.hosted = h;
  tail->port = port;
  pthread_mutex_unlock(&mu);
  if (!good) return free(h), false;
  return tail_seal(tail), true;
}

bool hub_full(const Tail &tail) {
  pthread_mutex_lock(&mu);
  const bool full = hub.running && hub.spare < 0 && hosted_find(tail.secret);
  pthread_mutex_unlock(&mu);
  return full;
}

u32 hub_cannot(const Tail &tail, u32 rank, u32 ranks, const char *why) {
  u32 warns = 0;
  pthread_mutex_lock(&mu);
  Hosted *h = hosted_find(tail.secret);
  const Teller t = {h, hub_tell};
  if (h && h->m.word == WORD_NONE) warns = meeting_cannot(&h->m, rank, ranks, why, now_ns(), t) ? NOBODY : rank;
  pthread_mutex_unlock(&mu);
  return warns;
}

void hub_forget(const Tail &tail) {
  pthread_mutex_lock(&mu);
  Hosted *h = hosted_find(tail.secret);
  if (h && !h->conns) hosted_end(h);
  pthread_mutex_unlock(&mu);
}
