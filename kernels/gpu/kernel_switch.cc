// The kernel for one-sided programs that go through NVLink's switch, for sums of elements
// of the type KERNEL_TYPE.
#include "../platform/nv.h"
#include "../loop/interp_onesided.h"
#include "../moves/switch_nv.h"

extern "C" __global__ KERNEL_BOUNDS void mscclc_onesided_sum(abi_one_launch a) {
  run_onesided<SwitchLanes<KERNEL_TYPE, OneLanes<Units<KERNEL_TYPE>, RED_SUM>>>(a, bid_y(), bid());
}
