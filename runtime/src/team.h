// This file is a team as the engine's files share it.
#pragma once
#include "layout.h"

// A Seat is what a rank has of a program: its tables and states in the team's own memory, the memory of all ranks, and
// a status of its own, so that a launch that gave up names its program.
struct Seat {
  u64 blocks, steps, operands, states, status;
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
  u32 columns, blocks, threads;
  void *params;
  size_t bytes;
  abi_few_launch launch;
};
enum { READY = 8, KINDS = 16 };

// Order is how calls follow each other over streams (team_order.cc).
struct Order {
  void *last, *noted;     // events: behind the last eager call, and behind the last captured one
  u64 stream;             // the number of the stream of the last eager call
  bool any;               // there was one
  u64 capture;            // that `noted` is part of, or 0
  void *capture_stream;
  bool asked;             // team_captured was, about a stream, and no call has run since
  void *asked_stream;
  u64 asked_capture;
};

// A StreamSeen is what order_before finds of a stream for order_behind: the capture that it is part of, or 0, and its
// number.
struct StreamSeen {
  u64 capture, stream;
};

struct Team {
  Bundle *bundle;
  Set set;
  Gpu *gpu;
  u32 ranks, rank, ctas;
  bool few;                // short launches may be used
  u64 limit_ns;            // of waits
  u64 arena, own;          // addresses
  u64 reach[BUNDLE_RANKS]; // arenas of all ranks
  bool opened[BUNDLE_RANKS];
  Seat *seat;              // by program of the set
  u32 *most_blocks;        // by program: of any rank
  Module *image[DT_COUNT], *copier[DT_COUNT];
  u32 *of_rule;            // by rule: the index of its program
  u32 first_rule[KINDS], end_rule[KINDS];  // where rules of a kind lie
  Order order;
  u32 counted;             // CTAs that its GPU's crowd has of it
  bool late;               // some rank's GPU was crowded when the team joined: captured calls are NCCL's
  Ready *ready;
  void *side;              // a stream, for what reads and writes beside launches
  pthread_mutex_t mu;      // guards side and failure
  abi_status *statuses;    // as they were read, by program
  Why failure;
  bool failed, aborted;    // read without mu, too
  u64 looked;              // when the statuses were read last
};

u64 now_of_engine();  // ns of a clock that counts up
void nap_of_engine(u64 ns);

// In team_memory.cc: the memory of a team, and its tables in it.
bool arena_make(Team *t, Why *why);
bool own_make(Team *t, Why *why);
void team_free(Team *t, bool keep_arena);

// In team_crowd.cc. Between before and behind, which is told how the launch went, no other team of the GPU launches.
int crowd_join(Team *t);
void crowd_leave(Team *t);
bool crowded(const Gpu *g);
int crowd_before(Gpu *g, void *stream);
int crowd_behind(Gpu *g, void *stream, int code);

// In team_order.cc.
int order_before(Team *t, void *stream, StreamSeen *seen);
int order_behind(Team *t, void *stream, const StreamSeen &seen);
int order_busy(Team *t, bool *busy);

// In team_failed.cc: what a status tells of.
void tell_failure(const Team *t, u32 program, const abi_status &s, u64 passes, u64 launches, Why *why);
