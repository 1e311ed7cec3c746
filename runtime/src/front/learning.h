// This file is what the rest of the front knows of learning. front.h includes it.
#pragma once

// learn_setting is how the process learns: "0" not at all, "1" what changes no bits of sums, "all". It must be equal on
// all ranks. learn_serves says whether calls as this one may be learned, so that the communicator needs memory.
// learn_begin has a communicator learn whose team has candidates; it gives false if there is no memory.
const char *learn_setting();
bool learn_serves(const Member *e, const Team *t, const Call &c);
bool learn_begin(Member *e, const Team *t, u32 nodes);
void learn_end(Member *e);
u32 learn_tells(const Member *e, const void **known);  // to all ranks while they agree: bytes, or 0
void learn_known(Member *e, const void *known);          // by rank 0

// learn_choose chooses for a call that no measured rule is for. A Trial takes the time of a call that is a trial.
void learn_choose(Member *e, Op *op);
struct LearnSlot *learn_start(Member *e, const Op &op);
void learn_stop(Member *e, struct LearnSlot *s);
struct Trial {
  Member *e;
  struct LearnSlot *slot;
  Trial(Member *of, const Op &op) : e(of), slot(op.learns ? learn_start(of, op) : nullptr) {}
  ~Trial() {
    if (slot) learn_stop(e, slot);
  }
};

// For the thread that polls sockets. learn_look says what is due, and returns whether it must be called again soon.
// learn_hears takes a message of a rank, and learn_gone that a rank has left or ended; both are called with the lock of
// the sockets. learn_leaves has other ranks of this process know that this one leaves.
enum { LOOK_LEARN_MS = 10 };
bool learn_look();
bool learn_hears(Member *e, u32 rank, const void *message, u64 bytes);
void learn_gone(Member *e, u32 rank);
void learn_leaves(Member *e);
void peers_wake();  // has that thread look now
