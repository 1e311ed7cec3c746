// This file lays out what a kernel writes for the proxy of its process (transport/proxy.h), where a Signal is for a
// rank of another node; executor/abi/rows_net.go holds the same structs in Go.
//
// Each block's column has a lane in memory of the host. Row n of all that it ever wrote is row n % NET_DEPTH. Thread i
// of a block writes the row of destination i of a Signal, and all threads count, so rows have their order without any
// lock. A row is there when its seq is n + 1. A kernel writes a row when taken says that the one before in its place
// was taken.
#pragma once
#include "rows_onesided.h"

enum { NET_DEPTH = 32 };

// A row says what the flag is to be, and what a tile iteration moves of a chunk: bytes [first, end) of it, of which it
// has chunk bytes, or fewer where a piece of elems bytes ends. operand is the flag's row, counted from the block's
// first. copy is that of scratch, and flag the flag's number in its column, of `rank`.
struct abi_net_row {
  u64 seq, count;
  u64 first, end, elems, chunk;
  u32 operand, copy, rank, flag;
};
ABI_SIZE(abi_net_row, 64);

struct abi_net_lane {
  u64 taken, pad[7];  // rows that the proxy has taken
  struct abi_net_row row[NET_DEPTH];
};
ABI_SIZE(abi_net_lane, 64 + 32 * 64);

// Where a launch has its lanes: block b and column c have lane b * max_columns + c of `lanes`. In memory of the device,
// at `sent`, each lane has an u64: the rows that its launches so far have written. An abi_net lies in the first words
// of `code` of abi_one_launch, whose tables then are in memory.
struct abi_net {
  u64 lanes, sent;
};
ABI_SIZE(abi_net, 16);
