// This file records when the actions of a two-sided program began and ended, as trace_onesided.h does the steps of
// one-sided ones. A block's actions come in the same order in every run, so that each has a row of
// its own. What the first thread keeps for that is in memory of the block, so that registers are for the rest.
#pragma once
#include "../abi/rows_onesided.h"

#ifdef KERNEL_TRACE
// trace_block stands before interpret. A host's memory of a block is zeroed, and has no rows without it.
KD void trace_block(const abi_trace &trace, u32 block) {
  if (tid() != 0) return;
  const u64 *first = at_address<const u64>(trace.first) + block;
  rows_of_block()->next = trace.rows + first[0] * sizeof(abi_one_record);
  rows_of_block()->end = trace.rows + first[1] * sizeof(abi_one_record);
}
KD bool traced() { return tid() == 0 && rows_of_block()->next != rows_of_block()->end; }
KD void trace_begins() {
  if (traced()) rows_of_block()->begun = now();
}
KD void trace_ended() {
  if (!traced()) return;
  trace_rows *r = rows_of_block();
  // What blocks do on their way out of a launch that is over is not recorded.
  if (!ld_block32(&shared()->late)) *at_address<abi_one_record>(r->next) = abi_one_record{r->begun, now()};
  r->next += sizeof(abi_one_record);
}
#else
KD void trace_begins() {}
KD void trace_ended() {}
#endif
