// This file records when the steps of a one-sided program began and ended, as the
// first thread of a block sees it, in images that are made with KERNEL_TRACE and where
// the launch has room for records. In other images it is nothing.
#pragma once
#include "waits_onesided.h"

#ifdef KERNEL_TRACE
KD u64 trace_begins(const One &t) { return t.a.trace && tid() == 0 ? now() : 0; }

// trace_ended records the count steps from t.step on, which ran together, but for
// those that are absent in this pass.
KD_CALL void trace_ended(const One &t, u64 begun, u32 count, u32 absent) {
  if (!t.a.trace || tid() != 0 || t.gone || t.pass >= t.a.trace_passes) return;
  const u64 row = (t.column * t.a.trace_passes + t.pass) * t.a.step_count + t.at.block->first_step + t.step;
  abi_one_record *to = at_address<abi_one_record>(t.a.trace) + row;
  const u64 ended = now();
  for (u32 i = 0; i < count; i++)
    if (!(t.at.steps[t.step + i].flags & absent)) to[i] = abi_one_record{begun, ended};
}
#else
KD u64 trace_begins(const One &) { return 0; }
KD void trace_ended(const One &, u64, u32, u32) {}
#endif
