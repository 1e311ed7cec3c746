// Two-sided programs in the host's layer: a block has one thread.
#include "../../../kernels/platform/cpu.h"

#include "../../../kernels/loop/interp.h"

void run_two_sided(const abi_launch &a, u32 block, const abi_trace *trace) {
  if (trace) trace_block(*trace, block);
  interpret_any<AnyFold>(a, block);
}
