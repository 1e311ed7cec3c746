// This file checks the tables of programs: every number by which the engine or a kernel finds something else.
// bundle/decode_part.go and bundle/net.go check the same.
#include "bundle.h"

void pieces_of(const bundle_program &p, u32 rank, u32 *in, u32 *out) {
  const u32 all = p.ranks, at_root = rank == p.root;
  *in = *out = 1;
  switch (p.kind) {
    case KIND_ALLGATHER: *out = all; return;
    case KIND_REDUCESCATTER: *in = all; return;
    case KIND_ALLTOALL: *in = *out = all; return;
    case KIND_BROADCAST: *in = at_root; return;
    case KIND_REDUCE: *out = at_root; return;
    case KIND_GATHER: *out = at_root * all; return;
    case KIND_SCATTER: *in = at_root * all; return;
  }
}

namespace {

// A View is a program while a rank's part of it is checked.
struct View {
  const bundle_program *row;
  const bundle_buffer *buffer;
  const bundle_net *net;
  const u8 *node;
  u32 rank;
};

// buffer_has says whether a rank that the step's block may reach has at least `last` chunks of input or output.
bool buffer_has(const View &v, const abi_one_operand &o, u64 last) {
  const bundle_program &p = *v.row;
  u32 in, out;
  pieces_of(p, (u32)o.rank, &in, &out);
  u64 chunks = (u64)(o.buf == BUF_INPUT ? in : out) * p.chunks;
  // named_calls has seen that such a program has buffers.
  if (p.kind == KIND_CUSTOM) chunks = v.buffer[o.buf == BUF_INPUT ? 0 : 1].units[o.rank];
  return ((u32)o.rank == v.rank || p.direct) && last <= chunks;
}

// reaches says whether a step may have an operand of a rank of another node: data for its inbox, or flags that it
// signals.
bool reaches(const View &v, const abi_one_step &s, const abi_one_operand &o) {
  if (v.node[o.rank] == v.node[v.rank]) return true;
  return OP_MOVES(s.op) ? o.buf == BUF_INBOX : s.op == OP_SIGNAL;
}

bool check_operand(const View &v, const abi_one_step &s, const abi_one_operand &o) {
  const bundle_program &p = *v.row;
  const u64 last = (u64)o.index + (s.count ? s.count : 1);
  if (o.rank < 0 || (u32)o.rank >= p.ranks || !reaches(v, s, o)) return false;
  switch (o.buf) {
    case BUF_SCRATCH: return OP_MOVES(s.op) && last <= p.scratch;
    case BUF_PACKETS: return OP_MOVES(s.op) && last <= p.packets;
    case BUF_FLAGS:
    case BUF_INBOX_FLAGS: return !OP_MOVES(s.op) && o.index < p.flags && (o.buf == BUF_FLAGS || v.net);
    case BUF_INBOX: return OP_MOVES(s.op) && v.net && last <= v.net->inbox;
    case BUF_INPUT:
    case BUF_OUTPUT:
      return OP_MOVES(s.op) && buffer_has(v, o, last) && o.b < p.chunks && o.a >= 0 &&
             (u64)o.a * p.chunks + o.b == o.index;
  }
  return false;
}

bool check_step(const View &v, const abi_one_block &b, const abi_one_step *steps, u32 i,
                const abi_one_operand *operands) {
  const abi_one_step &s = steps[i];
  const u64 last = (u64)s.first + s.srcs + s.dsts;
  if ((!OP_MOVES(s.op) && s.op != OP_SIGNAL && s.op != OP_AWAIT && s.op != OP_NOP) || last > b.operands) return false;
  if (s.first_class >= v.row->chunks) return false;
  if (s.group < 1 || s.group > b.steps - i || (OP_MOVES(s.op) && (!s.srcs || !s.dsts))) return false;
  if (!OP_MOVES(s.op) && ((s.op != OP_AWAIT && s.srcs) || (s.op != OP_SIGNAL && s.dsts))) return false;
  for (u32 k = 1; k < s.group; k++)  // those that run together are alike, each of one source
    if (s.op != OP_MOVE || steps[i + k].op != OP_MOVE || steps[i + k].srcs != 1 || s.srcs != 1) return false;
  for (u64 k = s.first; k < last; k++)
    if (!check_operand(v, s, operands[k])) return false;
  return true;
}

// narrow says whether replicas of a block may share a CTA: of that many blocks a launch says so (rows_net.h).
bool narrow(u32 block) { return block < 32 * NET_NARROW; }

}  // namespace

bool check_part(const Program &p, u32 rank, const u8 *node, u32 *number) {
  const View v = {p.row, p.buffer, p.net, node, rank};
  const bundle_part &part = p.part[rank];
  u32 step = 0, operand = 0, together = 0;
  for (u32 i = 0; i < part.blocks; i++, ++*number) {
    const abi_one_block &b = blocks_of(p, rank)[i];
    if (b.together && b.together != 2 && b.together != NET_TOGETHER) return false;
    if (b.together && together && b.together != together) return false;
    together |= b.together;
    if (b.rank != rank || b.number != *number || b.first_step != step || b.first_operand != operand ||
        b.steps > part.steps - step || b.operands > part.operands - operand || b.pad)
      return false;
    for (u32 k = 0; k < b.steps; k++)
      if (!check_step(v, b, steps_of(p, rank) + step, k, operands_of(p, rank) + operand)) return false;
    step += b.steps, operand += b.operands;
  }
  return step == part.steps && operand == part.operands;
}

// block_by gives a block by its number in the whole program, which must be one.
static const abi_one_block &block_by(const Program &p, u32 number) {
  u32 rank = 0;
  while (number >= p.part[rank].blocks) number -= p.part[rank++].blocks;
  return blocks_of(p, rank)[number];
}

bool check_net(const Program &p, const u8 *node) {
  const bundle_net &n = *p.net;
  u64 next = 0;
  for (u32 i = 0; i < n.messages; i++) {
    const net_message &m = p.message[i], *last = i ? &m - 1 : nullptr;
    if (m.block >= p.row->blocks || m.rank >= p.row->ranks || m.first != next) return false;
    const abi_one_block &b = block_by(p, m.block);
    if (node[b.rank] == node[m.rank] || m.operand >= b.operands || (next += m.segments) > n.segments) return false;
    if (last && (last->block > m.block || (last->block == m.block && last->operand >= m.operand))) return false;
  }
  for (u32 i = 0; i < n.segments; i++) {
    const net_segment &s = p.segment[i];
    if (!s.count || (u64)s.index + s.count > n.inbox || s.first_class >= p.row->chunks) return false;
  }
  return next == n.segments;
}

u64 pinned_of(const Program &p) {
  if (!p.net) return 0;
  Layout l;
  if (!layout_of(p.row, &l)) return ~0ull;
  const u64 scratch = p.net->inbox * l.scratch_stride * p.row->replicas * p.row->depth;
  u16 writes[BUNDLE_RANKS] = {}, signalled = 0;  // the ranks that a rank writes; those that are signalled
  static_assert(BUNDLE_RANKS <= 16, "a bit for each rank");
  for (u32 i = 0; i < p.net->messages; i++) {
    const net_message &m = p.message[i];
    signalled |= (u16)(1 << m.rank);
    if (m.segments) writes[block_by(p, m.block).rank] |= (u16)(1 << m.rank);
  }
  u64 most = 0;
  for (u32 r = 0; r < p.row->ranks; r++) {
    u64 need = (u64)p.part[r].blocks * p.row->replicas * sizeof(abi_net_lane);
    need += (u64)__builtin_popcount(writes[r]) * scratch;
    if (signalled >> r & 1) need += scratch + l.flag_mem;
    if (need > most) most = need;
  }
  return most;
}

u32 ctas_of(const Program &p, u32 replicas) {
  u32 most = 0;
  for (u32 r = 0; r < p.row->ranks; r++) {
    u32 n = 0;
    for (u32 i = 0; i < p.part[r].blocks; i++) {
      const u32 together = p.row->nodes && narrow(i) ? blocks_of(p, r)[i].together : 0;
      n += together ? (replicas + together - 1) / together : replicas;
    }
    if (n > most) most = n;
  }
  return most;
}

u32 shared_of(const Program &p) {
  u32 most = 1;
  for (u32 r = 0; r < p.row->ranks; r++)
    for (u32 i = 0; i < p.part[r].blocks && narrow(i); i++)
      if (blocks_of(p, r)[i].together > most) most = blocks_of(p, r)[i].together;
  return most;
}
