// This file says what an engine is: what carries bytes between the processes of different nodes. It is a table of
// functions as NCCL's net plugins have one, so that such a plugin, UCX and the engine of the tests are used alike.
//
// A connection goes one way, from whoever has connected to whoever has accepted. Its messages are taken in the order in
// which they were sent: the n-th recv gets the n-th send. Nobody may rely on an order between connections.
//
// No function waits. One thread at a time calls those of an engine and of all that it has made. Each returns 0, or 1
// after a failure that why() tells; what has failed is only to be closed then.
//
// Connections have lines. Those of one line and direction may be carried by a thread of the engine's own (helpers.h).
// Line 0 is for short messages, which the thread that calls carries.
#pragma once
#include <stddef.h>
#include <stdint.h>

// A handle is how others connect to an ear. Its memory is of malloc. Those of NCCL's plugins have 128 bytes. An address
// of UCX has about 50 for each card, and much more with InfiniBand. Handles come from other processes, so there is a
// limit.
enum { TRANSPORT_HANDLE_MOST = 64 << 10 };
struct transport_handle {
  unsigned char *at;
  uint32_t bytes;
};

// How many requests of one connection may be under way at once: what NCCL's plugins promise.
enum { TRANSPORT_REQUESTS = 32 };

// The bytes of a text that says which cards or device an engine has.
enum { TRANSPORT_CARDS = 160 };

// What memory is to an engine.
enum { TRANSPORT_HOST, TRANSPORT_CUDA };

struct transport_properties {
  char name[64];     // of the device, or of the transports that were chosen
  int reaches_cuda;  // whether TRANSPORT_CUDA may be registered
  double gbytes;     // a second that the device moves, or 0 where it does not say
  // "network card eth0, 10.0.0.1 (UCX_NET_DEVICES names it)", or nothing where all may be taken.
  char cards[TRANSPORT_CARDS];
};

struct transport_table {
  // open opens the engine: a library, a device. What spec means is the engine's own. one_way says that connections from
  // a process may come without one to it, as those of a helper do. After a failure *engine is null and `why` says the
  // cause.
  int (*open)(const char *spec, int one_way, void **engine, char *why, size_t size);
  void (*close)(void *engine);
  const char *(*why)(void *engine);  // the last failure, until the next call
  int (*properties)(void *engine, struct transport_properties *);

  // listen makes an ear, and the handle by which others connect to it, which the caller frees. connect and accept give
  // null where the other end is not ready; they are then called again, connect with the same handle, in which an engine
  // keeps its state. close_to and close_from end the requests that are under way, whose memory is the caller's again,
  // and have what was sent and is done arrive. Regions are deregistered before.
  int (*listen)(void *engine, unsigned line, struct transport_handle *handle, void **ear);
  // `beside` is null, or a connection of the same job to the same process. Both may share what they need, as long as
  // neither fails or ends because of a connection of another job.
  int (*connect)(void *engine, unsigned line, const struct transport_handle *handle, void *beside, void **to);
  int (*accept)(void *ear, void **from);
  void (*close_ear)(void *ear);
  void (*close_to)(void *to);
  void (*close_from)(void *from);

  // reg makes memory known to a connection (to or from), as all memory is that send, recv and flush are given.
  int (*reg)(void *connection, void *data, size_t bytes, int kind, void **region);
  void (*dereg)(void *connection, void *region);

  // send and recv begin a message, and give null where the connection takes no more at present. The memory is the
  // engine's until test says that the request is done; a recv then also knows how many bytes came, at most `bytes`.
  // flush has what recv has brought into a GPU's memory be seen by its kernels; null means that there is nothing to do.
  int (*send)(void *to, const void *data, size_t bytes, void *region, void **request);
  int (*recv)(void *from, void *data, size_t bytes, void *region, void **request);
  int (*flush)(void *from, void *data, size_t bytes, void *region, void **request);
  // A request that is done, or has failed, is gone.
  int (*test)(void *engine, void *request, int *done, size_t *bytes);

  // progress has an engine go on though nothing is tested, since it may owe the other ends an answer. It returns
  // whether anything has moved since it was last called, also by test: a long message is not over for some time. It may
  // be null.
  int (*progress)(void *engine);
};

#ifdef __cplusplus
extern "C" {
#endif
// The engines. ncclnet's spec is the path or the name of a plugin, and after a line feed, if there is one, the PCI
// address of the process's GPU, which chooses the device. ucx's spec is the cards for TCP, with commas between
// them, or nothing for all.
extern const struct transport_table transport_ucx, transport_ncclnet;
#ifdef __cplusplus
}
#endif
