// This file is what the parts of an engine with helper threads share. Each helper has an engine of its own below, and
// carries the connections of some lines (table.h); line 0 is carried by the thread that calls. So data is sent and
// received at the same time by different processors, and control waits for neither.
//
// The thread that calls gives a helper orders: messages to send or to receive. An order belongs to that thread while it
// is FREE, DONE or FAILED, and to the helper while it is ASKED, so it needs no lock. All else the helper does by calls,
// which the thread that calls waits for: they make and end connections.
#pragma once
#include "table.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

// How many helpers an engine has at most.
enum { HELPERS_MOST = 16 };

enum OrderState : int { ORDER_FREE, ORDER_ASKED, ORDER_DONE, ORDER_FAILED };

enum OrderKind { ORDER_SEND, ORDER_RECV, ORDER_FLUSH };

struct Order {
  struct Link *of;
  OrderKind kind;
  void *data;
  size_t bytes;
  void *region;
  void *request;  // of the engine below, when it has begun
  bool dropped;   // its region has gone before it has begun
  int state;      // an OrderState, read by both threads
};

// A Link is a connection. The helper has begun orders [ended, begun), and the next may be ASKED; the thread that calls
// has made those before `asked`.
struct Link {
  struct Helpers *all;
  struct Helper *helper;  // null of line 0
  void *connection;       // of the engine below
  Order order[TRANSPORT_REQUESTS];
  uint64_t asked, begun, ended;
  bool failed;
  char why[512];
  Link *next;  // of the helper's
};

struct Ear {
  struct Helpers *all;
  struct Helper *helper;
  void *ear;  // of the engine below
};

// A Call is what a helper does once, with its engine.
struct HelperCall {
  int (*run)(void *engine, void *with);
  void *with;
  int result;
};

struct Helper {
  struct Helpers *all;
  void *engine;
  pthread_t thread;
  bool started;
  Link *links;
  HelperCall *call;  // read by both threads, as the words below
  int asleep, stop;
  sem_t answered;
  pthread_mutex_t sleep;
  pthread_cond_t wake;
};

struct Helpers {
  const transport_table *below;
  void *engine;  // of line 0
  Helper *helper;
  unsigned count;
  char why[512];
};

// helper_start starts a helper's thread, and returns an errno; helper_stop ends it. helper_call has it do something,
// and returns the result. helper_wake has it look for orders.
int helper_start(Helper *h);
void helper_stop(Helper *h);
int helper_call(Helper *h, int (*run)(void *engine, void *with), void *with);
void helper_wake(Helper *h);

// order_begin begins an order's message below. orders_drop has those that use a region and have not begun fail.
int order_begin(Order *o);
void orders_drop(Link *l, const void *region);

// helpers_open opens an engine with a number of helpers, as open of a table does. transport_helpers is its table.
int helpers_open(const transport_table *below, const char *spec, unsigned count, void **engine, char *why,
                 size_t size);
extern const transport_table transport_helpers;

// net_number reads a whole number from a variable, or has `usual` where it is not set. Else it says what is wrong, and
// what the number is: "how many ...".
int net_number(const char *variable, unsigned least, unsigned most, unsigned usual, const char *what, unsigned *number,
               char *why, size_t size);

// helpers_wanted is how many helpers a process is to have: MSCCLC_NET_THREADS, or else what suits the engine and the
// processors that the process may use. It returns 1 where the variable is no such number.
int helpers_wanted(const transport_table *below, unsigned *count, char *why, size_t size);
