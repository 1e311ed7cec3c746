// This file is how the ranks of a communicator learn which program is fastest for a class of calls, without sockets. No
// rule was measured for such calls, and some programs are candidates. NCCL and the candidates take turns in the first
// calls of the class, the trials, which are the same on all ranks. Then NCCL runs the calls until a choice holds.
//
// Calls of a class have numbers from 1 on, which are equal on all ranks: they count in the order of the program.
//
// 1. Each rank says the times of its trials to rank 0, once all of them are over.
// 2. Rank 0 has the times of all ranks. A trial took the least time of all ranks, since ranks that came early waited.
//    An option took the median of its trials. If a candidate is the fastest, rank 0 proposes it to all ranks.
// 3. Each rank promises at once: up to SLACK calls of the class more than were made, it runs by NCCL. A later call
//    waits for the word (switch.h).
// 4. Rank 0 has the promises of all ranks, and gives the word: the choice holds from the call that is two above the
//    largest promise. It gives the word to itself last.
//
// A rank that leaves has made all its calls. If it has not promised, rank 0 says NEVER: NCCL runs the calls. If rank 0
// leaves, no call is above its own promise, unless it gave the word to all. If a rank dies, no later call can end, and
// the communicator has an error. So ranks never differ about a call that ends.
//
// Each rank has a Learner for each class, and rank 0 a Judge beside it. They are functions of a state and a message.
// What they have to say is asked for, message by message, so that a socket that takes nothing now is tried again.
#pragma once
#include "switch.h"

enum {
  LEARN_CANDIDATES = 3,
  LEARN_OPTIONS = 1 + LEARN_CANDIDATES,  // option 0 is NCCL
  LEARN_ROUNDS = 7,                      // trials of each option
  LEARN_TRIALS = LEARN_OPTIONS * LEARN_ROUNDS,
  LEARN_ENOUGH = 3  // an option with fewer times is not judged
};

// A LearnMessage is what one rank says to another. It is sent as it is. TIMES has the times of a rank's trials in ns, 0
// where there is none. PROMISES and WORD have a number of a call. PROPOSES and WORD have the choice, and what NCCL and
// the choice took, in ns. options counts NCCL and the candidates.
const char LEARN_TIMES = 'T', LEARN_PROPOSES = 'P', LEARN_PROMISES = 'Y', LEARN_WORD = 'W', LEARN_NEVER = 'N';
struct LearnMessage {
  char what;
  u8 choice, options, pad;
  u32 of;  // the class: classes are numbered as they come
  u64 number;
  u32 took[2];
  u32 ns[LEARN_TRIALS];
};
inline bool learn_says(char what) {
  return what == LEARN_TIMES || what == LEARN_PROPOSES || what == LEARN_PROMISES || what == LEARN_WORD ||
         what == LEARN_NEVER;
}

// A Learner is a rank's part. Its calls go through the gate; a call of TURN_PROGRAM runs by the choice. One other
// thread does all the rest.
struct Learner {
  Gate gate;
  u32 choice;   // an option, from the word on
  u32 took[2];  // by NCCL and by the choice
  bool timed;   // the times of all trials are there
  bool promised;
  bool said_times, said_promise;
  bool over;    // it has received the last message, or gets none
};
void learner_timed(Learner *l);
void learner_hears(Learner *l, const LearnMessage &m, u64 slack);
void learner_alone(Learner *l);  // rank 0 has left, or a rank has died
// learner_next gives what the rank has to say to rank 0, without the class and the number of options. learner_said is
// notified that it was sent.
bool learner_next(const Learner *l, const u32 *ns, LearnMessage *m);
void learner_said(Learner *l, char what);

// A Judge is rank 0's part. It begins as zeros. Sets of ranks are bits.
enum JudgeStage { JUDGE_GATHERS, JUDGE_PROPOSES, JUDGE_WORD, JUDGE_NEVER, JUDGE_DONE };
struct Judge {
  u32 stage;
  u32 timed, promised, notified, gone;
  u32 choice, took[2];
  u64 most;               // of the promises
  u32 ns[LEARN_TRIALS];   // the least of all ranks
  u32 median[LEARN_OPTIONS];
};
void judge_hears(Judge *j, u32 ranks, u32 rank, const LearnMessage &m);
void judge_gone(Judge *j, u32 ranks, u32 rank);
bool judge_next(const Judge *j, u32 ranks, u32 *to, LearnMessage *m);
void judge_said(Judge *j, u32 ranks, u32 to);

// option_of is the option of a trial, from 0: the options take turns, and each round begins with another one.
inline u32 option_of(u32 trial, u32 options) { return (trial + trial / options) % options; }
