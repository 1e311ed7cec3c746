// Threads of a launch, as fibers of the stream's thread: those of a block make a team, which
// meets at barriers. Which goes on when another pauses is a matter of chance.
#pragma once
#include "standin.h"

#include "../../../kernels/abi/tables.h"

// A Grid is a launch: blocks, each of `threads` threads that share `shared` bytes,
// and what each thread does. run gives nothing back: a thread ends where it returns.
struct Grid {
  u32 blocks, threads, shared;
  std::function<void(u32 block)> run;
};

// run_grid returns when all threads have ended.
void run_grid(const Grid &g);
