// This file is what the library's front (NCCL's functions) knows of its engine: bundles, and teams.
//
// Nothing here throws, and nothing needs libstdc++. Functions that fail say why in a Why. The calling thread's current
// context is the same when a function returns. Calls of one team that launch come one at a time, as NCCL asks of the
// calls of a communicator; team_failed and team_abort may come from any thread at any time.
#pragma once
#include "bundle_rows.h"

struct Why {
  char text[512];
};
void say(Why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A Bundle is a file, mapped and checked: the header and the table at once, and each section when it is used. It stays
// open until the process ends.
struct Bundle;
Bundle *bundle_open(const char *path, Why *why);
const u8 *bundle_hash(const Bundle *b);  // 32 bytes, of all that the file holds
bool bundle_serves(Bundle *b, u32 ranks, const char *device, Why *why);

// An Offer is what a rank tells the others of itself, so that all can judge whether they can work together, and reach
// its arena. It is sent as it is.
struct Offer {
  u8 bundle[32], host[32];  // the bundle; the machine (boot id, and the namespace of processes)
  u64 pid, address;         // of the process; of the arena, in the process
  u8 handle[64];            // of the arena, for other processes
  u8 uuid[16];              // of the GPU
  u32 ordinal;              // of the GPU in its process
  u32 ctas;                 // at most
  u32 settings;             // a hash of the variables that must be equal on all ranks
  u32 able;                 // 0: this rank cannot, for the reason in `why`
  u32 crowded;              // with this team, the GPU has more than have room at once
  char why[124];
};

// A Call is one collective call of one rank, in the numbers of kernels/abi and ir.
struct Call {
  u32 kind, root, dtype, redop;  // ir.Kind, a rank, DType, RedOp
  u64 count;                     // elements of a piece, as NCCL counts
  const void *send;
  void *recv;
  u32 group;                     // calls of its group, of this communicator
  bool windows;                  // all its buffers lie in registered windows
};

// A Team is one rank of a communicator whose ranks run programs of a bundle: its arena, what it reaches of the others',
// its tables, states and kernels.
struct Team;

// team_begin makes a rank's memory on the GPU of the calling thread's current context, and fills in its offer. Where
// that fails, the offer says why, and the result is null. team_fits judges the offers of all ranks; it gives the same
// on each. team_join reaches the others' arenas, and has all kernels loaded: after it, no launch allocates or loads. A
// team that is not joined, because a rank does not fit, is ended by team_end.
Team *team_begin(Bundle *b, u32 ranks, u32 rank, u32 ctas, u32 settings, Offer *mine);
bool team_fits(const Offer *all, u32 ranks, Why *why);
bool team_join(Team *t, const Offer *all, Why *why);

// A Choice is how a call runs: by a rule with a program or, where rule is null, by NCCL. why is then one of a few
// constant texts, for statistics. It depends only on the call's kind, root, types, count, group and windows, and on the
// team, so that all ranks choose alike.
struct Choice {
  const struct bundle_rule *rule;
  const char *why;
};
Choice team_choose(const Team *t, const Call *call, bool captured);

// team_launch starts a call on a stream, behind all that was started before on this communicator, on whatever stream.
// It gives 0 or an error of the driver. Where the stream is captured, the launch becomes part of the graph. It
// allocates nothing, waits for nothing, and asks no event. team_before and team_behind do the same ordering for a call
// of NCCL's on this communicator: the first has the stream wait for what was started before, the second notes what was
// started.
int team_launch(Team *t, const Choice *choice, const Call *call, void *stream);
int team_before(Team *t, void *stream);
int team_behind(Team *t, void *stream);
int team_captured(Team *t, void *stream, bool *captured);

// team_failed says whether a launch of the team gave up or the GPU has a fault, with the rank, the step and the line of
// the program that waited.
bool team_failed(Team *t, Why *why);

// team_abort has all launches of the team leave soon. team_end waits until they have, up to a limit, and frees what no
// peer can write to any more. Where they do not leave, or peers may still run, it leaves the arena as it is.
void team_abort(Team *t);
void team_end(Team *t, bool peers_may_run);

const char *driver_text(int code);
