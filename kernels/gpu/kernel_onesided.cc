// The kernel of a GPU for one-sided programs, for elements of the type KERNEL_TYPE.
// A launch has replicas (x) by the program's blocks on this device (y).
#if defined(__NVPTX__)
#include "../platform/nv.h"
#else
#include "../platform/amd.h"
#endif
#include "../few/lines.h"
#include "../moves/port.h"

// Only images that trace, or are made with KERNEL_PORT, know of a port; the latter have one entry for each kind of
// packets. Those that reach other nodes (KERNEL_NET) know of a port too.
#if defined(KERNEL_PORT) || defined(KERNEL_TRACE)
template <class Moves> using Ported = PortMoves<Moves>;
#else
template <class Moves> using Ported = Moves;
#endif

// run_own runs the replica of this thread. Threads of groups that are left over have none.
template <class Moves> KD void run_own(const abi_one_launch &a) {
#ifdef KERNEL_TOGETHER
  const u32 groups = net_together(a, bid_y());
  form_groups(groups);
  const u32 replica = bid() * groups + group();
  if (replica < a.replicas) run_onesided<Moves>(a, bid_y(), replica);
#else
  run_onesided<Moves>(a, bid_y(), bid());
#endif
}

#define ENTRY(name, ...)                                                   \
  extern "C" __global__ KERNEL_BOUNDS void name(abi_one_launch a) {        \
    run_own<Ported<OneLanes<Units<KERNEL_TYPE>, __VA_ARGS__>>>(a);         \
  }
#ifndef KERNEL_PORT
ENTRY(mscclc_onesided_sum, RED_SUM)
#ifdef KERNEL_AVERAGES  // of floats; those of integers are sums
ENTRY(mscclc_onesided_avg, RED_AVG)
#endif
#endif
#if defined(KERNEL_NET) && !defined(KERNEL_TRACE)
ENTRY(mscclc_net, RED_COUNT)
ENTRY(mscclc_net_lines, RED_COUNT, Lines)
#else
ENTRY(mscclc_onesided, RED_COUNT)
ENTRY(mscclc_onesided_lines, RED_COUNT, Lines)
#endif
#ifndef KERNEL_PORT
ENTRY(mscclc_onesided_copy, COPIES)
#endif

// Launches of few packets (few/pairs.h).
#if !defined(KERNEL_TRACE) && !defined(KERNEL_PORT)
#define ENTRY_FEW(name, Moves, reduction)                           \
  extern "C" __global__ KERNEL_BOUNDS void name(abi_few_launch l) { \
    run_few<Moves<Units<KERNEL_TYPE>, reduction>>(l, bid());        \
  }
ENTRY_FEW(mscclc_few_sum, FewPairs, RED_SUM)
ENTRY_FEW(mscclc_few_copy, FewPairs, COPIES)
ENTRY_FEW(mscclc_few_lines_sum, FewLines, RED_SUM)
ENTRY_FEW(mscclc_few_lines_copy, FewLines, COPIES)
#endif
