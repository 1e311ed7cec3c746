// The kernel of a GPU, for elements of the type KERNEL_TYPE: an entry for each way
// on the wire. A launch has a block for each block of the program that runs on
// this device; numbers says which.
#if defined(__NVPTX__)
#include "../platform/nv.h"
#else
#include "../platform/amd.h"
#endif
#include "../loop/interp.h"

#ifdef KERNEL_TRACE
#define ENTRY(name, proto)                                                                                          \
  extern "C" __global__ KERNEL_BOUNDS void mscclc_trace_##name(abi_launch a, const u32 *numbers, abi_trace trace) { \
    const u32 block = load_global<u32>(numbers + bid());                                                            \
    trace_block(trace, block);                                                                                      \
    interpret<proto, Units<KERNEL_TYPE>>(a, block);                                                                 \
  }
#else
#define ENTRY(name, proto)                                                                              \
  extern "C" __global__ KERNEL_BOUNDS void mscclc_##name(abi_launch a, const u32 *numbers) {            \
    interpret<proto, Units<KERNEL_TYPE>>(a, load_global<u32>(numbers + bid()));                         \
  }
#endif
ENTRY(simple, SimpleLanes)
ENTRY(ll, LLLanes)
ENTRY(ll128, LL128Lanes)
