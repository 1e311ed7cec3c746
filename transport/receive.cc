// This file receives: it checks each header before it believes it, has data arrive in scratch, and raises flags.
//
// The counts of a post are stored when all its data are there, and all posts of its lanes before it are stored.
#include "job.h"

#include <string.h>

static const transport_table *table_of(const net_job *j) { return j->proxy->table; }

// broken is a message that cannot be.
static bool broken(net_job *j, const Peer *q, const char *wrong) {
  fail(j, NET_BROKEN, q->process, "it sent a message that cannot be: %s", wrong);
  return false;
}

// raise stores the counts of a post. What was sent before a reset has no effect after it.
static void raise(net_job *j, const wire_post &post, u64 bytes, u64 noted) {
  const wire_header &h = post.h;
  net_count(&j->counts.received, 1), net_count(&j->counts.received_bytes, bytes);
  if (h.epoch != j->epoch) return;
  u64 *flag = (u64 *)j->memory[h.rank].flags + (u64)h.replica * j->program.flags + h.flag;
  for (u32 i = 0; i < h.replicas; i++, flag += j->program.flags)
    __atomic_store_n(flag, post.part[i].count, __ATOMIC_RELEASE);
  note_end(j, noted);
}

// begin_pieces asks for the data of posts, in their order.
static bool begin_pieces(net_job *j, Peer *q) {
  Flow &f = q->in.flow;
  bool found = false;
  while (f.at < f.tail && f.last - f.first < TRANSPORT_REQUESTS) {
    Bulk &b = f.post[f.at % PENDING];
    Cursor next = b.next;
    Piece piece;
    if (b.begun || !next_piece(j->program, *b.message, b.post, &next, &piece)) {
      b.begun = true, f.at++;
      continue;
    }
    const u32 rank = b.post.h.rank;
    auto &p = f.piece[f.last % TRANSPORT_REQUESTS];
    u8 *data = (u8 *)j->memory[rank].scratch + piece.at;
    if (table_of(j)->recv(q->in.bulk, data, piece.bytes, q->in.scratch[rank], &p.request)) {
      lost(j, q, false);
      return true;
    }
    if (!p.request) break;
    p.bytes = piece.bytes, p.post = &b;
    b.next = next, b.left++, f.last++, found = true;
  }
  return found;
}

static bool finish_pieces(net_job *j, Peer *q) {
  Flow &f = q->in.flow;
  bool found = false;
  while (f.first < f.last) {
    auto &p = f.piece[f.first % TRANSPORT_REQUESTS];
    int done = 0;
    size_t bytes = 0;
    if (table_of(j)->test(j->proxy->engine, p.request, &done, &bytes)) {
      lost(j, q, false);
      return true;
    }
    if (!done) break;
    f.first++, found = true, q->received = j->proxy->now;
    if (bytes != p.bytes) return broken(j, q, "data of another length than its header tells");
    p.post->left--;
  }
  return found;
}

// finish_posts stores the counts of posts whose data are there.
static bool finish_posts(net_job *j, Peer *q) {
  Flow &f = q->in.flow;
  bool found = false;
  for (; f.head < f.tail; f.head++, found = true) {
    const Bulk &b = f.post[f.head % PENDING];
    if (!b.begun || b.left) break;
    u64 bytes = 0;
    Piece piece;
    for (Cursor c = {}; next_piece(j->program, *b.message, b.post, &c, &piece);) bytes += piece.bytes;
    raise(j, b.post, bytes, b.note);
  }
  return found;
}

// follows says whether a post of the same lanes is yet to be stored.
static bool follows(const Flow &f, const wire_header &h) {
  for (u64 i = f.head; i < f.tail; i++) {
    const wire_header &before = f.post[i % PENDING].post.h;
    if (before.block == h.block && before.replica == h.replica) return true;
  }
  return false;
}

static void scatter(const net_job *j, const net_message &m, const wire_post &post, const u8 *from) {
  u8 *scratch = (u8 *)j->memory[post.h.rank].scratch;
  Piece piece;
  for (Cursor c = {}; next_piece(j->program, m, post, &c, &piece); from += piece.bytes)
    memcpy(scratch + piece.at, from, piece.bytes);
}

// take_post is false where the post must wait, or is broken.
static bool take_post(net_job *j, Peer *q, const wire_header &h, const u8 *inside) {
  Checked checked;
  Flow &f = q->in.flow;
  if (h.replicas > NET_REPLICAS || h.inside < parts_bytes(h)) return broken(j, q, "it is shorter than its parts");
  wire_post post;
  const u32 parts = parts_bytes(h);
  post.h = h, memcpy(post.part, inside, parts);
  const char *wrong = check_post(j->program, post, q->process, j->process, j->memory, &checked);
  if (wrong) return broken(j, q, wrong);
  const bool large = checked.bytes > NET_INSIDE;
  if (h.inside - parts != (large ? 0 : checked.bytes)) return broken(j, q, "data of another length");
  if (h.epoch != q->epoch) return broken(j, q, "a post of another reset");
  const bool ahead = q->epoch > j->epoch || (q->epoch == j->epoch && j->phase != CLOSING && j->phase >= RESETTING);
  if (ahead || f.tail - f.head >= PENDING) return false;
  if (!large) scatter(j, *checked.message, post, inside + parts);
  const u64 number = note(j, q, post, checked.bytes, true, note_time(j));
  if (large || follows(f, h)) f.post[f.tail++ % PENDING] = Bulk{post, checked.message, {}, !large, 0, number};
  else raise(j, post, checked.bytes, number);
  return true;
}

// take_fault has the job fail as the peer's did.
static bool take_fault(net_job *j, Peer *q, const wire_header &h, const u8 *inside) {
  q->left = true;
  if (h.operand <= NET_OK || h.operand > NET_STATE) return broken(j, q, "a failure of no kind");
  const int n = h.inside < sizeof j->failure.text ? (int)h.inside : (int)sizeof j->failure.text - 1;
  const u32 process = h.rank == ~0u ? q->process : h.rank;
  fail(j, (net_code)h.operand, process, "%.*s", n, (const char *)inside);
  return false;
}

// take_exit keeps what a peer has finished, whose process ends.
static bool take_exit(net_job *j, Peer *q, const wire_header &h, const u8 *inside) {
  if (h.inside % sizeof *q->marks || h.inside / sizeof *q->marks > WIRE_MARKS)
    return broken(j, q, "marks of another length");
  q->left = q->owes_answer = true;
  q->launches = h.elems, q->mark_count = h.inside / (u32)sizeof *q->marks;
  memcpy(q->marks, inside, h.inside);
  j->exit_order[j->exits] = (u32)(q - j->peer);
  net_set(&j->exits, j->exits + 1);
  return true;
}

// take does what a message says; false where it must wait, or is broken.
static bool take(net_job *j, Peer *q, const u8 *message, u64 bytes) {
  wire_header h;
  if (bytes < sizeof h) return broken(j, q, "it is shorter than a header");
  memcpy(&h, message, sizeof h);
  if (h.magic != WIRE_MAGIC) return broken(j, q, "it does not begin as a header does");
  if (h.number != q->in.number) return broken(j, q, "one before it is missing");
  if (h.inside != bytes - sizeof h) return broken(j, q, "it has another length than it tells");
  if (q->left) return broken(j, q, "it comes after the last");
  switch (h.kind) {
    case WIRE_POST: return take_post(j, q, h, message + sizeof h);
    case WIRE_BEAT: return true;
    case WIRE_RESET:
      if (q->epoch > j->epoch) return broken(j, q, "a reset that nobody has asked for");
      q->epoch++;
      return true;
    case WIRE_BYE: q->left = true; return true;
    case WIRE_EXIT: return take_exit(j, q, h, message + sizeof h);
    case WIRE_KNOWN: q->knows_exit = j->exit_marks != nullptr; return true;
    case WIRE_FAULT: return take_fault(j, q, h, message + sizeof h);
  }
  return broken(j, q, "it is of no kind");
}

// listen has room for the peer's messages, and sees which are there.
static bool listen(net_job *j, Peer *q) {
  Line &l = q->in;
  const u64 before = l.came;
  for (; l.tail - l.head < TRANSPORT_REQUESTS; l.tail++) {
    void **request = &l.slot[l.tail % TRANSPORT_REQUESTS].request;
    u8 *room = l.room + l.tail % TRANSPORT_REQUESTS * WIRE_MOST;
    if (table_of(j)->recv(l.control, room, WIRE_MOST, l.control_room, request)) {
      lost(j, q, true);
      return true;
    }
    if (!*request) break;
  }
  for (int done = 1; l.came < l.tail && done; l.came += done) {
    Slot &s = l.slot[l.came % TRANSPORT_REQUESTS];
    size_t bytes = 0;
    done = 0;
    if (table_of(j)->test(j->proxy->engine, s.request, &done, &bytes)) {
      lost(j, q, true);
      return true;
    }
    s.bytes = bytes;
  }
  if (l.came != before) q->received = j->proxy->now;
  return l.came != before;
}

bool receive_round(net_job *j, Peer *q) {
  Line &l = q->in;
  bool found = listen(j, q);
  while (!j->failed && l.head < l.came) {
    const Slot &s = l.slot[l.head % TRANSPORT_REQUESTS];
    if (!take(j, q, l.room + l.head % TRANSPORT_REQUESTS * WIRE_MOST, s.bytes)) break;
    l.head++, l.number++, found = true;
  }
  if (!q->dead && !j->failed) found |= begin_pieces(j, q);
  if (!q->dead && !j->failed) found |= finish_pieces(j, q);
  if (!j->failed) found |= finish_posts(j, q);
  return found;
}
