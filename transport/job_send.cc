// This file sends: rows of lanes as posts, and the data of large ones behind them.
#include "job.h"

#include <string.h>

static const transport_table *table_of(const net_job *j) { return j->proxy->table; }

bool drained(const Peer *q) {
  const Flow &f = q->out.flow;
  return q->out.head == q->out.tail && f.head == f.tail && f.first == f.last;
}

// room_to_say is the memory of the next message of the control connection, or null while all is under way.
static u8 *room_to_say(Peer *q) {
  Line &l = q->out;
  return l.tail - l.head < TRANSPORT_REQUESTS ? l.room + l.tail % TRANSPORT_REQUESTS * WIRE_MOST : nullptr;
}

// say sends what lies in that memory, behind its header.
static bool say(net_job *j, Peer *q, wire_header *h) {
  Line &l = q->out;
  h->magic = WIRE_MAGIC, h->number = l.number;
  u8 *room = room_to_say(q);
  memcpy(room, h, sizeof *h);
  void **request = &l.slot[l.tail % TRANSPORT_REQUESTS].request;
  if (table_of(j)->send(l.control, room, sizeof *h + h->inside, l.control_room, request)) {
    lost(j, q, false);
    return false;
  }
  if (!*request) return false;
  l.tail++, l.number++, q->spoke = j->proxy->now;
  return true;
}

bool say_to(net_job *j, Peer *q, wire_header *h, const void *inside) {
  u8 *room = room_to_say(q);
  if (!room || q->dead) return false;
  if (h->inside) memcpy(room + sizeof *h, inside, h->inside);
  h->epoch = j->epoch;
  return say(j, q, h);
}

// finish_said frees the memory of messages that have gone.
static bool finish_said(net_job *j, Peer *q) {
  Line &l = q->out;
  const u64 before = l.head;
  size_t bytes;
  for (int done = 1; l.head < l.tail && done; l.head += done) {
    done = 0;
    if (table_of(j)->test(j->proxy->engine, l.slot[l.head % TRANSPORT_REQUESTS].request, &done, &bytes)) {
      lost(j, q, false);
      break;
    }
  }
  return l.head != before;
}

// begin_pieces sends the data of large posts as far as the connection takes them.
static bool begin_pieces(net_job *j, Peer *q) {
  Flow &f = q->out.flow;
  bool found = false;
  while (!j->failed && f.head < f.tail && f.last - f.first < TRANSPORT_REQUESTS) {
    Bulk &b = f.post[f.head % PENDING];
    Cursor next = b.next;
    Piece piece;
    if (!next_piece(j->program, *b.message, b.header, &next, &piece)) {
      f.head++;
      continue;
    }
    const u32 rank = b.header.rank;
    void **request = &f.piece[f.last % TRANSPORT_REQUESTS].request;
    const void *data = (const u8 *)j->memory[rank].scratch + piece.at;
    if (table_of(j)->send(q->out.bulk, data, piece.bytes, q->out.scratch[rank], request)) {
      lost(j, q, false);
      return true;
    }
    if (!*request) break;
    b.next = next, f.last++, found = true;
  }
  return found;
}

static bool finish_pieces(net_job *j, Peer *q) {
  Flow &f = q->out.flow;
  const u64 before = f.first;
  size_t bytes;
  for (int done = 1; f.first < f.last && done; f.first += done) {
    done = 0;
    if (table_of(j)->test(j->proxy->engine, f.piece[f.first % TRANSPORT_REQUESTS].request, &done, &bytes)) {
      lost(j, q, false);
      break;
    }
  }
  return f.first != before;
}

bool send_round(net_job *j, Peer *q) {
  bool found = finish_said(j, q);
  if (!q->dead) found |= finish_pieces(j, q);
  if (!q->dead) found |= begin_pieces(j, q);
  return found;
}

static wire_header header_of(const Lane &l, const abi_net_row &row) {
  wire_header h = {};
  h.kind = WIRE_POST;
  h.block = l.block, h.column = l.column, h.operand = row.operand;
  h.copy = row.copy, h.rank = row.rank, h.flag = row.flag;
  h.count = row.count, h.first = row.first, h.end = row.end, h.elems = row.elems, h.chunk = row.chunk;
  return h;
}

// gather copies the data of a small post behind its header.
static void gather(const net_job *j, const net_message &m, const wire_header &h, u8 *to) {
  const u8 *scratch = (const u8 *)j->memory[h.rank].scratch;
  Piece piece;
  for (Cursor c = {}; next_piece(j->program, m, h, &c, &piece); to += piece.bytes)
    memcpy(to, scratch + piece.at, piece.bytes);
}

// post_row sends a row, or is false where it must wait. A row for who has gone is taken, and goes nowhere.
static bool post_row(net_job *j, const Lane &l, const abi_net_row &row) {
  wire_header h = header_of(l, row);
  Peer *q = h.rank < j->program.ranks && j->peer_of[h.rank] != ~0u ? j->peer + j->peer_of[h.rank] : nullptr;
  Checked post;
  const char *wrong = check_post(j->program, h, j->process, q ? q->process : ~0u, j->memory, &post);
  if (wrong) {
    fail(j, NET_BROKEN, ~0u, "block %u wrote a row that cannot be: %s", l.block, wrong);
    return false;
  }
  if (q->dead) return true;
  u8 *room = room_to_say(q);
  Flow &f = q->out.flow;
  if (!room || f.tail - f.head >= PENDING) return false;
  if (post.bytes <= WIRE_INSIDE) h.inside = (u32)post.bytes;
  if (h.inside) gather(j, *post.message, h, room + sizeof h);
  h.epoch = j->epoch;
  if (!say(j, q, &h)) return false;
  if (post.bytes > WIRE_INSIDE) f.post[f.tail++ % PENDING] = Bulk{h, post.message, {}, false, 0};
  net_count(&j->counts.sent, 1), net_count(&j->counts.sent_bytes, post.bytes);
  return true;
}

// lanes_round sends what the kernels have written, and begins with its data at once.
bool lanes_round(net_job *j, bool *waiting) {
  bool found = false;
  for (u32 i = 0; i < j->lanes && !j->failed; i++) {
    Lane &l = j->lane[i];
    for (;;) {
      const abi_net_row *row = l.at->row + l.taken % NET_DEPTH;
      if (__atomic_load_n(&row->seq, __ATOMIC_ACQUIRE) != l.taken + 1) break;
      if (!post_row(j, l, *row)) {
        *waiting = true;
        break;
      }
      __atomic_store_n(&l.at->taken, ++l.taken, __ATOMIC_RELEASE);
      found = true;
    }
  }
  for (u32 i = 0; found && i < j->peers && !j->failed; i++)
    if (j->peer[i].ready && !j->peer[i].dead) begin_pieces(j, j->peer + i);
  return found;
}
