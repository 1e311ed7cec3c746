// This file is what the parts of the agreement share.
#pragma once
#include "nccl_front.h"

enum { HELLO_VERSION = 2 };

// A Side is a communicator while its ranks agree.
struct Side {
  Member *e;
  Hello mine, all[BUNDLE_RANKS];
  u32 done, dones[BUNDLE_RANKS];
  Link link, links[BUNDLE_RANKS];
  u8 handle[BUNDLE_RANKS][TEAM_HANDLE];  // of a link, by rank
  Team *team;
  int board;  // rank 0's file of the board until all ranks have mapped it, or -1
  Why why;
  Side *next;  // of those that begin together
};

// In nccl_nodes.cc. settings is a hash of all that must be equal on all ranks beside the bundle. begin_over begins the
// teams of ranks on several nodes, which have other programs, once all know of all nodes; it says whether they are.
// connect connects the links of such a team.
u32 settings(u32 ctas);
bool begin_over(Side *s);
bool connect_links(Side *s);
