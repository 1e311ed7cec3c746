// The kernel of a GPU, for elements of the type KERNEL_TYPE: an entry for each way
// on the wire. A launch has a block for each block of the program that runs on
// this device; numbers says which.
#if defined(__NVPTX__)
#include "../platform_nv.h"
#else
#include "../platform_amd.h"
#endif
#include "../interp.h"

#define ENTRY(name, proto)                                                                              \
  extern "C" __global__ KERNEL_BOUNDS void name(abi_launch a, const u32 *numbers) {                     \
    interpret<proto, Units<KERNEL_TYPE>>(a, load_global<u32>(numbers + bid()));                         \
  }
ENTRY(mscclc_simple, SimpleLanes)
ENTRY(mscclc_ll, LLLanes)
ENTRY(mscclc_ll128, LL128Lanes)
