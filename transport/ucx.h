// This file is what the parts of the engine of UCX share: the open library, connections, requests.
#pragma once
#include "table.h"
#include "ucx_abi.h"

#define UCX_MEMBER(result, name, parameters) result(*name) parameters;
struct ucx_functions {
  UCX_FUNCTIONS(UCX_MEMBER)
  const char *(*status_string)(int8_t);  // of libucs, which libucp needs
};
#undef UCX_MEMBER

struct ucx_engine {
  struct ucx_functions f;
  void *library;
  ucx_context *context;
  ucx_worker *worker;
  struct ucx_connection *closing;  // whose sends UCX has yet to end
  struct ucx_end *leaving;         // whose endpoints UCX has yet to close
  int went, moved;                 // since ucx_progress was last called: UCX went on, and found something
  uint64_t turn;                   // how often UCX went on, counted from 1
  unsigned open_ends;              // endpoints
  struct ucx_region *regions;
  int names_memory;                // operations may name mapped memory
  char why[512], lanes[40];        // lanes are those of the last endpoint
  char cards[TRANSPORT_CARDS];     // as transport_properties has them
};

// A region is memory that users have registered. It stays mapped while requests are under way that name it.
struct ucx_region {
  void *data;
  size_t bytes;
  unsigned users, requests;
  ucx_mapped *mapped;
  struct ucx_region *next;
};

struct ucx_request {
  struct ucx_connection *of;
  void *under_way;  // UCX's own, or null when it is over
  struct ucx_region *region;  // until then
  int8_t status;    // then
  int used, receives;
  uint64_t seen;  // the turn in which it was last looked at
  struct ucx_tag_info got;
};

// An end is an endpoint, and the address of the worker that it leads to. UCX cannot end a send alone: it closes the
// endpoint at once, which then fails for all who share it. So only connections of one job do.
struct ucx_end {
  struct ucx_engine *of;
  ucx_ep *ep;
  unsigned users;  // connections that are open
  int8_t failed;   // the status with which the endpoint has failed or was closed, or 0
  enum { OPEN, CLOSING, CLOSED } state;
  void *closing;   // UCX's request to close it, while under way
  struct ucx_end *next;  // that leaves
  size_t length;
  unsigned char address[];
};

// A connection has a tag that its sender has drawn at random. The hello has the ear's.
struct ucx_connection {
  struct ucx_engine *of;
  uint64_t tag, hello;
  struct ucx_end *end;  // of the sender
  void *saying;         // the hello, while it is under way
  struct ucx_request request[TRANSPORT_REQUESTS];
  struct ucx_connection *next;  // that closes
};

struct ucx_ear {
  struct ucx_engine *of;
  uint64_t tag, hello;  // the hello that is awaited, and the tag that it has brought
  struct ucx_request incoming;
};

// What a handle has: the tag of the ear, and the worker's address after it.
struct ucx_handle {
  uint64_t tag;
  unsigned char address[];
};

// ucx_open_library opens UCX and its worker, for the cards that spec names, or all; ucx_close_library undoes that, of a
// part too.
int ucx_open_library(struct ucx_engine *u, const char *spec, int one_way);
void ucx_close_library(struct ucx_engine *u);
int ucx_fail(struct ucx_engine *u, int8_t status, const char *doing);

int ucx_listen(void *engine, unsigned line, struct transport_handle *handle, void **ear);
int ucx_connect(void *engine, unsigned line, const struct transport_handle *handle, void *beside, void **to);
int ucx_accept(void *ear, void **from);
void ucx_close_ear(void *ear);
void ucx_close_connection(void *connection);

// ucx_join gives a connection the end of the one beside it, where that leads to the same worker, or a new one; null is
// a failure. ucx_leave ends its part: the last one has what was sent arrive. With drop, or if the endpoint has failed,
// it is closed at once for all, and the result is 1.
struct ucx_end *ucx_join(struct ucx_engine *u, struct ucx_end *beside, const void *address, size_t length);
int ucx_leave(struct ucx_end *e, int drop);
// ucx_closed lets UCX go on with what closes, for up to limit_ns.
void ucx_closed(struct ucx_engine *u, uint64_t limit_ns);
// ucx_give_up leaves what has not closed to the end of the worker, which wants nobody to ask for it any more.
void ucx_give_up(struct ucx_engine *u);
// ucx_forget frees all that has not closed, when the worker has ended.
void ucx_forget(struct ucx_engine *u);

// ucx_look has UCX go on if it has not since `seen`, which is then its turn. So a round that looks at many requests has
// UCX go on once: over TCP that is a system call.
void ucx_look(struct ucx_engine *u, uint64_t *seen);
int ucx_begin_recv(struct ucx_engine *u, struct ucx_request *r, void *data, size_t bytes, void *region, uint64_t tag);
void ucx_cancel(struct ucx_engine *u, struct ucx_request *r);

int ucx_reg(void *connection, void *data, size_t bytes, int kind, void **region);
void ucx_dereg(void *connection, void *region);
// ucx_name_region has an operation name a region, which may be null. ucx_hold keeps the region of a request that has
// begun mapped, until ucx_release.
void ucx_name_region(const struct ucx_engine *u, struct ucx_op *op, void *region);
void ucx_hold(struct ucx_request *r, void *region);
void ucx_release(struct ucx_engine *u, struct ucx_request *r);
void ucx_unmap_all(struct ucx_engine *u);
