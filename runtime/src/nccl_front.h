// This file is what the parts of the front share: communicators, threads, NCCL's functions, messages.
//
// The front is NCCL's interface in front of an engine (engine.h). nccl_calls.cc has the collectives, nccl_group.cc the
// groups, nccl_comms.cc what makes communicators, nccl_agree.cc the agreement of their ranks, nccl_windows.cc and
// nccl_files.cc windows, nccl_peers.cc the sockets that tell of dead processes, nccl_find.cc the search for NCCL, and
// nccl_alone.cc communicators without NCCL.
#pragma once
#include "engine.h"
#include "nccl_abi.h"

#include <stdlib.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

// What a communicator is to us. It begins as NEW, where its ranks have not agreed yet.
enum State {
  STATE_NEW,      // non-blocking, or unknown: its ranks agree before its first collective
  STATE_NCCL,     // NCCL's alone
  STATE_TEAM,     // its ranks run our programs
  STATE_PAUSED,   // suspended: NCCL's alone until it is resumed
  STATE_GONE      // destroyed here, while its peers may still run
};

// An Atom is a word that threads read while others write it.
template <typename T>
struct Atom {
  T value;
  operator T() const { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }
  T operator=(T v) { return __atomic_store_n(&value, v, __ATOMIC_SEQ_CST), v; }
  T operator->() const { return *this; }
};

// A Member is a communicator of this process. Members are never freed, but used again, so that a late reader finds
// memory.
struct Member {
  Atom<Comm> comm;      // null: the member is free
  Atom<int> state;
  u32 users;        // threads that use team
  Atom<Team *> team;
  Atom<int> dead;   // 1 + the rank whose process ended without leaving
  Atom<u64> died;   // when that was noticed
  Atom<int> told;   // text says where launches waited for it
  Atom<int> agreeing;   // its ranks agree, in a thread that is a user
  Atom<int> spread;     // its ranks are on several nodes
  u32 rank, ranks;
  int device;
  u32 ctas;
  bool blocking;
  void *stream;     // our own, on the communicator's GPU
  u64 buffer;       // for the agreement
  bool on_host;     // is the buffer
  u8 family[16];    // the same on all ranks of a communicator, and in no other
  u8 secret[16];    // what peers show when they connect to this rank
  u8 process[BUNDLE_RANKS][16];  // of each rank
  u8 node[BUNDLE_RANKS];         // of each rank; those of others have no socket to this one
  u64 pid[BUNDLE_RANKS];
  int peer[BUNDLE_RANKS];   // sockets, or -1
  Atom<int> late;           // it has ended, but not all of its launches have left
  bool left[BUNDLE_RANKS];  // ranks of other processes that have left properly, or whose process has ended
  bool quiet[BUNDLE_RANKS]; // ranks that have aborted: they may still write, and their end is no error
  void *board;              // of the last calls of all ranks (nccl_board.cc), or null
  u32 group;                // calls of the group that its thread has open
  char text[640];           // for GetLastError
  bool lost;                // its network has failed, and its launches were told
  bool told_window;         // that a window is not used
  const char *why;          // why it is NCCL's alone; a text that stays
};

// The table of communicators (nccl_table.cc). member_enter finds one and counts the caller as a user, until
// member_leave. While its ranks agree, it waits for that; member_peek does not wait. member_add makes one.
// member_forget frees it. member_settled waits until nobody but the caller uses it, and member_agreed until the
// agreement of its ranks has ended; both say no after a time.
const u64 FOREVER = ~0ull;
Member *member_enter(Comm comm);
Member *member_peek(Comm comm);
void member_leave(Member *e);
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
Member *member_at(u32 i);  // in any state, or null behind the last
const char *last_text(Comm comm);  // of the last error, of any communicator where comm is null
void member_text(Member *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

// What a thread has open.
struct Op;
struct Init;
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
};
extern __thread Thread own __attribute__((tls_model("initial-exec")));

// Inside marks calls of NCCL's functions.
struct Inside {
  Inside() { own.inside++; }
  ~Inside() { own.inside--; }
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
  Member *member;       // in a group
  bool sent;          // NCCL has it already
  bool captured;
  Choice choice;
  Call call;
};

// A communicator that a group makes: where NCCL writes it.
struct Init {
  Comm *at;
  u32 ctas;
  bool blocking;
};

// nccl finds NCCL once. Where there is none, its functions fail with a message. passive says that calls are to pass
// through: the process has forked, or another of our libraries is in front of NCCL.
const Nccl *nccl();
bool passive();
bool alone();  // MSCCLC_NCCL=none
void *nccl_symbol(const char *name);
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
Choice choose(Member *e, Op *op);
Result launch(Member *e, const Op &op);
Result collective(Op op);
Result group_add(Op op);
Result settle(Comm comm);  // waits while NCCL says that something is in progress
bool group_init(Comm *at, u32 ctas, bool blocking);

// windows_made has the windows of the thread's group used, which NCCL has ended with this result.
Result windows_made(Result r);

// agree has the ranks of new communicators agree, each in a thread of its own. It waits for them, or for so long. It
// fails where this rank cannot take part.
Result agree(Member **list, u32 count, u64 patience);
Result made(const Init *list, u32 count);     // registers new communicators, and lets them agree
bool capture_first(Member *e, void *stream);  // the first call of e is captured, or too early: e is NCCL's from now on
void keep_nccl(Member *e, const char *why);   // e is NCCL's alone
u32 ctas_of(const Config *config);            // the most CTAs of a communicator with this configuration

// What ranks tell each other.
struct Hello {
  Offer offer;
  u32 version, pad;
  u8 process[16], secret[16];
};

// A Link is a handle of a link for another rank (team_link), if there is one.
struct Link {
  u32 ok, pad;
  u8 handle[TEAM_HANDLE];
};
const u64 GATHER_ROOM = sizeof(Link) > sizeof(Hello) ? sizeof(Link) : sizeof(Hello);

// gather is an AllGather of some bytes on communicators of this thread. all[i] has room for ranks * bytes.
bool gather(Member **list, u32 count, const void *const *mine, void *const *all, u32 bytes, Why *why);
bool gather_open(Member *e, Why *why);
void gather_close(Member *e);

// Sockets to the peers' processes.
bool peers_ready(Why *why);          // this process listens
const u8 *peers_process();           // 16 random bytes
void peers_lock();                   // while all sockets of a member change
void peers_unlock();
bool peers_expect(Member *e);        // gives a member its secret
bool peers_connect(Member *e, const Hello *all, Why *why);
void peers_admitted(Member *e);      // waits for the connections of all ranks: who leaves must tell all
void peers_leave(Member *e, bool aborted);
void peers_close(Member *e);
bool peers_left(Member *e);           // all ranks of other processes
bool peers_gone(Member *e);           // some rank of another process has left, or ended
enum { ASKS_PLACE, ASKS_FILES };
int peers_dial(const u8 *process, const u8 *secret, u32 rank, u32 asks);  // a socket to another process, or -1
void peers_exit();                   // the process ends: leaves all
void peers_child();                  // in a forked child
bool random_bytes(void *to, u32 bytes);

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
bool board_says(Member *e, char *to, size_t size);

// reap frees what has ended where nobody can write to it any more. abort_team has all launches leave: the communicator
// is NCCL's from now on.
void reap();
void abort_team(Comm comm, const char *why);

// GPUs, by their number, as NCCL has it.
int gpu_enter(int device, void **before);
void gpu_leave(void *before);
bool gpu_foreign(int device);   // the thread has a context of this GPU that is not the primary one
int gpu_current(int *device);  // of the calling thread's context
int gpu_stream(void **stream);
void gpu_stream_end(void *stream);
int gpu_alloc(u64 *address, u64 bytes);
int gpu_host_alloc(u64 *address, u64 bytes);  // memory of the host that GPUs reach
int gpu_free(u64 address);
int gpu_put(u64 address, const void *from, u64 bytes, void *stream);
int gpu_get(void *to, u64 address, u64 bytes, void *stream);
int gpu_busy(void *stream, bool *busy);
int gpu_captured(void *stream, bool *captured);
int gpu_copy(u64 to, u64 from, u64 bytes, void *stream);

// Messages and counts. version, warn and info print by MSCCLC_DEBUG; tell prints without it, too. debug_named is a
// level of MSCCLC_DEBUG, or -1. debug_file writes what MSCCLC_DEBUG_FILE names, if it is set.
int debug_named(const char *text);
bool debug_file(char *path, size_t size);
void version(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool warns();
void count_call(Fn fn, const char *why);  // why: null for a native one
const char *interned(const char *text);  // the same text, which stays until the process ends
void stats_write();
void settings_check();  // warns of variables that have no meaning
const char *fn_name(Fn fn);
u64 now_ns();
const u64 SECOND = 1000000000ull;  // in ns
void nap(u64 ns);
bool thread_begin(void *(*work)(void *), void *of);  // a thread that takes no signals and that nobody joins

// Without NCCL (nccl_alone.cc).
const Nccl *alone_functions();
bool alone_send(Comm comm, const void *bytes, u32 count);
bool alone_recv(Comm comm, void *all, u32 count);
