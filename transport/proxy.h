// This file is what a process asks of its proxy: a thread that carries what kernels write for ranks of other nodes.
//
// A kernel writes memory of its own node only. What ranks of other nodes write of a rank, scratch and flags, is its
// inbox (kernels/abi/rows_net.h). Their nodes have mirrors of its scratch. A Move stores data in the mirror. A Signal
// writes a row into a lane (abi_net_row) instead of the flag. The proxy takes the row, sends the data that the Signal
// tells of from the mirror, and the count after it. The proxy of the other rank has the data arrive in that rank's
// inbox, and stores the count in the flag, with release. The program's own signals say when the mirror and the inbox
// are free again.
//
// All replicas of a block write the same rows, in the same order. The proxy waits for a row of each, and sends them as
// one message. Rows of one block take effect in their order, those of different blocks in any.
#pragma once
#include "table.h"

#include "../kernels/abi/rows_net.h"

#ifdef __cplusplus
extern "C" {
#endif

// How many replicas go together, and how many bytes a message has room for beside its header: more go on their own, one
// message for each run of memory that they fill.
enum { NET_REPLICAS = 64, NET_INSIDE = 8192 };

// A run of chunks in the inbox of the rank that is written. The class is that of the first, as in abi_one_step.
struct net_segment {
  uint32_t index, count, first_class;
};

// A message: what a Signal of a block tells a rank of another node. All processes of a job have the same messages,
// sorted by block and operand.
struct net_message {
  uint32_t block, operand;   // among all of the program; the destination, counted from the block's first operand
  uint32_t rank;             // that is signalled
  uint32_t first, segments;  // what is sent before the count, in the program's segments; segments may be 0
};

// What all processes of a job have alike.
struct net_program {
  const struct net_message *messages;
  const struct net_segment *segments;
  const uint32_t *process;  // of each rank
  const uint32_t *node;     // of each rank
  const uint32_t *rank_of;  // of each block of the program
  uint32_t message_count, segment_count, ranks, blocks;
  uint32_t replicas, depth, chunks;
  uint32_t flags;                         // of a rank in a replica, as in abi_one_launch
  // of an inbox: from replica to replica of a chunk, of which there are `replicas`, and from copy to copy of all
  uint64_t scratch_stride, scratch_copy;
  unsigned char hash[32];                 // that the other end must have, too
};

// The inbox of a rank: of one of this process its own, of one of another node its mirror here, else 0.
struct net_memory {
  uint64_t scratch, scratch_bytes;
  uint64_t flags, flag_bytes;  // 0 of a mirror
};

// A lane of a block's replica in this process; `at` is its abi_net_lane. A block that has lanes has one of each
// replica, in their order.
struct net_lane {
  uint64_t at;
  uint32_t block, replica;
};

// A failure, of a job or of a call.
enum net_code {
  NET_OK,
  NET_ENGINE,   // the engine failed; text says how
  NET_GONE,     // the connection to a peer has ended
  NET_SILENT,   // nothing has come from a peer for too long
  NET_FOREIGN,  // a peer is of another version, or has another program
  NET_BROKEN,   // a message that cannot be: a fault of ours, or of the network
  NET_STATE,    // a call that cannot be now
};
struct net_failure {
  enum net_code code;
  uint32_t process;  // the peer, or ~0
  char text[512];    // one line, without the peer's number
};

// What a job has done so far: posts with their bytes, heartbeats, and the messages of bulk connections that were sent.
struct net_counts {
  uint64_t sent, received, sent_bytes, received_bytes, beats, pieces;
};

// What a job notes of a message, with times in ns of CLOCK_MONOTONIC. Of one that it sends: when its rows were taken
// from their lanes, and when the engine had sent all of it. Of one that it receives: when its header was there, and
// when its counts were stored.
struct net_note {
  uint64_t begin, end;    // end is 0 until then
  uint64_t bytes, count;  // the count is that of the first of its replicas
  uint32_t process;       // the peer
  uint32_t rank, block, operand, flag, replica, replicas;
  uint32_t received;
};

// What another process needs to connect to this one. Those that come from others may be of any bytes.
struct net_handle {
  unsigned char *at;
  uint32_t bytes;
};
enum { NET_HANDLE_MOST = 2 * TRANSPORT_HANDLE_MOST + TRANSPORT_CARDS + 16 };

struct net_proxy;
struct net_job;

// mscclc_net_proxy starts the thread of a process that calls the engine. name says which: ucx, ncclnet:SPEC, or a
// test's. mscclc_net_proxy_end ends the thread; jobs must be closed before.
int mscclc_net_proxy(const char *name, struct net_proxy **, struct net_failure *);
void mscclc_net_proxy_end(struct net_proxy *);
int mscclc_net_properties(struct net_proxy *, struct transport_properties *);
uint64_t mscclc_net_silence(const struct net_proxy *);  // ns that a peer may say nothing, by MSCCLC_SILENCE
// For tests: an engine that mscclc_net_proxy knows as test:SPEC from now on, and a proxy of an engine of their own.
void mscclc_net_test_engine(const struct transport_table *);
int mscclc_net_proxy_of(const struct transport_table *, const char *spec, struct net_proxy **, struct net_failure *);

// mscclc_net_help does a round of the proxy in the thread that calls, unless another thread is at one, and returns
// whether it found something to do. While threads do so again and again, the proxy's own thread sleeps.
int mscclc_net_help(struct net_proxy *);

// A job is a prepared program of several nodes, for the ranks of one process. It begins with mscclc_net_job, which
// copies the tables. mscclc_net_handle gives the handle for another process, by number, which is the job's memory.
// mscclc_net_connect has the handles of all those processes, in the order of mscclc_net_peers, and returns when all
// connections are there, or after limit_ns, or soon after in_vain(with) is not 0. in_vain may be null. From then on
// rows are carried.
int mscclc_net_job(struct net_proxy *, uint32_t process, const struct net_program *, const struct net_memory *of_rank,
                   const struct net_lane *lanes, uint32_t lane_count, struct net_job **, struct net_failure *);
// The processes that this one talks to, by number: as many as the result says, of which up to `most` are stored.
uint32_t mscclc_net_peers(const struct net_job *, uint32_t *processes, uint32_t most);
int mscclc_net_handle(struct net_job *, uint32_t process, struct net_handle *, struct net_failure *);
int mscclc_net_connect(struct net_job *, const struct net_handle *handles, uint64_t limit_ns, int (*in_vain)(void *),
                       void *with, struct net_failure *);

// mscclc_net_stop fails a job that has not failed, with a cause of the caller's: a call that waits then returns. Any
// thread may call it while the job is there.
void mscclc_net_stop(struct net_job *, const char *cause);

// mscclc_net_state tells of the first failure of a job, from when on it carries nothing. It may be asked at any time.
int mscclc_net_state(struct net_job *, struct net_failure *);
void mscclc_net_counted(struct net_job *, struct net_counts *);

// mscclc_net_note has a job note its next messages, up to `most`, and forgets those that it has noted; with 0 it notes
// nothing, as at the beginning. It fails where there is no memory. mscclc_net_noted stores up to `most` notes, and
// returns how many there are.
int mscclc_net_note(struct net_job *, uint32_t most);
uint32_t mscclc_net_noted(struct net_job *, struct net_note *, uint32_t most);

// mscclc_net_reset forgets all rows and messages, when no kernel runs in any process and all know that;
// memory and lanes are zeroed by the caller between mscclc_net_reset and mscclc_net_again, and between the two all
// processes meet. It fails for a job that has failed.
int mscclc_net_reset(struct net_job *, struct net_failure *);
int mscclc_net_again(struct net_job *, struct net_failure *);
// mscclc_net_close says goodbye, so that the peers do not take it for a failure, and frees the job. It never waits for
// longer than limit_ns.
void mscclc_net_close(struct net_job *, uint64_t limit_ns);

// mscclc_net_exit is mscclc_net_close of a process that ends by exit(). It tells the peers what this process has
// finished: how many launches, and `count` numbers, of which up to 1,024 are sent. It does not wait for their goodbyes,
// but for a word that they have received it. mscclc_net_exits is how many peers have said so. mscclc_net_exited returns
// the launches of one of these, in the order in which they came, and stores its process and up to `most` numbers.
void mscclc_net_exit(struct net_job *, u64 launches, const u64 *marks, uint32_t count, uint64_t limit_ns);
uint32_t mscclc_net_exits(const struct net_job *);
u64 mscclc_net_exited(struct net_job *, uint32_t number, uint32_t *process, u64 *marks, uint32_t most);

#ifdef __cplusplus
}
#endif
