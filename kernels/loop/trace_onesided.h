// This file records when the steps of a one-sided program began and ended, as the
// first thread of a block sees it, in images that are made with KERNEL_TRACE and where
// the launch has room for records. In other images it is nothing.
#pragma once
#include "../protocol/wait_onesided.h"

#ifdef KERNEL_TRACE
KD u64 trace_begins(const One &t) { return t.a.trace && tid() == 0 ? now() : 0; }

// trace_group is how many Moves run together: of a traced or watched launch one at a time, so that
// each has times of its own. That they are Joint allows more, and asks for nothing.
KD u32 trace_group(const One &t, const abi_one_step &s) { return t.a.trace || watched() ? 1 : s.group; }

// trace_ended records the step that t is at.
KD_CALL void trace_ended(const One &t, u64 begun) {
  if (!t.a.trace || tid() != 0 || t.gone || t.iteration >= t.a.trace_iterations) return;
  const u64 row = (t.replica * t.a.trace_iterations + t.iteration) * t.a.step_count + t.at.block->first_step + t.step;
  at_address<abi_one_record>(t.a.trace)[row] = abi_one_record{begun, now()};
}
#else
KD u64 trace_begins(const One &) { return 0; }
KD u32 trace_group(const One &, const abi_one_step &s) { return s.group; }
KD void trace_ended(const One &, u64) {}
#endif
