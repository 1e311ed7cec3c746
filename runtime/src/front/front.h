// This file is what the parts of the front share: communicators, threads, NCCL's functions, messages.
//
// The front is NCCL's interface in front of an engine (team/engine.h). Its folders are listed in runtime/doc.go. What
// they ask of each other is declared here and in the headers beside this one, so that none includes another's.
#pragma once
#include "../../../transport/system.h"
#include "call.h"
#include "gpu.h"
#include "member.h"
#include "peers.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

// nccl finds NCCL once. Where there is none, its functions fail with a message. passive says that calls are to pass
// through: the process has forked, or another of our libraries is in front of NCCL.
const Nccl *nccl();
bool passive();
bool second();  // the process has our own libnccl.so.2, too, which does the work
bool alone();  // MSCCLC_NCCL=none
void *nccl_symbol(const char *name);
bool loaded_find();                       // the NCCL that the process has loaded (loaded.cc)
void *loaded_symbol(const char *name);    // one of its functions, or null
void fork_watch();
bool forked();
inline bool direct() { return own.inside || passive(); }  // the call is not the program's, and passes through
Result after_fork();  // says that the process has forked
Result nccl_lacks(const char *name);  // says, once for each name, that NCCL has no such function

// Settings (settings.cc).
u64 meet_limit();  // MSCCLC_MEET, in ns
u64 wait_limit();  // of a wait for other ranks that are there, in ns, or FOREVER

// The bundle of this process, opened once, or null with a reason.
Bundle *the_bundle(const char **why);

// Collectives (calls/calls.cc) and groups.
Result forward(const Op &op);
bool fits_nccl(const Op &op, const Member *e);  // the arguments are such that NCCL takes them
Call call_of(const Op &op);
bool config_plain(const CollConfig *c);  // a configuration, or none, of a call that a program may run
bool config_keep(Op *op);                // copies it until the end of the group; false: there is no memory
bool captured_now(const Member *e, void *stream);  // a call of a team that does not choose is captured
Result choose(Member *e, Op *op);          // fills in op->choice
Result launch(Member *e, const Op &op);
Result cannot(Member *e, const Op &op, const char *what, int code);

// Kinds of calls (calls/kinds.cc): whether they matter to this rank, what the ranks have agreed on, and whether a call
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

// Communicators whose memory is not made yet (comms/ready.cc). turn says whether a call of a collective is ordered with
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
bool skipped(u32 ranks, const char *name, char *why, size_t size);  // by MSCCLC_SKIP (comms/skip.cc)
enum { TERM = 96 };
bool skip_wrong(const char *text, char (&term)[TERM]);  // has a term without a meaning
void part(Member *e);                         // leaves the meeting of its ranks

// reap frees what has ended where nobody can write to it any more. abort_team has all launches leave: the communicator
// is NCCL's from now on.
void reap();
void abort_team(Comm comm, const char *why);
void drop_comm(Comm comm);  // ends a communicator that the program does not get

u64 now_ns();
const u64 SECOND = 1000000000ull;  // in ns
void nap(u64 ns);
// thread_begin begins a thread that takes no signals and that nobody joins. It sets errno where it fails.
bool thread_begin(void *(*work)(void *), void *of);
// say_files adds to a rank's reason that its process has few descriptors left, where that is so: the driver has other
// errors then.
void say_files(Why *why, u32 rank);

// Without NCCL (comms/alone.cc). alone_placed has a communicator know its rank.
const Nccl *alone_functions();
void alone_placed(Comm comm, u32 rank, u32 ranks);

#include "learning.h"
#include "note.h"
