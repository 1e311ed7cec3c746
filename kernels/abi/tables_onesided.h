// This file says what one block of a one-sided program reads of the tables.
#pragma once
#include "rows_onesided.h"

// one_tables are a launch, one block's row and steps, their operands, and the memory of all
// ranks. where is what place_operands found, or nullptr where nobody keeps
// that; then rows and operand_rows count the steps and operands whose rows are near.
struct one_tables {
  const abi_one_launch *launch;
  const abi_one_block *block;
  const abi_one_step *steps;
  const abi_one_operand *operands;
  const abi_one_memory *ranks;
  const u64 *where;
  u32 rows, operand_rows;
};

#ifdef KERNEL_LANES
// A block's rows are brought near it when it starts, from the launch or from memory, with
// its steps and operands where there is room for all. near_operand deals the operands' rows to the last
// threads first, since the first have the steps' rows.
enum { NEAR_ONE_STEPS = ONE_CODE, NEAR_OPERANDS = 256 };
struct one_near {
  alignas(16) abi_one_step steps[NEAR_ONE_STEPS];
  alignas(16) abi_one_operand operands[NEAR_OPERANDS];
  u64 where[NEAR_OPERANDS];
  abi_one_memory ranks[ONE_RANKS];
  alignas(16) abi_one_block block;
};
#ifdef KERNEL_TOGETHER
__shared__ static one_near near_of_group[MOST_GROUPS];
#define one_local near_of_group[group()]
#elif !defined(one_local)  // a host that stands in for a GPU has it elsewhere
__shared__ static one_near one_local;
#endif
KD u32 near_operand() { return ntid() - 1 - tid(); }

// near_row is a row of 16 bytes, of the launch's code or of memory.
KD v16 near_row(const abi_one_launch &a, u64 memory, u32 code, u32 row) {
  (void)a, (void)code;
  return load_global<v16>(at_address<const v16>(memory) + row);
}

// bring_near leaves it to the next barrier that all threads see what it brought. A thread has all its loads
// under way before it stores what they brought: each trip to memory takes as long as a barrier and more.
KD one_tables bring_near(const abi_one_launch &a, u32 block) {
  one_near &m = one_local;
  one_tables near = {&a, &m.block, m.steps, m.operands, m.ranks, m.where, a.step_count, a.operand_count};
  u32 first_step = 0, first_operand = 0;
  if (a.block_count > 1) {  // else all rows are this block's, and need not wait for its own
    const v16 low = near_row(a, a.blocks, 0, 2 * block), high = near_row(a, a.blocks, 0, 2 * block + 1);
    first_step = low.z, near.rows = low.w, first_operand = high.x, near.operand_rows = high.y;
  }
  const bool fits = near.rows <= NEAR_ONE_STEPS && near.operand_rows <= NEAR_OPERANDS;
  if (!fits) {
    near.steps = at_address<const abi_one_step>(a.steps) + first_step;
    near.operands = at_address<const abi_one_operand>(a.operands) + first_operand;
    near.rows = near.operand_rows = 0, near.where = nullptr;
  }
  const u32 step_code = 2 * a.block_count, operand_code = step_code + a.step_count;
  const u32 words = a.rank_count > ONE_RANKS ? 0 : a.rank_count * (u32)(sizeof(abi_one_memory) / 8);
  if (words == 0) near.ranks = at_address<const abi_one_memory>(a.ranks);
  for (u32 first = 0; first == 0 || first < near.rows || first < near.operand_rows || first < words; first += ntid()) {
    const u32 i = first + tid(), o = first + near_operand();
    v16 step = {}, operand = {}, row = {};
    u64 word = 0;
    if (i < near.rows) step = near_row(a, a.steps, step_code, first_step + i);
    if (o < near.operand_rows) operand = near_row(a, a.operands, operand_code, first_operand + o);
    if (i < 2) row = near_row(a, a.blocks, 0, 2 * block + i);
    if (i < words) word = ((const u64 *)a.rank)[i];
    if (i < near.rows) ((v16 *)m.steps)[i] = step;
    if (o < near.operand_rows) ((v16 *)m.operands)[o] = operand;
    if (i < 2) ((v16 *)&m.block)[i] = row;
    if (i < words) ((u64 *)m.ranks)[i] = word;
  }
  if (tid() == 0) shared()->late = 0;
  return near;
}
#else
// A host reads the tables where they are.
KD one_tables bring_near(const abi_one_launch &a, u32 block) {
  const abi_one_block *blocks = at_address<const abi_one_block>(a.blocks);
  const abi_one_step *steps = at_address<const abi_one_step>(a.steps);
  const abi_one_operand *operands = at_address<const abi_one_operand>(a.operands);
  if (a.inlined) {
    blocks = (const abi_one_block *)a.code;
    steps = (const abi_one_step *)(a.code + 8 * a.block_count);
    operands = (const abi_one_operand *)(a.code + 8 * a.block_count + 4 * a.step_count);
  }
  const abi_one_memory *ranks = a.rank_count > ONE_RANKS ? at_address<const abi_one_memory>(a.ranks) : a.rank;
  return one_tables{
      &a, blocks + block, steps + blocks[block].first_step, operands + blocks[block].first_operand, ranks, nullptr, 0,
      0};
}
#endif
