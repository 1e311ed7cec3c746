// This file is how a launch of few packets moves lines (protocol/lines.h): eight lanes have a line, of all chunks and
// Moves of a group one after the other, and a bundle several, so that its lanes go together; those that have no line
// left go on with the last one, and store nothing.
#pragma once
#include "pairs.h"
#include "../protocol/lines.h"

// A FewPart is a lane's part of a line: its half units, and where they lie in a chunk and in its packets.
struct FewPart {
  u32 halves, plain, wire;
  bool has;
  KD_MEMBER FewPart(const Few &t, u32 line) {
    const u32 last = (t.units - 1) / LINE_HALVES, part = part_of();
    has = line <= last;
    line = (u32)least(line, last);
    const u32 first = line * LINE_HALVES + part * 2;
    halves = (u32)least(part == LINE_PARTS - 1 ? 1 : 2, t.units - least(t.units, first));
    plain = t.dense + first * 8, wire = line * LINE_WIRE + part * 16;
  }
};

// part_spot is where a part lies, of chunk i of an operand.
KD u64 part_spot(const abi_few_launch &l, const Few &t, u64 where, u32 i, const FewPart &x) {
  return where +
         (where & FEW_PACKETS ? t.packets + i * l.few.stride[1] + x.wire + FEW_MARK : i * l.few.stride[0] + x.plain);
}

KD pair64 load_part(u64 at, u32 halves) {
  pair64 v = {0, 0};
  if (halves > 0) v.low = load_global<u64>(at_address<const u8>(at));
  if (halves > 1) v.high = load_global<u64>(at_address<const u8>(at + 8));
  return v;
}
KD void store_part(u64 at, u32 halves, pair64 v) {
  if (halves > 0) store_global<u64>(at_address<u8>(at), v.low);
  if (halves > 1) store_global<u64>(at_address<u8>(at + 8), v.high);
}

template <class R, int OP> struct FewLines {
  enum { FOLDS = OP != COPIES, RENEWS = false, FINISHES = false, U = 4 };
  // Lines are dealt by bundles: the first of each has one if any has.
  KD u32 dealt_to() { return tid() / LINE_PARTS; }
  KD u32 dealt_at_once() { return ntid() / LINE_PARTS; }
  KD bool more(u32 line, u32 lines) { return line - dealt_to() % (LANES / LINE_PARTS) < lines; }

  KD void store(const abi_few_launch &l, const Few &t, const abi_few_step &s, u32 i, const FewPart &x, pair64 v) {
    const u32 end = s.first + s.srcs + s.dsts;
#pragma nounroll
    for (u32 o = s.first + s.srcs; o < end; o++) {
      const u64 where = few_where(l, o), to = part_spot(l, t, where, i, x);
      if (where & FEW_PACKETS) put_part(at_address<u8>(to), v, line_flag(t), x.has);
      else if (x.has) store_part(to, x.halves, v);
    }
  }

  // A FewRun is one of those of a step that copies, and of its group: a chunk of one Move.
  struct FewRun {
    abi_few_step s;
    u32 chunk;
    KD_MEMBER FewRun(const abi_few_launch &l, u32 step, const abi_few_step &first, u32 run) : s(first), chunk(run) {
      if (first.group > 1) s = few_step(l, step + run), chunk = 0;
    }
  };

  // A FewAlone is the u-th line of all runs of a step, of which there are `all`; or the last, for lanes that have none.
  struct FewAlone {
    u32 number;
    FewPart part;
    FewRun run;
    KD_MEMBER FewAlone(const abi_few_launch &l, const Few &t, u32 step, const abi_few_step &first, u32 u, u32 all)
        : number(run_of(l, (u32)least(u, all - 1))),
          part(t, (u32)least(u, all - 1) - number * l.few.lines),
          run(l, step, first, number) {
      part.has = part.has && u < all;
    }
    KD_MEMBER static u32 run_of(const abi_few_launch &l, u32 u) {
      u32 n = 0;
      for (; u >= l.few.lines; u -= l.few.lines) n++;  // few times, and a division takes longer
      return n;
    }
  };

  // bring loads a part of up to U runs.
  KD void bring(const abi_few_launch &l, const Few &t, u32 step, const abi_few_step &first, u32 run, const FewPart &x,
                pair64 (&v)[U]) {
#pragma unroll
    for (int k = 0; k < U; k++) {
      if (run + k >= few_runs(first)) continue;
      const FewRun r(l, step, first, run + k);
      v[k] = load_part(part_spot(l, t, few_where(l, r.s.first), r.chunk, x), x.has ? x.halves : 0);
    }
  }

  // await takes a part of up to U runs; where there are fewer, of the first again.
  KD bool await(const abi_few_launch &l, Few &t, u32 step, const abi_few_step &first, u32 run, const FewPart &x,
                pair64 (&v)[U]) {
    u64 from[U];
#pragma unroll
    for (int k = 0; k < U; k++) {
      const FewRun r(l, step, first, run + k < few_runs(first) ? run + k : run);
      from[k] = part_spot(l, t, few_where(l, r.s.first) | FEW_PACKETS, r.chunk, x);
    }
    return take_parts(t, from, v,
                      [&](int k) { t.step = first.group > 1 && run + k < few_runs(first) ? step + run + k : step; });
  }

  // at_once does a step whose lines, of all runs, are no more than lanes have: each has one.
  KD bool at_once(const abi_few_launch &l, Few &t, const abi_few_step &first) {
    const u32 step = t.step, all = few_runs(first) * l.few.lines;
    if (!more(dealt_to(), all)) return true;
    const FewAlone a(l, t, step, first, dealt_to(), all);
    const u64 where = few_where(l, a.run.s.first);
    pair64 v[1] = {};
    if (!(first.flags & FEW_TAKE))
      v[0] = load_part(part_spot(l, t, where, a.run.chunk, a.part), a.part.has ? a.part.halves : 0);
    if (!few_begin<RENEWS>(l, t)) return false;
    if (first.flags & FEW_TAKE) {
      const u64 from[1] = {part_spot(l, t, where | FEW_PACKETS, a.run.chunk, a.part)};
      t.step = first.group > 1 ? step + a.number : step;
      if (!take_parts(t, from, v, [](int) {})) return false;
      t.step = step;
    }
    store(l, t, a.run.s, a.run.chunk, a.part, v[0]);
    return true;
  }
  KD bool fits(const abi_few_launch &l, const abi_few_step &first) {
    return few_runs(first) * l.few.lines <= dealt_at_once();
  }

  // copy does a step that copies, and those of its group, U runs at a time.
  KD bool copy(const abi_few_launch &l, Few &t, const abi_few_step &first) {
    if (fits(l, first)) return at_once(l, t, first);
    const u32 step = t.step, runs = few_runs(first);
#pragma nounroll
    for (u32 line = dealt_to(); more(line, l.few.lines); line += dealt_at_once()) {
      const FewPart x(t, line);
#pragma nounroll
      for (u32 run = 0; run < runs; run += U) {
        pair64 v[U] = {};
        if (!(first.flags & FEW_TAKE)) bring(l, t, step, first, run, x, v);
        if (!few_begin<RENEWS>(l, t)) return false;
        if (first.flags & FEW_TAKE && !await(l, t, step, first, run, x, v)) return false;
#pragma unroll
        for (int k = 0; k < U; k++) {
          if (run + k >= runs) continue;
          const FewRun r(l, step, first, run + k);
          store(l, t, r.s, r.chunk, x, v[k]);
        }
      }
    }
    t.step = step;
    return true;
  }

  // fold_part folds a lane's part of the sources, of chunk i, with up to U under way. All lanes have the same sources;
  // where some are no packets, some other is awaited in their place.
  KD bool fold_part(const abi_few_launch &l, Few &t, const abi_few_step &s, u32 i, const FewPart &x, pair64 *sum) {
    typedef typename R::Half F;
    typename F::Acc low[1] = {}, high[1] = {};
#pragma nounroll
    for (u32 o = 0; o < s.srcs; o += U) {
      pair64 v[U] = {}, p[U];
      u64 from[U] = {}, some = 0;
      u32 packets = 0;
#pragma unroll
      for (int k = 0; k < U; k++) {
        if (o + k >= s.srcs) continue;
        const u64 where = few_where(l, s.first + o + k);
        from[k] = part_spot(l, t, where, i, x);
        if (where & FEW_PACKETS) packets |= 1u << k, some = from[k];
        else v[k] = load_part(from[k], x.halves);
      }
#pragma unroll
      for (int k = 0; k < U; k++) from[k] = packets >> k & 1 ? from[k] : some;
      t.operand = o;
      if (packets && !take_parts(t, from, p, [](int) {})) return false;
#pragma unroll
      for (int k = 0; k < U; k++) {
        if (o + k >= s.srcs) continue;
        const bool is = packets >> k & 1;
        const u64 a[1] = {is ? p[k].low : v[k].low}, b[1] = {is ? p[k].high : v[k].high};
        if (o + k == 0) low[0] = F::open(a[0]), high[0] = F::open(b[0]);
        else F::fold((u32)OP, low, a), F::fold((u32)OP, high, b);
      }
    }
    *sum = pair64{F::close(low[0]), F::close(high[0])};
    return true;
  }

  KD bool fold(const abi_few_launch &l, Few &t, const abi_few_step &s) {
#pragma nounroll
    for (u32 line = dealt_to(); more(line, l.few.lines); line += dealt_at_once()) {
      const FewPart x(t, line);
#pragma nounroll
      for (u32 i = 0; i < s.count; i++) {
        pair64 sum;
        if (!fold_part(l, t, s, i, x, &sum)) return false;
        store(l, t, s, i, x, sum);
      }
    }
    return true;
  }
};
