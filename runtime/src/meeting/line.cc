// A rank's connection to the hub of its communicator.
#include "meet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../sockets.h"

// A Count is how many rounds a set of ranks has had.
struct Count {
  u32 sort, set, rounds;
};

struct Line {
  int fd;
  Tail tail;
  u32 held;
  Atom<int> lost;  // nothing more can be said
  Atom<u64> tickets, turn;
  Count *counts;
  u32 count, room;
  Line *next;
};

namespace {

enum { SLICE_MS = 50, SEND_S = 30 };
const u64 SAID_AFTER = 2 * SECOND;

pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
Line *lines;  // for forked children

void before_fork() { pthread_mutex_lock(&mu); }
void after_fork_here() { pthread_mutex_unlock(&mu); }
void in_child() {
  for (Line *l = lines; l; l = l->next) close(l->fd), l->fd = -1;
  pthread_mutex_unlock(&mu);
}
void watch_forks() { pthread_atfork(before_fork, after_fork_here, in_child); }

// A Clock is how long a wait has taken.
struct Clock {
  u64 begun;
  bool said;
};

// ends says whether a wait has ended without what it waits for. After a while it says in a line what that is.
bool ends(const Wait &w, Clock *c, Event *event) {
  const u64 passed = now_ns() - c->begun;
  if (w.e && (!w.e->comm || w.e->state != w.state)) return *event = EVENT_ENDED, true;
  if (passed > w.limit) return *event = EVENT_LIMIT, true;
  if (w.what && passed > SAID_AFTER && !c->said) {
    c->said = true;
    if (w.of_all) info("rank %u of %u waits for %s", w.e->rank, w.e->ranks, w.what);  // the hub warns
    else if (w.e && w.e->ranks) warn("rank %u of %u waits for %s", w.e->rank, w.e->ranks, w.what);
    else warn("a communicator waits for %s", w.what);
  }
  return false;
}

// ready waits until a socket can be read or written.
bool ready(int fd, short events, const Wait &w, Clock *c, Event *event) {
  for (;;) {
    if (ends(w, c, event)) return false;
    struct pollfd p = {fd, events, 0};
    if (sys_poll(&p, 1, SLICE_MS) > 0) return true;
  }
}

socklen_t address_of(const Tail &t, struct sockaddr_storage *to) {
  memset((void *)to, 0, sizeof *to);
  struct sockaddr_in *four = (struct sockaddr_in *)to;
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
  to->ss_family = t.family;
  four->sin_port = t.port;  // at the same place in both families
  if (t.family == AF_INET) return memcpy(&four->sin_addr, t.address, 4), sizeof *four;
  memcpy(&six->sin6_addr, t.address, 16);
  return sizeof *six;
}

// send_all sends at once, since the hub reads always. It gives up where that has stopped.
bool send_all(Line *l, const void *bytes, size_t count) {
  const u64 begun = now_ns();
  for (const char *p = (const char *)bytes; count;) {
    const ssize_t n = sys_send_now(l->fd, p, count);
    if (n < 0 && errno == EAGAIN && now_ns() - begun < SEND_S * SECOND) {
      struct pollfd one = {l->fd, POLLOUT, 0};
      sys_poll(&one, 1, SLICE_MS);
      continue;
    }
    if (n <= 0) return line_shut(l), false;
    p += n, count -= (size_t)n;
  }
  return true;
}

bool recv_all(Line *l, void *bytes, size_t count, const Wait &w, Clock *c, Event *event) {
  for (char *p = (char *)bytes; count;) {
    const ssize_t n = sys_recv_now(l->fd, p, count);
    if (n > 0) {
      p += n, count -= (size_t)n;
      continue;
    }
    if (n < 0 && errno == EAGAIN) {
      if (!ready(l->fd, POLLIN, w, c, event)) return false;
      continue;
    }
    return *event = EVENT_LOST, false;
  }
  return true;
}

u32 number(Line *l, u32 sort, u32 set) {
  for (u32 i = 0; i < l->count; i++)
    if (l->counts[i].sort == sort && l->counts[i].set == set) return ++l->counts[i].rounds;
  Count *c = grow(&l->counts, &l->count, &l->room);
  if (!c) return 0;
  *c = Count{sort, set, 1};
  return 1;
}

}  // namespace

Event line_open(const Tail &tail, const Wait &wait, Line **made, Why *why) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  struct sockaddr_storage at;
  const socklen_t size = address_of(tail, &at);
  char name[64] = "";
  Event event = EVENT_CONNECTED;
  Clock clock = {now_ns(), false};
  pthread_once(&once, watch_forks);
  Line *l = (Line *)calloc(1, sizeof(Line));
  if (!l) return say(why, "no memory"), EVENT_UNREACHED;
  l->fd = socket(tail.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  l->held = 1, l->tail = tail;
  int code = l->fd < 0 ? errno : sys_connect_now(l->fd, (struct sockaddr *)&at, size) ? errno : 0;
  socklen_t bytes = sizeof code;
  if (code == EINPROGRESS) {
    if (ready(l->fd, POLLOUT, wait, &clock, &event)) getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &code, &bytes);
    else code = ETIMEDOUT;
  }
  if (!code) {
    socket_options(l->fd);
    pthread_mutex_lock(&mu);
    l->next = lines, lines = l;
    pthread_mutex_unlock(&mu);
    return *made = l, EVENT_CONNECTED;
  }
  inet_ntop(tail.family, tail.address, name, sizeof name);
  if (l->fd < 0) say(why, "it cannot open a socket: %s (ulimit -n)", strerror(code));
  else say(why, "the process that made the ncclUniqueId cannot be reached at %s, port %u: %s", name, ntohs(tail.port),
           strerror(code));
  if (l->fd >= 0) close(l->fd);
  free(l);
  return event == EVENT_ENDED ? event : EVENT_UNREACHED;
}

bool line_address(const Line *l, Tail *t) {
  struct sockaddr_storage at = {};
  socklen_t size = sizeof at;
  if (getsockname(l->fd, (struct sockaddr *)&at, &size)) return false;
  t->family = at.ss_family;
  if (at.ss_family == AF_INET) memcpy(t->address, &((struct sockaddr_in *)&at)->sin_addr, 4);
  else memcpy(t->address, &((struct sockaddr_in6 *)&at)->sin6_addr, 16);
  return at.ss_family == AF_INET || at.ss_family == AF_INET6;
}

void line_card(const Line *l, char (&name)[CARD_NAME]) {
  int within;
  card_of(l->fd, name, &within);
}

void line_hold(Line *l) { __atomic_fetch_add(&l->held, 1, __ATOMIC_ACQ_REL); }

void line_leave(Line *l, bool goodbye) {
  if (__atomic_sub_fetch(&l->held, 1, __ATOMIC_ACQ_REL)) return;
  const Header bye = {MEETING_MAGIC, MEETING_VERSION, MESSAGE_BYE, 0};
  if (goodbye && !l->lost) send_all(l, &bye, sizeof bye);
  pthread_mutex_lock(&mu);
  Line **at = &lines;
  while (*at && *at != l) at = &(*at)->next;
  if (*at) *at = l->next;
  pthread_mutex_unlock(&mu);
  if (l->fd >= 0) close(l->fd);
  free(l->counts), free(l);
}

void line_shut(Line *l) {
  l->lost = 1;
  shutdown(l->fd, SHUT_RDWR);
}

u64 line_ticket(Line *l) { return __atomic_fetch_add(&l->tickets.value, 1, __ATOMIC_ACQ_REL); }

bool line_turn(Line *l, u64 ticket, const Wait &wait) {
  Clock clock = {now_ns(), false};
  Event event;
  for (; l->turn != ticket && !l->lost; nap(50000))
    if (ends(wait, &clock, &event)) return line_shut(l), false;
  return !l->lost;
}

void line_next(Line *l) { __atomic_fetch_add(&l->turn.value, 1, __ATOMIC_ACQ_REL); }

const Tail &line_tail(const Line *l) { return l->tail; }

static bool show(Line *l, u32 kind, u32 rank, u32 ranks) {
  struct {
    Header head;
    Here here;
  } m = {{MEETING_MAGIC, MEETING_VERSION, kind, sizeof(Here)}, {{}, rank, ranks}};
  memcpy(m.here.secret, l->tail.secret, sizeof m.here.secret);
  return send_all(l, &m, sizeof m);
}

bool line_here(Line *l, u32 rank, u32 ranks) { return show(l, MESSAGE_HERE, rank, ranks); }

void line_soon(const Tail &tail) {
  const Wait wait = {nullptr, 0, nullptr, 2 * SECOND};
  Line *l;
  if (line_open(tail, wait, &l, nullptr) != EVENT_CONNECTED) return;
  show(l, MESSAGE_SOON, 0, 0);
  line_leave(l, false);
}

bool line_say(Line *l, u32 sort, const u32 *without, u32 count, bool ok, const void *data, u32 bytes) {
  const u32 set = set_hash(without, count), listed = count * (u32)sizeof(u32);
  const Part part = {sort, number(l, sort, set), set, ok, count, 0};
  const Header head = {MEETING_MAGIC, MEETING_VERSION, MESSAGE_PART, (u32)sizeof part + listed + bytes};
  if (l->lost || !part.number || head.bytes > MOST_PART) return line_shut(l), false;
  u8 *all = (u8 *)malloc(sizeof head + head.bytes);
  if (!all) return line_shut(l), false;
  memcpy(all, &head, sizeof head), memcpy(all + sizeof head, &part, sizeof part);
  if (listed) memcpy(all + sizeof head + sizeof part, without, listed);
  if (bytes) memcpy(all + sizeof head + sizeof part + listed, data, bytes);
  const bool sent = send_all(l, all, sizeof head + head.bytes);
  return free(all), sent;
}

// receive_word reads a word with what follows it.
static bool receive_word(Line *l, const Wait &wait, Clock *clock, Header *head, Answer *a, Event *event) {
  free(a->body);
  memset((void *)a, 0, sizeof *a);
  *event = EVENT_LOST;
  if (!recv_all(l, head, sizeof *head, wait, clock, event)) return false;
  const bool ours = head->magic == MEETING_MAGIC;
  if (ours && head->version != MEETING_VERSION) return *event = EVENT_OTHER, false;
  const bool good = ours && head->kind == MESSAGE_WORD && head->bytes <= MOST_ANSWER && head->bytes >= sizeof a->word;
  a->bytes = good ? head->bytes - (u32)sizeof a->word : 0;
  if (good) a->body = (u8 *)calloc(a->bytes + 1, 1);
  return a->body && recv_all(l, &a->word, sizeof a->word, wait, clock, event) &&
         recv_all(l, a->body, a->bytes, wait, clock, event);
}

static bool no_answer(u32 word) { return word == WORD_SOON || word == WORD_GONE; }

// What is no answer stays there: line_answer passes over it.
bool line_gone(Line *l) {
  struct {
    Header head;
    Word word;
  } m[8] = {};  // of which all but the last may be WORD_SOON
  const ssize_t n = l->lost ? 0 : sys_peek(l->fd, m, sizeof m);
  for (ssize_t i = 0; i < n / (ssize_t)sizeof *m && m[i].head.bytes == sizeof m->word; i++)
    if (m[i].word.word == WORD_GONE) return true;
  return !n;  // the connection has ended
}

Event line_answer(Line *l, const Wait &wait, Answer *a, Why *why) {
  Header head;
  Event event;
  Clock clock = {now_ns(), false};
  bool came;
  a->body = nullptr;
  while ((came = receive_word(l, wait, &clock, &head, a, &event)) && no_answer(a->word.word))
    if (wait.soon && a->word.word == WORD_SOON) *wait.soon = 1;
  if (came) {
    if (a->word.word != WORD_GO) say(why, "%.400s", (const char *)a->body);
    return a->word.word == WORD_GO ? EVENT_GO : a->word.word == WORD_NO ? EVENT_NO : EVENT_FAILED;
  }
  free(a->body), a->body = nullptr;
  if (event == EVENT_OTHER)
    return say(why, "the process that made the ncclUniqueId has version %u of this library's messages, and this "
               "process version %d: install one release on all hosts", head.version, MEETING_VERSION), event;
  if (event == EVENT_LIMIT) say(why, "it waited %llu s for %s", wait.limit / SECOND, wait.what);
  if (event == EVENT_LOST)
    say(why, "the connection to the process that made the ncclUniqueId was lost, as when that process ends");
  if (event == EVENT_ENDED) say(why, "the communicator was aborted");
  if (event != EVENT_ENDED) line_shut(l);
  return event;
}
