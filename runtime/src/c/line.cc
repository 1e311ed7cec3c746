// A rank's line to the hub of its communicator. Its thread reads what the hub says.
#include "star.h"

#include "../../../transport/system.h"
#include "../sockets.h"
#include "../team/team.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct Line {
  int fd;
  u32 ranks, rank;
  pthread_t thread;
  Notify *notify;
  void *with;
  pthread_mutex_t sending;  // frames go one by one, of any thread
  pthread_mutex_t mu;       // guards what follows
  pthread_cond_t changed;
  Frame answer;        // of the round that is open; type 0: it has not come
  u8 *body;
  bool waiting;        // for an answer
  bool left[MSCCLC_MAX_RANKS];
  u64 calls, calls_of[MSCCLC_MAX_RANKS];  // of this rank, and of ranks that have left
  bool gone, leaving;       // the hub has gone; this rank has said goodbye
  mscclc_result refused;
  char why[512];
  void (*last)(void *);
  void *last_with;
};

namespace {

struct Lock {
  pthread_mutex_t *mu;
  explicit Lock(pthread_mutex_t *m) : mu(m) { pthread_mutex_lock(mu); }
  ~Lock() { pthread_mutex_unlock(mu); }
};

bool all_left(const Line *l) {
  if (l->gone || l->refused) return true;
  for (u32 r = 0; r < l->ranks; r++)
    if (r != l->rank && !l->left[r]) return false;
  return true;
}

bool send(Line *l, u16 type, u16 kind, const void *data, u32 bytes) {
  const Frame f = {FRAME_MAGIC, type, kind, l->rank, bytes};
  const Lock lock(&l->sending);
  return sys_send(l->fd, &f, sizeof f) && (!bytes || sys_send(l->fd, data, bytes));
}

// outlived says whether this rank has made more calls than a rank that has left. All of that rank's have ended.
bool outlived(const Line *l, char *text, size_t room) {
  for (u32 r = 0; r < l->ranks; r++) {
    if (!l->left[r] || l->calls_of[r] >= l->calls) continue;
    snprintf(text, room, "rank %u has left after %llu calls, and call %llu needs it", r, l->calls_of[r],
             l->calls_of[r] + 1);
    return true;
  }
  return false;
}

// hear takes a frame of the hub, and gives the result of a communicator that has failed by it, with a text.
mscclc_result hear(Line *l, const Frame &f, u8 **body, char *text, size_t room) {
  const Lock lock(&l->mu);
  const bool known = f.rank < l->ranks;
  switch (f.type) {
    case FRAME_ROUND:
    case FRAME_FAIL:
      if (!l->waiting || l->answer.type || l->refused) return MSCCLC_OK;  // a refusal is the cause of what follows
      l->answer = f, l->body = *body, *body = nullptr;
      return MSCCLC_OK;
    case FRAME_BYE:
      if (!known || f.bytes != sizeof l->calls) return MSCCLC_OK;
      memcpy(&l->calls_of[f.rank], *body, sizeof l->calls);
      l->left[f.rank] = true;
      return outlived(l, text, room) ? MSCCLC_REMOTE : MSCCLC_OK;
    case FRAME_REFUSED:
      l->refused = MSCCLC_MISMATCH;
      if (f.bytes >= 5) {
        u32 code;
        memcpy(&code, *body, 4);
        l->refused = (mscclc_result)code;
        snprintf(l->why, sizeof l->why, "%.*s", (int)f.bytes - 4, (char *)*body + 4);
      }
      snprintf(text, room, "%s", l->why);
      return l->refused;
    case FRAME_ABORT:
      snprintf(text, room, "rank %u has aborted the communicator, or has failed", f.rank);
      return MSCCLC_REMOTE;
    case FRAME_LOST:
      if (known) l->left[f.rank] = true, l->calls_of[f.rank] = ~0ull;
      snprintf(text, room, "rank %u has ended without mscclc_destroy", f.rank);
      return MSCCLC_REMOTE;
  }
  return MSCCLC_OK;
}

// lost notes that the hub has gone. If ranks leave already, so may its process.
mscclc_result lost(Line *l, char *text, size_t room) {
  const Lock lock(&l->mu);
  bool ending = l->leaving;
  for (u32 r = 0; r < l->ranks; r++) ending |= l->left[r];
  l->gone = true;
  snprintf(text, room, "the process that made the unique id has ended");
  return ending || l->refused ? MSCCLC_OK : MSCCLC_REMOTE;
}

void tell(Line *l, mscclc_result result, const char *text) {
  pthread_cond_broadcast(&l->changed);
  if (result) l->notify(l->with, result, text);
}

// wrap_up does what comes when all have left, if the line was asked to.
bool wrap_up(Line *l) {
  void (*last)(void *) = nullptr;
  {
    const Lock lock(&l->mu);
    if (all_left(l)) last = l->last;
  }
  if (!last) return false;
  pthread_detach(pthread_self());
  last(l->last_with);
  return true;
}

void *serve(void *arg) {
  Line *l = (Line *)arg;
  char text[512];
  for (;;) {
    Frame f;
    u8 *body = nullptr;
    bool good = sys_recv(l->fd, &f, sizeof f) && f.magic == FRAME_MAGIC && f.bytes <= 32 * FRAME_MOST;
    if (good) good = (body = (u8 *)malloc(f.bytes + 1)) && sys_recv(l->fd, body, f.bytes);
    if (!good) {
      free(body);
      tell(l, lost(l, text, sizeof text), text);
      break;
    }
    tell(l, hear(l, f, &body, text, sizeof text), text);
    free(body);
    if (wrap_up(l)) return nullptr;
  }
  wrap_up(l);  // without the hub, all have left
  return nullptr;
}

bool start(Line *l) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool good = pthread_create(&l->thread, nullptr, serve, l) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return good;
}

mscclc_result connect_to(Line *l, const StarId &id, Why *why) {
  struct sockaddr_in to = {};
  to.sin_family = AF_INET, to.sin_addr.s_addr = id.address, to.sin_port = htons(id.port);
  l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (l->fd < 0) return say(why, "a socket: %s", strerror(errno)), MSCCLC_SYSTEM;
  if (!sys_connect(l->fd, (struct sockaddr *)&to, sizeof to, star_limit(ROUND_JOIN)))
    return socket_options(l->fd), MSCCLC_OK;
  say(why, "the process that made the unique id cannot be reached (%s): it has ended, or is on another machine",
      strerror(errno));
  return MSCCLC_REMOTE;
}

// until is a time of the clock of pthread_cond_timedwait.
struct timespec until(u64 ns) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  ns += (u64)t.tv_nsec;
  t.tv_sec += (time_t)(ns / STAR_SECOND), t.tv_nsec = (long)(ns % STAR_SECOND);
  return t;
}

void drop(Line *l) {
  if (l->fd >= 0) close(l->fd);
  free(l->body);
  pthread_mutex_destroy(&l->sending);
  pthread_mutex_destroy(&l->mu);
  pthread_cond_destroy(&l->changed);
  free(l);
}

// taken unpacks the parts of a round.
bool taken(u8 *body, u32 bytes, u32 ranks, Parts *all) {
  u32 at = 0;
  all->all = body;
  for (u32 r = 0; r < ranks; r++) {
    if (bytes - at < 4) return false;
    memcpy(&all->bytes[r], body + at, 4);
    if (all->bytes[r] > bytes - at - 4) return false;
    all->of[r] = body + at + 4, at += 4 + all->bytes[r];
  }
  return at == bytes;
}

}  // namespace

void parts_free(Parts *p) {
  free(p->all);
  *p = Parts{};
}

mscclc_result line_open(const StarId &id, const Hello &hello, Notify *notify, void *with, Line **line, Why *why) {
  if (memcmp(id.magic, STAR_MAGIC, sizeof id.magic))
    return say(why, "these are not the bytes of a unique id"), MSCCLC_BAD_ARGUMENT;
  Line *l = (Line *)calloc(1, sizeof *l);
  if (!l) return say(why, "no memory"), MSCCLC_SYSTEM;
  l->ranks = hello.ranks, l->rank = hello.rank, l->notify = notify, l->with = with, l->fd = -1;
  pthread_mutex_init(&l->sending, nullptr);
  pthread_mutex_init(&l->mu, nullptr);
  pthread_cond_init(&l->changed, nullptr);
  Hello mine = hello;
  memcpy(mine.secret, id.secret, sizeof mine.secret);
  mscclc_result r = connect_to(l, id, why);
  if (!r && !send(l, FRAME_HELLO, 0, &mine, sizeof mine)) say(why, "the hub: %s", strerror(errno)), r = MSCCLC_SYSTEM;
  if (!r && !start(l)) say(why, "no thread"), r = MSCCLC_SYSTEM;
  if (r) drop(l);
  else *line = l;
  return r;
}

mscclc_result line_round(Line *l, u32 kind, const void *data, u32 bytes, Parts *all, Why *why) {
  *all = Parts{};
  {
    const Lock lock(&l->mu);
    l->waiting = true, l->answer = Frame{};
  }
  const bool sent = send(l, FRAME_ROUND, (u16)kind, data, bytes);
  // The hub ends a round in time. This limit is for a hub whose process was stopped.
  const struct timespec limit = until(star_limit(kind) + 30 * STAR_SECOND);
  const Lock lock(&l->mu);
  int code = 0;
  while (sent && !l->answer.type && !l->gone && !l->refused && !code)
    code = pthread_cond_timedwait(&l->changed, &l->mu, &limit);
  const Frame f = l->answer;
  u8 *body = l->body;
  l->waiting = false, l->body = nullptr;
  if (f.type == FRAME_ROUND && taken(body, f.bytes, l->ranks, all)) return MSCCLC_OK;
  u32 result = MSCCLC_REMOTE;
  if (f.type == FRAME_FAIL && f.bytes >= 5) memcpy(&result, body, 4), say(why, "%s", (char *)body + 4);
  else if (l->refused) result = l->refused, say(why, "%s", l->why);
  else if (code) result = MSCCLC_TIMED_OUT, say(why, "the process that made the unique id does not answer");
  else say(why, "the process that made the unique id has ended");
  free(body);
  *all = Parts{};
  return (mscclc_result)result;
}

mscclc_result line_gather(Line *l, u32 kind, const void *mine, void *all, u32 bytes, const char *what, Why *why) {
  Parts parts = {};
  const mscclc_result r = line_round(l, kind, mine, bytes, &parts, why);
  bool good = !r;
  for (u32 i = 0; good && i < l->ranks; i++) {
    good = parts.bytes[i] == bytes;
    if (good) memcpy((u8 *)all + (u64)i * bytes, parts.of[i], bytes);
  }
  parts_free(&parts);
  if (!r && !good) return say(why, "a rank tells of its %s in another form", what), MSCCLC_MISMATCH;
  return r;
}

mscclc_result line_agree(Line *l, u32 kind, bool good, mscclc_result bad, Why *why) {
  struct Part {
    u32 good;
    char why[300];
  } mine = {good, {}};
  Parts all = {};
  snprintf(mine.why, sizeof mine.why, "%.299s", why->text);
  mscclc_result result = line_round(l, kind, &mine, sizeof mine, &all, why);
  for (u32 r = 0; !result && r < l->ranks; r++) {
    mine = Part{};
    memcpy((void *)&mine, all.of[r], all.bytes[r] < sizeof mine ? all.bytes[r] : sizeof mine);
    if (!mine.good) say(why, "rank %u: %.299s", r, mine.why), good = false;
  }
  parts_free(&all);
  return result || good ? result : bad;
}

void line_abort(Line *l) { send(l, FRAME_ABORT, 0, nullptr, 0); }

bool line_called(Line *l, char *text, size_t room) {
  const Lock lock(&l->mu);
  l->calls++;
  return !outlived(l, text, room);
}

bool line_leave(Line *l, u64 limit_ns) {
  u64 calls;
  {
    const Lock lock(&l->mu);
    l->leaving = true;
    calls = l->calls;
  }
  send(l, FRAME_BYE, 0, &calls, sizeof calls);
  const struct timespec limit = until(limit_ns);
  const Lock lock(&l->mu);
  while (!all_left(l) && !pthread_cond_timedwait(&l->changed, &l->mu, &limit)) {}
  return all_left(l);
}

bool line_last(Line *l, void (*last)(void *), void *with) {
  const Lock lock(&l->mu);
  if (all_left(l)) return false;
  l->last = last, l->last_with = with;
  return true;
}

void line_free(Line *l) {
  if (pthread_equal(pthread_self(), l->thread)) return drop(l);
  shutdown(l->fd, SHUT_RDWR);
  pthread_join(l->thread, nullptr);
  drop(l);
}
