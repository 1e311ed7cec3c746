// LL16: a packet is 8 bytes of data with 8 of flag, as two halves of 4 + 4 that
// each carry the flag: no more than 8 bytes need arrive at once.
#pragma once
#include "ll.h"

struct LL16 {
  enum { POSTED = false, WRAPS = true };
  KD u64 wire(u64 bytes) { return (bytes + 15) / 16 * 32; }

  KD const u8 *take(Thread &t, const u8 *from, u64 at, u32 n, u64 message, u8 *room) {
    const u64 *p = (const u64 *)from + at / 8 * 2;
    for (u32 i = 0; i < n; i += 8, p += 2) {
      u32 low, high;
      if (!ll_take(t, p, (u32)message, &low) || !ll_take(t, p + 1, (u32)message, &high)) return nullptr;
      store_bytes<u64>(room + i, (u64)low | (u64)high << 32, n - i);
    }
    return room;
  }
  KD void put(u8 *to, u64 at, const u8 *value, u32 n, u64 message) {
    u64 *p = (u64 *)to + at / 8 * 2;
    for (u32 i = 0; i < n; i += 8, p += 2) {
      const u64 data = load_bytes<u64>(value + i, n - i);
      st_relaxed64(p, ll_packet((u32)data, (u32)message));
      st_relaxed64(p + 1, ll_packet((u32)(data >> 32), (u32)message));
    }
  }
};
