// This file is a round of a job: what is to be done, and whether its peers live.
#include "job.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void fail(net_job *j, net_code code, u32 process, const char *format, ...) {
  if (j->failed) return;
  j->failure.code = code, j->failure.process = process;
  va_list list;
  va_start(list, format);
  vsnprintf(j->failure.text, sizeof j->failure.text, format, list);
  va_end(list);
  net_set(&j->failed, 1);
}

void lost(net_job *j, Peer *q, bool deaf) {
  if (!q->dead) {
    const char *why = j->proxy->table->why(j->proxy->engine);
    snprintf(q->why, sizeof q->why, "%s", why ? why : "");
    q->lost = j->proxy->now;
  }
  q->dead = true, q->deaf |= deaf;
}

// judge says what it means that a peer was lost: what it had said before may be a goodbye.
static void judge(net_job *j, Peer *q) {
  const bool owes = q->in.flow.head != q->in.flow.tail;
  if (!q->dead || (q->left && !owes)) return;
  char between[BETWEEN] = "";
  if (!q->deaf && (j->proxy->now - q->lost <= GRACE_NS || q->rounds_lost++ < GRACE_ROUNDS)) return;
  if (!q->ready) cards_between(j, q, between);
  fail(j, NET_GONE, q->process, "the connection has ended: %s%s", q->why, between);
}

// tell sends the last header that a peer gets, once.
static void tell(net_job *j, Peer *q) {
  if (q->parted || q->dead || !q->out.greeted) return;
  wire_header h = {};
  h.kind = WIRE_BYE;
  if (j->failed) {
    h.kind = WIRE_FAULT, h.operand = j->failure.code, h.rank = j->failure.process;
    h.inside = (u32)strlen(j->failure.text);
  } else if (j->exit_marks) {
    h.kind = WIRE_EXIT, h.elems = j->exit_launches, h.inside = j->exit_count * (u32)sizeof *j->exit_marks;
  }
  q->parted = say_to(j, q, &h, j->failed ? (const void *)j->failure.text : j->exit_marks);
}

static void beat(net_job *j, Peer *q) {
  const u64 now = j->proxy->now;
  if (now - q->spoke >= BEAT_NS && !q->parted) {
    wire_header h = {};
    h.kind = WIRE_BEAT;
    if (say_to(j, q, &h, nullptr)) net_count(&j->counts.beats, 1);
  }
  if (now - q->received > j->proxy->silence && !q->left)
    fail(j, NET_SILENT, q->process, "nothing has come for %llu ms", (now - q->received) / MS);
}

// turn_over sends the mark after which all is of the new epoch, when all before it has gone.
static void turn_over(net_job *j, Peer *q) {
  if (q->epoch_sent == j->epoch || !drained(q)) return;
  wire_header h = {};
  h.kind = WIRE_RESET;
  if (say_to(j, q, &h, nullptr)) q->epoch_sent = j->epoch;
}

// answer lets a peer that exits go, when all that it has sent is here.
static void answer(net_job *j, Peer *q) {
  wire_header h = {};
  h.kind = WIRE_KNOWN;
  if (q->owes_answer && q->in.flow.head == q->in.flow.tail) q->owes_answer = !say_to(j, q, &h, nullptr);
}

static bool peer_round(net_job *j, Peer *q) {
  bool found = false;
  if (!q->ready && !q->dead && j->phase >= CONNECTING) found = connect_round(j, q);
  if (q->out.greeted && !q->dead && !j->failed) found |= send_round(j, q);
  if (q->in.greeted && q->in.hello_begun && !q->deaf && !j->failed) found |= receive_round(j, q);
  if (q->ready && !q->dead) beat(j, q);
  if (q->ready && !q->dead) turn_over(j, q);
  if (q->ready && !q->dead) answer(j, q);
  judge(j, q);
  return found;
}

// everywhere says whether something holds for all peers that are to be reckoned with.
template <class F> static bool everywhere(const net_job *j, F holds) {
  for (u32 i = 0; i < j->peers; i++)
    if (!j->peer[i].dead && !holds(j->peer + i)) return false;
  return true;
}

// missing is the first peer for which something does not hold. There is one.
template <class F> static const Peer *missing(const net_job *j, F holds) {
  const Peer *q = j->peer;
  while (holds(q)) q++;
  return q;
}

// late_fails says by which cards the connection to a peer did not come about.
static void late_fails(net_job *j, const Peer *q) {
  char between[BETWEEN];
  cards_between(j, q, between);
  fail(j, NET_SILENT, q->process, "no connection came about within %.3g s%s", (double)j->limit / 1e9, between);
}

static void await_ready(net_job *j, bool late) {
  const auto ready = [](const Peer *q) { return q->ready; };
  if (everywhere(j, ready)) j->phase = RUNNING, net_set(&j->settled, 1);
  else if (late) late_fails(j, missing(j, ready));
}

static void await_reset(net_job *j, bool late) {
  const u32 epoch = j->epoch;
  const auto there = [epoch](const Peer *q) {
    return q->epoch_sent == epoch && q->epoch == epoch && q->in.flow.head == q->in.flow.tail;
  };
  if (everywhere(j, there)) j->phase = RUNNING, net_set(&j->settled, 1);
  else if (late) fail(j, NET_SILENT, missing(j, there)->process, "no reset came in time");
}

// await_end says goodbye when all rows have gone, and is settled when all peers have, too.
static void await_end(net_job *j, bool rows, bool late) {
  const bool failed = j->failed;
  const auto gone = [](const Peer *q) { return drained(q); };
  if (!rows && everywhere(j, gone))
    for (u32 i = 0; i < j->peers; i++) tell(j, j->peer + i);
  const auto over = [failed](const Peer *q) {
    return !q->out.greeted ||
           (q->parted && q->out.head == q->out.tail && (failed || !q->ready || q->left || q->knows_exit));
  };
  if (late || everywhere(j, over)) net_set(&j->settled, 1);
}

// A job that has failed carries nothing more: its peers are notified, and it goes on only for what was sent to arrive.
static void failed_round(net_job *j) {
  for (u32 i = 0; i < j->peers; i++) {
    Peer *q = j->peer + i;
    if (q->out.greeted && !q->dead) send_round(j, q);
    tell(j, q);
  }
}

bool job_round(net_job *j) {
  const bool late = j->phase != RUNNING && j->proxy->now > j->deadline;
  bool found = false, rows = false;
  if (!j->failed) {
    for (u32 i = 0; i < j->peers && !j->failed; i++) found |= peer_round(j, j->peer + i);
    if (!j->failed && (j->phase == RUNNING || j->phase == CLOSING)) found |= lanes_round(j, &rows);
  }
  if (j->failed) failed_round(j);
  else if (j->phase == CONNECTING) await_ready(j, late);
  else if (j->phase == RETURNING) await_reset(j, late);
  if (j->phase == CLOSING) await_end(j, rows, late);
  return found;
}
