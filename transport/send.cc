// This file sends: rows of lanes as posts, a row of each of a block's replicas, and the data of large ones after them.
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

// say sends what lies in that memory, after its header.
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
  l.slot[l.tail % TRANSPORT_REQUESTS].note = UNNOTED;
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
    const Slot &s = l.slot[l.head % TRANSPORT_REQUESTS];
    done = 0;
    if (table_of(j)->test(j->proxy->engine, s.request, &done, &bytes)) {
      lost(j, q, false);
      break;
    }
    if (done) note_end(j, s.note);
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
    if (!next_piece(j->program, *b.message, b.post, &next, &piece)) {
      f.head++;
      continue;
    }
    const u32 rank = b.post.h.rank;
    void **request = &f.piece[f.last % TRANSPORT_REQUESTS].request;
    const void *data = (const u8 *)j->memory[rank].scratch + piece.at;
    if (table_of(j)->send(q->out.bulk, data, piece.bytes, q->out.scratch[rank], request)) {
      lost(j, q, false);
      return true;
    }
    if (!*request) break;
    f.piece[f.last % TRANSPORT_REQUESTS].note = b.note;
    b.next = next, f.last++, found = true;
    net_count(&j->counts.pieces, 1);
  }
  return found;
}

static bool finish_pieces(net_job *j, Peer *q) {
  Flow &f = q->out.flow;
  const u64 before = f.first;
  size_t bytes;
  for (int done = 1; f.first < f.last && done; f.first += done) {
    const auto &p = f.piece[f.first % TRANSPORT_REQUESTS];
    done = 0;
    if (table_of(j)->test(j->proxy->engine, p.request, &done, &bytes)) {
      lost(j, q, false);
      break;
    }
    if (done) note_end(j, p.note);
  }
  return f.first != before;
}

bool send_round(net_job *j, Peer *q) {
  bool found = finish_said(j, q);
  if (!q->dead) found |= finish_pieces(j, q);
  if (!q->dead) found |= begin_pieces(j, q);
  return found;
}

// next_row is the next row of a lane, or null where it is not there yet.
static const abi_net_row *next_row(const Lane &l) {
  const abi_net_row *row = l.at->row + l.taken % NET_DEPTH;
  return __atomic_load_n(&row->seq, __ATOMIC_ACQUIRE) == l.taken + 1 ? row : nullptr;
}

// replicas_of is how many of a group's replicas a launch has whose first row of them is given.
static u32 replicas_of(const net_job *j, const Group &g, const abi_net_row &row) {
  const u32 first = j->lane[g.first].replica, all = row.replicas > first ? row.replicas - first : 0;
  return all < g.lanes ? all : g.lanes;
}

// all_come says whether the next row of each of these replicas is there.
static bool all_come(const net_job *j, Group *g, u32 replicas) {
  while (g->come < replicas && next_row(j->lane[g->first + g->come])) g->come++;
  return g->come >= replicas;
}

static bool alike(const abi_net_row &a, const abi_net_row &b) {
  return a.operand == b.operand && a.replicas == b.replicas && a.rank == b.rank && a.flag == b.flag &&
         a.elems == b.elems && a.chunk == b.chunk;
}

// post_of makes a post of the next rows of a group. Where they are not alike it has no replicas, which check_post sees.
static void post_of(const net_job *j, const Group &g, u32 replicas, wire_post *post) {
  const Lane *l = j->lane + g.first;
  const abi_net_row &first = *next_row(*l);
  wire_header h = {};
  h.kind = WIRE_POST, h.epoch = j->epoch;
  h.block = l->block, h.replica = l->replica;
  h.replicas = first.replicas > j->program.replicas ? 0 : replicas;
  h.operand = first.operand, h.rank = first.rank, h.flag = first.flag, h.elems = first.elems, h.chunk = first.chunk;
  for (u32 i = 0; i < replicas; i++) {
    const abi_net_row &row = *next_row(l[i]);
    if (!alike(row, first)) h.replicas = 0;
    post->part[i] = wire_part{row.count, row.first, row.end, row.copy, 0};
  }
  post->h = h;
}

// gather copies the data of a small post after its parts.
static void gather(const net_job *j, const net_message &m, const wire_post &post, u8 *to) {
  const u8 *scratch = (const u8 *)j->memory[post.h.rank].scratch;
  Piece piece;
  for (Cursor c = {}; next_piece(j->program, m, post, &c, &piece); to += piece.bytes)
    memcpy(to, scratch + piece.at, piece.bytes);
}

// send_post sends the next rows of a group, or is false where they must wait. Rows for who has gone are taken, and go
// nowhere.
static bool send_post(net_job *j, const Group &g, u32 replicas) {
  const u32 rank = next_row(j->lane[g.first])->rank;
  Peer *q = rank < j->program.ranks && j->peer_of[rank] != ~0u ? j->peer + j->peer_of[rank] : nullptr;
  u8 *room = q && !q->dead ? room_to_say(q) : nullptr;
  if (q && !q->dead && (!room || q->out.flow.tail - q->out.flow.head >= PENDING)) return false;
  wire_post post;
  Checked checked;
  post_of(j, g, replicas, &post);
  const char *wrong = check_post(j->program, post, j->process, q ? q->process : ~0u, j->memory, &checked);
  if (wrong) {
    fail(j, NET_BROKEN, ~0u, "block %u wrote a row that cannot be: %s", j->lane[g.first].block, wrong);
    return false;
  }
  if (q->dead) return true;
  const bool large = checked.bytes > NET_INSIDE;
  const u32 parts = parts_bytes(post.h);
  memcpy(room + sizeof post.h, post.part, parts);
  post.h.inside = parts + (large ? 0 : (u32)checked.bytes);
  if (!large) gather(j, *checked.message, post, room + sizeof post.h + parts);
  const u64 begin = note_time(j);
  if (!say(j, q, &post.h)) return false;
  const u64 number = note(j, q, post, checked.bytes, false, begin);
  q->out.slot[(q->out.tail - 1) % TRANSPORT_REQUESTS].note = number;
  Flow &f = q->out.flow;
  if (large) f.post[f.tail++ % PENDING] = Bulk{post, checked.message, {}, false, 0, number};
  net_count(&j->counts.sent, 1), net_count(&j->counts.sent_bytes, checked.bytes);
  return true;
}

// group_round sends what a group's replicas have written, and says whether anything was.
static bool group_round(net_job *j, Group *g, bool *waiting) {
  bool found = false;
  while (!j->failed) {
    Lane *l = j->lane + g->first;
    const abi_net_row *first = next_row(*l);
    if (!first) break;
    const u32 replicas = replicas_of(j, *g, *first);
    if (!all_come(j, g, replicas)) break;
    if (!send_post(j, *g, replicas)) {
      *waiting = true;
      break;
    }
    for (u32 i = 0; i < replicas; i++) __atomic_store_n(&l[i].at->taken, ++l[i].taken, __ATOMIC_RELEASE);
    g->come = 0, found = true;
  }
  return found;
}

// lanes_round sends what the kernels have written, and begins with its data at once.
bool lanes_round(net_job *j, bool *waiting) {
  bool found = false;
  for (u32 i = 0; i < j->groups && !j->failed; i++) found |= group_round(j, j->group + i, waiting);
  for (u32 i = 0; found && i < j->peers && !j->failed; i++)
    if (j->peer[i].ready && !j->peer[i].dead) begin_pieces(j, j->peer + i);
  return found;
}
