// This file is a call as the front has it, and what a thread has open.
#pragma once
#include "member.h"

#include <stdlib.h>

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

// OP begins a function of CALLS with an Op of its arguments.
#define OP(name, shape) \
  Op o = {};            \
  o.fn = FN_##name;     \
  o.comm = comm;        \
  o.stream = stream;    \
  SETS_##shape(o)

// kind_of is the kind of the rules that a function has, or KIND_NONE: it is NCCL's alone (Send, Recv), or no call.
inline u32 kind_of(Fn fn) {
  switch (fn) {
#define ROW(name, kind, shape, X) \
  case FN_##name: return kind;
    CALLS(ROW, )
#undef ROW
    default: return KIND_NONE;
  }
}

// dtype_of and redop_of are what programs have for a type and an operation of NCCL's, or DT_COUNT and RED_COUNT.
inline u32 dtype_of(int type) {
  static const u8 all[] = {DT_I8,  DT_U8,  DT_I32, DT_U32,  DT_I64,  DT_U64,
                           DT_F16, DT_F32, DT_F64, DT_BF16, DT_E4M3, DT_E5M2};
  return type >= 0 && type < (int)sizeof all ? all[type] : (u32)DT_COUNT;
}
inline u32 redop_of(int op) {
  static const u8 all[] = {RED_SUM, RED_PROD, RED_MAX, RED_MIN, RED_AVG};
  return op >= 0 && op < (int)sizeof all ? all[op] : (u32)RED_COUNT;
}

// kind_reads and kind_writes say whether a rank's call of a kind has an input or an output. root: the rank is its root.
inline bool kind_reads(u32 kind, bool root) { return root || (kind != KIND_SCATTER && kind != KIND_BROADCAST); }
inline bool kind_writes(u32 kind, bool root) { return root || (kind != KIND_REDUCE && kind != KIND_GATHER); }
