// This file is what the parts of the agreement share.
#pragma once
#include "../meeting/meet.h"

// An Init is a communicator that is made, and how its ranks meet: by a tail, or first in a split of their parent.
struct Init {
  Comm of, *at;        // its parent; where NCCL writes it; null where this rank has none of a split
  u32 ctas;
  bool blocking, of_one;  // of_one: it is split from one of one rank
  char name[48];       // of its configuration, or empty
  const char *nccl;    // why it is NCCL's without a meeting, or null
  bool has_tail;
  Tail tail;
  Line *parent;        // of a split; this holds it
  u64 ticket;
  bool waits;          // for the turn of its ticket
  Ask ask;
  u32 *without, without_count;  // of a shrink: the parent's ranks that take no part; allocated
  Init *next;
};
Result made(Init *list, u32 count);  // has their ranks meet
void init_forget(Init *i);           // ends what it holds

// A Pending is an agreement that the call which makes the communicator waits for. That call holds it, and its thread.
struct Pending {
  u32 held;
  Atom<int> over, soon;  // soon: a rank that is not here makes it in a group with others
};

// A Side is a communicator while its ranks agree.
struct Side {
  Member *e;       // null: this rank has no communicator of a split
  Init init;
  Pending *pending;    // or null
  Line **line, *own;   // own: of a later meeting, in which ranks make their memory
  int state;       // of e, while they agree
  bool later, ready;   // later: it is such a meeting; ready: it is to follow this one
  bool came;           // to a later meeting, all ranks
  u32 nodes;
  u64 promise, promises[BUNDLE_RANKS];  // of a later meeting
  Stage stage;
  u32 reason, teller;  // as the hub has said
  bool bound;      // it has said yes, and did not hear whether all did
  bool foreign;    // the thread that made it has a context of the GPU that is not the primary one
  Hello mine, all[BUNDLE_RANKS];
  Link link, links[BUNDLE_RANKS];
  TeamHandle handle[BUNDLE_RANKS];  // of a link, by rank
  Team *team;
  int board;  // rank 0's file of the board until all ranks have mapped it, or -1
  Why why;
};

// A Plan is what a rank keeps of its first meeting for the later one.
struct Plan {
  Team *team;
  u32 nodes;
  Hello mine;
};

// agree_ranks is the meeting of ranks that know where. agree_ends makes the communicator what they agreed on, and
// agree_fails has all its calls fail.
void agree_ranks(Side *s);
void agree_ends(Side *s);
void agree_fails(Side *s, Result error);

// tell_all is a round of the agreement: how is EVENT_MORE, EVENT_DONE or EVENT_CANNOT. It says whether it goes on, and
// all then has what all ranks said, unless it is null.
bool tell_all(Side *s, Event how, const void *mine, u32 bytes, void *all, const char *what);

// In nodes.cc. settings is a hash of all that must be equal on all ranks beside the bundle; settings_tell and
// settings_same have ranks say which differ. open_over opens the teams of ranks on several nodes, which have other
// programs, once all know of all nodes; it says whether they are. nodes_made follows their memory. connect_links
// connects the links of such a team, and says whether the agreement goes on.
u32 settings(u32 ctas);
void settings_tell(Hello *mine);
bool settings_same(const Hello *all, u32 ranks, Why *why);
bool open_over(Side *s);
void nodes_made(Member *e);
bool connect_links(Side *s, bool *good);

// In join.cc: agree_all is the agreement of ranks that are all here; make_all is that on their memory. offers_of lists
// the offers that ranks have said last.
void offers_of(const Side *s, Offer *offers);
void agree_all(Side *s);
void make_all(Side *s);

// For the later meeting (ready.cc). come has a rank go to the meeting, and says whether all have come. hear waits
// for an answer of the hub. act does what the meeting has a rank do with its line. end_team ends what a rank has made
// of a team, to whose memory nobody writes.
bool come(Side *s);
bool hear(Side *s, u64 limit, const char *what, Answer *a);
void act(Side *s, Act what);
void end_team(Side *s);
void tell_kept(const Member *e, const char *why);
void ready_begin(Side *s);  // has the communicator be one whose memory is made later
