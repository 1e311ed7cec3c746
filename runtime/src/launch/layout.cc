#include "layout.h"

namespace {

enum { ROUNDED_FROM = 1024 };

u64 least(u64 a, u64 b) { return a < b ? a : b; }
u64 most(u64 a, u64 b) { return a > b ? a : b; }
u64 up(u64 n, u64 to) { return (n + to - 1) / to * to; }

// product multiplies, and notes where that is no address any more.
u64 product(u64 a, u64 b, bool *over) {
  u64 n = 0;
  if (__builtin_mul_overflow(a, b, &n) || n > LIMIT_ADDRESS) *over = true;
  return n;
}

// share_of is the bytes of a chunk that a replica moves.
u64 share_of(u64 chunk_bytes, u32 replicas) {
  // A large share is whole lines of memory: stores over NVLink that straddle them cost 3 to 7 %.
  const u64 share = most(16, (chunk_bytes + replicas - 1) / replicas);
  return up(share, share >= 4096 ? LIMIT_CHUNK_ALIGN : 16);
}

}  // namespace

bool layout_of(const bundle_program *p, Layout *l) {
  bool over = false;
  const u64 stride = up(p->tile, LIMIT_CHUNK_ALIGN), copies = (u64)p->replicas * p->depth;
  l->scratch_stride = stride, l->packet_stride = 2 * stride;
  l->flags = (u64)p->flags + p->blocks;
  l->scratch_copy = product(p->scratch, stride, &over);
  l->packet_copy = product(p->packets, 2 * stride, &over);
  l->scratch = product(copies, l->scratch_copy, &over);
  l->packets = product(copies, l->packet_copy, &over);
  l->flag_mem = product(product(p->replicas, l->flags, &over), 8, &over);
  return !over;
}

bool is_float(u32 dtype) { return dtype <= DT_F64 || dtype >= DT_E4M3; }

u64 chunk_of(u32 chunks, u64 elems, u32 size) {
  u64 chunk = elems / chunks;
  if (elems % chunks == 0) return chunk;
  chunk++;
  return chunk * size >= ROUNDED_FROM ? up(chunk, size < 16 ? 16 / size : 1) : chunk;
}

Cannot cannot(const Program &p, const Shape &s) {
  const bundle_program &row = *p.row;
  const u64 size = s.row ? s.row : size_of(s.dtype);
  if (!size || s.elems > (1ull << 56) / row.ranks / size) return CANNOT_COUNT;
  if (row.even && s.elems % row.chunks) return CANNOT_UNEVEN;
  if (s.redop == RED_AVG && !(is_float(s.dtype) ? p.fresh : p.final) && !row.copies) return CANNOT_AVERAGE;
  return CAN;
}

void general_launch(const Program &p, const Shape &s, const Where &w, abi_one_launch *l) {
  const bundle_program &row = *p.row;
  const bundle_part &part = p.part[w.own];
  Layout at;
  layout_of(&row, &at);
  l->blocks = w.blocks, l->steps = w.steps, l->operands = w.operands;
  l->ranks = 0, l->states = w.states, l->status = w.status;
  l->elem_size = s.row ? (u32)s.row : size_of(s.dtype);
  l->elems = s.elems, l->chunk = chunk_of(row.chunks, s.elems, l->elem_size);
  const u64 chunk = l->chunk * l->elem_size;
  u64 replicas = s.replicas;
  if (s.row) {  // whole rows, and no replicas that have none
    const u64 rows = most(1, (l->chunk + replicas - 1) / replicas);
    l->share = rows * s.row, replicas = most(1, (l->chunk + rows - 1) / rows);
    l->tile = least(least(most(s.tile / s.row, 1), row.tile / s.row) * s.row, l->share);
  } else {
    l->share = share_of(chunk, s.replicas);
    l->tile = least(least(up(s.tile, 16), row.tile), l->share);
  }
  l->iterations = (least(l->share, chunk) + l->tile - 1) / l->tile;
  l->scratch_stride = at.scratch_stride, l->scratch_copy = at.scratch_copy;
  l->packet_stride = at.packet_stride, l->packet_copy = at.packet_copy;
  l->trace = l->trace_iterations = 0;
  l->chunks = row.chunks, l->replicas = (u32)replicas, l->max_replicas = row.replicas, l->depth = row.depth;
  l->flags = (u32)at.flags, l->all_blocks = row.blocks;
  l->block_count = part.blocks, l->step_count = part.steps, l->operand_count = part.operands;
  l->inlined = 0, l->rank_count = row.ranks, l->dtype = s.dtype, l->redop = s.redop;
  l->inverse = 1.0 / row.ranks;
  l->all = abi_one_switch{}, l->port = l->port_ends = 0;
  for (u32 r = 0; r < ONE_RANKS; r++) l->rank[r] = r < row.ranks ? w.rank[r] : abi_one_memory{};
}

void rows_launch(const Program &p, u32 dtype, u32 length, const double *values, const abi_row_memory &memory, u32 own,
                 abi_rows *rows) {
  const bundle_program &row = *p.row;
  *rows = abi_rows{};
  rows->length = length, rows->stages = row.stages;
  rows->output_type = out_of(row, dtype), rows->output_size = size_of(rows->output_type);
  rows->scales_of_row = scales_of(row, length), rows->first_rank = own;
  for (u32 i = 0; i < row.stages; i++) {
    abi_row_stage &s = rows->stage[i];
    s.kind = row.stage[i], s.value = values[i];
    if (s.kind == ROW_ACTIVATION) s.function = row.function;
    if (stage_kinds[s.kind].last) s.type = row.type;
    if (stage_kinds[s.kind].block) s.block = row.block;
  }
  rows->rank = memory;
}

Entry entry_of(const Program &p, bool few, u32 dtype, u32 redop, bool copies) {
  const bool lines = p.row->lines;
  if (p.row->stages && few) return lines ? ENTRY_FEW_LINES_ROWS : ENTRY_FEW_ROWS;
  if (p.row->stages) return lines ? ENTRY_ROWS_LINES : ENTRY_ROWS;
  if (p.row->nodes) return lines ? ENTRY_NET_LINES : ENTRY_NET;
  if (few && copies) return lines ? ENTRY_FEW_LINES_COPY : ENTRY_FEW_COPY;
  if (few) return lines ? ENTRY_FEW_LINES_SUM : ENTRY_FEW_SUM;
  if (lines) return ENTRY_LINES;
  if (copies) return ENTRY_COPY;
  if (redop == RED_AVG && dtype <= DT_F32) return ENTRY_AVG;  // f16, bf16 and f32 have an entry of their own
  return redop == RED_SUM || (redop == RED_AVG && !is_float(dtype)) ? ENTRY_SUM : ENTRY_ANY;
}
