// This file is what the parts of the front share that learn which candidate of a bundle is fastest (FRONT.md,
// "Learning"). learn.cc chooses, by classes of calls, and takes times. messages.cc has ranks tell each
// other, by consensus/learner.h. file.cc keeps what was learned, and statistics.cc has it in statistics.
#pragma once
#include "../consensus/learner.h"
#include "../front/front.h"

#include <string.h>

enum { MOST_CLASSES = 64, LEARN_SLOTS = 128, LEARN_NAME = 256, LEARN_ROW = 400 };

// A LearnKey tells classes of a communicator apart. It is kept in files: it has no padding.
struct LearnKey {
  u8 kind, type, redop, root;  // type: the type if the call reduces, else 128 + the bytes of an element
  u8 windows, log, pad[2];     // log: the calls have up to 2^log bytes
};
inline bool same(const LearnKey &a, const LearnKey &b) { return !memcmp(&a, &b, sizeof a); }

// A Learned is a choice for a class, as it is kept: a rule of the bundle, or none. took has the times in ns of NCCL and
// of the choice.
const u32 LEARNED_NCCL = ~0u;
struct Learned {
  LearnKey key;
  u32 rule, took[2], pad;
};

// Known is what rank 0 has read of a file. All ranks hear it while they agree.
struct Known {
  u32 count, pad;
  Learned of[MOST_CLASSES];
};

struct LearnRow;  // of MSCCLC_STATS
struct LearnClass {
  LearnKey key;
  Fn fn;                            // of its first call
  u32 candidate[LEARN_CANDIDATES];  // rules of the bundle
  u32 options;                      // NCCL and the candidates
  Learner l;
  u32 made;            // trials; the thread of the calls counts them
  Atom<int> tried;     // all trials were made, and their times are there
  u32 pending;         // trials whose times are awaited
  u32 ns[LEARN_TRIALS];
  bool reported;       // its result was reported
  LearnRow *row;
};

// A LearnSlot takes the time of a trial by two events.
struct LearnSlot {
  int state;
  void *begin, *end, *stream;
  LearnClass *of;
  u32 trial;
};

// A Learn is what a communicator has for this. Judges are rank 0's. The thread that polls sockets changes learners and
// judges while it has the lock of the sockets. Classes are added by the thread of the calls.
struct Learn {
  u32 count;
  bool sums;  // also what changes bits of sums
  LearnClass of[MOST_CLASSES];
  Judge judge[MOST_CLASSES];
  Known known;            // of rank 0, when the ranks agreed
  char name[LEARN_NAME];  // of its rows in the file
  LearnSlot slot[LEARN_SLOTS];
  u32 next;
};
inline u32 classes_of(const Learn *l) { return __atomic_load_n(&l->count, __ATOMIC_ACQUIRE); }

// In file.cc. learned_name is what the rows of a communicator's bundle, ranks, driver, NCCL and GPU begin
// with. learned_read reads those rows. learned_keep has one be written soon. learned_await waits until all are written.
void learned_name(const Member *e, const Team *t, char *to, u32 size);
u32 learned_read(const char *name, Learned *to, u32 most);
void learned_keep(const Learn *l, const LearnClass &c, u32 choice, const u32 *took);
void learned_await();

// In statistics.cc: rows of MSCCLC_STATS. row_of gives a class its row, or null: there are too many.
LearnRow *row_of(const Member *e, Fn fn, int type, const LearnKey &key);
void row_trial(LearnRow *r, bool native);
void row_chosen(LearnRow *r, const char *title, const u32 *took);
