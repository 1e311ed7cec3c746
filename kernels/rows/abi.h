// This file lays out the rows of a launch of a program with an epilogue (ir/epilogue); executor/abi/finish.go holds the
// same structs in Go.
//
// The element of such a launch is a row: elem_size is the bytes of a row of sums, elems and chunk count rows, and share
// and tile are the bytes of whole rows. The output holds finished rows. A Move that writes output from any other buffer
// finishes the rows that it stores there: it runs the stages on each row of the sum, once, with the memory of its own
// rank, and copies the row to other ranks. On a host alone, a Move may finish rows that its own rank does not get, with
// the memory of the rank whose output it is. A Move from output to output moves finished rows, with all that the stages
// wrote for them (companions): updated residuals and scales. All other memory holds raw sums.
#pragma once
#include "../abi/rows_few.h"

enum { ROW_STAGES = 8 };

// The kinds of stages, and the functions of an activation, as ir/epilogue numbers them.
enum {
  ROW_SCALE, ROW_BIAS, ROW_RESIDUAL, ROW_RMS_NORM, ROW_LAYER_NORM, ROW_ACTIVATION, ROW_QUANTISE, ROW_CAST, ROW_KINDS
};
enum { ROW_RELU, ROW_GELU, ROW_SILU };

// One stage. type is the DT_ of what the output ends as, of the last stage if it is ROW_QUANTISE or ROW_CAST. block is
// the elements that share a scale; 0: a row's. value is eps, or the factor.
struct abi_row_stage {
  u8 kind, function, type, pad;
  u32 block;
  double value;
};
ABI_SIZE(abi_row_stage, 16);

// What the stages of one rank read and write, by stage. Vectors have the type of the sum, and an element for each of a
// row.
//
//   ROW_BIAS        first: the vector
//   ROW_RESIDUAL    first: the residual, in rows as the output's, of the type of the sum; second: the updated residual
//   ROW_RMS_NORM    first: the weights
//   ROW_LAYER_NORM  first: the weights; second: the bias
//   ROW_QUANTISE    second: the scales, f32, scales_of_row for each row of the output
struct abi_row_memory {
  u64 first[ROW_STAGES], second[ROW_STAGES];
};
ABI_SIZE(abi_row_memory, 128);

// rank has the memory of the ranks [first_rank, first_rank + 1) if ranks is 0; else ranks is the address of a row for
// each rank. Of ranks whose output a launch only writes, it has what stages write. output_size is the bytes of an
// element of the output.
struct abi_rows {
  u32 length, stages;  // elements of a row, and stages
  u32 output_type, output_size;
  u32 scales_of_row, first_rank;
  u64 ranks;
  struct abi_row_stage stage[ROW_STAGES];
  struct abi_row_memory rank;
};
ABI_SIZE(abi_rows, 32 + 128 + 128);

// One launch of a program with an epilogue. A Move finds the second half beside the launch that it has (rows_of).
struct abi_rows_launch {
  struct abi_one_launch one;
  struct abi_rows rows;
};
ABI_SIZE(abi_rows_launch, 3440 + 288);

// A launch of few packets of a program with an epilogue (few/rows.h). It begins as abi_few_launch does, but the general
// launch ends before its code, which GPUs do not read: the parameters of a launch have 4 KB.
//
// A step that finishes rows is FEW_FINISH and a group of its own. Its first destination is the output, and has in its
// place in `where` the row of the output at which replica 0 begins in the first chunk. The other destinations hold the
// raw sum.
enum { ONE_HEAD = 880 };
struct abi_few_rows_launch {
  struct abi_few few;
  u64 one[ONE_HEAD / 8];
  struct abi_rows rows;
};
ABI_SIZE(abi_few_rows_launch, 632 + 880 + 288);
