// The kernel of a GPU for one-sided programs, for elements of the type KERNEL_TYPE.
// A launch has columns (x) by the program's blocks on this device (y).
#if defined(__NVPTX__)
#include "../platform_nv.h"
#else
#include "../platform_amd.h"
#endif
#include "../few.h"
#include "../port.h"

// Only images that trace, or are made with KERNEL_PORT, know of a port; the latter have one entry.
#if defined(KERNEL_PORT) || defined(KERNEL_TRACE)
template <class R, int OP> using Moves = PortMoves<OneLanes<R, OP>>;
#else
template <class R, int OP> using Moves = OneLanes<R, OP>;
#endif

#define ENTRY(name, reduction)                                                       \
  extern "C" __global__ KERNEL_BOUNDS void name(abi_one_launch a) {                  \
    run_onesided<Moves<Units<KERNEL_TYPE>, reduction>>(a, bid_y(), bid());           \
  }
#ifndef KERNEL_PORT
ENTRY(mscclc_onesided_sum, RED_SUM)
#endif
ENTRY(mscclc_onesided, RED_COUNT)
#ifndef KERNEL_PORT
ENTRY(mscclc_onesided_copy, COPIES)
#endif

// Launches of few packets (few.h).
#if !defined(KERNEL_TRACE) && !defined(KERNEL_PORT)
#define ENTRY_FEW(name, reduction) \
  extern "C" __global__ KERNEL_BOUNDS void name(abi_few_launch l) { run_few<Units<KERNEL_TYPE>, reduction>(l, bid()); }
ENTRY_FEW(mscclc_few_sum, RED_SUM)
ENTRY_FEW(mscclc_few_copy, COPIES)
#endif
