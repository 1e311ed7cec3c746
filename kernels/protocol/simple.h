// Simple: a message is its plain bytes. The sender posts it with a counter, for
// which one thread of the receiver waits.
#pragma once
#include "../values/bytes.h"
#include "wait.h"

struct Simple {
  enum { POSTED = true };  // a counter says that a message is there
  enum { WRAPS = false };  // packets carry no whole number of their message
  KD u64 wire(u64 bytes) { return (bytes + 15) & ~15ull; }

  // take gives n bytes from `at` of what lies at `from`, in place or in room.
  KD const u8 *take(Thread &, const u8 *from, u64 at, u32, u64, u8 *) { return from + at; }
  KD void put(u8 *to, u64 at, const u8 *value, u32 n, u64) { copy_bytes(to + at, value, n); }
};
