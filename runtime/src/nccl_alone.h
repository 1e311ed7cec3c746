// This file is what nccl_alone.cc (identities and bytes) and nccl_alone_calls.cc (NCCL's functions) share.
#pragma once
#include "nccl_front.h"

#include <pthread.h>

#define ALONE_MAGIC "MSCCLID\n"

// What ncclGetUniqueId gives: where its thread listens, and what it wants to hear.
struct Identity {
  char magic[8];
  u8 secret[16];
  u32 address;
  unsigned short port, pad;
};
static_assert(sizeof(Identity) <= sizeof(UniqueId), "an identity has its place");

struct AloneComm {
  int fd, rank, ranks, device;
  Atom<Result> verdict;  // of its hub: whether its ranks fit together; IN_PROGRESS until it is heard
  pthread_mutex_t mu;    // of who hears it
  const void *group;     // the thread whose group makes it, until that ends
  AloneComm *next;       // of all in this process
  char text[256];
};

// alone_connect tells the hub which rank this is, also where no such rank can be, so that all ranks hear of it.
// alone_settle hears the hub's verdict; where it is not to wait, there may be none yet.
Result alone_id(UniqueId *id);
Result alone_connect(AloneComm *c, const UniqueId *id);
Result alone_settle(AloneComm *c, bool wait);
bool send_all(int fd, const void *bytes, size_t count);
bool recv_all(int fd, void *bytes, size_t count);
void quick(int fd);

// alone_make makes a communicator, and waits until all its ranks have come: at the end of the thread's group, if it has
// one.
Result alone_make(Comm *comm, int ranks, const UniqueId *id, int rank, int device, bool blocking = true);

// Splits (nccl_alone_split.cc). Those of a group are made by alone_split_group at its end.
Result alone_split(AloneComm *c, int color, int key, Comm *made, bool in_group);
Result alone_split_group();
