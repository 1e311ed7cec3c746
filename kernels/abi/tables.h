// This file says what one block reads of the tables.
#pragma once
#include "rows.h"

// block_tables are the launch and one block's rows. A connection is nullptr where the block has
// none.
struct block_tables {
  const abi_launch *launch;
  const abi_block *block;
  const abi_rank *rank;
  const abi_conn *out, *in;
  const abi_step *steps;
};

// trace_rows is what thread 0 of a block that is traced keeps (loop/trace.h): where the row of its next action is, and
// where its rows end; and when the action began that it is in.
struct trace_rows {
  u64 next, end, begun;
};
