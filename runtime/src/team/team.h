// This file is a team as the engine's files share it.
#pragma once
#include "../device/pinned.h"
#include "../launch/layout.h"
#include "engine.h"

// A Seat is what a rank has of a program: its tables and states in the team's own memory, the memory of all ranks, and
// a status of its own, so that a launch that gave up names its program.
struct Seat {
  u64 blocks, steps, operands, states, status;
  u64 launched;  // eager launches
  abi_one_memory rank[ONE_RANKS];
};

// A Ready is a launch with all its parameters, which lie as the kernel takes them. The key says which call it is.
struct Ready {
  const bundle_rule *rule;  // null: there is none
  u64 count;
  const void *send;
  void *recv;
  u32 dtype, redop;
  void *function;
  u32 replicas, blocks, threads;
  u64 iterations;
  void *params;
  size_t bytes;
  union {
    abi_few_launch launch;
    abi_rows_launch finishes;  // of a call with an epilogue
  };
  abi_few_rows_launch few;  // of one that is short
};
enum { READY = 8 };

// A Capture is a capture of streams that has calls of the team.
enum { CAPTURES = 8, DEPENDS = 16 };
struct Capture {
  u64 number, used;      // used: which of all captured calls is its last one
  void *noted, *stream;  // an event that is part of it, and the stream: of its last call
  void *record;          // the node that records Order.last, or null
  void *depends[DEPENDS];  // the nodes that it depends on
  u32 count;
};

// Order is how calls follow each other over streams (order.cc). Teams of one communicator and rank have one order:
// no two of their launches run at once.
struct Order {
  Team *teams;            // a list
  u32 ctas;               // that Admission counts: those of the team that has most
  void *last;             // an event: after the last eager call, or the last graph if mixes
  u64 stream;             // the number of the stream of the last eager call
  bool made;              // it has been recorded once
  bool any;               // there was a call, or a graph may run
  bool unseen;            // a call has no event after it: it may run until the process ends
  bool mixes, mixed;      // graphs wait for `last` and record it; there was such a capture
  u64 captured;           // calls
  Capture capture[CAPTURES];
  bool asked;             // team_captured was, about a stream, and no call has run since
  void *asked_stream;
  u64 asked_capture;
};

// A StreamSeen is what order_before finds of a stream for order_after: the capture that it is part of, or 0, and its
// number.
struct StreamSeen {
  u64 capture, stream;
};

// A Mapping is memory of a rank of another process, as this process has mapped it: by a handle, or from files.
struct Mapping {
  u64 at, bytes;
  u32 files;   // 0: by a handle, or not at all
  u64 *file;   // the bytes of each
};

struct Window {
  u64 at, bytes;
  u64 rank[BUNDLE_RANKS];  // where it begins on each
  Mapping map[BUNDLE_RANKS];
  const void *name;
  u64 number;    // of windows in the order in which they came
  Window *next;  // of those that were dropped
};

// Windows are the windows of a team, by their addresses. They change between launches, not beside them.
struct WindowRow {
  u64 at, end, most_end;  // most_end: of this row and all before it
  Window *window;
};
struct Windows {
  WindowRow *row;
  u32 count, room;
  u64 numbers;
  Window *dropped;
  bool wanted;  // some rule asks for windows
};

struct Net;  // net.h

// Exits are what ranks have announced whose processes end by exit() (exit.cc).
struct Exits {
  u64 *ends;      // marks: the least of all such ranks
  bool *over;     // by program: this rank has ended what they have finished; later launches leave
  u32 rank;       // who has finished the least, and how many launches
  u64 launches;
  bool all;       // programs are over
  bool failed;    // a launch of a program that is over has left
};

struct Team {
  Bundle *bundle;
  Set set;
  Gpu *gpu;
  u32 ranks, rank, ctas;
  bool few;                // short launches may be used
  bool alone;              // there is no NCCL: candidates are rules
  bool invariant;          // the bits of sums may not depend on the size of a call
  u64 limit_ns;            // of waits
  u64 arena, own;          // addresses
  bool hosted;             // arenas are memory of the host: GPUs of the team do not reach each other's memory
  Pinned host_arena, host_reached[BUNDLE_RANKS];
  u64 arena_bytes;
  u64 taken;               // bytes of both, as they count for MSCCLC_ARENA
  u8 node[BUNDLE_RANKS];   // of each rank
  u32 nodes;
  Net *net;                // where there are several
  u64 reach[BUNDLE_RANKS]; // arenas of all ranks of the node
  bool opened[BUNDLE_RANKS];
  Seat *seat;              // by program of the set
  u32 *ctas_of;            // by rule: of any rank
  Module *image[DT_COUNT], *copier[DT_COUNT], *finisher[DT_COUNT];
  u32 *of_rule;            // by rule: the index of its program
  u32 last_program;        // of the last call, and which eager launch of it that was, or 0
  u64 last_launch;
  u32 first_rule[KIND_COUNT], end_rule[KIND_COUNT];  // where rules of a kind lie
  Order *order;
  Team *beside;            // the next in Order.teams
  bool used;               // a call has been, or was captured
  Admission *admission;    // that counts it
  u64 turn;                // of its last launch, or 0: it had none
  bool shared;             // ranks may share a GPU
  u32 shares;              // ranks of the team on its GPU
  bool late;               // some rank's GPU was oversubscribed when the team joined: captured calls are NCCL's
  bool pieces;             // lines of 128 bytes may arrive in parts: rules whose programs send them do not count
  Windows windows;
  Ready *ready;
  void *side;              // a stream, for what reads and writes beside launches
  pthread_mutex_t mu;      // guards side and failure
  abi_status *statuses;    // as they were read, by program
  Pinned leave;            // a word of each program, which tells its launches to leave; if the driver pins memory
  Why failure;
  bool failed, aborted;    // read without mu, too
  u64 looked;              // when the statuses were read last
  u64 state_bytes;         // of the states of all programs, which lie side by side
  Exits exits;
};

// shape_of is what a rule makes of a call.
inline Shape shape_of(const bundle_rule &r, const Call &c, u32 redop) {
  if (!c.then) return Shape{c.count, c.dtype, redop, r.replicas, r.tile};
  return Shape{c.count / c.rows->length, c.dtype, RED_SUM, r.replicas, r.tile, (u64)c.rows->length * size_of(c.dtype)};
}

inline u32 replicas(const Team *t, u32 program) { return t->set.program[program].row->replicas; }

u64 now_of_engine();  // ns of a clock that counts up
void nap_of_engine(u64 ns);

// In memory.cc: the memory of a team, and its tables in it.
bool arena_make(Team *t, Why *why);
bool own_make(Team *t, Why *why);
void team_free(Team *t, bool keep_arena);

// In net/net.cc, of teams of several nodes: what a rank offers; inboxes and jobs; what stands in its arena; what a
// launch gets; whether the network has failed; the end.
bool net_make(Team *t, const char *card, Offer *mine, Why *why);
bool net_join(Team *t, const Offer *all, Why *why);
int net_skip(Team *t);
void net_offer(const Team *t, u32 program, abi_one_launch *l);
bool net_lost(const Team *t, Why *why);
void net_free(Team *t, bool keep);
void net_leave(Team *t, const u64 *marks);  // marks: the process exits
void net_exits(Team *t);  // takes what ranks of other nodes have announced of their exits

// In end.cc. hurry has all waits of the launches of programs from first up to end time out, or gives an error of the
// driver. Where leave is pinned, it needs no driver, and no lock.
int hurry(Team *t, u32 first, u32 end);

// team_unseen fails a team of which the driver records no event after a launch: nobody sees when it ends.
void team_unseen(Team *t, int code);

// In exit.cc. NO_PART is the mark of a program that a rank has no part in.
const u64 NO_PART = ~0ull;
void exits_explain(Team *t, u32 program);
void exits_free(Team *t);

// In links.cc: what a rank's offer says of links to other GPUs. Whether lines of 128 bytes arrive at once between all
// ranks of a node, and whether the GPUs of some do not reach each other's memory: the same on all ranks.
void links_see(const Gpu *g, Offer *mine);
bool links_whole(const Offer *all, u32 ranks, const u8 *node);
bool links_apart(const Offer *all, u32 ranks, const u8 *node);

// In reach.cc: memory that other ranks reach, and that of others. unreach ends what window_reach did.
bool offer_of(const Gpu *g, u64 at, u64 bytes, WindowOffer *mine, Files *files, Why *why);
void unreach(const Gpu *g, Mapping *m);

// In windows.cc. windows_place gives the addresses of a call's buffers on all ranks, or false.
bool windows_place(const Team *t, const Call *c, abi_one_memory *rank);
void windows_free(Team *t);

// In admission.cc. Between before and after, which gets the launch's result, no other team on the GPU launches.
int admission_join(Team *t);
void admission_leave(Team *t);
bool oversubscribed(const Team *t);
int admission_before(Team *t, void *stream);
int admission_after(Team *t, void *stream, int code);

// In order.cc. order_join gives a team an order of its own, or that of another team of its communicator.
bool order_join(Team *t, const Team *other);
int order_make(Team *t);  // its events
void order_leave(Team *t);
int order_before(Team *t, void *stream, StreamSeen *seen);
int order_after(Team *t, void *stream, const StreamSeen &seen);
int order_record(Team *t, void *event, void *stream);  // after a launch; a team whose launch has no event fails
bool order_idle(Team *t, u64 limit_ns);  // waits until no eager call runs, or for so long: then it gives false

// In capture.cc: the same of captured calls, by the number of the capture.
int capture_before(Team *t, void *stream, u64 number);
int capture_after(Team *t, void *stream, u64 number);

// In tell.cc: what a status tells of.
void tell_failure(const Team *t, u32 program, const abi_status &s, u64 iterations, u64 launches, Why *why);
