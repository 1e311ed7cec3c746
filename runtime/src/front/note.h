// This file is what a call costs where nothing looks at calls: a test of observed_by. front.h includes it.
#pragma once

inline void note_call(Member *e, const Op &op, const char *why) {
  const u64 calls = e->calls + (kind_of(op.fn) != KIND_NONE);
  __atomic_store_n(&e->calls, calls, __ATOMIC_RELAXED);  // messages of other threads name it
  if (observed(OBSERVES_ALL & ~OBSERVES_RANGES)) keep_call(e, op, why);
}
inline void noted_launch(Member *e) {
  if (e->record) keep_launch(e);
}

// A Range is what profilers show of a native call.
struct Range {
  bool open;
  Range(const Member *e, const Op &op) : open(observed(OBSERVES_RANGES) && range_open(op.fn, bytes_of(op, e->ranks))) {}
  ~Range() {
    if (open) range_close();
  }
};
