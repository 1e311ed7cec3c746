// This file connects a job with its peers: two connections each way, which both begin with a hello.
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const transport_table *table_of(const net_job *j) { return j->proxy->table; }
static void *engine_of(const net_job *j) { return j->proxy->engine; }

static const char *own_cards(const net_job *j, transport_properties *is) {
  return table_of(j)->properties(engine_of(j), is) ? "" : is->cards;
}

void cards_between(const net_job *j, const Peer *q, char (&to)[BETWEEN]) {
  transport_properties is = {};
  const char *own = own_cards(j, &is);
  snprintf(to, sizeof to, "%s%s%s%s", *own ? ", from " : "", own, *q->cards ? ", to " : "", q->cards);
  for (char *c = to; *c; c++)
    if (*c < ' ' || *c > '~') *c = '?';  // the other end's text comes from elsewhere
}

// engine_failed is for what is not yet connected.
static void engine_failed(net_job *j, const Peer *q, const char *what) {
  char between[BETWEEN];
  const char *why = table_of(j)->why(engine_of(j));
  char text[sizeof q->why];
  snprintf(text, sizeof text, "%s", why ? why : "");  // which asking for cards may change
  cards_between(j, q, between);
  fail(j, NET_ENGINE, q->process, "%s: %s%s", what, text, between);
}

// bulk_line is the line of a peer's bulk connections (table.h). All control is of line 0.
static unsigned bulk_line(const net_job *j, const Peer *q) { return 1 + (unsigned)(q - j->peer); }

// A handle of a job is those of control and bulk, and a text that says which cards its process has, after the lengths
// of the three. Control's and bulk's begin at multiples of 8 bytes: plugins keep structs in theirs.
struct Lengths {
  u32 control, bulk, cards, zero;
};
static u32 padded(u32 bytes) { return (bytes + 7) / 8 * 8; }
static u32 bytes_of(const Lengths &l) { return (u32)sizeof l + padded(l.control) + padded(l.bulk) + l.cards; }

static bool write_handle(Peer *q, const transport_handle &control, const transport_handle &bulk, const char *cards) {
  const Lengths l = {control.bytes, bulk.bytes, (u32)strnlen(cards, TRANSPORT_CARDS - 1), 0};
  u8 *at = (u8 *)calloc(1, bytes_of(l));
  if (!at) return false;
  q->own = net_handle{at, bytes_of(l)};
  memcpy(at, &l, sizeof l), at += sizeof l;
  memcpy(at, control.at, l.control), at += padded(l.control);
  memcpy(at, bulk.at, l.bulk), at += padded(l.bulk);
  memcpy(at, cards, l.cards);
  return true;
}

bool read_handle(Peer *q, const net_handle &handle) {
  Lengths l = {};
  if (handle.bytes < sizeof l) return false;
  memcpy(&l, handle.at, sizeof l);
  if (l.control > TRANSPORT_HANDLE_MOST || l.bulk > TRANSPORT_HANDLE_MOST || l.cards >= TRANSPORT_CARDS) return false;
  if (handle.bytes != bytes_of(l)) return false;
  free(q->other.at);
  q->other = net_handle{(u8 *)malloc(handle.bytes), handle.bytes};
  if (!q->other.at) return false;
  memcpy(q->other.at, handle.at, handle.bytes);
  u8 *at = q->other.at + sizeof l;
  q->to_control = transport_handle{at, l.control}, at += padded(l.control);
  q->to_bulk = transport_handle{at, l.bulk}, at += padded(l.bulk);
  snprintf(q->cards, sizeof q->cards, "%.*s", (int)l.cards, (const char *)at);
  return true;
}

struct Asked {
  net_job *job;
  Peer *peer;
  net_failure *failure;
};
static int listen_for(net_proxy *p, void *with) {
  const Asked *a = (const Asked *)with;
  Peer *q = a->peer;
  if (a->job->phase != MADE || q->control_ear) return net_say(a->failure, NET_STATE, q->process, "asked for too late");
  transport_handle control = {}, bulk = {};
  transport_properties is = {};
  int code = 0;
  if (p->table->listen(p->engine, 0, &control, &q->control_ear) ||
      p->table->listen(p->engine, bulk_line(a->job, q), &bulk, &q->bulk_ear))
    code = net_say(a->failure, NET_ENGINE, q->process, "it cannot be listened for: %s", p->table->why(p->engine));
  else if (!write_handle(q, control, bulk, own_cards(a->job, &is)))
    code = net_say(a->failure, NET_STATE, q->process, "no memory for a handle");
  free(control.at), free(bulk.at);
  return code;
}

int mscclc_net_handle(net_job *j, u32 process, net_handle *handle, net_failure *f) {
  *handle = net_handle{};
  for (u32 i = 0; i < j->peers; i++) {
    Peer *q = j->peer + i;
    Asked asked = {j, q, f};
    if (q->process != process) continue;
    const int code = on_thread(j->proxy, listen_for, &asked);
    if (!code) *handle = q->own;
    return code;
  }
  return net_say(f, NET_STATE, process, "it is no peer of this job");
}

// registers makes the memory known that a line uses: its messages, and scratch of the ranks of one process.
static bool registers(net_job *j, Line *l, u32 process) {
  const transport_table *t = table_of(j);
  const size_t bytes = (size_t)(TRANSPORT_REQUESTS + 1) * WIRE_MOST;
  if (t->reg(l->control, l->room, bytes, TRANSPORT_HOST, &l->control_room) ||
      t->reg(l->bulk, l->room, bytes, TRANSPORT_HOST, &l->bulk_room))
    return false;
  for (u32 r = 0; r < j->program.ranks; r++) {
    const net_memory &m = j->memory[r];
    if (j->program.process[r] == process && m.scratch && m.scratch_bytes &&
        t->reg(l->bulk, (void *)m.scratch, m.scratch_bytes, TRANSPORT_HOST, l->scratch + r))
      return false;
  }
  return true;
}

static wire_hello hello_of(const net_job *j, const Peer *q, u32 bulk) {
  wire_hello h = {WIRE_MAGIC, WIRE_VERSION, j->process, q->process, bulk, 0, {}};
  memcpy(h.hash, j->program.hash, sizeof h.hash);
  return h;
}

// check_hello says whether a hello is what this peer must send.
static bool check_hello(net_job *j, const Peer *q, const u8 *message, u64 bytes, u32 bulk) {
  wire_hello h = {};
  memcpy(&h, message, bytes < sizeof h ? bytes : sizeof h);
  if (bytes < 8 || h.magic != WIRE_MAGIC) {
    fail(j, NET_FOREIGN, q->process, "it does not speak as proxies of mscclc do");
  } else if (h.version != WIRE_VERSION) {
    fail(j, NET_FOREIGN, q->process, "it speaks version %u, and this process version %u", h.version, WIRE_VERSION);
  } else if (bytes != sizeof h || h.from != q->process || h.to != j->process || h.bulk != bulk || h.pad) {
    fail(j, NET_FOREIGN, q->process, "its connection is for others: from process %u to %u", h.from, h.to);
  } else if (memcmp(h.hash, j->program.hash, sizeof h.hash)) {
    fail(j, NET_FOREIGN, q->process, "it has another program, or other settings");
  }
  return !j->failed;
}

static u8 *hello_room(const Line *l) { return l->room + (size_t)TRANSPORT_REQUESTS * WIRE_MOST; }

// greet sends both hellos, that of control as its first message.
static void greet(net_job *j, Peer *q) {
  Line *l = &q->out;
  const transport_table *t = table_of(j);
  if (!l->hello_begun) {
    const wire_hello h = hello_of(j, q, 1);
    memcpy(hello_room(l), &h, sizeof h);
    if (t->send(l->bulk, hello_room(l), sizeof h, l->bulk_room, &l->hello)) return lost(j, q, false);
    l->hello_begun = l->hello;
  }
  if (!l->greeted) {
    const wire_hello h = hello_of(j, q, 0);
    memcpy(l->room, &h, sizeof h);
    if (t->send(l->control, l->room, sizeof h, l->control_room, &l->slot[0].request)) return lost(j, q, false);
    if (l->slot[0].request) l->greeted = true, l->tail = 1, q->spoke = j->proxy->now;
  }
}

// heed receives both hellos: control's into its first slot.
static void heed(net_job *j, Peer *q) {
  Line *l = &q->in;
  const transport_table *t = table_of(j);
  if (!l->hello_begun) {
    if (t->recv(l->bulk, hello_room(l), WIRE_MOST, l->bulk_room, &l->hello)) return lost(j, q, false);
    l->hello_begun = l->hello;
  }
  if (l->tail == 0) {
    if (t->recv(l->control, l->room, WIRE_MOST, l->control_room, &l->slot[0].request)) return lost(j, q, true);
    if (l->slot[0].request) l->tail = 1;
  }
  int done = 0;
  size_t bytes = 0;
  if (l->tail == 1 && !l->greeted) {
    if (t->test(engine_of(j), l->slot[0].request, &done, &bytes)) return lost(j, q, true);
    if (done && check_hello(j, q, l->room, bytes, 0)) l->greeted = true, l->head = l->came = 1;
  }
}

// finish_hello waits for bulk's hello, one way.
static bool finish_hello(net_job *j, Peer *q, Line *l) {
  int done = 0;
  size_t bytes = 0;
  if (!l->hello_begun || l->hello_over) return l->hello_over;
  if (table_of(j)->test(engine_of(j), l->hello, &done, &bytes)) {
    lost(j, q, false);
    return false;
  }
  if (done && (l == &q->out || check_hello(j, q, hello_room(l), bytes, 1))) l->hello_over = true;
  return l->hello_over;
}

// joined asks for connections that are not there yet, and is true when all four are.
static bool joined(net_job *j, Peer *q) {
  const transport_table *t = table_of(j);
  if (!q->out.control && t->connect(engine_of(j), 0, &q->to_control, nullptr, &q->out.control))
    engine_failed(j, q, "it cannot be connected to");
  else if (q->out.control && !q->out.bulk &&
           t->connect(engine_of(j), bulk_line(j, q), &q->to_bulk, q->out.control, &q->out.bulk))
    engine_failed(j, q, "it cannot be connected to");
  else if (!q->in.control && t->accept(q->control_ear, &q->in.control))
    engine_failed(j, q, "its connection cannot be accepted");
  else if (!q->in.bulk && t->accept(q->bulk_ear, &q->in.bulk))
    engine_failed(j, q, "its connection cannot be accepted");
  return !j->failed && q->out.control && q->out.bulk && q->in.control && q->in.bulk;
}

bool connect_round(net_job *j, Peer *q) {
  if (!q->control_ear || !q->bulk_ear) {
    fail(j, NET_STATE, q->process, "nobody has asked for its handle");
    return true;
  }
  if (!joined(j, q)) return false;
  if (!q->registered) {
    q->registered = registers(j, &q->out, q->process) && registers(j, &q->in, j->process);
    if (!q->registered) engine_failed(j, q, "memory cannot be registered");
    return true;
  }
  greet(j, q);
  if (!q->dead && q->out.greeted) heed(j, q);  // so that a failure can be reported
  const bool out = !q->dead && !j->failed && finish_hello(j, q, &q->out), in = out && finish_hello(j, q, &q->in);
  q->ready = in && q->out.greeted && q->in.greeted && !j->failed && !q->dead;
  if (q->ready) q->received = j->proxy->now;
  return q->ready;
}

static void end_line(const net_job *j, Line *l) {
  const transport_table *t = table_of(j);
  if (l->control_room) t->dereg(l->control, l->control_room);
  if (l->bulk_room) t->dereg(l->bulk, l->bulk_room);
  for (u32 r = 0; r < j->program.ranks; r++)
    if (l->scratch[r]) t->dereg(l->bulk, l->scratch[r]);
}

void job_end(net_job *j) {
  const transport_table *t = table_of(j);
  for (u32 i = 0; i < j->peers; i++) {
    Peer *q = j->peer + i;
    end_line(j, &q->out), end_line(j, &q->in);
    void *const to[] = {q->out.control, q->out.bulk}, *const from[] = {q->in.control, q->in.bulk};
    void *const ears[] = {q->control_ear, q->bulk_ear};
    for (void *one : to)
      if (one) t->close_to(one);
    for (void *one : from)
      if (one) t->close_from(one);
    for (void *one : ears)
      if (one) t->close_ear(one);
  }
}
