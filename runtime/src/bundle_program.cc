// This file checks the sections of programs and images: every number that the engine or a kernel reads.
#include "bundle.h"

#include <string.h>

namespace {

enum { MOST_COLUMNS = 1 << 12, MOST_TILE = 1 << 30, MOST_BLOCKS = 1 << 12, MOST_DEPTH = 1 << 16, CHUNK_ALIGN = 128 };

// pieces_of is how many pieces a rank's input and output have, as Collective.Pieces in ir.
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

// A View is a program while a rank's part of it is checked.
struct View {
  const bundle_program *row;
  const bundle_net *net;
  const u8 *node;
  u64 bytes;
  u32 rank;
};

// buffer_has says whether a rank that the step's block may reach has so many chunks of input or output.
bool buffer_has(const View &v, const abi_one_operand &o, u64 last) {
  const bundle_program &p = *v.row;
  u32 in, out;
  pieces_of(p, (u32)o.rank, &in, &out);
  return ((u32)o.rank == v.rank || p.direct) && last <= (u64)(o.buf == BUF_INPUT ? in : out) * p.chunks;
}

// has says whether a table lies in the section, at a multiple of 16 bytes.
bool has(const View &v, u64 at, u64 rows, u64 row_bytes) {
  return at % 16 == 0 && at <= v.bytes && rows <= (v.bytes - at) / row_bytes;
}

// reaches says whether a step may have an operand of a rank of another node: data for its inbox, or what it is told.
bool reaches(const View &v, const abi_one_step &s, const abi_one_operand &o) {
  if (v.node[o.rank] == v.node[v.rank]) return true;
  return s.op == OP_MOVE ? o.buf == BUF_INBOX : s.op == OP_SIGNAL;
}

bool check_operand(const View &v, const abi_one_step &s, const abi_one_operand &o) {
  const bundle_program &p = *v.row;
  const u64 last = (u64)o.index + (s.count ? s.count : 1);
  if (o.rank < 0 || (u32)o.rank >= p.ranks || !reaches(v, s, o)) return false;
  switch (o.buf) {
    case BUF_SCRATCH: return s.op == OP_MOVE && last <= p.scratch;
    case BUF_PACKETS: return s.op == OP_MOVE && last <= p.packets;
    case BUF_FLAGS:
    case BUF_INBOX_FLAGS: return s.op != OP_MOVE && o.index < p.flags && (o.buf == BUF_FLAGS || v.net);
    case BUF_INBOX: return s.op == OP_MOVE && v.net && last <= v.net->inbox;
    case BUF_INPUT:
    case BUF_OUTPUT:
      return s.op == OP_MOVE && buffer_has(v, o, last) && o.b < p.chunks && o.a >= 0 &&
             (u64)o.a * p.chunks + o.b == o.index;
  }
  return false;
}

bool check_step(const View &v, const abi_one_block &b, const abi_one_step *steps, u32 i,
                const abi_one_operand *operands) {
  const abi_one_step &s = steps[i];
  const u64 last = (u64)s.first + s.srcs + s.dsts;
  if ((s.op != OP_MOVE && s.op != OP_SIGNAL && s.op != OP_AWAIT && s.op != OP_NOP) || last > b.operands) return false;
  if (s.flags & ONE_PORT || s.first_class >= v.row->chunks) return false;
  if (s.group < 1 || s.group > b.steps - i || (s.op == OP_MOVE && (!s.srcs || !s.dsts))) return false;
  if (s.op != OP_MOVE && ((s.op != OP_AWAIT && s.srcs) || (s.op != OP_SIGNAL && s.dsts))) return false;
  for (u32 k = 1; k < s.group; k++)  // those that run together are alike, each of one chunk and source
    if (s.op != OP_MOVE || steps[i + k].op != OP_MOVE || steps[i + k].srcs != 1 || s.srcs != 1) return false;
  for (u64 k = s.first; k < last; k++)
    if (!check_operand(v, s, operands[k])) return false;
  return true;
}

bool check_part(const View &v, const Program &p, u32 *numbers) {
  const bundle_part &part = p.part[v.rank];
  if (!has(v, part.blocks_at, part.blocks, sizeof(abi_one_block)) ||
      !has(v, part.steps_at, part.steps, sizeof(abi_one_step)) ||
      !has(v, part.operands_at, part.operands, sizeof(abi_one_operand)))
    return false;
  u32 step = 0, operand = 0, together = 0;
  for (u32 i = 0; i < part.blocks; i++, ++*numbers) {
    const abi_one_block &b = blocks_of(p, v.rank)[i];
    if (b.together && b.together != 2 && b.together != NET_TOGETHER) return false;
    if (b.together && together && b.together != together) return false;
    together |= b.together;
    if (b.rank != v.rank || b.number != *numbers || b.first_step != step || b.first_operand != operand ||
        b.steps > part.steps - step || b.operands > part.operands - operand)
      return false;
    for (u32 k = 0; k < b.steps; k++)
      if (!check_step(v, b, steps_of(p, v.rank) + step, k, operands_of(p, v.rank) + operand)) return false;
    step += b.steps, operand += b.operands;
  }
  return step == part.steps && operand == part.operands;
}

bool check_row(const bundle_program &p, u32 ranks) {
  const u32 most = 1 << 28;
  return p.kind < KIND_COUNT && p.ranks == ranks && p.root < ranks && p.chunks > 0 &&
         p.chunks < 1 << 16 && p.nodes != 1 && p.nodes <= ranks && p.direct <= (!kind_rooted(p.kind) && !p.nodes) &&
         p.protocol < PROTO_COUNT && p.depth > 0 &&
         p.depth <= MOST_DEPTH && p.scratch < most && p.packets < most && p.flags < most &&
         p.blocks > 0 && p.blocks <= MOST_BLOCKS && p.columns > 0 && p.columns <= MOST_COLUMNS &&
         p.tile >= 16 && p.tile <= MOST_TILE && p.tile % 16 == 0 && memchr(p.name, 0, sizeof p.name);
}

// inside says whether `bytes` at `at` lie before the program's end, where lines of memory begin.
bool inside(const bundle_program &p, u64 at, u64 bytes) {
  return at % CHUNK_ALIGN == 0 && at <= p.end_at && bytes <= p.end_at - at;
}

bool apart(u64 a, u64 a_bytes, u64 b, u64 b_bytes) {
  return a + a_bytes <= b || b + b_bytes <= a || !a_bytes || !b_bytes;
}

bool check_memory(const bundle_program &p) {
  Layout l;
  return layout_of(&p, &l) && p.end_at < 1ull << 48 && inside(p, p.scratch_at, l.scratch) &&
         inside(p, p.packets_at, l.packets) && inside(p, p.flags_at, l.flag_mem) &&
         apart(p.scratch_at, l.scratch, p.packets_at, l.packets) &&
         apart(p.scratch_at, l.scratch, p.flags_at, l.flag_mem) &&
         apart(p.packets_at, l.packets, p.flags_at, l.flag_mem);
}

// open_net reads what a program of several nodes sends. The rest of it is checked where its job is made.
bool open_net(Bundle *b, Program *p, Why *why) {
  u64 bytes = 0;
  const u8 *data = section_of(b, SECTION_NET, p->number, &bytes, why);
  const bundle_net *n = p->net = (const bundle_net *)data;
  if (!data || bytes < sizeof *n || n->inbox > p->row->scratch) return false;
  p->message = (const net_message *)(n + 1), p->segment = (const net_segment *)(p->message + n->messages);
  return bytes - sizeof *n == (u64)n->messages * sizeof(net_message) + (u64)n->segments * sizeof(net_segment);
}

}  // namespace

bool program_open(Bundle *b, u32 number, u32 ranks, const u8 *node, Program *p, Why *why) {
  View v = {};
  p->base = section_of(b, SECTION_PROGRAM, number, &v.bytes, why);
  if (!p->base) return false;
  p->number = number, p->final = false, p->net = nullptr;
  p->row = v.row = (const bundle_program *)p->base, p->part = (const bundle_part *)(p->base + sizeof(bundle_program));
  bool good = v.bytes >= sizeof(bundle_program) + ranks * sizeof(bundle_part) && check_row(*p->row, ranks) &&
              check_memory(*p->row) && (!p->row->nodes || open_net(b, p, why));
  v.net = p->net, v.node = node;
  u32 blocks = 0;
  for (v.rank = 0; good && v.rank < ranks; v.rank++) {
    good = check_part(v, *p, &blocks);
    for (u32 i = 0; good && i < p->part[v.rank].steps; i++) p->final |= steps_of(*p, v.rank)[i].flags & STEP_FINAL;
  }
  if (good && blocks == p->row->blocks) return true;
  say(why, "program %u of the bundle has tables that do not fit together", number);
  return false;
}

bool image_open(Bundle *b, u32 number, const bundle_image **row, Why *why) {
  u64 bytes = 0;
  const u8 *data = section_of(b, SECTION_IMAGE, number, &bytes, why);
  if (!data) return false;
  const bundle_image *i = *row = (const bundle_image *)data;
  const u64 most = bytes < sizeof *i ? 0 : bytes - sizeof *i;
  if (bytes > sizeof *i && i->form <= IMAGE_CUBIN && i->dtype < DT_COUNT && i->bytes > 0 && i->bytes <= most &&
      memchr(i->name, 0, sizeof i->name) && (i->form == IMAGE_CUBIN || data[sizeof *i + i->bytes - 1] == 0))
    return true;
  say(why, "image %u of the bundle does not fit together", number);
  return false;
}
