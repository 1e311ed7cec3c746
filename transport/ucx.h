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
  struct ucx_connection *closing;  // whose endpoints UCX has yet to close
  int went, moved;                 // since ucx_progress was last called: UCX went on, and found something
  char why[512], lanes[40];        // lanes are those of the last endpoint
  char cards[TRANSPORT_CARDS];     // as transport_properties has them
};

struct ucx_request {
  struct ucx_connection *of;
  void *under_way;  // UCX's own, or null when it is over
  int8_t status;    // then
  int used, receives;
  struct ucx_tag_info got;
};

// A connection has a tag that its sender has drawn at random. The hello has the ear's.
struct ucx_connection {
  struct ucx_engine *of;
  uint64_t tag, hello;
  ucx_ep *ep;           // of the sender
  void *saying;         // the hello, while it is under way
  void *closes;         // UCX's request to close the endpoint
  int8_t ended;         // the status with which the endpoint has failed, or 0
  struct ucx_request request[TRANSPORT_REQUESTS];
  struct ucx_connection *next;  // that closes
};

struct ucx_ear {
  struct ucx_engine *of;
  uint64_t tag, hello;  // the hello that is awaited, and the tag that it has brought
  struct ucx_request heard;
};

// What a handle has: the tag of the ear, the length of the worker's address, and that.
struct ucx_handle {
  uint64_t tag;
  uint32_t length;
  unsigned char address[TRANSPORT_HANDLE - 16];
};

// ucx_open_library opens UCX and its worker, for the cards that spec names, or all; ucx_close_library undoes that, of a
// part too.
int ucx_open_library(struct ucx_engine *u, const char *spec, int one_way);
void ucx_close_library(struct ucx_engine *u);
int ucx_fail(struct ucx_engine *u, int8_t status, const char *doing);

int ucx_listen(void *engine, unsigned line, unsigned char handle[TRANSPORT_HANDLE], void **ear);
int ucx_connect(void *engine, unsigned line, unsigned char handle[TRANSPORT_HANDLE], void **to);
int ucx_accept(void *ear, void **from);
void ucx_close_ear(void *ear);
void ucx_close_connection(void *connection);
// ucx_closed lets UCX go on with what closes, for up to limit_ns.
void ucx_closed(struct ucx_engine *u, uint64_t limit_ns);
// ucx_give_up leaves what has not closed to the end of the worker, which wants nobody to ask for it any more.
void ucx_give_up(struct ucx_engine *u);

int ucx_begin_recv(struct ucx_engine *u, struct ucx_request *r, void *data, size_t bytes, uint64_t tag);
void ucx_cancel(struct ucx_engine *u, struct ucx_request *r);
