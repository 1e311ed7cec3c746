// This file says what one block of a one-sided program reads of the tables.
#pragma once
#include "abi_onesided.h"

// one_tables are a launch, one block's row and steps, their operands, and the
// memory of all ranks.
struct one_tables {
  const abi_one_launch *launch;
  const abi_one_block *block;
  const abi_one_step *steps;
  const abi_one_operand *operands;
  const abi_one_memory *ranks;
};

#ifdef KERNEL_LANES
// A block's rows are copied near it when it starts, from the launch or from memory,
// with its steps and operands where there is room for all.
enum { NEAR_ONE_STEPS = 128, NEAR_OPERANDS = 512 };
struct one_near {
  abi_one_step steps[NEAR_ONE_STEPS];
  abi_one_operand operands[NEAR_OPERANDS];
  abi_one_memory ranks[ONE_RANKS];
  abi_one_block block;
};
__shared__ static one_near one_local;

// copy_code copies words of the launch's code with all threads of the block.
template <class T> KD void copy_code(T *to, const abi_one_launch &a, u32 from, u32 count) {
  for (u32 i = tid(); i < sizeof(T) / 4 * count; i += ntid()) ((u32 *)to)[i] = a.code[from + i];
}

KD one_tables bring_near(const abi_one_launch &a, u32 block) {
  one_near &m = one_local;
  const abi_one_step *steps = m.steps;
  const abi_one_operand *operands = m.operands;
  const abi_one_memory *ranks = m.ranks;
  if (tid() == 0) shared()->late = 0;
  if (a.inlined) {
    copy_code(&m.block, a, 8 * block, 1);
    bar();
    copy_code(m.steps, a, 8 * a.block_count + 4 * m.block.first_step, m.block.steps);
    copy_code(m.operands, a, 8 * a.block_count + 4 * a.step_count + 4 * m.block.first_operand, m.block.operands);
  } else {
    copy_near(&m.block, at_address<const abi_one_block>(a.blocks) + block, 1);
    bar();
    steps = at_address<const abi_one_step>(a.steps) + m.block.first_step;
    operands = at_address<const abi_one_operand>(a.operands) + m.block.first_operand;
    if (m.block.steps <= NEAR_ONE_STEPS && m.block.operands <= NEAR_OPERANDS) {
      copy_near(m.steps, steps, m.block.steps);
      copy_near(m.operands, operands, m.block.operands);
      steps = m.steps, operands = m.operands;
    }
  }
  if (a.rank_count > ONE_RANKS) ranks = at_address<const abi_one_memory>(a.ranks);
  else
    for (u32 i = tid(); i < sizeof m.ranks / 8; i += ntid()) ((u64 *)m.ranks)[i] = ((const u64 *)a.rank)[i];
  bar();
  return one_tables{&a, &m.block, steps, operands, ranks};
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
  return one_tables{&a, blocks + block, steps + blocks[block].first_step, operands + blocks[block].first_operand, ranks};
}
#endif
