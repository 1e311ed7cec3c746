// This file is what the hubs of this process (hub.cc) share with the connections to them (greet.cc).
#pragma once
#include "meet.h"

struct Hosted;
struct Conn {
  int fd;
  Hosted *of;      // null while it is a stranger
  u32 rank;
  u64 since;
  bool closing;    // when all is sent
  u8 *in, *out;
  u32 got, room, sent, to_send, out_room;
  Conn *next, *before;
};

// A Hosted is a communicator whose hub is here.
struct Hosted {
  u8 secret[16];
  Meeting m;
  Conn **conn;     // by rank
  u32 conns;
  Conn *coming;    // who is just greeted
  bool noted;      // that ranks have not come yet
  bool soon;       // a rank makes it, or a split of it, in a group with others
  bool refused;    // there are ranks that may still come, and hear that NCCL runs their calls
  Hosted *next;
};

// Hub is all hubs of this process, and who is connected. Its thread has it, or who holds the mutex of hub.cc.
enum { TICK_MS = 50 };
// STRANGER_NS is the time in which a connection must show a secret. Where many come, LEAST_NS is what each has.
const u64 STRANGER_NS = 2 * SECOND, LEAST_NS = SECOND / 4;
struct Hub {
  bool running, paused;  // paused: the listener is not looked at
  int listener, poller, spare;
  u64 paused_at;
  Hosted *hosted;
  Conn *conns;
  u32 strangers;
};
extern Hub hub;

bool hub_watch(int fd, void *of, u32 events, int how);
void hub_pause(bool on);
void hub_admit();
void hub_spare();
bool hub_drop(u64 now, u64 least);
void hub_tell(void *of, u32 rank, const Word &word, const void *bytes, u32 count);
bool conn_flush(Conn *c);
bool conn_hear(Conn *c);
void conn_lose(Conn *c);
Hosted *hosted_find(const u8 *secret);
void hosted_end(Hosted *h);
void hosted_gone(Hosted *h);  // all its connections have ended
