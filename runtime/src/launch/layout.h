// This file fills in launches: what executor/plan/onesided.go, and OneImage.Params and OnePart.Few of executor/abi, do
// in Go, in the same bytes. Nothing here calls the driver.
#pragma once
#include "../../../kernels/abi/rows_few.h"
#include "../../../kernels/rows/abi.h"
#include "../device/device.h"

bool is_float(u32 dtype);

// A Shape is a call's numbers: elements of a piece, type and reduction, and the rule's replicas and tile. The elements
// of a program with an epilogue are rows: `row` is the bytes of one, and 0 for other programs.
struct Shape {
  u64 elems;
  u32 dtype, redop, replicas;
  u64 tile;
  u64 row = 0;
};

// chunk_of is how many elements the longest chunk of a piece has, as data.NewGeometry computes it.
u64 chunk_of(u32 chunks, u64 elems, u32 size);

// Cannot says why a program cannot run a call; CAN is 0.
enum Cannot { CAN, CANNOT_COUNT, CANNOT_UNEVEN, CANNOT_AVERAGE };
Cannot cannot(const Program &p, const Shape &s);

// Where holds the addresses of a rank's launch: its tables, states and status, and the memory of all ranks. A direct
// program needs input and output of all ranks, as these ranks have them: where calls are in place, the input of rank r
// of an AllGather lies r pieces after its output. A staged program needs those of the own rank only.
struct Where {
  u64 blocks, steps, operands, states, status;
  const abi_one_memory *rank;  // of all
  u32 own;
};

// general_launch fills in all of a launch but its code, which is left as it is. Shape must be one that p can run.
void general_launch(const Program &p, const Shape &s, const Where &w, abi_one_launch *l);

// rows_launch fills in what the launch of a program with an epilogue has beside that: rows of `length` elements, the
// values of its stages, and the memory that they have on this rank.
void rows_launch(const Program &p, u32 dtype, u32 length, const double *values, const abi_row_memory &memory, u32 own,
                 abi_rows *rows);

// few_launch fills in `few` where the launch l of a rank's part can go the short way, and else gives false.
bool few_launch(const Program &p, u32 rank, const abi_one_launch &l, abi_few *few);

// few_rows_launch is few_launch of a launch with an epilogue, of blocks of some threads.
bool few_rows_launch(const Program &p, u32 rank, const abi_one_launch &l, const abi_rows &rows, u32 threads,
                     abi_few *few);

// entry_of is the kernel's entry for a launch of a program that copies, or does not. Averages of integers are sums that
// are divided at their end, and go by the entry for sums.
Entry entry_of(const Program &p, bool few, u32 dtype, u32 redop, bool copies);
