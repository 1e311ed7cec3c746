#include "ranks.h"

// places are where a turn's input and output begin in their memory.
static void places(const Rank &r, Turn *t) {
  const Call &c = t->call;
  const u32 size = size_of(c.dtype);
  const Pieces p = pieces(c, r.rank, r.ranks);
  u8 *in = t->in.data() + GUARD + t->shift * size, *out = t->out.data() + GUARD + (t->shift + 1) % 4 * size;
  if (t->inplace) {
    in = out;
    if (c.kind == ALLGATHER || (c.kind == GATHER && p.out)) in = out + r.rank * c.count * size;
    if (c.kind == REDUCESCATTER || (c.kind == SCATTER && p.in))
      in = t->out.data() + GUARD, out = in + r.rank * c.count * size;
  }
  t->call.send = p.in ? in : nullptr;
  t->call.recv = p.out ? out : nullptr;
}

void fill(const Rank &r, Turn *t) {
  const u32 size = size_of(t->call.dtype);
  memset(t->in.data(), POISON, t->in.bytes);
  memset(t->out.data(), POISON, t->out.bytes);
  places(r, t);
  const u64 elems = pieces(t->call, r.rank, r.ranks).in * t->call.count;
  for (u64 i = 0; i < elems; i++) put_number((u8 *)t->call.send + i * size, size, number(r.rank, i, t->seed));
}

// spoilt counts the bytes of some memory that are not poisoned.
static u64 spoilt(const u8 *from, const u8 *to) {
  u64 n = 0;
  for (; from < to; from++) n += *from != POISON;
  return n;
}

u64 check(const Rank &r, const Turn &t) {
  const Call &c = t.call;
  const u32 size = size_of(c.dtype);
  const Pieces p = pieces(c, r.rank, r.ranks);
  const u8 *out = (const u8 *)c.recv, *in = (const u8 *)c.send;
  u64 wrong = 0;
  for (u64 i = 0; out && i < p.out * c.count; i++) {
    const u64 want = wanted(c, i, t.seed, r.rank, r.ranks);
    wrong += !is_number(out + i * size, size, want);
  }
  for (u64 i = 0; !t.inplace && i < p.in * c.count; i++) {
    const u64 sent = number(r.rank, i, t.seed);
    wrong += !is_number(in + i * size, size, sent);
  }
  const u8 *first = t.out.data(), *last = first + t.out.bytes;
  const u8 *low = out, *high = out + p.out * c.count * size;
  if (!out || (t.inplace && in && in < low)) low = in;
  if (!out) high = low;
  if (t.inplace && in && in + p.in * c.count * size > high) high = in + p.in * c.count * size;
  if (!low || low < first || low > last) low = high = first;
  return wrong + spoilt(first, low) + spoilt(high, last);
}
