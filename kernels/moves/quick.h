// This file moves and folds data of one-sided programs on a GPU where every operand is
// aligned and a tile iteration moves the same length of every chunk: then where operands lie is found once per
// iteration, a thread an operand, and what is left for a unit is one addition. A Move with packets goes in
// halves of a unit, 8 bytes, of which each is one store of 16 bytes; others in units.
#pragma once
#include "cells.h"
#include "../protocol/ll.h"
#include "../values/units.h"

enum { COPIES = RED_COUNT + 1 };  // of a kernel whose steps fold nothing

// The low bits of a place say how chunks and units follow each other there.
enum { PLACE_DENSE, PLACE_PACKETS, PLACE_SCRATCH, PLACE_INBOX, PLACE_BITS = 3 };

// memory_of is one of a rank's addresses; field is a row's u64, in their order.
KD u64 memory_of(const abi_one_launch &a, u32 rank, u32 field) {
  const u32 i = rank * (u32)(sizeof(abi_one_memory) / 8) + field;
  return a.rank_count > ONE_RANKS ? load_global<u64>(at_address<const u64>(a.ranks) + i) : ((const u64 *)a.rank)[i];
}

// place_of is where what this iteration moves of an operand's first chunk lies; *awry is set where that is
// not aligned. Of outputs that hold finished ROWS (rows/lanes.h) it says only that.
template <bool ROWS = false> KD u64 place_of(const One &t, const abi_one_operand &o, bool *awry) {
  const abi_one_launch &a = t.a;
  if (ROWS && o.buf == BUF_OUTPUT) {
    *awry |= memory_of(a, (u32)o.rank, o.buf) % 16 != 0;
    return 0;
  }
  if (o.rank < 0) {
    *awry = true;
    return 0;
  }
  if (NET && o.buf == BUF_INBOX) return inbox_cell(t, o, 0) + PLACE_INBOX;
  if (NET && o.buf == BUF_INBOX_FLAGS) return inbox_flag(t, o);
  const u64 memory = memory_of(a, (u32)o.rank, o.buf);
  if (o.buf == BUF_FLAGS) return memory + ((u64)t.replica * a.flags + o.index) * 8;
  u64 at;
  u32 kind = PLACE_DENSE;
  if (o.buf == BUF_SCRATCH) at = memory + t.copy * a.scratch_copy + o.index * a.scratch_stride, kind = PLACE_SCRATCH;
  else if (o.buf == BUF_PACKETS) at = memory + t.copy * a.packet_copy + o.index * a.packet_stride, kind = PLACE_PACKETS;
  else at = memory + ((u64)(u32)o.a * a.elems + least((u64)o.b * a.chunk, a.elems)) * a.elem_size + t.first;
  *awry |= at % 16 != 0;
  return at + kind;
}

// place_operands finds where the operands of an iteration lie, and whether it is quick. The
// barrier also shows all threads what bring_near brought.
template <bool ROWS = false> KD void place_operands(One &t, bool unaligned = false) {
  const abi_one_launch &a = t.a;
  if (t.iteration) bar();  // the last iteration is over for all
  bool awry = !t.at.where || unaligned;
  for (u32 i = near_operand(); i < t.at.operand_rows; i += ntid())
    one_local.where[i] = place_of<ROWS>(t, one_local.operands[i], &awry);
  const u64 whole = a.chunk * a.elem_size, total = a.elems * a.elem_size;
  const u64 shortest = total - least((a.chunks - 1) * whole, total),
            end = shortest == whole ? least(t.end, whole) : t.end;
  // Chunks of one step follow each other, be it in one piece or in several.
  for (u32 i = tid(); i < t.at.rows; i += ntid())
    awry |= (shortest != whole || whole % 16) && one_local.steps[i].count > 1;
  t.length = (u32)(end - least(end, t.first));
  awry |= end > shortest || t.length == 0 || t.length % 16 || (a.chunks > 1 && whole % 16);
  t.quick = !bar_any(awry);
}

KD u32 lane_of() { return tid() % LANES; }
KD u32 warp_of() { return tid() / LANES; }

// Walk deals pieces of LANES units of some runs to the warps of a block, in turn, so that the runs keep pace.
struct Walk {
  u32 runs, units, run, at, run_step, at_step;
  KD_MEMBER Walk(u32 runs, u32 units) : runs(runs), units(units) {
    const u32 warps = ntid() / LANES, warp = warp_of();
    run = warp, at = lane_of(), run_step = 0, at_step = warps * LANES;
    if (runs == 1) {
      run = 0, at += warp * LANES;
      return;
    }
    for (; run >= runs; run -= runs) at += LANES;  // a division takes longer
    for (run_step = warps, at_step = 0; run_step >= runs; run_step -= runs) at_step += LANES;
  }
  KD_MEMBER bool more() const { return at / LANES * LANES < units; }
  KD_MEMBER bool has() const { return at < units; }
  KD_MEMBER void next() {
    run += run_step, at += at_step;
    if (run >= runs) run -= runs, at += LANES;
  }
};

// ends_average says whether a kernel with the reductions of R, built for OP, has to end averages. Those of integers go
// by the kernel for sums too.
template <class R, int OP> KD bool ends_average(const abi_one_launch &a) {
  return R::FLOATS ? is_average<OP>(a) : OP == RED_SUM || is_average<OP>(a);
}

// Half and whole units: how they are loaded and stored, plain or as packets.
KD u64 load_unit(u64 at, u64) { return load_global<u64>(at_address<const u8>(at)); }
KD v16 load_unit(u64 at, v16) { return load_stream(at_address<const u8>(at)); }
KD void store_unit(u64 at, u32 kind, u64 v, u32 flag) {
  if (kind == PLACE_PACKETS)
    st_pair(at_address<u8>(at), pair64{ll_packet((u32)v, flag), ll_packet((u32)(v >> 32), flag)});
  else store_global<u64>(at_address<u8>(at), v);
}
KD void store_unit(u64 at, u32, v16 v, u32) { store_global<v16>(at_address<u8>(at), v); }

// take_halves waits for the packets of those of U half units that has (a bit each) says, some at least. It loads one of
// these in place of the others: so all loads are under way at once, where the assembler does one after the other if
// some may not be done.
template <int U, class T> KD bool take_halves(T &t, u64 (&from)[U], u32 has, u64 (&v)[U]) {
  u64 some = from[0], since = 0;
#pragma unroll
  for (int k = 1; k < U; k++) some = has >> k & 1 ? from[k] : some;
#pragma unroll
  for (int k = 0; k < U; k++) from[k] = has >> k & 1 ? from[k] : some;
#pragma nounroll
  for (u32 polls = 0;; polls++) {
    pair64 p[U];
#pragma unroll
    for (int k = 0; k < U; k++) p[k] = ld_pair(at_address<const u8>(from[k]));
    u32 strange = 0, have = 0;
#pragma unroll
    for (int k = 0; k < U; k++) {
      const bool is = has >> k & 1;
      const u32 low = (u32)(p[k].low >> 32), high = (u32)(p[k].high >> 32);
      v[k] = is ? (p[k].low & 0xffffffffu) | p[k].high << 32 : v[k];
      strange |= is ? (low ^ t.flag) | (high ^ t.flag) : 0;
      have = is ? high : have;
    }
    if (!strange) return true;
    if (__builtin_expect(expired(t, polls, &since, WAIT_PACKET, t.flag, have), 0)) return false;
    stall();
  }
}

// Quick does what OneLanes does, with the reductions of R. Sets of units are bits of a number: of an array of bools the
// compiler makes a vector of bytes, and in AMD's images that goes as it does with units (whole_words). What is set on a
// condition alone is zeroed before: the assembler takes a register of which it cannot tell for live in all loops
// around.
template <class R, int OP> struct Quick {
  // Units of a thread, and sources of each, that stream has under way: the most that registers hold.
  enum { COPY_UNITS = 8, SUM_UNITS = OP == RED_COUNT ? 2 : 4, SUM_SOURCES = OP == RED_COUNT ? 4 : 2, LONG = 4 };
  // scale_of is what an average multiplies operand o by.
  KD typename R::A scale_of(const One &t, u32 o) {
    return R::scale_of(one_local.operands[o].via & ONE_FRESH, t.a.inverse);
  }
  KD bool is_long(const One &t) { return t.length / 16 >= LONG * ntid(); }

  // spot is where a unit of V lies, of chunk i of an operand.
  template <class V> KD u64 spot(const One &t, u64 where, u32 i, u32 unit) {
    const u32 kind = where & PLACE_BITS;
    u64 at = where - kind + (u64)unit * (sizeof(V) << (sizeof(V) == 8 && kind == PLACE_PACKETS));
    if (i)
      at += i * (kind == PLACE_DENSE          ? t.a.chunk * t.a.elem_size
                 : kind == PLACE_PACKETS      ? t.a.packet_stride
                 : NET && kind == PLACE_INBOX ? inbox_stride(t)
                                              : t.a.scratch_stride);
    return at;
  }

  template <class V> KD void store(const One &t, const abi_one_step &s, u32 i, u32 unit, V v) {
    const u32 end = s.first + s.srcs + s.dsts;
#pragma nounroll
    for (u32 o = s.first + s.srcs; o < end; o++) {
      const u64 where = one_local.where[o];
      store_unit(spot<V>(t, where, i, unit), (u32)where & PLACE_BITS, v, t.flag);
    }
  }

  template <int U> KD bool take(One &t, u64 (&from)[U], u32 has, u64 (&v)[U]) { return take_halves(t, from, has, v); }
  template <int U> KD bool take(One &, u64 (&)[U], u32, v16 (&)[U]) { return true; }

  // copy moves the n Moves from s on, which are alike, each from its only source to its destinations, U units of a
  // thread at a time.
  template <class V, int U> KD bool copy(One &t, const abi_one_step *s, u32 n) {
    Walk w(n > 1 ? n : s->count, t.length / (u32)sizeof(V));
    const bool packets = (one_local.where[s->first] & PLACE_BITS) == PLACE_PACKETS;
#pragma nounroll
    while (w.more()) {
      V v[U] = {};
      u64 from[U] = {};
      u32 run[U], at[U], has = 0;
#pragma unroll
      for (int k = 0; k < U; k++, w.next()) {
        run[k] = w.run, at[k] = w.at;
        if (!w.has()) continue;
        has |= 1u << k;
        from[k] = spot<V>(t, one_local.where[s[n > 1 ? run[k] : 0].first], n > 1 ? 0 : run[k], at[k]);
        if (!packets) v[k] = load_unit(from[k], V());
      }
      if (packets && has && !take(t, from, has, v)) return false;
#pragma unroll
      for (int k = 0; k < U; k++)
        if (has >> k & 1) store<V>(t, s[n > 1 ? run[k] : 0], n > 1 ? 0 : run[k], at[k], v[k]);
    }
    return true;
  }

  // fold moves one step that folds, a unit of a thread at a time, of which up to G sources are under way.
  template <class V, class F, int G> KD bool fold(One &t, const abi_one_step &s) {
    Walk w(s.count, t.length / (u32)sizeof(V));
    const u32 divisor = one_divisor(t.a, s), srcs = s.srcs;
#pragma nounroll
    for (; w.more(); w.next()) {
      if (!w.has()) continue;
      typename F::Acc acc[1] = {};
#pragma nounroll
      for (u32 o = 0; o < srcs; o += G) {
        V v[G] = {};
        u64 from[G] = {};
        u32 packets = 0;
#pragma unroll
        for (int g = 0; g < G; g++) {
          if (o + g >= srcs) continue;
          const u64 where = one_local.where[s.first + o + g];
          from[g] = spot<V>(t, where, w.run, w.at);
          if (sizeof(V) == 8 && (where & PLACE_BITS) == PLACE_PACKETS) packets |= 1u << g;
          else v[g] = load_unit(from[g], V());
        }
        if (sizeof(V) == 8 && packets && !take(t, from, packets, v)) return false;
#pragma unroll
        for (int g = 0; g < G; g++) {
          if (o + g >= srcs) continue;
          const V one[1] = {v[g]};
          if (o + g > 0) {
            F::fold(OP == RED_COUNT ? t.a.redop : (u32)OP, acc, one, scale_of(t, s.first + o + g));
            continue;
          }
          acc[0] = F::open(v[0]);
          if (is_average<OP>(t.a)) F::scale(acc, scale_of(t, s.first));
        }
      }
      if (ends_average<R, OP>(t.a)) F::end_average(acc, divisor);
      store<V>(t, s, w.run, w.at, F::close(acc[0]));
    }
    return true;
  }

  // Where shares are long, a unit costs instructions more than latency. So copy_piece and sum_piece do U units of a
  // thread of one chunk, whose addresses differ by constants; all of the block's threads have such units side by side.
  // Units after the end are the last one again, and are not stored: the assembler does one load after the other if
  // some may not be done.
  template <int U> KD void load_piece(const One &t, u32 o, u32 i, u32 unit, u32 units, v16 (&v)[U]) {
    const u64 from = spot<v16>(t, one_local.where[o], i, 0);
#pragma unroll
    for (u32 k = 0; k < U; k++) v[k] = load_unit(from + 16ull * (u32)least(unit + k * ntid(), units - 1), v16());
  }
  template <int U>
  KD void store_piece(const One &t, const abi_one_step &s, u32 i, u32 unit, u32 units, const v16 (&v)[U]) {
    const u32 end = s.first + s.srcs + s.dsts;
#pragma nounroll
    for (u32 o = s.first + s.srcs; o < end; o++) {
      const u64 to = spot<v16>(t, one_local.where[o], i, unit);
#pragma unroll
      for (u32 k = 0; k < U; k++)
        if (unit + k * ntid() < units) store_unit(to + 16ull * (k * ntid()), 0, v[k], 0);
    }
  }
  template <int U> KD void copy_piece(const One &t, const abi_one_step &s, u32 i, u32 unit, u32 units) {
    v16 v[U];
    load_piece(t, s.first, i, unit, units, v);
    store_piece(t, s, i, unit, units, v);
  }
  // sum_piece has G sources of each unit under way.
  template <int U, int G>
  KD void sum_piece(const One &t, const abi_one_step &s, u32 i, u32 unit, u32 units, u32 divisor) {
    typename R::Acc acc[U] = {};
    const u32 srcs = s.srcs;
#pragma nounroll
    for (u32 o = 0; o < srcs; o += G) {
      v16 v[G][U] = {};
#pragma unroll
      for (u32 g = 0; g < G; g++)
        if (o + g < srcs) load_piece(t, s.first + o + g, i, unit, units, v[g]);
#pragma unroll
      for (u32 g = 0; g < G; g++) {
        if (o + g >= srcs) continue;
        if (o + g > 0) {
          R::fold(OP == RED_COUNT ? t.a.redop : (u32)OP, acc, v[g], scale_of(t, s.first + o + g));
          continue;
        }
#pragma unroll
        for (int k = 0; k < U; k++) acc[k] = R::open(v[g][k]);
        if (is_average<OP>(t.a)) R::scale(acc, scale_of(t, s.first));
      }
    }
    if (ends_average<R, OP>(t.a)) R::end_average(acc, divisor);
    v16 sums[U];
#pragma unroll
    for (int k = 0; k < U; k++) sums[k] = R::close(acc[k]);
    store_piece(t, s, i, unit, units, sums);
  }

  // stream copies the chunks of the n Moves from s on, which are alike, or sums those of one: a piece of each chunk
  // after the other, so that they keep pace.
  template <bool SUMS> KD void stream(const One &t, const abi_one_step *s, u32 n, u32 divisor) {
    const u32 units = t.length / 16, piece = (SUMS ? SUM_UNITS : COPY_UNITS) * ntid(), runs = n > 1 ? n : s->count;
#pragma nounroll
    for (u32 unit = tid(); unit - tid() < units; unit += piece)
#pragma nounroll
      for (u32 r = 0; r < runs; r++)
        if (SUMS) sum_piece<SUM_UNITS, SUM_SOURCES>(t, *s, r, unit, units, divisor);
        else copy_piece<COPY_UNITS>(t, s[n > 1 ? r : 0], n > 1 ? 0 : r, unit, units);
  }

  // move does `count` Moves from the present one on, which are alike. It returns false where a packet did not come.
  KD bool move(One &t, const abi_one_step &f) {
    const abi_one_step *s = one_local.steps + t.step;
    const u32 count = f.group;
    const bool packets = f.flags & ONE_PACKETS;
    if (OP == COPIES || (f.srcs == 1 && !one_divisor(t.a, f))) {
      if (!packets && !is_long(t)) return copy<v16, 4>(t, s, count);
      if (!packets) {
        stream<false>(t, s, count, 0);
        return true;
      }
      // Few packets are soonest sent by a loop that does not look for more.
      return t.length / 8 * (count > 1 ? count : f.count) <= ntid() ? copy<u64, 1>(t, s, count)
                                                                    : copy<u64, 4>(t, s, count);
    }
    if (packets) return fold<u64, typename R::Half, 4>(t, f);
    if (!is_long(t)) return fold<v16, R, 4>(t, f);
    stream<true>(t, s, 1, one_divisor(t.a, f));
    return true;
  }
};
