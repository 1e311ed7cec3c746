// This file is what the engine knows of a bundle: sections that were checked, and views of them.
#pragma once
#include "../../kernels/abi/ops_gen.h"
#include "../../transport/proxy.h"
#include "engine.h"

// A Program is a view of a program's section, all of which was checked (bundle_program.cc). The section stays in memory
// until the process ends.
struct Program {
  const u8 *base;  // of the section
  const bundle_program *row;
  const bundle_part *part;  // by rank
  u32 number;               // in the bundle
  const bundle_net *net;    // of ranks on several nodes, with its messages and segments
  const net_message *message;
  const net_segment *segment;
  bool final;               // some step is STEP_FINAL: averages can be computed
};
static inline const abi_one_block *blocks_of(const Program &p, u32 rank) {
  return (const abi_one_block *)(p.base + p.part[rank].blocks_at);
}
static inline const abi_one_step *steps_of(const Program &p, u32 rank) {
  return (const abi_one_step *)(p.base + p.part[rank].steps_at);
}
static inline const abi_one_operand *operands_of(const Program &p, u32 rank) {
  return (const abi_one_operand *)(p.base + p.part[rank].operands_at);
}

// A Set is a view of a set's section. program is indexed as `programs`; it is allocated, and freed by set_close.
// set_open takes the set for ranks that lie on nodes so, or on one where node is null.
struct Set {
  const bundle_set *row;
  const bundle_rule *rules;
  const u32 *programs;
  Program *program;
};
bool set_open(Bundle *b, u32 ranks, const u8 *node, const char *device, Set *set, Why *why);
void set_close(Set *set);

// set_find returns the index of a program in a set, or BUNDLE_NONE.
u32 set_find(const Set *set, u32 program);

// bundle_forget frees a bundle that nobody uses.
void bundle_forget(Bundle *b);

// section_of finds a section, and reads and checks it where nobody did so before. It gives null where there is none, or
// it is damaged.
const u8 *section_of(Bundle *b, u32 kind, u32 number, u64 *bytes, Why *why);

// program_open checks all tables of a program's section, so that no kernel that runs them leaves its memory.
// node has the node of each rank.
bool program_open(Bundle *b, u32 number, u32 ranks, const u8 *node, Program *p, Why *why);
bool image_open(Bundle *b, u32 number, const bundle_image **row, Why *why);

// A Layout says where the parts of a rank's scratch, packets and flags lie, as OneLayout in executor/abi.
struct Layout {
  u64 scratch_stride, scratch_copy, packet_stride, packet_copy;
  u64 flags;                    // of a replica
  u64 scratch, packets, flag_mem;  // bytes, of a rank
};
bool layout_of(const bundle_program *p, Layout *l);
