// This file says in words what a launch waited for: the sentences of executor/timeout.go.
#include "team.h"

#include <stdio.h>
#include <string.h>

namespace {

// A Spot is a step of a program, and the block that has it.
struct Spot {
  const abi_one_block *block;
  const abi_one_step *step;
  u32 rank, in_rank;  // the number of the block among those of its rank
  u64 number;         // of the step in the whole program
};

bool find(const Program &p, u32 block, u32 step, Spot *s) {
  u64 before = 0;
  u32 number = block;
  for (u32 r = 0; r < p.row->ranks; before += p.part[r].steps, number -= p.part[r].blocks, r++) {
    if (number >= p.part[r].blocks) continue;
    const abi_one_block *b = blocks_of(p, r) + number;
    if (step >= b->steps) return false;
    *s = Spot{b, steps_of(p, r) + b->first_step + step, r, number, before + b->first_step + step};
    return true;
  }
  return false;
}

// place is the line of the program's source that a step comes from, or nothing.
void place(Bundle *b, const Program &p, const Spot &s, char *text, size_t room) {
  u64 bytes = 0, line = 0;
  Why why;
  text[0] = 0;
  const char *at = where_open(b, p, &bytes, &why);
  if (!at) return;
  const char *end = at + bytes;
  while (at < end && line < s.number) line += *at++ == '\n';
  const char *stop = at < end ? (const char *)memchr(at, '\n', (size_t)(end - at)) : at;
  const int n = (int)((stop ? stop : end) - at);
  if (n > 0) snprintf(text, room, " (%.*s)", n, at);
}

const char *buffer_of(u32 buf) {
  static const char *const names[] = {"input", "output", "scratch", "packets", "flags", "inbox", "flags of the inbox"};
  return buf < 7 ? names[buf] : "memory";
}

// meets says whether a step of some rank writes what an operand awaits.
bool meets(const abi_one_operand &d, u32 d_count, const abi_one_operand &o, u32 count) {
  const u64 last = (u64)o.index + (count ? count : 1), d_last = (u64)d.index + (d_count ? d_count : 1);
  return d.buf == o.buf && d.rank == o.rank && d.index < last && o.index < d_last;
}

// writer names the first step that signals a flag, or sends packets.
void writer(const Program &p, const abi_one_operand &o, u32 count, char *text, size_t room) {
  text[0] = 0;
  for (u32 r = 0; r < p.row->ranks; r++)
    for (u32 i = 0; i < p.part[r].blocks; i++) {
      const abi_one_block &b = blocks_of(p, r)[i];
      for (u32 k = 0; k < b.steps; k++) {
        const abi_one_step &s = steps_of(p, r)[b.first_step + k];
        const abi_one_operand *to = operands_of(p, r) + b.first_operand + s.first + s.srcs;
        for (u32 d = 0; d < s.dsts; d++)
          if (meets(to[d], s.count, o, count)) {
            snprintf(text, room, " from rank %u block %u step %u", r, i, k);
            return;
          }
      }
    }
}

void awaited(const Program &p, const Spot &at, const abi_status &s, u64 iterations, u64 launches, char *text,
             size_t room) {
  if (s.what == WAIT_MEET) {
    Spot other;
    if (!find(p, s.operand, 0, &other)) other = at;
    snprintf(text, room, "block %u of rank %u, with which it is to begin the packets' flags anew", other.in_rank,
             other.rank);
    return;
  }
  if (s.operand >= (u32)at.step->srcs + at.step->dsts) {
    snprintf(text, room, "an operand that it does not have");
    return;
  }
  const abi_one_operand &o = operands_of(p, at.rank)[at.block->first_operand + at.step->first + s.operand];
  if (s.what == WAIT_NET) {
    snprintf(text, room, "the network to take an earlier signal, to tell flag %u of rank %d", o.index, o.rank);
    return;
  }
  char by[64];
  writer(p, o, at.step->count, by, sizeof by);
  if (s.what == WAIT_PACKET) {
    snprintf(text, room, "%s %u of rank %d%s: %s", buffer_of(o.buf), o.index, o.rank, by,
             s.have ? "those of an earlier tile are there" : "none has come");
    return;
  }
  const u64 before = (at.step->flags & (STEP_ENTER | STEP_LEAVE) ? launches : iterations) * o.b;
  snprintf(text, room, "signal %lld of flag %u of rank %d%s, have %lld", (i64)(s.want - before), o.index, o.rank, by,
           (i64)(s.have - before));
}

}  // namespace

void tell_failure(const Team *t, u32 program, const abi_status &s, u64 iterations, u64 launches, Why *why) {
  const Program &p = t->set.program[program];
  Spot at;
  if (!find(p, s.block, s.step, &at)) {
    say(why, "rank %u: %s: a step that the program does not have has timed out", t->rank, p.row->name);
    return;
  }
  char where[128], what[200];
  place(t->bundle, p, at, where, sizeof where);
  if (iterations > s.tile) iterations = s.tile;  // a launch after the one that failed may have gone on
  awaited(p, at, s, iterations, launches, what, sizeof what);
  say(why, "rank %u: %s: block %u step %u%s waited %llu ms for %s", at.rank, p.row->name, at.in_rank, s.step, where,
      s.waited_ns / 1000000, what);
}
