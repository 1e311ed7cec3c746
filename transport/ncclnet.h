// This file is what the parts of the engine of NCCL's net plugins share.
#pragma once
#include "ncclnet_abi.h"
#include "table.h"

struct ncclnet_engine {
  void *library, *context;
  struct ncclnet_plugin *plugin;
  int version, device, kinds, begun;
  double gbytes;
  char name[32], why[512];
  char gpu[32];                 // the PCI address of the process's GPU, or nothing
  char cards[TRANSPORT_CARDS];  // as transport_properties has them
};

struct ncclnet_request {
  struct ncclnet_connection *of;
  void *under_way;
};

// A connection, or an ear, which has no requests.
struct ncclnet_connection {
  struct ncclnet_engine *of;
  void *at;  // the plugin's own
  struct ncclnet_request request[TRANSPORT_REQUESTS];
};

int ncclnet_open(const char *spec, int one_way, void **engine, char *why, size_t size);
void ncclnet_close(void *engine);
// ncclnet_fail notes that a function of the plugin has failed, with what the plugin has logged of it.
int ncclnet_fail(struct ncclnet_engine *e, int code, const char *doing);
