// This file is how the lanes of a GPU take and put units of 16 bytes on the wire.
// A protocol says where unit number i of a run lies among its data, and how much
// of it there is (a run has less than 64 GiB); take and put have U units of a lane, LANES apart from each other.
// All lanes come to take and put together.
#pragma once
#include "ll.h"
#include "ll128.h"
#include "ll16.h"
#include "simple.h"
#include "../values/units.h"

// Place is where a lane's units lie: the first where P says, the others a constant
// number of bytes apart. WHOLE says that they are aligned and lie within the run.
template <class P, bool WHOLE> struct Place {
  u32 first, units;
  KD_MEMBER bool has(int k) const { return WHOLE || first + (u32)(k * LANES) < units; }
  KD_MEMBER u64 data(int k) const { return P::data_at(first) + (u32)k * (LANES * P::PER_LINE / P::PARTS); }
  KD_MEMBER u64 wire(int k) const { return (u64)first * P::ON_WIRE + (u32)k * (LANES * P::ON_WIRE); }
};

// Dense data in units of 16 bytes.
struct Dense {
  enum { ALIGN = 16, PARTS = 1, PER_LINE = 16 };
  KD u32 whole(u64 bytes) { return (u32)(bytes / 16); }
  KD u32 units(u64 bytes) { return (u32)((bytes + 15) / 16); }
  KD u64 data_at(u32 unit) { return (u64)unit * 16; }
  KD u32 data_of(u32) { return 16; }
  KD v16 load(const u8 *p, u32) { return load_global<v16>(p); }
  template <class At, int U> KD void store(u8 *base, const At &at, const v16 (&v)[U]) {
#pragma unroll
    for (int k = 0; k < U; k++) store_global<v16>(base + at.data(k), v[k]);
  }
};

struct SimpleLanes : Simple, Dense {
  enum { AHEAD = 4, ON_WIRE = 16 };  // units that a lane has under way, and bytes of each
  template <class At, int U> KD bool take(Thread &, const u8 *from, const At &at, u64, v16 (&v)[U]) {
#pragma unroll
    for (int k = 0; k < U; k++)
      if (at.has(k)) v[k] = load_global<v16>(from + at.wire(k));
    return true;
  }
  template <class At, int U> KD void put(u8 *to, const At &at, const v16 (&v)[U], u64) {
#pragma unroll
    for (int k = 0; k < U; k++)
      if (at.has(k)) store_global<v16>(to + at.wire(k), v[k]);
  }
};

// LL and LL16: a unit is four packets of 4 + 4 bytes, which are two of 8 + 8.
struct LLLanes : LL, Dense {
  enum { AHEAD = 2, ON_WIRE = 32 };
  template <class At, int U> KD bool take(Thread &t, const u8 *from, const At &at, u64 message, v16 (&v)[U]) {
    const u32 flag = (u32)message;
    auto look = [&](u64 *have) {
      bool all = true;
#pragma unroll
      for (int k = 0; k < U; k++) {
        if (!at.has(k)) continue;
        const pair64 a = ld_pair(from + at.wire(k)), b = ld_pair(from + at.wire(k) + 16);
        v[k] = v16{(u32)a.low, (u32)a.high, (u32)b.low, (u32)b.high};
        const u64 flags[] = {a.low >> 32, a.high >> 32, b.low >> 32, b.high >> 32};
#pragma unroll
        for (int i = 0; i < 4; i++)
          if (flags[i] != flag) all = false, *have = flags[i];
      }
      return all;
    };
    return !t.gone && wait_until(t, WAIT_PACKET, flag, look);
  }
  template <class At, int U> KD void put(u8 *to, const At &at, const v16 (&v)[U], u64 message) {
    const u32 flag = (u32)message;
#pragma unroll
    for (int k = 0; k < U; k++) {
      if (!at.has(k)) continue;
      st_pair(to + at.wire(k), pair64{ll_packet(v[k].x, flag), ll_packet(v[k].y, flag)});
      st_pair(to + at.wire(k) + 16, pair64{ll_packet(v[k].z, flag), ll_packet(v[k].w, flag)});
    }
  }
};

// LL128: eight lanes have a line, the last of them 8 bytes of data and the flag.
struct LL128Lanes : LL128 {
  enum { AHEAD = 4, ON_WIRE = 16, ALIGN = 8, PARTS = 8, PER_LINE = 120 };
  KD u32 whole(u64 bytes) { return (u32)(bytes / DATA) * PARTS; }
  KD u32 units(u64 bytes) { return (u32)((bytes + DATA - 1) / DATA) * PARTS; }
  KD u64 data_at(u32 unit) { return (u64)unit * 16 - unit / PARTS * 8; }
  KD bool flags(u32 unit) { return unit % PARTS == PARTS - 1; }
  KD u32 data_of(u32 unit) { return flags(unit) ? 8 : 16; }
  KD v16 load(const u8 *p, u32 unit) { return join(load_global<u64>(p), flags(unit) ? 0 : load_global<u64>(p + 8)); }
  // All first halves, then all second ones: of a branch with stores on both sides the
  // compiler makes one store of an element that it chooses in local memory.
  template <class At, int U> KD void store(u8 *base, const At &at, const v16 (&v)[U]) {
#pragma unroll
    for (int k = 0; k < U; k++) store_global<u64>(base + at.data(k), low_of(v[k]));
    if (flags(at.first)) return;
#pragma unroll
    for (int k = 0; k < U; k++) store_global<u64>(base + at.data(k) + 8, high_of(v[k]));
  }

#ifdef KERNEL_WHOLE_LINES
  // The lane that sees the flag tells the others that what they loaded with it is
  // good. Lanes leave together, also where one gives up.
  template <class At, int U> KD bool take(Thread &t, const u8 *from, const At &at, u64 message, v16 (&v)[U]) {
    u64 since = 0, have = 0;
    for (u32 polls = 0;; polls++) {
      bool missing = false;
#pragma unroll
      for (int k = 0; k < U; k++) {
        if (!at.has(k)) continue;
        const pair64 p = ld_pair(from + at.wire(k));
        v[k] = join(p.low, p.high);
        if (flags(at.first) && p.high != message) missing = true, have = p.high;
      }
      if (!any(missing)) return true;
      if (any(t.gone || expired(t, polls, &since, WAIT_PACKET, message, have))) return false;
    }
  }
  template <class At, int U> KD void put(u8 *to, const At &at, const v16 (&v)[U], u64 message) {
    gather();
#pragma unroll
    for (int k = 0; k < U; k++)
      if (at.has(k)) st_pair(to + at.wire(k), pair64{low_of(v[k]), flags(at.first) ? message : high_of(v[k])});
  }
#else
  // Each lane waits for the flag of its line, and then loads; the lane that has
  // the flag releases it, after what the lanes beside it stored.
  template <class At, int U> KD bool take(Thread &t, const u8 *from, const At &at, u64 message, v16 (&v)[U]) {
    auto look = [&](u64 *have) {
      bool all = true;
#pragma unroll
      for (int k = 0; k < U; k++) {
        if (!at.has(k)) continue;
        const u64 flag = ld_acquire64((const u64 *)(from + (at.wire(k) | (LINE - 1)) - 7));
        if (flag != message) all = false, *have = flag;
      }
      return all;
    };
    if (t.gone || !wait_until(t, WAIT_PACKET, message, look)) return false;
#pragma unroll
    for (int k = 0; k < U; k++)
      if (at.has(k)) v[k] = load(from + at.wire(k), at.first);
    return true;
  }
  template <class At, int U> KD void put(u8 *to, const At &at, const v16 (&v)[U], u64 message) {
#pragma unroll
    for (int k = 0; k < U; k++)
      if (at.has(k)) store_global<u64>(to + at.wire(k), low_of(v[k]));
#pragma unroll
    for (int k = 0; k < U; k++) {
      if (!at.has(k)) continue;
      if (flags(at.first)) st_release64((u64 *)(to + at.wire(k) + 8), message);
      else store_global<u64>(to + at.wire(k) + 8, high_of(v[k]));
    }
  }
#endif
};
