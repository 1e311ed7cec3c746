// The layer of the kernel that GPUs run, built for the host (kernels/platform/lanes.h): an instance for each type, as
// there is an image for each.
#pragma once
#include "standin.h"

#define KERNEL_NET  // images without it run launches without a net alike

#include "../../../kernels/platform/lanes.h"

#include "../../../kernels/few/lines.h"
#include "../../../kernels/loop/interp.h"
#include "../../../kernels/moves/port.h"

// run_lanes is one thread of a launch, whose parameters begin at params. Of two-sided programs only those whose packets
// are not lines: of these a host would show parts.
template <class T> void run_lanes(Entry entry, const char *params, u32 block, u32 replica);

// lanes_of is a one-sided program's; where the launch has no port, PortMoves leaves all to the lanes.
template <class Lanes> void lanes_of(const char *params, u32 block, u32 replica) {
  run_onesided<PortMoves<Lanes>>(*(const abi_one_launch *)params, block, replica);
}

#define LANES_OF(T)                                                                                  \
  template <> void run_lanes<T>(Entry entry, const char *params, u32 block, u32 replica) {            \
    const abi_few_launch &few = *(const abi_few_launch *)params;                                     \
    const abi_launch &two = *(const abi_launch *)params;                                             \
    switch (entry) {                                                                                 \
      case TWO_SIMPLE: return interpret<SimpleLanes, Units<T>>(two, block);                          \
      case TWO_LL: return interpret<LLLanes, Units<T>>(two, block);                                  \
      case ONE_SUM: return lanes_of<OneLanes<Units<T>, RED_SUM>>(params, block, replica);             \
      case ONE_AVG: return lanes_of<OneLanes<Units<T>, RED_AVG>>(params, block, replica);             \
      case ONE_COPY: return lanes_of<OneLanes<Units<T>, COPIES>>(params, block, replica);             \
      case ONE_LINES: return lanes_of<OneLanes<Units<T>, RED_COUNT, Lines>>(params, block, replica);  \
      case FEW_SUM: return run_few<FewPairs<Units<T>, RED_SUM>>(few, replica);                        \
      case FEW_COPY: return run_few<FewPairs<Units<T>, COPIES>>(few, replica);                        \
      case FEW_LINES_SUM: return run_few<FewLines<Units<T>, RED_SUM>>(few, replica);                  \
      case FEW_LINES_COPY: return run_few<FewLines<Units<T>, COPIES>>(few, replica);                  \
      default: return lanes_of<OneLanes<Units<T>, RED_COUNT>>(params, block, replica);                \
    }                                                                                                \
  }
