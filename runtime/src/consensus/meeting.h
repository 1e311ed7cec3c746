// This file is the meeting of a communicator's ranks, without sockets: what they tell each other, and what the hub and
// each rank do then. One process has the hub of a communicator. Its ranks say that they are here; then they go through
// rounds, in each of which all say their part and get one answer. meeting/hub.cc and meeting/line.cc move the bytes.
#pragma once
#include "../bundle/rows_gen.h"

// A message begins with a header, which all versions read. MEETING_VERSION changes with everything after it.
#ifndef MSCCLC_MEETING_VERSION
#define MSCCLC_MEETING_VERSION 9  // tests have another
#endif
enum { MEETING_MAGIC = 0x4843534d, MEETING_VERSION = MSCCLC_MEETING_VERSION };
enum { MOST_PART = 1 << 16, MOST_ANSWER = 1 << 23 };  // bytes
enum { MESSAGE_HERE = 1, MESSAGE_PART, MESSAGE_BYE, MESSAGE_WORD, MESSAGE_SOON };
struct Header {
  u32 magic, version, kind, bytes;  // bytes: after the header
};

// Here is what a rank says first. Part is what it says in a round: a round is known by its sort, its number and its
// set. `without` ranks take no part in it; they are listed after it, as u32, and set is their hash. After that comes
// what the rank has to say: its data, or why it cannot (ok: 0).
struct Here {
  u8 secret[16];
  u32 rank, ranks;
};
enum { ROUND_DATA = 1, ROUND_SPLIT };
struct Part {
  u32 sort, number, set, ok, without, pad;
};

// Word is an answer of the hub. GO: all ranks did as they should, and data follows. NO: the ranks have no programs, or
// the round comes to nothing; FAILED: a rank was lost. A text follows that says why. teller is the rank that warns.
// SOON is no answer: a rank makes the communicator in a group with others, so that no call may wait long for it. The
// hub says so when a rank has sent MESSAGE_SOON, with a Here, on a connection of its own.
// GONE is no answer either: a rank has gone since all were here. Who waits for ranks between two rounds need not wait
// on. The hub says it once, of the first that has gone.
enum { WORD_NONE, WORD_GO, WORD_NO, WORD_FAILED, WORD_SOON, WORD_GONE };
enum { NO_MISSING = 1, NO_FIT, NO_VERSION, NO_ROOM, NO_RANK, NO_USED, NO_LEFT };
struct Word {
  u32 word, reason, teller, pad;
};

// A Tail is the last half of an identity: where the hub of its communicator listens, and its secret.
struct Tail {
  u8 tag[6];
  unsigned short version;
  unsigned short family, port;  // AF_INET or AF_INET6; the port in the order of the network
  u8 address[16];
  u8 secret[16], spare[12];
  u64 sum;                      // of all before it
};
static_assert(sizeof(Tail) == 64, "half of an identity");

// What a rank says in ROUND_SPLIT, and what it hears: its place in the communicator of its color, and where that meets.
// Each rank gives a tail of its own process, and that of the first rank counts.
struct Ask {
  int color, key;
  Tail tail;
};
struct Placed {
  u32 rank, ranks;
  Tail tail;
};

// The hub of one communicator.
enum { RANK_ABSENT, RANK_HERE, RANK_TOLD, RANK_LEFT, RANK_LOST };  // TOLD: it came after the word
struct Round {
  Part name;
  u8 *out, *said, *answered;  // by rank; out: it takes no part
  u8 *data;                   // ranks * bytes
  u32 bytes, waits;           // waits: ranks that have not said their part
  bool gone;                  // a rank has, which takes part: the others have their answer at once
  u32 word, reason, no;       // once the round comes to nothing, or WORD_NONE; no: the first rank that cannot
  char text[512];
  Round *next;
};
struct Meeting {
  u32 ranks;        // 0 until the first has come
  u8 *is;           // by rank
  u32 here;
  u64 begun, limit; // when the first came, and how long it waits for the others, in ns
  bool gone;        // the ranks know that one has
  u32 most, room;   // the most ranks that there may be, and that this process has descriptors for
  u32 word, reason;
  char text[512];
  Round *rounds;
};

// Teller is how the hub sends: to a rank, or to whom it is just listening (NOBODY).
const u32 NOBODY = ~0u;
struct Teller {
  void *of;
  void (*tell)(void *of, u32 rank, const Word &word, const void *bytes, u32 count);
};

// The hub's events. A rank says that it is here: it is one of the meeting where the result is true. It says its part:
// its connection must end where the result is false. A connection ends, properly or not. Time passes. A Meeting begins
// as zeros, with a limit, most and room.
bool meeting_here(Meeting *m, u32 rank, u32 ranks, u32 version, u64 now, const Teller &t);
bool meeting_part(Meeting *m, u32 rank, const u8 *part, u32 bytes, const Teller &t);
void meeting_gone(Meeting *m, u32 rank, bool properly, const Teller &t);
void meeting_time(Meeting *m, u64 now, const Teller &t);
bool meeting_cannot(Meeting *m, u32 rank, u32 ranks, const char *why, u64 now, const Teller &t);
bool meeting_over(const Meeting *m);  // nobody is there any more, after some were
void meeting_free(Meeting *m);
u32 meeting_missing(const Meeting *m, char *to, u32 size);  // writes who has not come, and says how many
u32 set_hash(const u32 *without, u32 count);                // 0 where the set is empty

// A rank in its meeting. What it does between two answers is STAGE_WORK. In STAGE_LAST it has said yes to the last
// round, and whether programs run the calls is the hub's word: it must hear it.
enum Stage {
  STAGE_CONNECT,
  STAGE_HERE,
  STAGE_WORK,
  STAGE_SAID,
  STAGE_LAST,
  STAGE_TEAM,    // programs run the calls
  STAGE_MET,     // NCCL runs them; the ranks can meet again
  STAGE_NCCL,    // NCCL runs them
  STAGE_FAILED   // the communicator has an error
};
enum Event {
  EVENT_CONNECTED, EVENT_UNREACHED,
  EVENT_GO, EVENT_NO, EVENT_FAILED, EVENT_OTHER,  // answers; OTHER: of another version
  EVENT_LOST, EVENT_LIMIT,                        // the connection, the limit of the wait
  EVENT_ENDED, EVENT_FORKED,                      // the program ends the communicator; this is a forked child
  EVENT_MORE, EVENT_DONE, EVENT_CANNOT,           // of work: a round follows, it is the last one, this rank cannot
  EVENT_ONLY                                      // there is nothing to agree on
};
// What a rank does then. ACT_LEAVE: it says goodbye. ACT_CLOSE: it closes the connection without a word.
enum Act { ACT_NONE, ACT_HERE, ACT_WORK, ACT_PART, ACT_LEAVE, ACT_CLOSE };
Act rank_step(Stage *stage, Event event);

// later_step is a round of ranks that have met: of a window, or of a split. It gives 1 where the round succeeds, 0
// where it comes to nothing, and -1 where the rank may have been counted on, so that the communicator has an error.
// `last` says that it is the round that decides.
int later_step(bool last, Event event);
