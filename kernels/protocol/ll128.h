// LL128: a line of 128 bytes is 120 of data and 8 of flag. Where the device does
// not store a line at once, the flag is released after the data, and acquired
// before it; the bytes on the wire are the same.
#pragma once
#include "../values/bytes.h"
#include "wait.h"

// copy_line copies n bytes, mostly all of a line's.
KD void copy_line(void *to, const void *from, u32 n) {
  if (n >= 120) copy_bytes(to, from, 120);
  else copy_bytes(to, from, n);
}

struct LL128 {
  enum { POSTED = false, WRAPS = false };
  static const u32 DATA = 120, LINE = 128;
  KD u64 wire(u64 bytes) { return (bytes + DATA - 1) / DATA * LINE; }

  KD const u8 *take(Thread &t, const u8 *from, u64 at, u32 n, u64 message, u8 *room) {
    const u8 *line = from + at / DATA * LINE;
    for (u32 i = 0; i < n; i += DATA, line += LINE) {
      const u64 *flag = (const u64 *)(line + DATA);
      if (ld_acquire64(flag) != message) {
        if (t.gone ||
            !wait_until(t, WAIT_PACKET, message, [=](u64 *have) { return (*have = ld_acquire64(flag)) == message; }))
          return nullptr;
      }
      copy_line(room + i, line, n - i);
    }
    return room;
  }
  KD void put(u8 *to, u64 at, const u8 *value, u32 n, u64 message) {
    u8 *line = to + at / DATA * LINE;
    for (u32 i = 0; i < n; i += DATA, line += LINE) {
      copy_line(line, value + i, n - i);
      st_release64((u64 *)(line + DATA), message);
    }
  }
};
