// This file says what a post moves, and whether it can be believed.
#include "wire.h"

static u64 least(u64 a, u64 b) { return a < b ? a : b; }

u64 iteration_bytes_of(const wire_header &h, const wire_part &part, u32 k) {
  u64 first;
  if (__builtin_mul_overflow((u64)k, h.chunk, &first) || first >= h.elems) return 0;
  const u64 length = least(h.chunk, h.elems - first);
  return least(length, part.end) - least(length, part.first);
}

bool next_cell(const net_program &p, const net_message &m, const wire_post &post, Cursor *c, Piece *piece) {
  const wire_header &h = post.h;
  for (; c->segment < m.segments; c->segment++, c->chunk = 0) {
    const net_segment &s = p.segments[m.first + c->segment];
    for (; c->chunk < s.count; c->chunk++, c->replica = 0)
      while (c->replica < h.replicas) {
        const u32 i = c->replica++;
        const wire_part &part = post.part[i];
        const u64 cell = (u64)(s.index + c->chunk) * p.replicas + h.replica + i;
        *piece = Piece{part.copy * p.scratch_copy + cell * p.scratch_stride,
                       iteration_bytes_of(h, part, (s.first_class + c->chunk) % p.chunks)};
        if (piece->bytes) return true;
      }
  }
  return false;
}

bool next_piece(const net_program &p, const net_message &m, const wire_post &post, Cursor *c, Piece *piece) {
  if (!next_cell(p, m, post, c, piece)) return false;
  Piece more;
  for (Cursor next = *c; next_cell(p, m, post, &next, &more) && more.at == piece->at + piece->bytes; *c = next)
    piece->bytes += more.bytes;
  return true;
}

const net_message *find_message(const net_program &p, u32 block, u32 operand) {
  u32 low = 0, high = p.message_count;
  while (low < high) {
    const u32 middle = low + (high - low) / 2;
    const net_message &m = p.messages[middle];
    if (m.block < block || (m.block == block && m.operand < operand)) low = middle + 1;
    else high = middle;
  }
  const net_message *m = p.messages + low;
  return low < p.message_count && m->block == block && m->operand == operand ? m : nullptr;
}

// check_data checks where the data of a message lie.
static const char *check_data(const net_program &p, const wire_post &post, const net_memory &memory, Checked *found) {
  for (u32 i = 0; i < post.h.replicas; i++) {
    if (post.part[i].copy >= p.depth) return "a copy that scratch does not have";
    if (post.part[i].first > post.part[i].end) return "bytes that end before they begin";
  }
  Piece piece;
  for (Cursor c = {}; next_cell(p, *found->message, post, &c, &piece); found->bytes += piece.bytes) {
    if (piece.bytes > p.scratch_stride) return "more bytes than a chunk has in scratch";
    if (piece.at > memory.scratch_bytes || piece.bytes > memory.scratch_bytes - piece.at) return "bytes after scratch";
  }
  return nullptr;
}

const char *check_post(const net_program &p, const wire_post &post, u32 from, u32 to, const net_memory *of_rank,
                       Checked *found) {
  const wire_header &h = post.h;
  *found = Checked{};
  if (h.block >= p.blocks || p.process[p.rank_of[h.block]] != from) return "a block that the sender does not have";
  if (h.rank >= p.ranks || p.process[h.rank] != to) return "a rank that the receiver does not have";
  if (h.replica >= p.replicas || h.replicas > p.replicas - h.replica) return "a replica that the launch does not have";
  if (!h.replicas || h.replicas > NET_REPLICAS || h.replica % NET_REPLICAS) return "replicas that do not go together";
  const net_memory &memory = of_rank[h.rank];
  if (h.flag >= p.flags) return "a flag that the program does not have";
  if (memory.flags && ((u64)(h.replica + h.replicas - 1) * p.flags + h.flag) * 8 + 8 > memory.flag_bytes)
    return "a flag after the flags";
  found->message = find_message(p, h.block, h.operand);
  if (!found->message || found->message->rank != h.rank) return "a message that the program does not have";
  return found->message->segments ? check_data(p, post, memory, found) : nullptr;
}

static const char *check_message(const net_program &p, const net_message &m) {
  if (m.block >= p.blocks || m.rank >= p.ranks) return "a message has a block or rank that does not exist";
  if (p.node[p.rank_of[m.block]] == p.node[m.rank]) return "a message stays within its node";
  if (m.first > p.segment_count || m.segments > p.segment_count - m.first) return "a message has segments beyond all";
  return nullptr;
}

const char *check_program(const net_program &p) {
  if (!p.replicas || !p.depth || !p.chunks || !p.ranks) return "replicas, depth, chunks and ranks are at least 1";
  u64 whole;
  if (__builtin_mul_overflow(p.scratch_copy, (u64)p.depth, &whole)) return "scratch is too long";
  u64 stride;  // from chunk to chunk
  if (__builtin_mul_overflow(p.scratch_stride, (u64)p.replicas, &stride)) return "scratch is too long";
  for (u32 b = 0; b < p.blocks; b++)
    if (p.rank_of[b] >= p.ranks) return "a block has a rank that does not exist";
  for (u32 i = 0; i < p.message_count; i++) {
    const net_message &m = p.messages[i], *before = i ? &m - 1 : nullptr;
    if (const char *wrong = check_message(p, m)) return wrong;
    if (before && (before->block > m.block || (before->block == m.block && before->operand >= m.operand)))
      return "messages are not sorted by block and operand";
  }
  for (u32 i = 0; i < p.segment_count; i++) {
    u64 end;
    if (__builtin_mul_overflow((u64)p.segments[i].index + p.segments[i].count, stride, &end) ||
        end > p.scratch_copy)
      return "a segment is longer than a copy of scratch";
  }
  return nullptr;
}
