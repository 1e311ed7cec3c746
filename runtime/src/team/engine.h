// This file is what the library's front (NCCL's functions) knows of its engine: bundles, and teams.
//
// Nothing here throws, and nothing needs libstdc++. Functions that fail say why in a Why. The calling thread's current
// context is the same when a function returns. Calls of one team that launch come one at a time, as NCCL asks of the
// calls of a communicator; team_failed and team_abort may come from any thread at any time.
#pragma once
#include "../../../kernels/rows/abi.h"
#include "../bundle/open.h"
#include "../device/driver.h"
#include "../device/file.h"

// An Offer is what a rank tells the others of itself, so that all can judge whether they can work together, and reach
// its arena. It is sent as it is.
enum { SEEN_GPUS = 16 };
struct Offer {
  u8 bundle[32], host[32];  // the bundle; the machine (boot id, and the namespace of processes)
  u64 pid, address;         // of the process; of the arena, in the process
  u8 handle[64];            // of the arena, for other processes
  u8 uuid[16];              // of the GPU
  u8 node[32];              // what ranks of one node have in common: the machine, or MSCCLC_NODE
  char node_name[24];       // for messages
  PinnedFile inbox;         // of teams of several nodes: the inboxes
  PinnedFile hosted;        // the arena, where it is memory of the host
  u32 ordinal;              // of the GPU in its process
  u32 ctas;                 // at most
  u32 settings;             // a hash of the variables that must be equal on all ranks
  u32 able;                 // 0: this rank cannot, for the reason in `why`
  u32 oversubscribed;              // with this team, the launches on the GPU do not fit together
  u8 seen[SEEN_GPUS][16];   // GPUs that the process sees
  u32 seen_count, seen_whole, seen_apart;  // how many; bits of each: lines of 128 bytes arrive at once there; this
  u32 unseen_whole, unseen_apart;          // rank's GPU does not reach its memory. The same of other GPUs
  char why[WHY_ROOM];
};

// A CallRows is the epilogue of a call, as then_text writes it, the length of rows, and by stage a number and
// the memory on this rank, as kernels/rows/abi.h has them.
struct CallRows {
  const char *text;
  u32 length;
  double value[ROW_STAGES];
  abi_row_memory memory;
};

// A Call is one collective call of one rank, in the numbers of kernels/abi and ir.
struct Call {
  u32 kind, root, dtype, redop;  // ir.Kind, a rank, DType, RedOp
  u64 count;                     // elements of a piece, as NCCL counts
  const void *send;
  void *recv;
  u32 group;                     // calls of its group, of this communicator
  bool windows;                  // all its buffers lie in registered windows
  u32 ctas;                      // the most CTAs that its caller wants; 0: all that the communicator has
  bool then = false;             // it has an epilogue, which `rows` tells. count is rows x length then
  const CallRows *rows = nullptr;
};

// A Team is one rank of a communicator whose ranks run programs of a bundle: its arena, what it reaches of the others',
// its tables, states and kernels.
struct Team;

// bytes_read reads a number of bytes, with K, M or G (2^10, 2^20, 2^30) after it or none, as MSCCLC_ARENA has it.
bool bytes_read(const char *text, u64 *bytes);

// team_open finds the rules of a rank for the GPU of the calling thread's current context, and fills in its offer. It
// allocates nothing on the GPU; team_choose works from then on. Where it fails, the offer says why, and the result is
// null. node has the node of each rank, or is null for one node. team_make makes the rank's memory, as far as
// MSCCLC_ARENA leaves room, and adds to the offer how it is reached; where it fails, the offer says why. Before,
// team_meet tells it the offers of all ranks, as team_open filled them in. card is the
// network card by which the ranks met, or "": UCX's TCP takes no other, unless a variable names one. team_nodes
// finds the nodes in offers of one node, and returns how many there are. team_fits judges the offers of all ranks; it
// gives the same on each. team_join reaches the others' arenas, and has all kernels loaded: after it, no launch
// allocates or loads. A team that is not made or joined, because a rank does not fit, is ended by team_end.
Team *team_open(Bundle *b, u32 ranks, u32 rank, u32 ctas, u32 settings, const u8 *node, Offer *mine);

// team_open_alone is the same for a communicator without NCCL, on a device that gpu_add made or, where gpu is null, on
// that of the thread. beside is another team of the same communicator and rank, or null: calls of both follow each
// other, in the order of the host. team_named is the choice of a call that runs the program of a RULE_NAMED, by its
// number.
struct Gpu;
Team *team_open_alone(Gpu *gpu, const Team *beside, Bundle *b, u32 ranks, u32 rank, u32 ctas, Offer *mine);
void team_meet(Team *t, const Offer *all);
bool team_make(Team *t, const char *card, Offer *mine);
u32 team_nodes(const Offer *all, u32 ranks, u8 *node);
bool team_fits(const Offer *all, u32 ranks, Why *why);
bool team_join(Team *t, const Offer *all, Why *why);

// A team of several nodes has links to ranks of other nodes, one for each program. After team_join, team_link gives the
// handle of a link for a rank, or none, in the team's memory. team_connect has those that all ranks made for this one,
// by rank, and gives up after limit_ns, or soon after in_vain(with) says so. All ranks connect all links, in order.
// team_lost says whether the network has failed since, unless the team leaves it. team_stop has the ranks of other
// nodes hear that this one has failed, with a cause. team_leave says goodbye to them, when no launch of the team runs
// any more.
struct TeamHandle {
  u8 *at;
  u32 bytes;
};
enum { TEAM_HANDLE_MOST = 132 << 10 };
u32 team_links(const Team *t);
bool team_link(Team *t, u32 link, u32 rank, TeamHandle *handle, Why *why);
bool team_connect(Team *t, u32 link, const TeamHandle *of_rank, u64 limit_ns, int (*in_vain)(void *), void *with,
                  Why *why);
bool team_lost(Team *t);
void team_stop(Team *t, const char *cause);
void team_leave(Team *t);

// A Choice is how a call runs: by a rule with a program or, where rule is null, by NCCL. why is then one of a few
// constant texts, for statistics. It depends only on the call's kind, root, types, count, group and windows, and on the
// team, so that all ranks choose alike.
struct Choice {
  const struct bundle_rule *rule;
  const char *why;
  bool open = false;  // no measured rule is for the call: it may be learned
};
Choice team_choose(const Team *t, const Call *call, bool captured);

// invariant_bits says whether the job wants the same bits of an element for all sizes (MSCCLC_BITS=invariant), as the
// variable was at its first call. order_matters says whether the bits of a call's result depend on the order in which
// the inputs of a number of ranks are added. Of a team that wants such bits, team_choose gives these calls no rule but
// one for invariant bits, so that nothing runs them where the bundle has none.
bool invariant_bits();
bool order_matters(u32 kind, u32 dtype, u32 redop, u32 ranks);

// team_then finds the first program of the team whose epilogue is the list that `rows` has as a text, in any writing.
// It gives the program's row, and to `rows` the text as then_text writes it. If there is none, the result is null, and
// `all` gets the epilogues that there are, as a list for a message.
Choice team_named(const Team *t, u32 rule, const Call *call);
const bundle_program *team_then(const Team *t, CallRows *rows, char *all, size_t room);
u64 team_longest_row(const Team *t, const char *then);  // in bytes of sums, that some program with the epilogue takes
bool team_serves(const Team *t, u32 kind, u32 dtype);  // some rule has a program for calls of this kind and type

// Candidates are rules that nobody measured. Without NCCL they are rules as others are. With NCCL, team_choose leaves
// them out. team_candidates then gives the first that fit an eager call, by their numbers, and returns how many there
// are. team_take is the choice of one of them for a call, or why it does not fit. team_title names its program.
bool team_has_candidates(const Team *t);
u32 team_candidates(const Team *t, const Call *call, u32 *rules, u32 most);
Choice team_take(const Team *t, u32 rule, const Call *call);
const char *team_title(const Team *t, u32 rule);
const char *team_device(const Team *t);  // the GPU that the bundle is for

// A Window is memory of all ranks of a team, which they have registered together. A WindowOffer is what a rank tells
// the others of its own, and is sent as it is. Files are what other processes map: parts of the memory, one after the
// other.
struct Window;
enum { MOST_FILES = 240 };  // a message over a socket carries no more than 253
enum { REACH_NOT, REACH_HANDLE, REACH_MAPPED };
struct WindowOffer {
  u64 pid, address, bytes;
  u64 offset;         // of the window, in what the handle or the files give
  u32 reach, files;   // how others reach it; files: how many there are, of REACH_MAPPED
  u8 handle[64];      // of REACH_HANDLE
  u8 key[16];         // the front's: by which others get the files
  char why[WHY_ROOM];      // of REACH_NOT
};
struct Files {
  u32 count;
  int file[MOST_FILES];
  u64 bytes[MOST_FILES];
};

// team_wants_windows says whether some rule asks for windows. window_begin fills in a rank's offer and files, which the
// caller closes. Where others cannot reach the memory, the offer says why, and the result is null. window_fits judges
// the offers of all ranks; it gives the same on each. window_reach reaches a rank's memory: by the files that it
// exported, if it is of another process and there are some. Then window_use has calls use the window, or window_end
// forgets it. name is the argument of window_drop: it has no later call use the windows of that name, and returns how
// many there were. Where calls still run, memory of other ranks stays mapped until a later window or the team's end.
bool team_wants_windows(const Team *t);
Window *window_begin(Team *t, const void *memory, u64 bytes, WindowOffer *mine, Files *files);
bool window_fits(const WindowOffer *all, u32 ranks, Why *why);
bool window_reach(Team *t, Window *w, u32 rank, const WindowOffer &offer, const Files *files, Why *why);
void window_use(Team *t, Window *w, const void *name);
void window_end(Team *t, Window *w);
u32 window_drop(Team *t, const void *name);

// team_windows says whether all buffers of a call lie in windows. A call with a root has none, since its ranks may
// leave buffers out.
bool team_windows(const Team *t, const Call *call);

// team_launch starts a call on a stream, after all that was started before on this communicator, on whatever stream.
// It gives 0 or an error of the driver. Where the stream is captured, the launch becomes part of the graph. It
// allocates nothing, waits for nothing, and asks no event. team_before and team_after do the same ordering for a call
// of NCCL's on this communicator: the first has the stream wait for what was started before, and says whether it is
// captured; the second notes what was started.
int team_launch(Team *t, const Choice *choice, const Call *call, void *stream);
int team_before(Team *t, void *stream, bool *captured = nullptr);
int team_after(Team *t, void *stream);
int team_captured(Team *t, void *stream, bool *captured);

// The launches of all teams on a GPU may not fit together (admission.cc). team_oversubscribed says whether this is so
// now. team_turn is the turn that the last launch of the team had there, if it was so then, else 0: launches of all
// teams of a GPU follow each other by turns. team_progress gives how many launches have ended, of a team without
// graphs.
bool team_oversubscribed(const Team *t);
u64 team_turn(const Team *t);
bool team_progress(Team *t, u64 *ended);
bool gpu_shared();  // ranks may share a GPU

// team_busy says whether calls of the team run or wait on the GPU.
bool team_busy(Team *t);
bool team_orders_graphs(const Team *t);  // launches of graphs follow each other and eager calls

// team_last says which launch of a program the last call of team_launch became, from 1, or gives 0: there was none, or
// it is part of a graph. team_reached says how many launches of a program have ended, graphs' among them; it asks the
// GPU, and gives false where that does not say. team_arena is the memory that other ranks reach, in bytes.
u64 team_last(const Team *t, u32 *program);
bool team_reached(Team *t, u32 program, u64 *launches);
u64 team_arena(const Team *t);

// team_failed says whether a launch of the team gave up or the GPU has a fault, with the rank, the step and the line of
// the program that waited.
bool team_failed(Team *t, Why *why);

// A rank whose process ends by exit() tells the others what it has finished: marks, of which a team has team_marks.
// team_finished reads them; later calls of this rank are refused. It waits no longer than a limit, and returns an error
// of the driver where the GPU does not say. team_launches is how many launches that are. team_exit tells ranks of other
// nodes. team_exits is called for such a rank: what it has finished ends as it should, and what comes later fails.
// One thread is to call team_exits, and team_outrun again and again, which sees to that. team_outrun returns false
// where no rank has exited; ended is ~0 until a launch has failed. team_over says whether all that comes now is
// later, and team_outlived whether team_failed tells of such a launch.
struct Outrun {
  u32 rank;             // who has finished the least of those that exit
  u64 finished, ended;  // launches: of that rank; of this one
  bool graphs;          // launches of graphs count, too, which are no calls
};
Outrun team_exited(const Team *t);
u32 team_marks(const Team *t);
int team_finished(Team *t, u64 *marks, u64 limit_ns);
u64 team_launches(const Team *t, const u64 *marks);
void team_exit(Team *t, const u64 *marks);
bool team_exits(Team *t, u32 rank, u64 launches, const u64 *marks);
bool team_outrun(Team *t, Outrun *is);
bool team_over(const Team *t);
bool team_outlived(const Team *t);

// team_abort has all launches of the team leave soon. team_end waits until they have, up to a limit, and frees what no
// peer can write to any more. Where they do not leave, or peers may still run, it leaves the arena as it is.
void team_abort(Team *t);
void team_end(Team *t, bool peers_may_run);
