// This file moves and folds data on a GPU: the lanes of a warp take tiles of units
// that lie side by side, and each lane has several units under way, LANES apart,
// so that their addresses differ by constants. What is not aligned, and the end of
// a run, goes unit by unit and element by element. strips.h is the same for hosts.
#pragma once
#include "../abi/layout.h"
#include "../protocol/lanes.h"
#include "run.h"

KD u32 lane() { return tid() % LANES; }
KD u32 warp() { return tid() / LANES; }

// Ahead is how many units of a reduction a lane has under way: their accumulators
// must leave room among 64 registers.
template <class R, int WANTED> struct Ahead {
  static const int FIT = R::REGISTERS <= 4 ? 4 : R::REGISTERS <= 8 ? 2 : 1;
  static const int U = FIT < WANTED ? FIT : WANTED;
};

// get loads a unit of the rank's own memory, and set stores all of a lane.
template <class P, class R, bool WHOLE> KD v16 get(const u8 *base, const Place<P, WHOLE> &at, int k, u64 bytes) {
  const u64 data = at.data(k);
  if (WHOLE) return P::load(base + data, at.first);
  return R::load(base + data, (u32)least(bytes - least(data, bytes), P::data_of(at.first)));
}
template <class P, class R, bool WHOLE, int U>
KD void set(u8 *base, const Place<P, WHOLE> &at, u64 bytes, const v16 (&v)[U]) {
  if (WHOLE) {
    P::store(base, at, v);
    return;
  }
#pragma unroll
  for (int k = 0; k < U; k++)
    if (at.has(k))
      R::store(base + at.data(k), v[k], (u32)least(bytes - least(at.data(k), bytes), P::data_of(at.first)));
}

// move_units moves U units of each lane.
template <class P, class R, int U, bool WHOLE>
KD bool move_units(Thread &t, const abi_step &s, const Run &run, const Place<P, WHOLE> &at) {
  v16 v[U], received[U];
  if (run.src) {
#pragma unroll
    for (int k = 0; k < U; k++)
      if (at.has(k)) v[k] = get<P, R>(at_address<const u8>(run.src), at, k, run.bytes);
  }
  if (run.from) {
    if (!P::take(t, run.from, at, t.received + 1, received)) return false;
    if (in(s.op, OPS_REDUCE)) {
      typename R::Acc acc[U];
      const bool mean = t.a.redop == RED_AVG;
#pragma unroll
      for (int k = 0; k < U; k++) acc[k] = R::open(v[k]);
      if (mean) R::scale(acc, R::scale_of(s.flags & STEP_FRESH, t.a.inverse));
      R::fold(t.a.redop, acc, received, R::scale_of(s.flags & STEP_FRESH_WITH, t.a.inverse));
      if (mean) R::end_average(acc, divisor(t.a, s));
#pragma unroll
      for (int k = 0; k < U; k++) v[k] = R::close(acc[k]);
    } else {
#pragma unroll
      for (int k = 0; k < U; k++) v[k] = received[k];
    }
  }
  if (run.dst) set<P, R>(at_address<u8>(run.dst), at, run.bytes, v);
  if (run.to) P::put(run.to, at, v, t.sent + 1);
  return true;
}

// move_run moves one run of a step. It returns false where a packet did not come.
template <class P, class R> KD_CALL bool move_run(Thread &t, const abi_step &s, const Run &run) {
  constexpr int U = Ahead<R, P::AHEAD>::U;
  const u32 tile = U * LANES, units = P::units(run.bytes);
  u32 whole = 0;
  if ((run.src | run.dst) % P::ALIGN == 0) whole = P::whole(run.bytes) / tile * tile;
#pragma nounroll
  for (u32 base = warp() * tile; base < whole; base += ntid() * U)
    if (!move_units<P, R, U>(t, s, run, Place<P, true>{base + lane(), units})) return false;
#pragma nounroll
  for (u32 base = whole + warp() * LANES; base < units; base += ntid())
    if (!move_units<P, R, 1>(t, s, run, Place<P, false>{base + lane(), units})) return false;
  return true;
}

// A Chain is what reduce_run knows of a chain of re.
struct Chain {
  const abi_launch &a;
  const abi_rank &m;
  const abi_step *steps;
  u32 length, i;
  u64 elem;
  u8 *dst;
  u64 bytes;
  KD_MEMBER u64 source(u32 j) const { return cell(a, m, steps->src_buf, steps[j].src + i, elem); }
};

// reduce_units folds U units of each lane: dst is read once, the sources are
// folded into it in the order of the steps, and it is written once.
template <class R, int U, bool WHOLE> KD void reduce_units(const Chain &c, const Place<Dense, WHOLE> &at) {
  v16 v[U];
  typename R::Acc acc[U];
#pragma unroll
  for (int k = 0; k < U; k++)
    if (at.has(k)) v[k] = get<Dense, R>(c.dst, at, k, c.bytes);
#pragma unroll
  for (int k = 0; k < U; k++) acc[k] = R::open(v[k]);
  const bool mean = c.a.redop == RED_AVG;
  if (mean) R::scale(acc, R::scale_of(c.steps->flags & STEP_FRESH_WITH, c.a.inverse));
#pragma nounroll
  for (u32 j = 0; j < c.length; j++) {
    const u8 *src = at_address<const u8>(c.source(j));
#pragma unroll
    for (int k = 0; k < U; k++)
      if (at.has(k)) v[k] = get<Dense, R>(src, at, k, c.bytes);
    R::fold(c.a.redop, acc, v, R::scale_of(c.steps[j].flags & STEP_FRESH, c.a.inverse));
  }
  if (mean) R::end_average(acc, divisor(c.a, c.steps[c.length - 1]));
#pragma unroll
  for (int k = 0; k < U; k++) v[k] = R::close(acc[k]);
  set<Dense, R>(c.dst, at, c.bytes, v);
}

// reduce_run does one run of a chain of re.
template <class R>
KD_CALL void reduce_run(Thread &t, const abi_step *chain, const Tile &tile, u32 i, u64 dst, u64 bytes) {
  constexpr int U = Ahead<R, 4>::U;
  const Chain c = {t.a, *t.at.rank, chain, chain->chain, i, tile.at, at_address<u8>(dst), bytes};
  u64 addresses = dst;
#pragma nounroll
  for (u32 j = 0; j < c.length; j++) addresses |= c.source(j);
  const u32 batch = U * LANES, units = Dense::units(bytes),
            whole = addresses % 16 ? 0 : Dense::whole(bytes) / batch * batch;
#pragma nounroll
  for (u32 base = warp() * batch; base < whole; base += ntid() * U)
    reduce_units<R, U>(c, Place<Dense, true>{base + lane(), units});
#pragma nounroll
  for (u32 base = whole + warp() * LANES; base < units; base += ntid())
    reduce_units<R, 1>(c, Place<Dense, false>{base + lane(), units});
}
