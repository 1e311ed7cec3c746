// What the parts of the program share whose library has calls that fail: faulty.cc has the rounds, faulty_scenes.cc,
// faulty_watched.cc and faulty_learns.cc what ranks do in one, faulty_rank.cc how a rank waits and what it looks at,
// and faulty_play.cc what comes before and after.
#pragma once
#include "../src/front/abi.h"
#include "faults/faults.h"

#include <atomic>
#include <time.h>

#define NCCL(result, name, params) extern "C" result nccl##name params;
NCCL_CALLED(NCCL)
extern "C" Result ncclCommRegister(Comm, void *, size_t, void **);

struct Location {
  int type, id;
};
struct Properties {
  int type, handles;
  Location location;
  void *metadata;
  u8 flags[8];
};
struct Access {
  Location location;
  int flags;
};
// The mock driver, without the library's stubs.
struct Driver {
  int (*init)(unsigned), (*count)(int *), (*retain)(void **, int), (*use)(void *), (*current)(void **);
  int (*mode)(int *);
  int (*stream)(void **, unsigned), (*stream_end)(void *), (*sync)(void *), (*query)(void *);
  int (*alloc)(u64 *, size_t), (*release)(u64);
  int (*capture)(void *, int), (*capture_end)(void *, void **), (*instantiate)(void **, void *, u64);
  int (*replay)(void *, void *), (*graph_end)(void *), (*noted_end)(void *);
  int (*event)(void **, unsigned), (*record)(void *, void *), (*await)(void *, void *, unsigned);
  int (*create)(u64 *, size_t, const Properties *, u64), (*drop)(u64);
  int (*reserve)(u64 *, size_t, size_t, u64, u64), (*map)(u64, size_t, size_t, u64, u64);
  int (*access)(u64, size_t, const Access *, size_t), (*granularity)(size_t *, const Properties *, int);
  int (*unmap)(u64, size_t), (*reserve_end)(u64, size_t);
};
extern Driver cu;

enum { RANKS = 8, MOST_COMMS = 8, STREAMS = 3, ELEMS = 20000, TEXT = 400 };

// Meeting is memory of all ranks and of the program that starts them.
struct Meeting {
  std::atomic<u32> arrived, round;        // a barrier
  std::atomic<u32> begun, done;           // rounds: the last one that is to run, and how many ranks have ended it
  std::atomic<u32> failed, stop; // failed: some rank's call has, in this round
  std::atomic<u32> ways[2];               // how many calls of ranks were ours, and NCCL's
  UniqueId id[8];
  std::atomic<u32> met;                   // how often ranks have met
  std::atomic<u32> ids;                   // how many there are
  char text[RANKS][TEXT];                 // what ended a rank's round early
  std::atomic<u32> settles;               // the ranks' calls of the round have ended
  std::atomic<u32> learn, left;           // learn: what is open is usual; left: how many things are open beside it
  char hung[TEXT];
};
extern Meeting *meeting;
extern FaultControl *control;
enum { LIMIT_MS = 120000 };  // who has not ended by then hangs

inline u64 now_ms() {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / 1000000;
}

struct Rank {
  int rank, ranks;
  Comm comm[MOST_COMMS];
  void *streams[STREAMS], *context, *other;  // other: the context of a GPU of no rank
  u64 in, out;         // buffers
  u64 memory[3], part; // of windows: plain, mapped, and in parts
  void *windows[4];
  bool over;           // a call has failed: the rest of the round is left out
  bool captured;
  u32 turn, meetings;
};

// A Scene is what ranks do in a round. It stops where a call fails.
struct Scene {
  const char *name;
  void (*play)(Rank &);
};
extern const Scene scenes[], *scene;  // scene: that is played
extern int ranks;
extern bool threads;

void play(int rank);  // plays rounds until the end, as a rank, or as all of them

bool ok(Rank &r, const char *what, Result got);    // false: the call has failed
bool settle(Rank &r, const char *what, Comm c);    // waits while a communicator is in progress
void idle(Rank &r);                                // waits for all streams
UniqueId the_id(Rank &r, u32 number);
void meet(Rank &r);                                // waits for all ranks of the round; it ends if one has failed
[[noreturn]] void hangs(Rank &r, const char *what);
void wrong(Rank &r, const char *what, const char *how);

enum { FLOAT = 7, INT = 2, SUM = 0 };

// A Try is a call whose output is looked at once the streams are idle.
struct Try {
  const char *name;
  u64 in, out;
  u32 n, turn;
  bool gathers, alone;  // alone: the communicator has one rank
};
Try tried(Rank &r, const char *name, u32 at, u32 n, bool gathers);  // fills its buffers
bool reduce(Rank &r, const Try &t, Comm c, int stream);
void finish(Rank &r, const Try *tries, int count);  // waits for the streams, and looks at outputs
bool init(Rank &r, u32 number);
bool destroy(Rank &r, int number);

void later(Rank &r);    // scenes of faulty_watched.cc
void watched(Rank &r);
void learns(Rank &r);   // of faulty_learns.cc
