// This file is a proxy and its jobs, as their files share them. All but the words that are marked is of the thread that
// has its turn: the proxy's own, or one that helps (PROXY.md). Other threads have the proxy's do what they want
// (on_thread).
#pragma once
#include "wire.h"

#include <pthread.h>
#include <semaphore.h>

// Times in ns. A peer that says nothing for net_proxy::silence is taken for dead. BEAT is how often each speaks at
// least. PAUSE is a gap between two rounds of the thread that the peers are not to blame
// for. GRACE is how long, and for how many rounds at least, a goodbye may come after the end of a connection: a thread
// that had no processor for long has not listened. TELL is how long closing waits until the peers are notified of a
// failure.
static const u64 MS = 1000000, BEAT_NS = 500 * MS, PAUSE_NS = 1000 * MS;
static const u64 GRACE_NS = 200 * MS, GRACE_ROUNDS = 50, TELL_NS = 2000 * MS;

enum : u32 { PENDING = 64 };

// Notes count from 0, those that were forgotten, too. A message without one has UNNOTED.
static const u64 UNNOTED = ~0ull;

// A Slot is a message of the control connection, in memory that is registered with it.
struct Slot {
  void *request;
  u64 bytes, note;
};

// A Bulk is a post whose data go over the bulk connection: `next` is how far they were begun.
struct Bulk {
  wire_post post;
  const net_message *message;
  Cursor next;
  bool begun;  // all of them
  u32 left;    // pieces that were begun and are not there yet
  u64 note;
};

// A Flow is one direction of a bulk connection: posts [head, tail) in a ring, of which those before `at` were begun
// whole, and requests [first, last) under way, each of a number of bytes and for a post.
struct Flow {
  Bulk post[PENDING];
  u64 head, at, tail;
  struct {
    void *request;
    u64 bytes, note;
    Bulk *post;
  } piece[TRANSPORT_REQUESTS];
  u64 first, last;
};

// A Line is one direction of the two connections with a peer. Slots [head, tail) of control are under way; of those
// that are received, messages before `came` are there. room has TRANSPORT_REQUESTS messages, and one for bulk's hello.
struct Line {
  void *control, *bulk;
  void *control_room, *bulk_room, **scratch;  // regions; scratch is indexed by rank
  u8 *room;
  Slot slot[TRANSPORT_REQUESTS];
  u64 head, came, tail, number;
  Flow flow;
  void *hello;  // request on bulk
  bool hello_begun, hello_over, greeted;  // greeted: the hello of control
};

struct Peer {
  u32 process;
  net_handle own, other;                  // as they go between processes
  transport_handle to_control, to_bulk;   // parts of the other's
  char cards[TRANSPORT_CARDS];            // likewise: which the other process has
  void *control_ear, *bulk_ear;
  Line out, in;
  bool registered;    // its memory
  bool ready;         // both hellos came and went
  bool left;          // said bye
  bool dead, deaf;    // a connection has ended: only control is listened to; not even that
  bool parted;        // bye, exit or fault was sent
  bool knows_exit;            // it knows that this process exits
  bool owes_answer;           // to its exit
  u64 launches, *marks;       // as its exit said; marks have room for those of a program
  u32 mark_count;
  u32 epoch, epoch_sent;
  u64 received, spoke, lost;  // when
  u32 rounds_lost;         // since then
  char why[256];           // it was lost
};

struct Lane {
  abi_net_lane *at;
  u32 block, replica;
  u64 taken;
};

// A Group is lanes [first, first + lanes) of neighbouring replicas of a block, whose rows go together. The next row of
// `come` of them is there.
struct Group {
  u32 first, lanes, come;
};

// Notes are those from `first` on: `count` of them are there, and `most` have room.
struct Notes {
  net_note *note;
  u64 first;
  u32 count, most;
};

enum Phase : u32 { MADE, CONNECTING, RUNNING, RESETTING, RETURNING, CLOSING };

struct net_job {
  net_proxy *proxy;
  net_job *next;
  u32 process;
  net_program program;
  net_memory *memory;
  Lane *lane;
  Group *group;
  Peer *peer;
  u32 *peer_of;  // of each rank, or ~0
  u32 lanes, groups, peers;
  Phase phase;
  u32 epoch;
  u64 deadline, limit;  // of the phase
  Notes notes;
  net_failure failure;
  const u64 *exit_marks;  // this process exits, and has finished so much
  u64 exit_launches;
  u32 exit_count;
  u32 *exit_order;        // peers that have exited
  // Read by all threads.
  int failed, settled;  // settled: what a caller waits for is so
  int exits;            // of peers
  net_counts counts;
};

// A Call is what another thread has the proxy's do.
struct Call {
  int (*run)(net_proxy *, void *);
  void *with;
};

struct net_proxy {
  const transport_table *table;
  void *engine;
  net_job *jobs;
  pthread_t thread;
  pthread_mutex_t calls;  // held by who has a call done
  Call call;
  int called, stop;  // read by all threads
  sem_t answered;  // the call is done
  int result;
  u64 now;
  pthread_mutex_t turn;  // held during a round, and by it all that is the proxy's
  u64 helped;            // when another thread last did a round; read by all threads
  u64 silence;  // ns that a peer may say nothing, by MSCCLC_SILENCE
};

u64 net_now();
void net_nap(u64 ns);
int net_word(const int *word);
void net_set(int *word, int value);
void net_count(uint64_t *counter, u64 more);

// on_thread has the proxy's thread do something, and returns its result.
int on_thread(net_proxy *p, int (*run)(net_proxy *, void *), void *with);

// net_say writes a failure and returns 1. Failures of a job go to fail, which keeps the first.
#define NET_PRINTS __attribute__((format(printf, 4, 5)))
int net_say(net_failure *f, net_code code, u32 process, const char *format, ...) NET_PRINTS;
void fail(net_job *j, net_code code, u32 process, const char *format, ...) NET_PRINTS;

// The rounds of a job say whether they found something to do. In round.cc, connect.cc, send.cc and
// receive.cc.
bool job_round(net_job *j);
bool read_handle(Peer *q, const net_handle &handle);  // false: it is none, or there is no memory
bool connect_round(net_job *j, Peer *q);
bool send_round(net_job *j, Peer *q);
bool lanes_round(net_job *j, bool *waiting);  // waiting: some row cannot go now
bool receive_round(net_job *j, Peer *q);

// lost is a connection that no longer works; deaf says that it is the peer's control connection. It is no failure where
// the peer has said bye and owes nothing.
void lost(net_job *j, Peer *q, bool deaf);

// cards_between writes by which cards this process and a peer were to connect, or nothing where both may take all.
enum { BETWEEN = 2 * TRANSPORT_CARDS + 16 };
void cards_between(const net_job *j, const Peer *q, char (&to)[BETWEEN]);

// say_to sends a header with `inside` bytes, which may be null; false: not now.
bool say_to(net_job *j, Peer *q, wire_header *h, const void *inside);
bool drained(const Peer *q);  // all that was sent has gone

// note notes a message that began at a time, by note_time, which is sent to or received from a peer. It returns the
// note's number, or UNNOTED. note_end says that the message is over, or a part of it.
u64 note_time(const net_job *j);
u64 note(net_job *j, const Peer *q, const wire_post &post, u64 bytes, bool received, u64 begin);
void note_end(net_job *j, u64 number);

void job_end(net_job *j);  // closes what the engine has of it
