// The kernel of a GPU for one-sided programs, for elements of the type KERNEL_TYPE.
// A launch has columns (x) by the program's blocks on this device (y).
#if defined(__NVPTX__)
#include "../platform_nv.h"
#else
#include "../platform_amd.h"
#endif
#include "../few.h"

#define ENTRY(name, reduction)                                                       \
  extern "C" __global__ KERNEL_BOUNDS void name(abi_one_launch a) {                  \
    run_onesided<OneLanes<Units<KERNEL_TYPE>, reduction>>(a, bid_y(), bid());        \
  }
ENTRY(mscclc_onesided_sum, RED_SUM)
ENTRY(mscclc_onesided, RED_COUNT)
ENTRY(mscclc_onesided_copy, COPIES)

// Launches of few packets (few.h).
#ifndef KERNEL_TRACE
#define ENTRY_FEW(name, reduction) \
  extern "C" __global__ KERNEL_BOUNDS void name(abi_few_launch l) { run_few<Units<KERNEL_TYPE>, reduction>(l, bid()); }
ENTRY_FEW(mscclc_few_sum, RED_SUM)
ENTRY_FEW(mscclc_few_copy, COPIES)
#endif
