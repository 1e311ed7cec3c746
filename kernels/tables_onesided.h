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

// Where the tables are: the code of the launch, or memory.
KD const abi_one_block *one_block_row(const abi_one_launch &a, u32 block) {
  return (a.inlined ? (const abi_one_block *)a.code : at_address<const abi_one_block>(a.blocks)) + block;
}
KD const abi_one_step *one_step_rows(const abi_one_launch &a) {
  return a.inlined ? (const abi_one_step *)(a.code + 8 * a.block_count) : at_address<const abi_one_step>(a.steps);
}
KD const abi_one_operand *one_operand_rows(const abi_one_launch &a) {
  return a.inlined ? (const abi_one_operand *)(a.code + 8 * a.block_count + 4 * a.step_count) : at_address<const abi_one_operand>(a.operands);
}
