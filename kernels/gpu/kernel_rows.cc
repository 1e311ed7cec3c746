// The kernel of a GPU for one-sided programs with an epilogue, for sums of elements of the type KERNEL_TYPE. A launch
// has replicas (x) by the program's blocks on this device (y).
#if defined(__NVPTX__)
#include "../platform/nv.h"
#else
#include "../platform/amd.h"
#endif
#include "../few/rows.h"

#define ENTRY(name, W)                                                      \
  extern "C" __global__ KERNEL_BOUNDS void name(abi_rows_launch l) {        \
    run_onesided<RowLanes<KERNEL_TYPE, W>>(l.one, bid_y(), bid());          \
  }
ENTRY(mscclc_rows_sum, RowPairs)
ENTRY(mscclc_rows_lines, RowLines)

// Launches of few packets (few/rows.h).
extern "C" __global__ KERNEL_BOUNDS void mscclc_few_rows(abi_few_rows_launch l) {
  run_few_rows<KERNEL_TYPE, RowsInPairs<KERNEL_TYPE>>(l, bid());
}

extern "C" __global__ KERNEL_BOUNDS void mscclc_few_lines_rows(abi_few_rows_launch l) {
  run_few_rows<KERNEL_TYPE, RowsInLines<KERNEL_TYPE>>(l, bid());
}
