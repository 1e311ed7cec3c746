// This file is how a communicator's ranks go over from NCCL to their programs while calls run, without sockets. NCCL
// runs the calls of a communicator until its ranks have made their memory. Then programs run them from one call on,
// which is the same on all ranks, and no call waits for a call of a peer.
//
// Calls have numbers from 1 on, which are equal on all ranks: of each communicator count the collectives that a rule
// could serve by their arguments, in the order of the program, in a group one by one in their order, captured ones too.
// Send and Recv do not count, nor does a call that NCCL refuses or that moves nothing.
//
// 1. All ranks have made their memory and reached each other's. Their threads in the background know it, all of them.
// 2. Each of these threads promises at once, in the last round of the agreement: up to SLACK calls more than were made,
//    this rank runs by NCCL. A later call waits for the word.
// 3. The round ends when all have promised. All hear all promises, and compute the same number: NCCL runs one call more
//    than the largest promise, after which ours are ordered, and programs run all after it.
//
// A rank that has promised and loses its connection before the word cannot know what the others run: its communicator
// has an error. Where the round comes to nothing, no rank has received the word, and NCCL runs all calls on all ranks.
#pragma once
#include "../bundle/rows_gen.h"

enum { SLACK = 64 };

// A Gate is a rank's part of that. Calls of a communicator come one at a time; one other thread promises and hears the
// word. Each function is one step on `word`, the calls so far and the phase, so that no other memory orders them.
struct Gate {
  u64 word;   // calls * 4 + phase
  u64 limit;  // what was promised
  u64 from;   // the first call that programs run
};
enum Phase { PHASE_OPEN, PHASE_PROMISED, PHASE_WORD, PHASE_NCCL };

// Who runs a call. TURN_WAIT: the word decides, which is on its way. TURN_ORDERED: NCCL; ours are ordered after it.
enum Turn { TURN_NCCL, TURN_WAIT, TURN_ORDERED, TURN_PROGRAM };

u64 gate_call(Gate *g);                          // counts a call, and gives its number
Turn gate_turn(const Gate *g, u64 call);         // by what is known now
u64 gate_promise(Gate *g, u64 slack);            // what this rank tells the others
// gate_outcome is the end of the round: step is that of later_step (meeting.h), and promises are those of all
// ranks where it is 1. Where it is 0, all calls are NCCL's. Where it is -1, calls go on waiting until the communicator
// has its error, since the others may have received the word.
void gate_outcome(Gate *g, int step, const u64 *promises, u32 ranks);
