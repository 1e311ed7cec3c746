// This file is what a team has where its ranks are on several nodes (transport/PROXY.md). A kernel writes memory of its
// own node only: what ranks of other nodes write of a rank lies in its inbox, and their nodes have mirrors of that.
#pragma once
#include "../../../transport/proxy.h"
#include "../team/team.h"

// A NetSeat is what a program has: where inboxes lie in the memory of each rank, in bytes, and the rank's own mirrors
// and lanes. All of it is memory of the host, except sent and inboxes (abi_net).
struct NetSeat {
  net_job *job;
  u32 exits;  // of its peers' processes, that were received
  u64 inbox_at, copy, scratch, flags_at, flag_bytes;
  u64 lanes, mirror[BUNDLE_RANKS];
  u64 sent, inboxes;
};

struct Net {
  net_proxy *proxy;               // of this process
  NetSeat *seat;                  // by program of the set
  Pinned own, rest;               // the inboxes of all programs; mirrors and lanes
  Pinned reached[BUNDLE_RANKS];   // inboxes of ranks of this node in other processes
  u64 inboxes[BUNDLE_RANKS];      // where those of each rank of this node begin
  u64 words;                      // of the GPU: sent and inboxes of all programs
  char name[BUNDLE_RANKS][24];    // of the node of each rank
  bool left;                      // jobs are closed
};

