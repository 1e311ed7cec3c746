// This file is the board as its files share it: memory that the ranks of a communicator share, with a row of each.
#pragma once
#include "../front/front.h"

enum { BOARD_CALLS = 16 };

// A Note is a native call of a rank. number counts from 1; it is 0 while the note is written.
struct Note {
  u64 number, count;
  u64 turn;  // of its launch on a GPU that is oversubscribed (team/admission.cc), or 0
  u8 kind, dtype, redop, root, pad[4];
};

// A Place is where a rank's GPU is with the calls of all its teams: the first call that has not ended, and of which
// communicator. It is written as version becomes odd, and whole when it is even again.
struct Place {
  u64 version;
  u64 family;  // of the communicator, or 0: no call runs
  Note call;
};

struct Row {
  u64 calls;  // made
  u64 ended;  // of these, when the rank looked last; it looks while its GPU is oversubscribed
  u64 pad[6];
  Note last[BOARD_CALLS];
  Place runs;
};

// board_rows is the rows of all ranks, or null. board_find gives a call of a row, or null where the rank has not made
// it, or has made many since. board_put writes a call in words.
inline Row *board_rows(const Member *e) { return (Row *)e->board; }
const Note *board_find(const Row &r, u64 number);
int board_put(char *to, size_t size, const Note &n);  // "call 3, ncclAllReduce of 1024 f32"

// board_look sees whether communicators wait for each other, and returns whether it must look again in LOOK_CALLS_MS.
enum { LOOK_CALLS_MS = 1000 };
bool board_look();
