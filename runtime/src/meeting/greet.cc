// The connections to the hubs of this process. All are greeted at once. A rank shows a secret first; who does not soon
// is dropped, and strangers take no more than some files.
#include "hub.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../sockets.h"

enum { STRANGERS = 256, MARGIN = 64, MOST_HERE = 256 };  // STRANGERS may be connected that have not shown a secret

bool hub_watch(int fd, void *of, u32 events, int how) {
  struct epoll_event e = {};
  e.events = events, e.data.ptr = of;
  return !epoll_ctl(hub.poller, how, fd, &e);
}

void hub_pause(bool on) {
  hub.paused_at = now_ns();
  if (hub.paused == on || hub_watch(hub.listener, nullptr, on ? 0u : (u32)EPOLLIN, EPOLL_CTL_MOD)) hub.paused = on;
}

// hub_spare opens the file that makes room to say no.
void hub_spare() {
  if (hub.spare < 0) hub.spare = sys_open("/dev/null", O_RDONLY | O_CLOEXEC, 0);
}

static void end_conn(Conn *c) {
  close(c->fd);
  if (!c->of) hub.strangers--;
  if (c->of && c->of->conn && c->rank < c->of->m.ranks && c->of->conn[c->rank] == c) c->of->conn[c->rank] = nullptr;
  if (c->of) c->of->conns--;
  (c->before ? c->before->next : hub.conns) = c->next;
  if (c->next) c->next->before = c->before;
  free(c->in), free(c->out), free(c);
  hub_spare();
  hub_pause(false);
}

// conn_flush sends what the socket takes, and says whether it is well.
bool conn_flush(Conn *c) {
  while (c->sent < c->to_send) {
    const ssize_t n = sys_send_now(c->fd, c->out + c->sent, c->to_send - c->sent);
    if (n < 0 && errno != EAGAIN) return c->sent = c->to_send = 0, false;
    if (n < 0) return hub_watch(c->fd, c, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD) || (c->sent = c->to_send = 0, false);
    c->sent += (u32)n;
  }
  c->sent = c->to_send = 0;
  return hub_watch(c->fd, c, EPOLLIN, EPOLL_CTL_MOD) && !c->closing;
}

static bool append(Conn *c, const void *bytes, u32 count) {
  if (!count) return true;
  if (c->to_send + count > c->out_room) {
    const u32 room = (c->to_send + count) * 2;
    u8 *p = (u8 *)realloc(c->out, room);
    if (!p) return false;
    c->out = p, c->out_room = room;
  }
  memcpy(c->out + c->to_send, bytes, count);
  c->to_send += count;
  return true;
}

// hub_tell sends a word, or as much of it as the socket takes now. A connection that fails ends when it is read.
void hub_tell(void *of, u32 rank, const Word &word, const void *bytes, u32 count) {
  Hosted *h = (Hosted *)of;
  Conn *c = rank == NOBODY ? h->coming : h->conn && rank < h->m.ranks ? h->conn[rank] : nullptr;
  if (!c && h->coming && h->coming->rank == rank) c = h->coming;
  if (!c) return;
  const Header head = {MEETING_MAGIC, MEETING_VERSION, MESSAGE_WORD, (u32)sizeof word + count};
  if (rank == NOBODY) c->closing = true;
  const bool kept = append(c, &head, sizeof head) && append(c, &word, sizeof word) && append(c, bytes, count);
  if (kept && conn_flush(c)) return;
  c->sent = c->to_send = 0;  // half a word is none
  shutdown(c->fd, c->closing ? SHUT_WR : SHUT_RDWR);
}

// room_for is the most ranks that a meeting can have here, by the limit of open files.
static u32 room_for(const Hosted *h, const Conn *c) {
  struct rlimit l;
  if (getrlimit(RLIMIT_NOFILE, &l)) return 0;
  const u64 margin = l.rlim_cur / 8 < MARGIN ? l.rlim_cur / 8 : (u64)MARGIN, taken = (u64)c->fd + margin;
  const u64 room = l.rlim_cur > taken ? l.rlim_cur - taken + h->m.here : 0;
  return hub.spare < 0 ? 0 : room < NOBODY ? (u32)room : NOBODY - 1;
}

static void tell_soon(Hosted *h, u32 rank) { hub_tell(h, rank, Word{WORD_SOON, 0, 0, 0}, nullptr, 0); }

// come greets a rank: it has said which one it is. The result says whether the connection goes on.
static bool come(Conn *c, const Header &head, const Here &here) {
  Hosted *h = hosted_find(here.secret), nobody = {};
  const bool known = h != nullptr;
  if (!h) h = &nobody, h->m.word = WORD_NO, h->m.reason = NO_USED;
  if (!known) snprintf(h->m.text, sizeof h->m.text, "its ncclUniqueId was used before, or is not of this process");
  h->coming = c, h->m.room = room_for(h, c);
  c->rank = here.rank;
  const Teller t = {h, hub_tell};
  if (!known) return meeting_here(&h->m, here.rank, here.ranks, head.version, now_ns(), t);
  c->of = h, hub.strangers--, h->conns++;
  if (!h->conn && here.ranks <= h->m.room) h->conn = (Conn **)calloc(here.ranks ? here.ranks : 1, sizeof(Conn *));
  if (!h->conn) h->m.room = 0;
  const bool in = meeting_here(&h->m, here.rank, here.ranks, head.version, now_ns(), t);
  h->coming = nullptr;
  if (in) h->conn[here.rank] = c;
  if (in && h->soon && h->m.word == WORD_NONE) tell_soon(h, here.rank);
  return in;
}

// soon has no call of the ranks of a communicator wait long for it, or for what is made of it.
static void soon(const Here &here) {
  Hosted *h = hosted_find(here.secret);
  if (!h) return;
  h->soon = true;
  for (u32 r = 0; r < h->m.ranks; r++)
    if (h->m.is[r] == RANK_HERE) tell_soon(h, r);
}

// take acts on a whole message, and says whether the connection goes on.
static bool take(Conn *c, const Header &head) {
  const u8 *body = c->in + sizeof head;
  if (!c->of) {
    Here here;
    memcpy(&here, body, sizeof here);
    if (head.kind == MESSAGE_HERE) return come(c, head, here);
    if (head.version == MEETING_VERSION) soon(here);
    return false;
  }
  const Teller t = {c->of, hub_tell};
  if (head.kind == MESSAGE_BYE) return meeting_gone(&c->of->m, c->rank, true, t), false;
  return meeting_part(&c->of->m, c->rank, body, head.bytes, t);
}

// wants says how many bytes a connection reads next, or 0 where it says nothing that can be taken. A stranger says only
// who it is, in whatever version.
static u32 wants(const Conn *c) {
  if (c->got < sizeof(Header)) return sizeof(Header);
  Header head;
  memcpy(&head, c->in, sizeof head);
  if (head.magic != MEETING_MAGIC) return 0;
  if (!c->of) {
    const bool good = head.kind == MESSAGE_HERE || head.kind == MESSAGE_SOON;
    return good && head.bytes >= sizeof(Here) && head.bytes <= MOST_HERE ? (u32)sizeof head + head.bytes : 0;
  }
  const bool good = head.version == MEETING_VERSION && (head.kind == MESSAGE_PART || head.kind == MESSAGE_BYE);
  return good && head.bytes <= MOST_PART ? (u32)sizeof head + head.bytes : 0;
}

// conn_hear reads what has come, and says whether the connection goes on.
bool conn_hear(Conn *c) {
  for (;;) {
    const u32 want = wants(c);
    if (!want) return false;
    if (want > c->room) {
      u8 *p = (u8 *)realloc(c->in, want);
      if (!p) return false;
      c->in = p, c->room = want;
    }
    while (c->got < want) {
      const ssize_t n = sys_recv_now(c->fd, c->in + c->got, want - c->got);
      if (n < 0 && errno == EAGAIN) return true;
      if (n <= 0) return false;
      c->got += (u32)n;
    }
    if (wants(c) != want) continue;
    Header head;
    memcpy(&head, c->in, sizeof head);
    c->got = 0;
    if (!take(c, head)) return false;
  }
}

// conn_lose ends a connection whose rank has gone, or that was refused.
void conn_lose(Conn *c) {
  Hosted *h = c->of;
  if (c->closing && c->sent < c->to_send) return;  // it still has to hear why
  const bool member = h && h->conn && c->rank < h->m.ranks && h->conn[c->rank] == c;
  const u32 rank = c->rank;
  end_conn(c);
  const Teller t = {h, hub_tell};
  if (member) meeting_gone(&h->m, rank, false, t);
  if (h && !h->conns && meeting_over(&h->m)) hosted_gone(h);
}

static void greet(int fd) {
  Conn *c = (Conn *)calloc(1, sizeof(Conn));
  if (!c) return (void)close(fd);
  socket_options(fd);
  c->fd = fd, c->since = now_ns(), c->next = hub.conns;
  if (hub.conns) hub.conns->before = c;
  hub.conns = c, hub.strangers++;
  if (!hub_watch(fd, c, EPOLLIN, EPOLL_CTL_ADD) || !conn_hear(c)) conn_lose(c);
}

// hub_drop ends the stranger that is here longest, if it had its time, and says so.
bool hub_drop(u64 now, u64 least) {
  Conn *oldest = nullptr;
  for (Conn *c = hub.conns; c; c = c->next)
    if (!c->of && (!oldest || c->since < oldest->since)) oldest = c;
  if (!oldest || now - oldest->since < least) return false;
  return end_conn(oldest), true;
}

// hub_admit accepts who waits. Where no file can be opened any more, the hub.spare one makes room to say no: to one
// after the other, and none of these is dropped early, since it may be a rank.
void hub_admit() {
  for (;;) {
    if (hub.strangers >= STRANGERS && !hub_drop(now_ns(), LEAST_NS)) return hub_pause(true);
    const int fd = sys_accept(hub.listener);
    if (fd >= 0) {
      greet(fd);
      continue;
    }
    if (errno != EMFILE && errno != ENFILE) return errno == EAGAIN ? (void)0 : hub_pause(true);
    if (hub.spare < 0) return hub_pause(true);
    close(hub.spare), hub.spare = -1;
  }
}
