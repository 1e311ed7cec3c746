// This file is what hand.cc and its driver share: the parameters of one launch.
#pragma once
#include "../../abi/rows.h"

enum { MAX_RANKS = 8, MAX_REPLICAS = 512, FLAG_BYTES = 64 };
enum { FLAGS_A = 0, FLAGS_B = 1, FLAGS_C = 2, FLAG_KINDS = 3 };

// Pointers are of every rank, by rank; in is the own rank's. part is the bytes of one rank's
// share of the buffer, slot the bytes that packets of one sender take, tile the
// bytes that a replica moves at once.
struct hand {
  u64 in, out[MAX_RANKS], scratch[MAX_RANKS], packets[MAX_RANKS], flags[MAX_RANKS];
  u64 state, abort;
  u64 part, slot, tile;
  u32 rank, ranks;
};

// What check compares with.
enum { ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL };
