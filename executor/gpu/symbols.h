// What is used of a driver, and its name in either. Where the two differ there is
// a pointer for each, of which one is null: AMD's GPUs are numbers where NVIDIA's have contexts,
// its waits for a word have a mask (NVIDIA's do not look at that argument), and its
// memory has flags. A name that begins with ? may be missing.
#pragma once
#include "../../kernels/abi/rows.h"

#include <stddef.h>

struct gpu_handle {
  char bytes[64];
};

// What both drivers say of memory that is made and mapped in two steps.
struct gpu_location {
  int type, id;
};
struct gpu_properties {
  int type, handles;  // kinds of handles that it can be exported as, by bits
  struct gpu_location location;
  void *metadata;
  u8 flags[8];
};
struct gpu_access {
  struct gpu_location location;
  int flags;
};

#define GPU_SYMBOLS(X) \
  X(int, init, (unsigned), "cuInit", "hipInit") \
  X(int, version, (int *), "cuDriverGetVersion", "hipDriverGetVersion") \
  X(int, count, (int *), "cuDeviceGetCount", "hipGetDeviceCount") \
  X(int, device, (int *, int), "cuDeviceGet", "hipDeviceGet") \
  X(int, name, (char *, int, int), "cuDeviceGetName", "hipDeviceGetName") \
  X(int, attribute, (int *, int, int), "cuDeviceGetAttribute", "hipDeviceGetAttribute") \
  X(int, cu_text, (int, const char **), "cuGetErrorString", 0) \
  X(const char *, hip_text, (int), 0, "hipGetErrorString") \
  X(int, retain, (void **, int), "cuDevicePrimaryCtxRetain", 0) \
  X(int, current, (void *), "cuCtxSetCurrent", 0) \
  X(int, get_current, (void **), "?cuCtxGetCurrent", 0) \
  X(int, context_device, (int *), "?cuCtxGetDevice", 0) \
  X(int, uuid, (void *, int), "?cuDeviceGetUuid_v2", 0) \
  X(int, memory_info, (size_t *, size_t *), "?cuMemGetInfo_v2", 0) \
  X(int, stream_id, (void *, u64 *), "?cuStreamGetId", 0) \
  X(int, set_device, (int), 0, "hipSetDevice") \
  X(int, can_peer, (int *, int, int), "cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer") \
  X(int, pair, (int *, int, int, int), "?cuDeviceGetP2PAttribute", 0) \
  X(int, peer, (void *, unsigned), "cuCtxEnablePeerAccess", 0) \
  X(int, peer_device, (int, unsigned), 0, "hipDeviceEnablePeerAccess") \
  X(int, alloc, (u64 *, u64), "cuMemAlloc_v2", 0) \
  X(int, alloc_flags, (void **, size_t, unsigned), 0, "hipExtMallocWithFlags") \
  X(int, release, (u64), "cuMemFree_v2", "hipFree") \
  X(int, pointer, (void *, int, u64), "cuPointerGetAttribute", "hipPointerGetAttribute") \
  X(int, range, (u64 *, u64 *, u64), "cuMemGetAddressRange_v2", "hipMemGetAddressRange") \
  X(int, share, (void *, u64), "cuIpcGetMemHandle", "hipIpcGetMemHandle") \
  X(int, reach, (u64 *, struct gpu_handle, unsigned), "cuIpcOpenMemHandle_v2", "hipIpcOpenMemHandle") \
  X(int, leave, (u64), "cuIpcCloseMemHandle", "hipIpcCloseMemHandle") \
  X(int, retain_handle, (u64 *, u64), "?cuMemRetainAllocationHandle", "?hipMemRetainAllocationHandle") \
  X(int, release_handle, (u64), "?cuMemRelease", "?hipMemRelease") \
  X(int, properties, (struct gpu_properties *, u64), "?cuMemGetAllocationPropertiesFromHandle", "?hipMemGetAllocationPropertiesFromHandle") \
  X(int, export_handle, (void *, u64, int, unsigned long long), "?cuMemExportToShareableHandle", "?hipMemExportToShareableHandle") \
  X(int, import_handle, (u64 *, void *, int), "?cuMemImportFromShareableHandle", "?hipMemImportFromShareableHandle") \
  X(int, granularity, (size_t *, const struct gpu_properties *, int), "?cuMemGetAllocationGranularity", "?hipMemGetAllocationGranularity") \
  X(int, reserve, (u64 *, size_t, size_t, u64, unsigned long long), "?cuMemAddressReserve", "?hipMemAddressReserve") \
  X(int, reserve_end, (u64, size_t), "?cuMemAddressFree", "?hipMemAddressFree") \
  X(int, map, (u64, size_t, size_t, u64, unsigned long long), "?cuMemMap", "?hipMemMap") \
  X(int, unmap, (u64, size_t), "?cuMemUnmap", "?hipMemUnmap") \
  X(int, get_access, (unsigned long long *, const struct gpu_location *, u64), "?cuMemGetAccess", "?hipMemGetAccess") \
  X(int, set_access, (u64, size_t, const struct gpu_access *, size_t), "?cuMemSetAccess", "?hipMemSetAccess") \
  X(int, fill, (u64, unsigned char, u64, void *), "cuMemsetD8Async", "hipMemsetD8Async") \
  X(int, put, (u64, const void *, u64, void *), "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync") \
  X(int, get, (void *, u64, u64, void *), "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync") \
  X(int, copy, (u64, u64, u64, void *), "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync") \
  X(int, stream, (void **, unsigned), "cuStreamCreate", "hipStreamCreateWithFlags") \
  X(int, stream_end, (void *), "cuStreamDestroy_v2", "hipStreamDestroy") \
  X(int, sync, (void *), "cuStreamSynchronize", "hipStreamSynchronize") \
  X(int, query, (void *), "cuStreamQuery", "hipStreamQuery") \
  X(int, event, (void **, unsigned), "cuEventCreate", "hipEventCreateWithFlags") \
  X(int, event_end, (void *), "cuEventDestroy_v2", "hipEventDestroy") \
  X(int, happened, (void *), "cuEventQuery", "hipEventQuery") \
  X(int, record, (void *, void *), "cuEventRecord", "hipEventRecord") \
  X(int, await, (void *, void *, unsigned), "cuStreamWaitEvent", "hipStreamWaitEvent") \
  X(int, elapsed, (float *, void *, void *), "cuEventElapsedTime", "hipEventElapsedTime") \
  X(int, capture, (void *, int), "cuStreamBeginCapture_v2", "hipStreamBeginCapture") \
  X(int, capturing, (void *, int *, u64 *, void **, void ***, size_t *), "cuStreamGetCaptureInfo_v2", "hipStreamGetCaptureInfo_v2") \
  X(int, capture_mode, (int *), "cuThreadExchangeStreamCaptureMode", "hipThreadExchangeStreamCaptureMode") \
  X(int, capture_end, (void *, void **), "cuStreamEndCapture", "hipStreamEndCapture") \
  X(int, instantiate, (void **, void *, unsigned long long), "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags") \
  X(int, noted_end, (void *), "cuGraphDestroy", "hipGraphDestroy") \
  X(int, graph_record, (void **, void *, void **, size_t, void *), "?cuGraphAddEventRecordNode", 0) \
  X(int, graph_depend, (void *, void **, void **, size_t), "?cuGraphAddDependencies", 0) \
  X(int, graph_part, (void *, void **, void **, size_t), "?cuGraphRemoveDependencies", 0) \
  X(int, graph, (void *, void *), "cuGraphLaunch", "hipGraphLaunch") \
  X(int, graph_end, (void *), "cuGraphExecDestroy", "hipGraphExecDestroy") \
  X(int, host_alloc, (void **, size_t, unsigned), "cuMemHostAlloc", "hipHostMalloc") \
  X(int, host_free, (void *), "cuMemFreeHost", "hipHostFree") \
  X(int, pin, (void *, size_t, unsigned), "?cuMemHostRegister_v2", "?hipHostRegister") \
  X(int, pin_end, (void *), "?cuMemHostUnregister", "?hipHostUnregister") \
  X(int, pin_address, (u64 *, void *, unsigned), "?cuMemHostGetDevicePointer_v2", "?hipHostGetDevicePointer") \
  X(int, write_word, (void *, u64, u64, unsigned), "cuStreamWriteValue64_v2", "hipStreamWriteValue64") \
  X(int, wait_word, (void *, u64, u64, unsigned, u64), "cuStreamWaitValue64_v2", "hipStreamWaitValue64") \
  X(int, load, (void **, const void *, unsigned, int *, void **), "cuModuleLoadDataEx", "hipModuleLoadDataEx") \
  X(int, link, (unsigned, int *, void **, void **), "?cuLinkCreate_v2", 0) \
  X(int, link_data, (void *, int, void *, size_t, const char *, unsigned, int *, void **), "?cuLinkAddData_v2", 0) \
  X(int, link_complete, (void *, void **, size_t *), "?cuLinkComplete", 0) \
  X(int, link_end, (void *), "?cuLinkDestroy", 0) \
  X(int, function, (void **, void *, const char *), "cuModuleGetFunction", "hipModuleGetFunction") \
  X(int, load_function, (void *), "?cuFuncLoad", 0) \
  X(int, occupancy, (int *, void *, int, size_t), "cuOccupancyMaxActiveBlocksPerMultiprocessor", "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor") \
  X(int, launch, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), "cuLaunchKernel", "hipModuleLaunchKernel")

struct gpu_symbols {
#define GPU_FIELD(result, field, params, cu, hip) result(*field) params;
  GPU_SYMBOLS(GPU_FIELD)
#undef GPU_FIELD
};
