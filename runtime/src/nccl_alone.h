// This file is what nccl_alone.cc (identities and bytes) and nccl_alone_calls.cc (NCCL's functions) share.
#pragma once
#include "nccl_front.h"

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
  u64 magic;
  int fd, rank, ranks, device;
  char text[256];
};

Result alone_id(UniqueId *id);
bool alone_connect(AloneComm *c, const UniqueId *id);
bool send_all(int fd, const void *bytes, size_t count);
bool recv_all(int fd, void *bytes, size_t count);
void quick(int fd);
