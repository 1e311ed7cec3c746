// This file is what the parts of the meeting that have sockets share: identities (identity.cc), the hubs of
// this process (hub.cc), and a rank's connection to its hub (line.cc).
#pragma once
#include "../../../transport/cards.h"
#include "../consensus/meeting.h"
#include "../front/front.h"

// hub_open has this process be the hub of one more communicator, and makes its tail. Its address is that of
// MSCCLC_ADDRESS, else the one in NCCL's own identity, or by which this process has a line, if there is one. hub_forget
// ends a hub that nobody has come to. limit is how long the first rank waits for the others, in ns.
struct Line;
bool hub_open(const UniqueId *at, const Line *line, u64 limit, Tail *tail, Why *why);
void hub_forget(const Tail &tail);
// hub_cannot has the hub, if it is in this process, know that a rank cannot reach it. It gives the rank that warns.
// hub_full says whether the hub is in this process, and has no descriptor even to say no.
bool hub_full(const Tail &tail);
u32 hub_cannot(const Tail &tail, u32 rank, u32 ranks, const char *why);
bool tail_good(const Tail &tail);
void tail_seal(Tail *tail);
// tail_family is the name of its communicator, from which nobody finds the secret. It is not 0.
u64 tail_family(const Tail &tail);
bool tail_address(const UniqueId *at, const Line *line, Tail *tail);  // false, with errno, where there is none
bool line_address(const Line *l, Tail *tail);
void line_card(const Line *l, char (&name)[CARD_NAME]);  // by which it goes to the hub, or ""

// A Wait is what a rank waits for: in messages, `what`, or null where it may take as long as it likes. It ends where
// the member's state changes. The limit is in ns. *soon is set where the hub says WORD_SOON meanwhile.
struct Wait {
  const Member *e;  // or null
  int state;
  const char *what;
  u64 limit;
  Atom<int> *soon = nullptr;
  bool of_all = false;  // for the first ranks to come, of which the hub says who is missing
};

// A Line is a rank's connection to the hub of its communicator. It is closed when nobody holds it. Rounds take turns in
// the order of their tickets.
Event line_open(const Tail &tail, const Wait &wait, Line **made, Why *why);
void line_hold(Line *l);
void line_leave(Line *l, bool goodbye);  // goodbye: the hub hears that the rank ends its communicator properly
void line_shut(Line *l);                 // its rounds end
u64 line_ticket(Line *l);
bool line_turn(Line *l, u64 ticket, const Wait &wait);  // false: the wait has ended, and the line is shut
void line_next(Line *l);                 // the round of this ticket is over
const Tail &line_tail(const Line *l);
void line_soon(const Tail &tail);        // no call of other ranks waits long for communicators that meet there

// An Answer is the hub's. body is allocated, and ends with a zero.
struct Answer {
  Word word;
  u8 *body;
  u32 bytes;
};
bool line_here(Line *l, u32 rank, u32 ranks);
bool line_gone(Line *l);                 // between two rounds: a rank has gone, or the hub
bool line_say(Line *l, u32 sort, const u32 *without, u32 count, bool ok, const void *data, u32 bytes);
Event line_answer(Line *l, const Wait &wait, Answer *a, Why *why);
