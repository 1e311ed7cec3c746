// This file is what the parts of the front share: communicators, threads, NCCL's functions, messages.
//
// The front is NCCL's interface in front of an engine (engine.h). nccl_calls.cc has the collectives, nccl_group.cc the
// groups, nccl_comms.cc what makes communicators, nccl_agree.cc the agreement of their ranks, which meet by
// nccl_meeting.h, nccl_windows.cc and nccl_files.cc windows, nccl_peers.cc the sockets that tell of dead processes,
// nccl_exit.cc the end of a process by exit(), nccl_board.cc the last calls of all ranks, nccl_find.cc the search for
// NCCL, and nccl_alone.cc communicators without NCCL.
#pragma once
#include "../../transport/system.h"
#include "engine.h"
#include "nccl_abi.h"
#include "nccl_switch.h"
#include "nccl_watch.h"

#include <stdlib.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

// What a communicator is to us. It begins as NEW, where its ranks have not agreed yet.
enum State {
  STATE_NEW,      // its ranks meet
  STATE_READY,    // NCCL's until its ranks have made their memory (nccl_ready.cc)
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
struct Line;  // nccl_meet.h
struct Init;
struct Plan;  // nccl_agree.h
struct Member {
  Atom<Comm> comm;      // null: the member is free
  Atom<int> state;
  u32 users;        // threads that use team
  Atom<Team *> team;
  Atom<int> dead;   // 1 + the rank whose process ended without leaving
  Atom<u64> died;   // when that was noticed
  Atom<int> told;   // text says where launches waited for it
  Atom<int> exits;      // ranks whose process ends by exit() while the communicator is there
  Atom<int> goodbye;    // this process ends so, and has told the others
  Atom<int> agreeing;   // its ranks agree, in a thread that is a user
  Atom<int> spread;     // its ranks are on several nodes
  Atom<u64> family;     // the same on all ranks of a communicator, and in no other; 0 before they meet
  struct Record *record;  // of its last calls (nccl_record.cc), or null; it stays for the next member
  u32 rank, ranks;
  int device;
  u32 ctas;
  bool blocking;
  void *stream;     // our own, on the communicator's GPU
  Line *line;       // to the hub of the communicator, or null; it changes while the ranks meet and when they part
  Init *splits;     // that NCCL has not made yet (nccl_agree.cc)
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
  Atom<struct Learn *> learn;  // which candidates are faster, or null (nccl_learn.h)
  void *board;              // of the last calls of all ranks (nccl_board.cc), or null
  u64 at_call, at_since;    // the call that its GPU is at while that is crowded (nccl_waits.cc), and since when
  bool at_told;
  u32 group;                // calls of the group that its thread has open
  Gate gate;                // of STATE_READY
  Atom<Plan *> plan;        // of STATE_READY: the rules, until memory is made
  Atom<int> making;         // a thread makes its memory, and is a user
  bool plans_windows;       // some rule of the plan asks for windows
  u8 second[64];            // a Tail: where its ranks meet to make their memory
  char name[48];            // of its configuration, or empty
  char text[640];           // for GetLastError
  char cause[160];          // why it is dead: which process has ended, and how
  bool lost;                // its network has failed, and its launches were told
  bool told_window;         // that a window is not used
  const char *why;          // why it is NCCL's alone; a text that stays
  bool among;               // its thread made it in a group with others
  bool by_kind;             // the first eager call of each kind is NCCL's (nccl_kinds.cc), on all ranks
  u64 kinds[MOST_KINDS / 64];  // those that NCCL has had
  u64 calls;                // collectives that this rank has called
  u32 failures;             // kinds of failure that were counted, by bits
};

// The table of communicators (nccl_table.cc). member_enter finds one and counts the caller as a user, until
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
Member *member_at(u32 i);  // in any state, or null behind the last
// system_fails tells of an error that is of no communicator, and keeps its text for GetLastError.
Result system_fails(const char *format, ...) __attribute__((format(printf, 1, 2)));
inline Result no_memory(const char *of) { return system_fails("%s: this process has no memory left", of); }
const char *last_text(Comm comm);  // of the last error, of any communicator where comm is null
void member_text(Member *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

// What a thread has open.
struct Op;
struct Pane;
struct Thread {
  u32 inside;  // calls of NCCL that it is in: what these call of NCCL's passes through
  u32 depth;   // of groups
  Op *ops;     // of the outermost group
  u32 op_count, op_room;
  Init *inits;
  u32 init_count, init_room;
  Pane *panes;
  u32 pane_count, pane_room;
  bool captured;  // of its group, NCCL runs a captured call of a communicator that has a team
  Member *about;     // that messages are about
  Member *only;      // whose call is the first of the group that NCCL runs
  void *only_stream;
  Fn only_fn;
  u32 grouped;       // calls of the group that NCCL runs
};
extern __thread Thread own __attribute__((tls_model("initial-exec")));

// Inside marks calls of NCCL's functions.
struct Inside {
  Inside() { own.inside++; }
  ~Inside() { own.inside--; }
};

// An Unbound lets the calling thread make calls of the driver that are not permitted while it captures, if NCCL does
// a captured call meanwhile: it may connect ranks then (FRONT.md, "Captured calls that NCCL runs").
struct Unbound {
  int mode;
  bool bound;
  explicit Unbound(bool captured);
  ~Unbound();
};

// What NCCL's functions begin with: BEGIN finds NCCL's own, and NCCL_DOES has NCCL do a call, so that what that calls
// in turn passes through.
#define BEGIN(function)              \
  if (forked()) return after_fork(); \
  const Nccl *n = nccl();            \
  if (!n) return INTERNAL_ERROR;     \
  if (!n->function) return nccl_lacks("nccl" #function)
#define NCCL_DOES(call)  \
  [&]() -> Result {      \
    const Inside inside; \
    return n->call;      \
  }()

// grow makes room for one more in a list, or gives null.
template <typename T>
T *grow(T **list, u32 *count, u32 *room) {
  if (*count == *room) {
    const u32 more = *room ? *room * 2 : 16;
    T *p = (T *)realloc((void *)*list, more * sizeof(T));
    if (!p) return nullptr;
    *list = p, *room = more;
  }
  return &(*list)[(*count)++];
}

// A call of a collective, or of one that is NCCL's alone and only ordered with ours (Send, Recv).
struct Op {
  Fn fn;
  const void *send;
  void *recv;
  size_t count;
  int type, op, root;
  Comm comm;
  void *stream;
  const CollConfig *config;  // or null. That of a call that waits for the end of its group is a copy
  Member *member;       // in a group
  bool sent;          // NCCL has it already
  bool captured;
  Choice choice;
  Call call;
  struct LearnClass *learns;  // the call is a trial of it, or null; trial is its number
  u32 trial;
  struct LearnSlot *slot;     // of a call of a group that NCCL runs
};

// OP begins a function of NCCL's with an Op of its arguments.
#define OP(name)       \
  Op o = {};           \
  o.fn = FN_##name;    \
  o.comm = comm;       \
  o.count = count;     \
  o.type = type;       \
  o.stream = stream

// nccl finds NCCL once. Where there is none, its functions fail with a message. passive says that calls are to pass
// through: the process has forked, or another of our libraries is in front of NCCL.
const Nccl *nccl();
bool passive();
bool alone();  // MSCCLC_NCCL=none
void *nccl_symbol(const char *name);
bool loaded_find();                       // the NCCL that the process has loaded (nccl_loaded.cc)
void *loaded_symbol(const char *name);    // one of its functions, or null
void fork_watch();
bool forked();
inline bool direct() { return own.inside || passive(); }  // the call is not the program's, and passes through
Result after_fork();  // says that the process has forked
Result nccl_lacks(const char *name);  // says, once for each name, that NCCL has no such function

// The bundle of this process, opened once, or null with a reason.
Bundle *the_bundle(const char **why);

// Collectives (nccl_calls.cc) and groups.
Result forward(const Op &op);
bool fits_nccl(const Op &op, const Member *e);  // the arguments are such that NCCL takes them
Call call_of(const Op &op);
bool config_plain(const CollConfig *c);  // a configuration, or none, of a call that a program may run
bool config_keep(Op *op);                // copies it until the end of the group; false: there is no memory
bool captured_now(const Member *e, void *stream);  // a call of a team that does not choose is captured
Result choose(Member *e, Op *op);          // fills in op->choice
Result launch(Member *e, const Op &op);
Result cannot(Member *e, const Op &op, const char *what, int code);

// Kinds of calls (nccl_kinds.cc): whether they matter to this rank, what the ranks have agreed on, and whether a call
// is the first of its kind.
bool kinds_matter(const Member *e);
void kinds_begin(Member *e, bool matter);
bool first_of_kind(Member *e, const Op &op);
Result collective(Op op);
Result group_add(Op op);
Result settle(Comm comm);  // waits while NCCL says that something is in progress
// windows_made has the windows of the thread's group used, which NCCL has ended with this result.
Result windows_made(Result r);

// inits_made has the ranks of the communicators meet that the thread's group has made with this result. splits_made
// does so with those that NCCL had not made yet. inits_soon tells other ranks of communicators that the thread's group
// makes with others, before NCCL makes them.
Result inits_made(Result r);
void inits_soon();
Result nccl_state(Comm comm, bool one_at_a_time, Result *state);  // ncclCommGetAsyncError of NCCL's
void splits_made(Member *e);
void keep_nccl(Member *e, const char *why);   // e is NCCL's alone
u32 ctas_of(const Config *config);            // the most CTAs of a communicator with this configuration
void stream_close(Member *e);
bool stream_open(Member *e);

// Communicators whose memory is not made yet (nccl_ready.cc). turn says whether a call of a collective is ordered with
// those of the communicator's team; it may have the communicator become a team's. ready_ask has the memory be made, in
// the background. ready_end frees what is left of the plan.
bool ready_turn(Member *e, const Op &op);
inline bool turn(Member *e, const Op &op) {
  return e->state == STATE_READY ? ready_turn(e, op) : e->state == STATE_TEAM;
}
inline bool teamed(const Member *e) { return e->state == STATE_TEAM || (e->state == STATE_READY && e->team); }
void ready_ask(Member *e);
void ready_end(Member *e);
bool arena_at_init();  // MSCCLC_ARENA_AT
bool skipped(u32 ranks, const char *name, char *why, size_t size);  // by MSCCLC_SKIP (nccl_skip.cc)
enum { TERM = 96 };
bool skip_wrong(const char *text, char (&term)[TERM]);  // has a term without a meaning
void part(Member *e);                         // leaves the meeting of its ranks

// What ranks tell each other of themselves. The version of the meeting's messages changes with it.
enum { SETTINGS = 7 };
struct Hello {
  Offer offer;
  u32 by_kind, pad;  // by_kind: kinds of calls matter to this rank
  u8 process[16], secret[16], second[64];
  char settings[SETTINGS][48];  // variables that must be equal on all ranks (nccl_nodes.cc)
};

// A Link is a part of a handle of a link for another rank (team_link), if there is one. bytes is the length of all. All
// ranks hear the parts of all, so short ones save more than the rounds cost that a long handle takes.
enum { LINK_PART = 256 };
struct Link {
  u32 ok, bytes;
  u8 part[LINK_PART];
};

// gather is a round of communicators of this thread whose ranks have met: each rank says something, or why it cannot
// (ok: false), and hears all. last says that the round decides. heard is 1 where all said something, else why has a
// text, and it is -1 where the communicator has failed by it. all has room for ranks * bytes, or is null.
struct Saying {
  Member *e;
  bool ok;
  const void *mine;
  void *all;
  u32 bytes;
  int heard;
  Why why;
};
void gather(Saying *list, u32 count, bool last, const char *what);

// Sockets to the peers' processes.
bool peers_ready(Why *why);          // this process listens
const u8 *peers_process();           // 16 random bytes
void peers_lock();                   // while all sockets of a member change
void peers_unlock();
bool peers_expect(Member *e);        // gives a member its secret
bool peers_connect(Member *e, const Hello *all, Why *why);
bool peers_admitted(Member *e, Why *why);  // waits for the connections of all ranks: who leaves must tell all
void peers_leave(Member *e, bool aborted);
void peers_close(Member *e);
void peers_hush(Member *e);          // says no more, as a process that has ended, and hears when the others have left
bool peers_left(Member *e);           // all ranks of other processes
bool peers_gone(Member *e);           // some rank of another process has left, or ended
enum { ASKS_PLACE, ASKS_FILES };
int peers_dial(const u8 *process, const u8 *secret, u32 rank, u32 asks);  // a socket to another process, or -1
void peers_exit();                   // the process ends: leaves all
void peers_rest();
void peers_fail(Member *e, u32 rank, const char *cause);  // e is dead since this rank has ended

// The end of a process by exit() (nccl_exit.cc). exit_watch has exit_goodbye called then, before handlers that are
// older. exit_hear takes what another rank tells as its process ends, of which the first note is given, and returns
// whether that was all of it. exit_look sees that later calls fail, and returns whether it must look again.
// exit_refuses says whether a call that cannot be launched is such a call.
const char EXITS = 'E';
#ifndef MSCCLC_EXIT_MARKS
#define MSCCLC_EXIT_MARKS 2048  // tests build the library with fewer
#endif
enum { EXIT_MARKS = MSCCLC_EXIT_MARKS };
struct ExitNote {
  char what, pad[3];
  int code;          // of the driver, where the GPU does not say what was finished
  u32 first, count;  // marks that this note has
  u64 launches;
  u64 mark[EXIT_MARKS];
};
bool exit_watch();  // false: there is no memory for that
void exit_goodbye();
bool exit_hear(Member *e, u32 rank, const ExitNote *first, ssize_t bytes);
bool exit_look();
bool networks_look();        // the same for networks that fail
void exit_stop(Comm comm);   // has launches leave of a communicator that is dead
bool exit_refuses(Member *e);
void peers_child();                  // in a forked child
bool random_bytes(void *to, u32 bytes);

// hub_exit is for a process that ends: it lets its hubs end what they tell the ranks. Its own rank may have heard the
// word first (nccl_hub.cc).
void hub_exit();

// Files for other processes, by a key (nccl_files.cc). They stay open until they are hidden. files_give answers who
// asks; what files_fetch gets, the caller closes.
void files_show(const u8 *key, const Files *f);
void files_hide(const u8 *key);
void files_give(int fd, const u8 *key);
bool files_fetch(const u8 *process, const u8 *key, u32 count, Files *to, Why *why);

// The board of a communicator's last calls.
int board_make(const u8 *id);
void board_open(Member *e, const u8 *id);
void board_close(Member *e);
void board_note(Member *e, const Call *c);
void board_turn(Member *e, u64 turn);  // of the call that was noted last: its launch had this turn on a crowded GPU
void board_call(Member *e, u64 number, char *to, size_t size);  // names a call of this rank, by number; 0: the last
bool board_says(Member *e, char *to, size_t size);

// reap frees what has ended where nobody can write to it any more. abort_team has all launches leave: the communicator
// is NCCL's from now on.
void reap();
void abort_team(Comm comm, const char *why);
void drop_comm(Comm comm);  // ends a communicator that the program does not get

// GPUs, by their number, as NCCL has it.
int gpu_enter(int device, void **before);
void gpu_leave(void *before);
bool gpu_foreign(int device);   // the thread has a context of this GPU that is not the primary one
int gpu_current(int *device);  // of the calling thread's context
int gpu_stream(void **stream);
void gpu_stream_end(void *stream);
int gpu_busy(void *stream, bool *busy);
int gpu_captured(void *stream, bool *captured);
int gpu_copy(u64 to, u64 from, u64 bytes, void *stream);
int gpu_event(void **event);
int gpu_version();  // of the driver, or 0
void gpu_event_end(void *event);  // or null
int gpu_record(void *event, void *stream);
bool gpu_happened(void *event);
bool gpu_between(void *begin, void *end, double *seconds);

u64 now_ns();
const u64 SECOND = 1000000000ull;  // in ns
void nap(u64 ns);
// thread_begin begins a thread that takes no signals and that nobody joins. It sets errno where it fails.
bool thread_begin(void *(*work)(void *), void *of);
// say_files adds to a rank's reason that its process has few descriptors left, where that is so: the driver has other
// errors then.
void say_files(Why *why, u32 rank);

// Without NCCL (nccl_alone.cc). alone_placed has a communicator know its rank.
const Nccl *alone_functions();
void alone_placed(Comm comm, u32 rank, u32 ranks);

#include "nccl_learns.h"
#include "nccl_noted.h"
