// This file writes tables of one-sided programs by hand, for the interpreter:
//
//   i1  AllReduce, one phase of packets     i1b  the same, with a barrier between the steps
//   i2  AllReduce, two phases of packets    ip   AllReduce, two phases, push      iag  AllGather of packets
#pragma once
#include <string.h>

#include <string>
#include <vector>

#include "../abi/rows_onesided.h"
#include "../abi/ops_gen.h"

struct tables {
  std::vector<abi_one_step> steps;
  std::vector<abi_one_operand> operands;

  void step(unsigned op, unsigned flags, std::vector<abi_one_operand> from, std::vector<abi_one_operand> to) {
    abi_one_step s = {};
    s.op = (u8)op, s.flags = (u8)flags, s.srcs = (u16)from.size(), s.dsts = (u16)to.size();
    s.group = 1, s.count = op == OP_MOVE, s.first = (u32)operands.size();
    steps.push_back(s);
    operands.insert(operands.end(), from.begin(), from.end());
    operands.insert(operands.end(), to.begin(), to.end());
  }
  void together(unsigned n) {  // the last n steps are one group
    for (unsigned i = 0; i < n; i++) steps[steps.size() - n + i].group = (u16)(n - i);
  }
};

// cell is a chunk of input or output: its place in the only piece. row is any other operand.
static abi_one_operand cell(unsigned rank, unsigned buf, unsigned chunk) {
  return abi_one_operand{(i16)rank, (u8)buf, 0, chunk, 0, chunk};
}
static abi_one_operand row(unsigned rank, unsigned buf, unsigned index, int a = 0, unsigned b = 0) {
  return abi_one_operand{(i16)rank, (u8)buf, 0, index, a, b};
}

static void program(const std::string &name, unsigned me, unsigned n, u64 bytes, unsigned replicas, u64 tile,
                    abi_one_launch *a) {
  tables t;
  std::vector<abi_one_operand> from, to;
  unsigned chunks = n, slots = n;
  auto peer = [=](unsigned i) { return (me + i) % n; };
  if (name == "i1" || name == "i1b") {
    chunks = 1;
    for (unsigned i = 1; i < n; i++) to.push_back(row(peer(i), BUF_PACKETS, me));
    for (unsigned r = 0; r < n; r++) from.push_back(r == me ? cell(me, BUF_INPUT, 0) : row(me, BUF_PACKETS, r));
    t.step(OP_MOVE, ONE_PACKETS, {cell(me, BUF_INPUT, 0)}, to);
    t.step(OP_MOVE, ONE_PACKETS | (name == "i1" ? STEP_JOINT : 0), from, {cell(me, BUF_OUTPUT, 0)});
  } else if (name == "i2") {
    slots = 2 * n;
    for (unsigned i = 1; i < n; i++)
      t.step(OP_MOVE, ONE_PACKETS | (i > 1 ? STEP_JOINT : 0), {cell(me, BUF_INPUT, peer(i))},
             {row(peer(i), BUF_PACKETS, me)});
    t.together(n - 1);
    to.push_back(cell(me, BUF_OUTPUT, me));
    for (unsigned i = 1; i < n; i++) to.push_back(row(peer(i), BUF_PACKETS, n + me));
    for (unsigned r = 0; r < n; r++) from.push_back(r == me ? cell(me, BUF_INPUT, me) : row(me, BUF_PACKETS, r));
    t.step(OP_MOVE, ONE_PACKETS | STEP_JOINT, from, to);
    for (unsigned i = 1; i < n; i++)
      t.step(OP_MOVE, ONE_PACKETS | STEP_JOINT, {row(me, BUF_PACKETS, n + peer(i))}, {cell(me, BUF_OUTPUT, peer(i))});
    t.together(n - 1);
  } else if (name == "ip") {
    for (unsigned i = 1; i < n; i++)
      t.step(OP_MOVE, i > 1 ? STEP_JOINT : 0, {cell(me, BUF_INPUT, peer(i))}, {row(peer(i), BUF_SCRATCH, me)});
    t.together(n - 1);
    for (unsigned phase = 0; phase < 2; phase++) {
      from.clear(), to.clear();
      for (unsigned i = 1; i < n; i++)
        to.push_back(row(peer(i), BUF_FLAGS, phase * n + me, 1, 1)),
            from.push_back(row(me, BUF_FLAGS, phase * n + peer(i), 1, 1));
      t.step(OP_SIGNAL, phase ? STEP_LEAVE : 0, {}, to);
      t.step(OP_AWAIT, phase ? STEP_LEAVE : 0, from, {});
      if (phase) break;
      from.clear(), to.clear();
      for (unsigned r = 0; r < n; r++) from.push_back(r == me ? cell(me, BUF_INPUT, me) : row(me, BUF_SCRATCH, r));
      for (unsigned i = 0; i < n; i++) to.push_back(cell(peer(i), BUF_OUTPUT, me));
      t.step(OP_MOVE, 0, from, to);
    }
  } else if (name == "iag") {
    chunks = 1;
    for (unsigned i = 1; i < n; i++) to.push_back(row(peer(i), BUF_PACKETS, me));
    abi_one_operand own = cell(me, BUF_OUTPUT, 0);
    own.index = me, own.a = (i32)me;
    to.push_back(own);
    t.step(OP_MOVE, ONE_PACKETS, {cell(me, BUF_INPUT, 0)}, to);
    for (unsigned i = 1; i < n; i++) {
      abi_one_operand out = cell(me, BUF_OUTPUT, 0);
      out.index = peer(i), out.a = (i32)peer(i);
      t.step(OP_MOVE, ONE_PACKETS | STEP_JOINT, {row(me, BUF_PACKETS, peer(i))}, {out});
    }
    t.together(n - 1);
  }
  memset(a, 0, sizeof *a);
  a->elems = bytes / 2 / (name == "iag" ? n : 1), a->chunk = a->elems / chunks, a->chunks = chunks;
  const u64 chunk = a->chunk * 2;
  const u64 share = (chunk + replicas - 1) / replicas, align = share < 4096 ? 15 : 127;
  a->share = share + align & ~align, a->tile = tile && tile < a->share ? tile : a->share;
  a->iterations = ((a->share < chunk ? a->share : chunk) + a->tile - 1) / a->tile;
  a->scratch_stride = (a->tile + 127) & ~127ull, a->scratch_copy = slots * a->scratch_stride;
  a->packet_stride = 2 * a->scratch_stride, a->packet_copy = slots * a->packet_stride;
  a->replicas = replicas, a->max_replicas = replicas, a->depth = 2, a->flags = 3 * n, a->all_blocks = n;
  a->block_count = 1, a->step_count = (u32)t.steps.size(), a->operand_count = (u32)t.operands.size();
  a->rank_count = n, a->dtype = DT_BF16, a->redop = RED_SUM, a->elem_size = 2;
  const abi_one_block block = {me, me, 0, a->step_count, 0, a->operand_count, {0, 0}};
  memcpy(a->code, &block, sizeof block);
  memcpy(a->code + 8, t.steps.data(), t.steps.size() * 16);
  memcpy(a->code + 8 + t.steps.size() * 4, t.operands.data(), t.operands.size() * 16);
}
