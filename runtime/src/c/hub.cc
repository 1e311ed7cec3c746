// The hub of a communicator: a thread of the process that made the unique id. It gives all ranks what each has, and
// tells them who leaves. Whoever connects must show the secret within two seconds, and at most 64 such connections are
// open.
#include "star.h"

#include "../../../transport/system.h"
#include "../sockets.h"
#include "../team/team.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

enum { STRANGERS = 64, MOST_CONNS = STRANGERS + MSCCLC_MAX_RANKS, TICK_MS = 50 };
const u64 STRANGER_NS = 2 * STAR_SECOND, FIRST_NS = 3600 * STAR_SECOND;

// A Conn is a connection: of a rank, or of a stranger (rank -1). What cannot be sent at once waits in `out`.
struct Conn {
  int fd, rank;
  bool refused;  // this was sent, and what it says does not count: a close now could lose what was sent
  u64 since;
  u8 *in, *out;
  u32 got, out_bytes, sent;
};

// A Hub is what its thread has. pending is what ranks have said in the round that is open.
struct Hub {
  StarId id;
  int listener;
  u64 began, round_began;
  Conn conn[MOST_CONNS];
  u32 conns, ranks, device;
  bool came[MSCCLC_MAX_RANKS], here[MSCCLC_MAX_RANKS], left[MSCCLC_MAX_RANKS];
  u8 *pending[MSCCLC_MAX_RANKS];
  Frame frame[MSCCLC_MAX_RANKS];
  bool open;
  mscclc_result refused;  // the communicator cannot be, for the reason in `why`
  Why why;
};

void close_conn(Conn *c) {
  if (c->fd >= 0) close(c->fd);
  free(c->in);
  free(c->out);
  *c = Conn{-1, -1, false, 0, nullptr, nullptr, 0, 0, 0};
}

bool flush(Conn *c) {
  while (c->sent < c->out_bytes) {
    const ssize_t n = sys_send_now(c->fd, c->out + c->sent, c->out_bytes - c->sent);
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    c->sent += (u32)n;
  }
  free(c->out);
  c->out = nullptr, c->out_bytes = c->sent = 0;
  return true;
}

// put queues a frame for a rank. A connection without memory is as good as lost, which its end will show.
void put(Conn *c, u16 type, u16 kind, u32 rank, const void *data, u32 bytes) {
  const Frame f = {FRAME_MAGIC, type, kind, rank, bytes};
  u8 *more = (u8 *)realloc(c->out, c->out_bytes + sizeof f + bytes);
  if (!more) return (void)shutdown(c->fd, SHUT_RDWR);
  memcpy(more + c->out_bytes, &f, sizeof f);
  if (bytes) memcpy(more + c->out_bytes + sizeof f, data, bytes);
  c->out = more, c->out_bytes += (u32)sizeof f + bytes;
  if (!flush(c)) shutdown(c->fd, SHUT_RDWR);
}

void put_text(Conn *c, u16 type, mscclc_result result, const char *text) {
  u8 body[4 + sizeof(Why)];
  const u32 code = (u32)result, length = (u32)strlen(text);
  memcpy(body, &code, 4);
  memcpy(body + 4, text, length + 1);
  put(c, type, 0, 0, body, 4 + length + 1);
}

void each(Hub *h, u16 type, u32 rank, const void *body, u32 bytes) {
  for (u32 i = 0; i < h->conns; i++)
    if (h->conn[i].rank >= 0 && (u32)h->conn[i].rank != rank) put(&h->conn[i], type, 0, rank, body, bytes);
}

// names lists ranks.
void names(const bool *of, bool is, u32 ranks, char *text, size_t room) {
  size_t n = 0;
  u32 count = 0;
  for (u32 r = 0; r < ranks; r++) count += of[r] == is;
  n += (size_t)snprintf(text, room, count == 1 ? "rank" : "ranks");
  for (u32 r = 0; r < ranks && n < room; r++)
    if (of[r] == is) n += (size_t)snprintf(text + n, room - n, " %u", r);
}

void drop_round(Hub *h) {
  for (u8 *&p : h->pending) free(p), p = nullptr;
  h->open = false;
}

void fail_round(Hub *h, mscclc_result result, const char *text) {
  for (u32 i = 0; i < h->conns; i++)
    if (h->conn[i].rank >= 0 && h->pending[h->conn[i].rank]) put_text(&h->conn[i], FRAME_FAIL, result, text);
  drop_round(h);
}

void refuse(Hub *h, mscclc_result result) {
  if (h->refused) return;
  h->refused = result;
  for (u32 i = 0; i < h->conns; i++)
    if (h->conn[i].rank >= 0) put_text(&h->conn[i], FRAME_REFUSED, result, h->why.text);
  drop_round(h);
}

// answer sends all parts to all ranks.
void answer(Hub *h) {
  u64 bytes = 0;
  for (u32 r = 0; r < h->ranks; r++) bytes += 4 + h->frame[r].bytes;
  u8 *all = (u8 *)malloc(bytes), *at = all;
  if (!all) return fail_round(h, MSCCLC_SYSTEM, "the process that made the unique id has no memory");
  for (u32 r = 0; r < h->ranks; r++) {
    memcpy(at, &h->frame[r].bytes, 4);
    memcpy(at + 4, h->pending[r], h->frame[r].bytes);
    at += 4 + h->frame[r].bytes;
  }
  for (u32 i = 0; i < h->conns; i++)
    if (h->conn[i].rank >= 0) put(&h->conn[i], FRAME_ROUND, h->frame[0].kind, 0, all, (u32)bytes);
  free(all);
  drop_round(h);
}

// judge ends the open round if all ranks have come, one of them cannot, or the time is up.
void judge(Hub *h, u64 now) {
  if (!h->open) return;
  bool in[MSCCLC_MAX_RANKS];
  char who[128], text[300];
  u32 first = 0, count = 0;
  for (u32 r = h->ranks; r-- > 0;)
    if ((in[r] = h->pending[r] != nullptr)) first = r, count++;
  for (u32 r = 0; r < h->ranks; r++)
    if (in[r] && h->frame[r].kind != h->frame[first].kind) {
      snprintf(text, sizeof text, "rank %u calls %s, and rank %u %s", first, star_call(h->frame[first].kind), r,
               star_call(h->frame[r].kind));
      return fail_round(h, MSCCLC_MISMATCH, text);
    }
  const u32 kind = h->frame[first].kind;
  if (count == h->ranks) return answer(h);
  for (u32 r = 0; r < h->ranks; r++)
    if (!in[r] && h->came[r] && !h->here[r]) {
      snprintf(text, sizeof text, "rank %u has ended, and does not call %s", r, star_call(kind));
      return fail_round(h, MSCCLC_REMOTE, text);
    }
  if (now - h->round_began < star_limit(kind)) return;
  names(in, false, h->ranks, who, sizeof who);
  snprintf(text, sizeof text, "%s did not call %s within %llu s", who, star_call(kind), star_limit(kind) / STAR_SECOND);
  fail_round(h, MSCCLC_TIMED_OUT, text);
}

// greet takes a rank's first word, and says whether it may stay.
bool greet(Hub *h, Conn *c, const Hello &hello) {
  if (memcmp(hello.secret, h->id.secret, sizeof hello.secret)) return false;
  if (!h->ranks) h->ranks = hello.ranks, h->device = hello.device;
  mscclc_result bad = MSCCLC_MISMATCH;
  if (hello.abi != MSCCLC_ABI)
    say(&h->why, "rank %u has libmscclc.so of ABI %u, and others of ABI %d", hello.rank, hello.abi, MSCCLC_ABI);
  else if (hello.ranks != h->ranks)
    say(&h->why, "rank %u has a communicator of %u ranks, and others of %u", hello.rank, hello.ranks, h->ranks);
  else if (hello.device != h->device)
    say(&h->why, "rank %u runs on the %s, and others on the %s", hello.rank, hello.device ? "CPU" : "GPU",
        h->device ? "CPU" : "GPU");
  else if (hello.rank >= h->ranks || h->ranks > MSCCLC_MAX_RANKS)
    say(&h->why, "rank %u of %u does not exist", hello.rank, h->ranks);
  else if (h->came[hello.rank])
    say(&h->why, "two processes or threads are rank %u", hello.rank);
  else
    bad = MSCCLC_OK;
  if (bad && !h->refused) refuse(h, bad);
  if (h->refused) return c->refused = true, put_text(c, FRAME_REFUSED, h->refused, h->why.text), true;
  c->rank = (int)hello.rank;
  h->came[hello.rank] = h->here[hello.rank] = true;
  return true;
}

// take handles a whole frame of a connection, whose body it owns, and says whether the connection stays.
bool take(Hub *h, Conn *c, const Frame &f, u8 *body) {
  if (c->refused) return free(body), true;
  if (c->rank < 0) {
    Hello hello;
    const bool good = f.type == FRAME_HELLO && f.bytes >= sizeof hello;
    if (good) memcpy(&hello, body, sizeof hello);
    free(body);
    return good && greet(h, c, hello);
  }
  const u32 r = (u32)c->rank;
  if (f.type == FRAME_ROUND && h->refused) return free(body), true;  // the refusal may not have been read yet
  if (f.type == FRAME_ROUND && f.kind < ROUNDS && !h->pending[r]) {
    if (!h->open) h->open = true, h->round_began = now_of_engine();
    h->pending[r] = body, h->frame[r] = f;
    judge(h, now_of_engine());
    return true;
  }
  const bool bye = f.type == FRAME_BYE && f.bytes == sizeof(u64);
  if (bye) h->left[r] = true, h->here[r] = false;
  if (bye || f.type == FRAME_ABORT) each(h, f.type, r, body, bye ? f.bytes : 0);
  free(body);
  return bye || f.type == FRAME_ABORT;
}

// hear reads what has come. A stranger's frame is no longer than a Hello of a later version.
bool hear(Hub *h, Conn *c) {
  enum { LONGEST_HELLO = 4096 };
  for (;;) {
    Frame f = {};
    if (c->got >= sizeof f) memcpy(&f, c->in, sizeof f);
    if (c->got >= sizeof f && (f.magic != FRAME_MAGIC || f.bytes > (c->rank < 0 ? (u32)LONGEST_HELLO : FRAME_MOST)))
      return false;
    const u32 want = (u32)sizeof f + f.bytes;
    if (c->got >= sizeof f && c->got == want) {
      u8 *body = (u8 *)malloc(f.bytes + 1);
      if (!body) return false;
      memcpy(body, c->in + sizeof f, f.bytes);
      c->got = 0;
      if (!take(h, c, f, body)) return false;
      continue;
    }
    u8 *room = (u8 *)realloc(c->in, want);
    if (!room) return false;
    c->in = room;
    const ssize_t n = sys_recv_now(c->fd, c->in + c->got, want - c->got);
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    c->got += (u32)n;
  }
}

// lose ends a connection. A rank that has not said goodbye is lost.
void lose(Hub *h, u32 i) {
  const int rank = h->conn[i].rank;
  close_conn(&h->conn[i]);
  h->conn[i] = h->conn[--h->conns];
  if (rank < 0) return;
  h->here[rank] = false;
  free(h->pending[rank]);
  h->pending[rank] = nullptr;
  if (!h->left[rank]) each(h, FRAME_LOST, (u32)rank, nullptr, 0);
}

void admit(Hub *h) {
  for (;;) {
    const int fd = sys_accept(h->listener);
    if (fd < 0) return sys_later(errno) ? sys_nap(SYS_PAUSE_MS * 1000000ull) : (void)0;
    u32 strangers = 0;
    for (u32 i = 0; i < h->conns; i++) strangers += h->conn[i].rank < 0;
    if (strangers == STRANGERS || h->conns == MOST_CONNS) {
      close(fd);
      continue;
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    socket_options(fd);
    h->conn[h->conns++] = Conn{fd, -1, false, now_of_engine(), nullptr, nullptr, 0, 0, 0};
  }
}

// over says whether nobody needs the hub any more.
bool over(const Hub *h, u64 now) {
  bool came = false;
  for (u32 r = 0; r < MSCCLC_MAX_RANKS; r++) came |= h->came[r];
  for (u32 i = 0; i < h->conns; i++)
    if (h->conn[i].rank >= 0) return false;
  if (h->refused || !came) return now - h->began > FIRST_NS;
  for (u32 r = 0; r < h->ranks; r++)
    if (!h->came[r]) return now - h->began > FIRST_NS;
  return true;
}

void turn(Hub *h) {
  struct pollfd fds[MOST_CONNS + 1];
  fds[0] = {h->listener, POLLIN, 0};
  for (u32 i = 0; i < h->conns; i++)
    fds[i + 1] = {h->conn[i].fd, (short)(POLLIN | (h->conn[i].out_bytes ? POLLOUT : 0)), 0};
  const u32 conns = h->conns;
  sys_poll(fds, conns + 1, h->open || conns ? TICK_MS : 20 * TICK_MS);
  const u64 now = now_of_engine();
  for (u32 i = conns; i-- > 0;) {  // from the last on: lose puts the last one, which was looked at, into a gap
    Conn *c = &h->conn[i];
    bool good = !(fds[i + 1].revents & POLLOUT) || flush(c);
    if (good && (fds[i + 1].revents & (POLLIN | POLLHUP | POLLERR))) good = hear(h, c);
    if (good && c->rank < 0 && now - c->since > STRANGER_NS) good = false;
    if (!good) lose(h, i);
  }
  if (fds[0].revents) admit(h);
  judge(h, now_of_engine());
}

void *serve(void *arg) {
  Hub *h = (Hub *)arg;
  while (alive() && !over(h, now_of_engine())) turn(h);
  drop_round(h);
  while (h->conns) close_conn(&h->conn[--h->conns]);
  close(h->listener);
  free(h);
  return nullptr;
}

bool listen_at(Hub *h, Why *why) {
  const char *at = getenv("MSCCLC_ADDRESS");
  struct sockaddr_in to = {};
  socklen_t size = sizeof to;
  to.sin_family = AF_INET;
  if (!inet_pton(AF_INET, at && *at ? at : "127.0.0.1", &to.sin_addr))
    return say(why, "MSCCLC_ADDRESS=%.100s is no IPv4 address", at), false;
  h->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (h->listener < 0 || bind(h->listener, (struct sockaddr *)&to, sizeof to) || listen(h->listener, 128) ||
      getsockname(h->listener, (struct sockaddr *)&to, &size))
    return say(why, "a socket for the unique id: %s", strerror(errno)), false;
  h->id.address = to.sin_addr.s_addr, h->id.port = ntohs(to.sin_port);
  return true;
}

}  // namespace

const char *star_call(u32 kind) {
  if (kind == ROUND_JOIN) return "mscclc_comm_by_id";
  return kind < ROUND_WINDOW ? "mscclc_load" : "mscclc_register";
}

u64 star_limit(u32 kind) {
  const char *text = getenv("MSCCLC_MEET");
  const u64 given = text ? strtoull(text, nullptr, 10) : 0;
  const u64 meet = (given && given < 1000000 ? given : 60) * STAR_SECOND;
  if (kind == ROUND_JOIN) return meet;
  return kind == ROUND_LOAD ? 9 * STAR_SECOND : meet;
}

mscclc_result star_new(StarId *id, Why *why) {
  Hub *h = (Hub *)calloc(1, sizeof *h);
  if (!h) return say(why, "no memory"), MSCCLC_SYSTEM;
  h->listener = -1, h->began = now_of_engine();
  memcpy(h->id.magic, STAR_MAGIC, sizeof h->id.magic);
  bool good = listen_at(h, why);
  if (good && !sys_random(h->id.secret, sizeof h->id.secret)) say(why, "no random numbers"), good = false;
  *id = h->id;
  sigset_t all, before;
  sigfillset(&all);
  pthread_t thread;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (good && pthread_create(&thread, nullptr, serve, h)) say(why, "no thread: %s", strerror(errno)), good = false;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (good) return pthread_detach(thread), MSCCLC_OK;
  if (h->listener >= 0) close(h->listener);
  free(h);
  return MSCCLC_SYSTEM;
}
