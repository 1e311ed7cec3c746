// This file makes short launches, as executor/abi/few.go does.
#include "layout.h"

namespace {

enum { FEW_UNITS = 4 * 512, FEW_ROW_UNITS = 8 * FEW_UNITS, FEW_LINES = 4096 };
enum { LINE_HALVES = 15, ROW_UNITS = 4, BUNDLE_LANES = 16, VIA_PORT = 2 };  // VIA_PORT is ir.ViaPort

u64 most(u64 a, u64 b) { return a > b ? a : b; }
u64 least(u64 a, u64 b) { return a < b ? a : b; }

// where is where replica 0 of copy 0 of an operand's first chunk lies, or 0.
u64 where(const abi_one_launch &l, const abi_one_operand &o) {
  if (o.rank < 0 || (o.via & ~ONE_FRESH) == VIA_PORT) return 0;
  const abi_one_memory &m = l.rank[o.rank];
  u64 base = 0, mark = 0, at = ((u64)(i64)o.a * l.elems + (u64)o.b * l.chunk) * l.elem_size;
  if (o.buf == BUF_INPUT) base = m.input;
  else if (o.buf == BUF_OUTPUT) base = m.output;
  else if (o.buf == BUF_PACKETS) base = m.packets, at = (u64)o.index * l.packet_stride, mark = FEW_MARK;
  return base == 0 || (base + at) % 16 ? 0 : base + at - mark;
}

// short_enough judges all that does not depend on steps.
bool short_enough(const bundle_part &part, const abi_one_launch &l, u64 chunk) {
  return part.blocks == 1 && part.steps <= FEW_STEPS && part.operands <= FEW_OPERANDS && l.iterations == 1 &&
         l.redop == RED_SUM && l.elems == l.chunk * l.chunks && chunk % 16 == 0 &&
         (u64)(l.replicas - 1) * l.share < chunk && __builtin_popcount(l.depth) == 1 &&
         (u64)l.replicas * l.depth * l.packet_copy <= ~0u && chunk <= 1 << 24;
}

u32 lines_of(const abi_one_step &s, const abi_one_operand *operands) {
  u32 count = 0;
  for (u32 o = s.srcs; o < (u32)s.srcs + s.dsts; o++) count += operands[s.first + o].buf == BUF_PACKETS;
  return count;
}

// send_together is how many Moves of a group, from its first step on, store equally many lines. Lanes of a bundle may
// have different Moves of a group, and store the lines of these together: as often, or some wait for ever.
u32 send_together(const abi_one_step *s, const abi_one_operand *operands) {
  u32 n = 1;
  while (n < s->group && lines_of(s[n], operands) == lines_of(*s, operands)) n++;
  return n;
}

// few_of makes a launch of at most `limit` half units, or lines, of a step.
bool few_of(const Program &p, u32 rank, const abi_one_launch &l, u64 limit, abi_few *f) {
  const bundle_part &part = p.part[rank];
  const u64 chunk = l.chunk * l.elem_size;
  if (!short_enough(part, l, chunk)) return false;
  const u64 units = least(l.share, chunk) / 8;
  const u64 pieces = p.row->lines ? (units + LINE_HALVES - 1) / LINE_HALVES : units;
  *f = abi_few{};
  f->state = l.states, f->status = l.status;
  f->stride[0] = (u32)chunk, f->stride[1] = (u32)l.packet_stride;
  f->packet_copy = (u32)l.packet_copy, f->depth = l.depth, f->share = (u32)l.share, f->units = (u32)units;
  f->inverse = (u32)(((1ull << 32) + units - 1) / units);
  f->number = blocks_of(p, rank)->number, f->steps = part.steps, f->lines = p.row->lines ? (u32)pieces : 0;
  const abi_one_operand *operands = operands_of(p, rank);
  for (u32 i = 0; i < part.steps; i++) {
    const abi_one_step &s = steps_of(p, rank)[i];
    const u32 group = p.row->lines ? send_together(&s, operands) : s.group;
    const u64 runs = most(group, s.count);
    if (s.op != OP_MOVE || s.count == 0 || runs * pieces > limit || runs * most(chunk, l.packet_stride) > ~0u)
      return false;
    u8 flags = i > 0 && !(s.flags & STEP_JOINT) ? FEW_MEET : 0;
    if (s.srcs > 1) flags |= FEW_FOLD;
    else if (operands[s.first].buf == BUF_PACKETS) flags |= FEW_TAKE;
    f->step[i] = abi_few_step{flags, (u8)s.srcs, (u8)s.dsts, (u8)group, s.count, (u16)s.first};
  }
  for (u32 i = 0; i < part.operands; i++)
    if (!(f->where[i] = where(l, operands[i]))) return false;
  return true;
}

// finishes finds which operand is the output that a step finishes, or -1. It gives false where a step writes outputs of
// other ranks, or reads one.
bool finishes(const abi_one_step &s, const abi_one_operand *operands, u32 rank, i32 *at) {
  *at = -1;
  for (u32 i = 0; i < (u32)s.srcs + s.dsts; i++) {
    const abi_one_operand &o = operands[s.first + i];
    if (o.buf != BUF_OUTPUT) continue;
    if (i < s.srcs || *at >= 0 || o.rank != (i32)rank) return false;
    *at = (i32)(s.first + i);
  }
  return true;
}

// aligned says whether all that stages read and write is aligned to units, and each block with a scale is a lane's or
// that of lanes side by side.
bool aligned(const abi_rows &rows, u32 unit) {
  for (u32 i = 0; i < rows.stages; i++) {
    const abi_row_stage &g = rows.stage[i];
    const u32 lanes = g.block / unit;
    if ((rows.rank.first[i] | (g.kind == ROW_QUANTISE ? 0 : rows.rank.second[i])) % 16) return false;
    if (g.block && (g.block % unit || lanes > BUNDLE_LANES || __builtin_popcount(lanes) != 1)) return false;
  }
  return true;
}

}  // namespace

bool few_launch(const Program &p, u32 rank, const abi_one_launch &l, abi_few *f) {
  return few_of(p, rank, l, p.row->lines ? FEW_LINES : FEW_UNITS, f);
}

bool few_rows_launch(const Program &p, u32 rank, const abi_one_launch &l, const abi_rows &rows, u32 threads,
                     abi_few *f) {
  const bool lines = p.row->lines;
  if (rows.ranks || l.elem_size % 16 || l.elem_size / 16 > ROW_UNITS * threads) return false;
  if (!aligned(rows, 16 / size_of(l.dtype)) || !few_of(p, rank, l, lines ? FEW_LINES : FEW_ROW_UNITS, f)) return false;
  const abi_one_operand *operands = operands_of(p, rank);
  const abi_one_step *steps = steps_of(p, rank);
  u8 moves = 0;  // that follow in the group, and finish nothing
  for (u32 i = p.part[rank].steps; i-- > 0;) {
    const abi_one_step &s = steps[i];
    i32 at;
    if (!finishes(s, operands, rank, &at)) return false;
    if (at < 0) {
      if (s.group == 1) moves = 0;
      if (++moves < f->step[i].group) f->step[i].group = moves;
      continue;
    }
    if (lines && s.dsts > 1) return false;  // a line has raw sums of two rows, which no block has at once
    const u32 first = s.first + s.srcs;
    f->where[at] = f->where[first];
    f->where[first] = (u64)(i64)operands[at].a * l.elems + (u64)operands[at].b * l.chunk;
    f->step[i].flags |= FEW_FOLD | FEW_FINISH;
    f->step[i].group = 1, moves = 0;
  }
  return true;
}
