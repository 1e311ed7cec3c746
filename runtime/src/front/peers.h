// This file is what the front knows of the processes of other ranks (folder peers).
#pragma once
#include "member.h"

#include <sys/types.h>

// What ranks tell each other of themselves. The version of the meeting's messages changes with it.
enum { SETTINGS = 8 };
struct Hello {
  Offer offer;
  u32 by_kind, pad;  // by_kind: kinds of calls matter to this rank
  u8 process[16], secret[16], second[64];
  char settings[SETTINGS][48];  // variables that must be equal on all ranks (comms/nodes.cc)
};

// A Link is a part of a handle of a link for another rank (team_link), if there is one. bytes is the length of all. All
// ranks hear the parts of all, so short ones save more than the rounds cost that a long handle takes.
enum { LINK_PART = 256 };
struct Link {
  u32 ok, bytes;
  u8 part[LINK_PART];
};

// gather is a round of communicators of this thread whose ranks have met: each rank says something, or why it cannot
// (ok: false), and receives what all said. last says that the round decides. outcome is 1 where all said something,
// else why has a text, and it is -1 where the communicator has failed by it. all has room for ranks * bytes, or is
// null.
struct Saying {
  Member *e;
  bool ok;
  const void *mine;
  void *all;
  u32 bytes;
  int outcome;
  Why why;
};
void gather(Saying *list, u32 count, bool last, const char *what);

// Sockets to the peers' processes.
bool peers_ready(Why *why);          // this process listens
const u8 *peers_process();           // 16 random bytes
void peers_lock();                   // while all sockets of a member change
void peers_unlock();
bool peers_expect(Member *e);        // gives a member its secret
bool peers_connect(Member *e, const Hello *all, Why *why);
bool peers_admitted(Member *e, Why *why);  // waits for the connections of all ranks: who leaves must tell all
void peers_leave(Member *e, bool aborted);
void peers_close(Member *e);
void peers_hush(Member *e);          // says no more, as a process that has ended, and hears when the others have left
bool peers_left(Member *e);           // all ranks of other processes
bool peers_gone(Member *e);           // some rank of another process has left, or ended
enum { ASKS_PLACE, ASKS_FILES };
int peers_dial(const u8 *process, const u8 *secret, u32 rank, u32 asks);  // a socket to another process, or -1
void peers_exit();                   // the process ends: leaves all
void peers_rest();
void peers_fail(Member *e, u32 rank, const char *cause);  // e is dead since this rank has ended

// The end of a process by exit() (peers/exit.cc). exit_watch has exit_goodbye called then, before handlers that are
// older. exit_hear takes what another rank tells as its process ends, of which the first note is given, and returns
// whether that was all of it. exit_look sees that later calls fail, and returns whether it must look again.
// exit_refuses says whether a call that cannot be launched is such a call.
const char EXITS = 'E';
#ifndef MSCCLC_EXIT_MARKS
#define MSCCLC_EXIT_MARKS 2048  // tests build the library with fewer
#endif
enum { EXIT_MARKS = MSCCLC_EXIT_MARKS };
struct ExitNote {
  char what, pad[3];
  int code;          // of the driver, where the GPU does not say what was finished
  u32 first, count;  // marks that this note has
  u64 launches;
  u64 mark[EXIT_MARKS];
};
bool exit_watch();  // false: there is no memory for that
void exit_goodbye();
bool exit_hear(Member *e, u32 rank, const ExitNote *first, ssize_t bytes);
bool exit_look();
bool networks_look();        // the same for networks that fail
void exit_stop(Comm comm);   // has launches leave of a communicator that is dead
bool exit_refuses(Member *e);
void peers_child();                  // in a forked child
bool random_bytes(void *to, u32 bytes);

// hub_exit is for a process that ends: it lets its hubs end what they tell the ranks. Its own rank may have received
// the word first (meeting/hub.cc).
void hub_exit();

// Files for other processes, by a key (peers/files.cc). They stay open until they are hidden. files_give answers who
// asks; what files_fetch gets, the caller closes.
void files_show(const u8 *key, const Files *f);
void files_hide(const u8 *key);
void files_give(int fd, const u8 *key);
bool files_fetch(const u8 *process, const u8 *key, u32 count, Files *to, Why *why);

// The board of a communicator's last calls.
int board_make(const u8 *id);
void board_open(Member *e, const u8 *id);
void board_close(Member *e);
void board_note(Member *e, const Call *c);
// board_turn notes the turn that the launch of the last noted call had on an oversubscribed GPU.
void board_turn(Member *e, u64 turn);
void board_call(Member *e, u64 number, char *to, size_t size);  // names a call of this rank, by number; 0: the last
bool board_says(Member *e, char *to, size_t size);
