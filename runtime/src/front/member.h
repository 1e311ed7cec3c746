// This file is a communicator as the front has it, and the table of all.
#pragma once
#include "../consensus/switch.h"
#include "../team/engine.h"
#include "abi.h"
#include "record.h"

// What a communicator is to us. It begins as NEW, where its ranks have not agreed yet.
enum State {
  STATE_NEW,      // its ranks meet
  STATE_READY,    // NCCL's until its ranks have made their memory (comms/ready.cc)
  STATE_NCCL,     // NCCL's alone
  STATE_TEAM,     // its ranks run our programs
  STATE_PAUSED,   // suspended: NCCL's alone until it is resumed
  STATE_GONE,     // destroyed here, while its peers may still run
  STATE_FAILED    // its ranks could not agree: all its calls fail
};

// An Atom is a word that threads read while others write it.
template <typename T>
struct Atom {
  T value;
  operator T() const { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }
  T operator=(T v) { return __atomic_store_n(&value, v, __ATOMIC_SEQ_CST), v; }
  T operator->() const { return *this; }
};

enum { MOST_KINDS = 4096 };

// A Member is a communicator of this process. Members are never freed, but used again, so that a late reader finds
// memory.
struct Line;  // meeting/meet.h
struct Init;
struct Plan;  // comms/agree.h
struct Member {
  Atom<Comm> comm;      // null: the member is free
  Atom<int> state;
  u32 users;        // threads that use team
  Atom<Team *> team;
  Atom<int> dead;   // 1 + the rank whose process ended without leaving
  Atom<u64> died;   // when that was noticed
  Atom<int> explained; // text says where launches waited for it
  Atom<int> exits;      // ranks whose process ends by exit() while the communicator is there
  Atom<int> goodbye;    // this process ends so, and has notified the others
  Atom<int> agreeing;   // its ranks agree, in a thread that is a user
  Atom<int> spread;     // its ranks are on several nodes
  Atom<u64> family;     // the same on all ranks of a communicator, and in no other; 0 before they meet
  struct Record *record;  // of its last calls (record/record.cc), or null; it stays for the next member
  u32 rank, ranks;
  int device;
  u32 ctas;
  bool blocking;
  void *stream;     // our own, on the communicator's GPU
  Line *line;       // to the hub of the communicator, or null; it changes while the ranks meet and when they part
  Init *splits;     // that NCCL has not made yet (comms/agree.cc)
  Result error;     // of STATE_FAILED
  u8 secret[16];    // what peers show when they connect to this rank
  u8 process[BUNDLE_RANKS][16];  // of each rank
  u8 node[BUNDLE_RANKS];         // of each rank; those of others have no socket to this one
  u64 pid[BUNDLE_RANKS];
  int peer[BUNDLE_RANKS];   // sockets, or -1
  int ended[BUNDLE_RANKS];  // sockets on which nothing more comes, or -1: they close when no launch is left here
  Atom<int> late;           // it has ended, but not all of its launches have left
  bool left[BUNDLE_RANKS];  // ranks of other processes that have left properly, or whose process has ended
  bool quiet[BUNDLE_RANKS]; // ranks that have aborted: they may still write, and their end is no error
  Atom<struct Learn *> learn;  // which candidates are faster, or null (learn/learn.h)
  void *board;              // of the last calls of all ranks (peers/board.cc), or null
  u64 at_call, at_since;    // the call that its GPU is at while that is oversubscribed (peers/waits.cc), and since when
  bool at_warned;
  u32 group;                // calls of the group that its thread has open
  Gate gate;                // of STATE_READY
  Atom<Plan *> plan;        // of STATE_READY: the rules, until memory is made
  Atom<int> making;         // a thread makes its memory, and is a user
  bool plans_windows;       // some rule of the plan asks for windows
  u8 second[64];            // a Tail: where its ranks meet to make their memory
  char name[48];            // of its configuration, or empty
  char text[640];           // for GetLastError
  char cause[160];          // why it is dead: which process has ended, and how
  bool lost;                // its network has failed, and its launches were asked to leave
  bool warned_window;         // that a window is not used
  const char *why;          // why it is NCCL's alone; a text that stays
  bool among;               // its thread made it in a group with others
  bool by_kind;             // the first eager call of each kind is NCCL's (calls/kinds.cc), on all ranks
  u64 kinds[MOST_KINDS / 64];  // those that NCCL has had
  u64 calls;                // collectives that this rank has called
  u32 failures;             // kinds of failure that were counted, by bits
};

// The table of communicators (table.cc). member_enter finds one and counts the caller as a user, until
// member_leave. While its ranks agree, it waits for that; member_peek does not wait. member_add makes one.
// member_forget frees it. member_settled waits until nobody but the caller uses it, and member_agreed until the
// agreement of its ranks has ended; both say no after a time.
const u64 FOREVER = ~0ull;
Member *member_enter(Comm comm);
Member *member_use(Comm comm, Result *r);  // as member_enter; null with an error where it has failed or is not ready
Member *member_peek(Comm comm);
void member_leave(Member *e);
bool member_hold(Member *e, Comm comm);  // as member_peek, if e still has that communicator
void member_stay(Member *e);  // one user more
Member *member_add(Comm comm, u32 ctas, bool blocking);
inline bool change(Member *e, int *from, int to) {  // of its state; where it has another one, *from becomes that
  return __atomic_compare_exchange_n(&e->state.value, from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
void member_hide(Member *e);    // its communicator is not found any more
void member_forget(Member *e);
bool member_settled(Member *e, u64 limit_ns);
bool member_agreed(const Member *e, u64 limit_ns);
// OUR_CTAS are those of a launch at most, if nobody says otherwise.
enum { MOST_COMMS = 4096, MOST_CTAS = 4096, OUR_CTAS = 32 };
bool member_made(const Member *e, u64 limit_ns);    // waits for the thread that makes its memory
Member *member_at(u32 i);  // in any state, or null after the last
// system_fails tells of an error that is of no communicator, and keeps its text for GetLastError.
Result system_fails(const char *format, ...) __attribute__((format(printf, 1, 2)));
inline Result no_memory(const char *of) { return system_fails("%s: this process has no memory left", of); }
const char *last_text(Comm comm);  // of the last error, of any communicator where comm is null
void member_text(Member *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
