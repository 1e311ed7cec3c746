// This file is how the packets of one-sided programs lie on a GPU: as pairs of 4 bytes of data and 4 of
// flag (LL, LL16), or as lines of 120 bytes and a flag of 8 (LL128), each of which eight lanes move at
// once, a part each: 16 bytes, or of the last the 8 before the flag. The wire of a program is the same in all its
// launches.
#pragma once
#include "ll.h"
#include "../values/units.h"
#include "wait_onesided.h"

enum { LINE_PARTS = 8, LINE_WIRE = 128, LINE_HALVES = 15 };  // halves of a unit, 8 bytes each

KD u32 part_of() { return tid() % LINE_PARTS; }

// line_flag is what the lines of a tile iteration carry: its number in full, so that it is never another's.
template <class T> KD u64 line_flag(const T &t) { return t.tiles + 1; }

// see_part loads a lane's part of a line, and says whether it is known to be that of the flag; where a line arrives at
// once, only the lane that has the flag knows that.
KD bool see_part(const u8 *at, u64 flag, pair64 *v, u64 *have) {
#ifdef KERNEL_WHOLE_LINES
  *v = ld_pair(at), *have = v->high;
  return part_of() != LINE_PARTS - 1 || v->high == flag;
#else
  const bool is = (*have = ld_acquire64((const u64 *)(at - part_of() * 16) + LINE_HALVES)) == flag;
  if (is) *v = ld_pair(at);
  return is;
#endif
}

// take_parts waits for a lane's parts of U lines; all lanes of a bundle do at once, and go on together. missing
// is called, before the clock is looked at, with the number of one that is not there. false: one did not come.
template <int U, class T, class Missing>
KD bool take_parts(T &t, const u64 (&from)[U], pair64 (&v)[U], Missing missing) {
  const u64 flag = line_flag(t);
  u64 since = 0;
#pragma nounroll
  for (u32 polls = 0;; polls++) {
    u64 have = 0;
    int absent = -1;
#pragma unroll
    for (int k = 0; k < U; k++) {
      u64 seen;
      if (!see_part(at_address<const u8>(from[k]), flag, &v[k], &seen)) absent = k, have = seen;
    }
    if (!any(absent >= 0)) return true;
    if (absent >= 0) missing(absent);
    if (__builtin_expect(any(absent >= 0 && expired(t, polls, &since, WAIT_PACKET, flag, have)), 0)) return false;
    stall();
  }
}

// put_part stores a lane's part of a line; all lanes of a bundle do at once, also those that have none.
KD void put_part(u8 *to, pair64 v, u64 flag, bool has) {
  const bool last = part_of() == LINE_PARTS - 1;
#ifdef KERNEL_WHOLE_LINES
  gather();
  if (has) st_pair(to, pair64{v.low, last ? flag : v.high});
#else
  if (has) st_relaxed64((u64 *)to, v.low);
  if (has && !last) st_relaxed64((u64 *)to + 1, v.high);
  gather();
  if (has && last) st_release64((u64 *)to + 1, flag);
#endif
}

// Pairs and Lines deal the units of a chunk to the threads: unit u is `room` bytes from at(u) on. Where all lanes of a
// bundle must come at once, EACH is false.
struct Pairs {
  enum { EACH = true, LINES = false };
  KD u64 units(u64 bytes) { return (bytes + 15) / 16; }
  KD u64 at(u64 u) { return u * 16; }
  KD u32 room(u64) { return 16; }

  // take waits for the four packets of a unit, of those that begin at base.
  KD bool take(One &t, u64 base, u64 u, bool, v16 *v) {
    const u8 *p = at_address<const u8>(base + u * 32);
    auto look = [&](u64 *have) {
      const pair64 a = ld_pair(p), b = ld_pair(p + 16);
      *v = v16{(u32)a.low, (u32)a.high, (u32)b.low, (u32)b.high};
      const u32 flags[] = {(u32)(a.low >> 32), (u32)(a.high >> 32), (u32)(b.low >> 32), (u32)(b.high >> 32)};
      bool all = true;
#pragma unroll
      for (int i = 0; i < 4; i++)
        if (flags[i] != t.flag) all = false, *have = flags[i];
      return all;
    };
    return wait_until(t, WAIT_PACKET, t.flag, look);
  }
  KD void put(const One &t, u64 base, u64 u, bool, v16 v) {
    u8 *p = at_address<u8>(base + u * 32);
    st_pair(p, pair64{ll_packet(v.x, t.flag), ll_packet(v.y, t.flag)});
    st_pair(p + 16, pair64{ll_packet(v.z, t.flag), ll_packet(v.w, t.flag)});
  }
};

struct Lines {
  enum { EACH = false, LINES = true };
  KD u64 units(u64 bytes) { return (bytes + LINE_HALVES * 8 - 1) / (LINE_HALVES * 8) * LINE_PARTS; }
  KD u64 at(u64 u) { return u / LINE_PARTS * (LINE_HALVES * 8) + u % LINE_PARTS * 16; }
  KD u32 room(u64 u) { return u % LINE_PARTS == LINE_PARTS - 1 ? 8 : 16; }

  // A lane that has none looks at the first line, which all wait for some time.
  KD bool take(One &t, u64 base, u64 u, bool has, v16 *v) {
    const u64 from[1] = {base + (has ? u : part_of()) * 16};
    pair64 p[1];
    if (!take_parts(t, from, p, [](int) {})) return false;
    *v = join(p[0].low, p[0].high);
    return true;
  }
  KD void put(const One &t, u64 base, u64 u, bool has, v16 v) {
    put_part(at_address<u8>(base + u * 16), pair64{low_of(v), high_of(v)}, line_flag(t), has);
  }
};
