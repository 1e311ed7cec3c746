// LL: a packet is 4 bytes of data with 4 of flag, stored and loaded at once. The
// flag is the number of the message, counted from 1, so that what an earlier
// message left in the slot is never taken for this one. A run of bytes takes a
// multiple of four packets, which is what one thread of a GPU moves at once; one of no
// bytes is a packet all the same.
#pragma once
#include "../values/bytes.h"
#include "wait.h"

KD u64 ll_packet(u32 data, u32 flag) { return (u64)data | (u64)flag << 32; }

// ll_take waits for the packet at p.
template <class T> KD bool ll_take(T &t, const u64 *p, u32 flag, u32 *data) {
  u64 v = ld_relaxed64(p);
  if ((u32)(v >> 32) != flag) {
    if (t.gone || !wait_until(t, WAIT_PACKET, flag, [&](u64 *have) {
          v = ld_relaxed64(p);
          *have = v >> 32;
          return (u32)(v >> 32) == flag;
        }))
      return false;
  }
  *data = (u32)v;
  return true;
}

struct LL {
  enum { POSTED = false, WRAPS = true };
  KD u64 wire(u64 bytes) { return (bytes + 15) / 16 * 32; }

  template <class T> KD const u8 *take(T &t, const u8 *from, u64 at, u32 n, u64 message, u8 *room) {
    const u64 *p = (const u64 *)from + at / 4;
    u32 data, i = 0;
    for (; i + 4 <= n; i += 4) {
      if (!ll_take(t, p + i / 4, (u32)message, &data)) return nullptr;
      store_bytes<u32>(room + i, data, 4);
    }
    if (i < n || n == 0) {
      if (!ll_take(t, p + i / 4, (u32)message, &data)) return nullptr;
      store_bytes<u32>(room + i, data, n - i);
    }
    return room;
  }
  KD void put(u8 *to, u64 at, const u8 *value, u32 n, u64 message) {
    u64 *p = (u64 *)to + at / 4;
    u32 i = 0;
    for (; i + 4 <= n; i += 4) st_relaxed64(p + i / 4, ll_packet(load_bytes<u32>(value + i, 4), (u32)message));
    if (i < n || n == 0) st_relaxed64(p + i / 4, ll_packet(load_bytes<u32>(value + i, n - i), (u32)message));
  }
};
