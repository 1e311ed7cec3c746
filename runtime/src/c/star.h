// This file is how the ranks of a communicator of mscclc.h meet: each has a line to a hub, which is a thread of the
// process that made the unique id. Rounds give all ranks what each has. Between rounds, lines tell of ranks that leave
// or are lost.
#pragma once
#include "../team/engine.h"

#include "api.h"

// A StarId is what a unique id holds. Whoever has the secret may join.
struct StarId {
  u8 magic[8];
  u32 address;  // IPv4, as on the wire
  u16 port, pad;
  u8 secret[16];
  u8 rest[96];
};
static_assert(sizeof(StarId) == sizeof(mscclc_unique_id), "an id has room");
#define STAR_MAGIC "mscclci1"

// What lines carry: a frame, and its bytes. The numbers are the machine's. Hello stays as it is for all versions, so
// that libraries of different versions can say so.
enum {
  FRAME_HELLO = 1,    // rank to hub
  FRAME_ROUND = 2,    // to the hub: a rank's part; back: those of all, each preceded by its length (u32)
  FRAME_FAIL = 3,     // hub to rank: its round has failed; a result (u32) and a text
  FRAME_BYE = 4,      // a rank leaves, after a number of calls (u64); back: of which rank
  FRAME_ABORT = 5,    // a rank has aborted or failed; back: of which rank
  FRAME_LOST = 6,     // hub to rank: a rank has ended without a word
  FRAME_REFUSED = 7   // hub to rank: the communicator cannot be; a result (u32) and a text
};
struct Frame {
  u32 magic;
  u16 type, kind;
  u32 rank, bytes;
};
enum : u32 { FRAME_MAGIC = 0x6d736363, FRAME_MOST = 1 << 20 };
struct Hello {
  u8 secret[16];
  u32 abi, ranks, rank, device;
};

// The kinds of rounds, and how long the first ranks wait for the others in one.
enum { ROUND_JOIN, ROUND_LOAD, ROUND_OPENED, ROUND_MADE, ROUND_JOINED, ROUND_WINDOW, ROUND_REACHED, ROUNDS };
const u64 STAR_SECOND = 1000000000;
u64 star_limit(u32 kind);
const char *star_call(u32 kind);  // the function of mscclc.h that a round is part of

// A Parts is what a round gives: the bytes of each rank, in memory that parts_free frees.
struct Parts {
  u8 *all;
  const u8 *of[MSCCLC_MAX_RANKS];
  u32 bytes[MSCCLC_MAX_RANKS];
};
void parts_free(Parts *p);

// star_new makes an id, and starts its hub.
mscclc_result star_new(StarId *id, Why *why);

// A Line is a rank's. Its thread reads what the hub says, and calls `notify` when the communicator fails: in that
// thread, at most once. line_leave says goodbye, and waits until all ranks have left, are lost, or so long; it says
// whether they have. line_last has the line's thread call last(with) when all have left; it returns false if they have
// already. Then, and in last, line_free ends the line.
struct Line;
typedef void Notify(void *with, mscclc_result result, const char *text);
mscclc_result line_open(const StarId &id, const Hello &hello, Notify *notify, void *with, Line **line, Why *why);
mscclc_result line_round(Line *l, u32 kind, const void *data, u32 bytes, Parts *all, Why *why);

// line_gather is a round in which all ranks tell as many bytes, which all gets by rank. what names them.
mscclc_result line_gather(Line *l, u32 kind, const void *mine, void *all, u32 bytes, const char *what, Why *why);

// line_agree is a round in which all ranks hear whether each could do its part. why has the own cause. If some rank
// could not, it gives bad, and why names the last of them.
mscclc_result line_agree(Line *l, u32 kind, bool good, mscclc_result bad, Why *why);
void line_abort(Line *l);

// line_called counts a call of this rank. It gives false if some rank has left after fewer: the call cannot end.
bool line_called(Line *l, char *text, size_t room);
bool line_leave(Line *l, u64 limit_ns);
bool line_last(Line *l, void (*last)(void *), void *with);
void line_free(Line *l);
