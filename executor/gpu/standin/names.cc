// The names of both drivers' calls. Each counts itself, and fails where a test asks
// for it.
#include "calls.h"

// called is what the driver does first in a call of that name. Work of streams has no such wait: it runs on a GPU.
static int called(const char *name) {
  wait_for_driver();
  return injected(name);
}

#define NAMED(name, params, call)             \
  extern "C" int name params {                \
    const int code = called(#name);           \
    return code ? code : (call);              \
  }
#define BOTH(cu, hip, params, call) NAMED(cu, params, call) NAMED(hip, params, call)

// unsafe is a call that drivers do not permit to a thread while captures of some modes go on.
template <typename F>
static int unsafe(F call) {
  const int code = while_capturing();
  return code ? code : call();
}
#define UNSAFE(call) unsafe([&]() -> int { return (call); })

BOTH(cuInit, hipInit, (unsigned flags), do_init(flags))
BOTH(cuDriverGetVersion, hipDriverGetVersion, (int *v), do_version(v))
BOTH(cuDeviceGetCount, hipGetDeviceCount, (int *n), do_count(n))
BOTH(cuDeviceGet, hipDeviceGet, (int *d, int n), do_device(d, n))
BOTH(cuDeviceGetName, hipDeviceGetName, (char *name, int bytes, int d), do_name(name, bytes, d))
BOTH(cuDeviceGetAttribute, hipDeviceGetAttribute, (int *value, int which, int d), do_attribute(value, which, d))
extern "C" int cuGetErrorString(int code, const char **text) { return *text = text_of(code), OK; }
extern "C" const char *hipGetErrorString(int code) { return text_of(code); }
NAMED(cuDevicePrimaryCtxRetain, (void **context, int d), (*context = devices()[d], OK))
NAMED(cuCtxSetCurrent, (void *context), do_context(context))
NAMED(cuCtxGetCurrent, (void **context), (*context = context_now(), OK))
NAMED(cuDeviceGetDevResource, (int d, void *, int), do_device(&d, d))
NAMED(cuDevResourceGenerateDesc, (void **description, void *resources, unsigned), (*description = resources, OK))
NAMED(cuGreenCtxCreate, (void **green, void *, int d, unsigned), do_green(green, d))
NAMED(cuCtxFromGreenCtx, (void **context, void *green), (*context = green, OK))
NAMED(cuCtxGetDevice, (int *d), do_context_device(d))
NAMED(cuDeviceGetUuid_v2, (void *uuid, int d), do_uuid(uuid, d))
NAMED(cuMemGetInfo_v2, (size_t *free, size_t *total), do_memory_info(free, total))
NAMED(cuStreamGetId, (void *stream, u64 *id), do_stream_id(stream, id))
NAMED(cuFuncLoad, (void *function), function ? OK : INVALID_HANDLE)
NAMED(hipSetDevice, (int d), do_current(devices()[d]))
BOTH(cuDeviceCanAccessPeer, hipDeviceCanAccessPeer, (int *can, int a, int b), do_can_peer(can, a, b))
NAMED(cuDeviceGetP2PAttribute, (int *is, int, int a, int b), do_pair(is, a, b))
NAMED(cuCtxEnablePeerAccess, (void *to, unsigned), UNSAFE(do_peer((Device *)to)))
NAMED(hipDeviceEnablePeerAccess, (int to, unsigned), UNSAFE(do_peer(devices()[to])))
NAMED(cuMemAlloc_v2, (u64 *address, size_t bytes), UNSAFE(do_alloc(address, bytes)))
NAMED(hipExtMallocWithFlags, (void **address, size_t bytes, unsigned flags), UNSAFE(flags == 3 ? do_alloc((u64 *)address, bytes) : INVALID_VALUE))
BOTH(cuMemFree_v2, hipFree, (u64 address), UNSAFE(do_release(address)))
BOTH(cuPointerGetAttribute, hipPointerGetAttribute, (void *value, int which, u64 address), do_pointer(value, which, address))
BOTH(cuMemGetAddressRange_v2, hipMemGetAddressRange, (u64 *base, u64 *bytes, u64 address), do_range(base, bytes, address))
BOTH(cuIpcGetMemHandle, hipIpcGetMemHandle, (void *handle, u64 base), do_share(handle, base))
BOTH(cuIpcOpenMemHandle_v2, hipIpcOpenMemHandle, (u64 *address, gpu_handle h, unsigned), UNSAFE(do_reach(address, h)))
BOTH(cuIpcCloseMemHandle, hipIpcCloseMemHandle, (u64 address), UNSAFE(do_leave(address)))
BOTH(cuMemCreate, hipMemCreate, (u64 *handle, size_t bytes, const gpu_properties *p, u64), physical_create(handle, bytes, p))
BOTH(cuMemRelease, hipMemRelease, (u64 handle), physical_release(handle))
BOTH(cuMemRetainAllocationHandle, hipMemRetainAllocationHandle, (u64 *handle, u64 address), physical_retain(handle, address))
BOTH(cuMemGetAllocationPropertiesFromHandle, hipMemGetAllocationPropertiesFromHandle, (gpu_properties *p, u64 handle), physical_properties(p, handle))
BOTH(cuMemExportToShareableHandle, hipMemExportToShareableHandle, (void *file, u64 handle, int, u64), physical_export(file, handle))
BOTH(cuMemImportFromShareableHandle, hipMemImportFromShareableHandle, (u64 *handle, u64 file, int), do_import(handle, (int)file))
BOTH(cuMemGetAllocationGranularity, hipMemGetAllocationGranularity, (size_t *bytes, const gpu_properties *, int), memory_unit(bytes))
BOTH(cuMemAddressReserve, hipMemAddressReserve, (u64 *address, size_t bytes, size_t, u64, u64), memory_reserve(address, bytes))
BOTH(cuMemAddressFree, hipMemAddressFree, (u64 address, size_t bytes), memory_reserve_end(address, bytes))
BOTH(cuMemMap, hipMemMap, (u64 address, size_t bytes, size_t, u64 handle, u64), memory_map(address, bytes, handle))
BOTH(cuMemUnmap, hipMemUnmap, (u64 address, size_t bytes), memory_unmap(address, bytes))
BOTH(cuMemGetAccess, hipMemGetAccess, (unsigned long long *flags, const gpu_location *at, u64 address), memory_get_access(flags, at, address))
BOTH(cuMemSetAccess, hipMemSetAccess, (u64 address, size_t bytes, const gpu_access *list, size_t count), memory_set_access(address, bytes, list, count))
BOTH(cuMemsetD8Async, hipMemsetD8Async, (u64 address, unsigned char value, size_t bytes, void *stream), do_fill(address, value, bytes, stream))
BOTH(cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync, (u64 address, const void *from, size_t bytes, void *stream), do_put(address, from, bytes, stream))
BOTH(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync, (void *to, u64 address, size_t bytes, void *stream), do_get(to, address, bytes, stream))
BOTH(cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync, (u64 to, u64 from, size_t bytes, void *stream), do_copy(to, from, bytes, stream))
BOTH(cuStreamCreate, hipStreamCreateWithFlags, (void **stream, unsigned flags), do_stream(stream, flags))
BOTH(cuStreamDestroy_v2, hipStreamDestroy, (void *stream), do_stream_end(stream))
BOTH(cuStreamSynchronize, hipStreamSynchronize, (void *stream), do_sync(stream))
BOTH(cuStreamQuery, hipStreamQuery, (void *stream), do_query(stream))
BOTH(cuEventCreate, hipEventCreateWithFlags, (void **event, unsigned flags), do_event(event, flags))
BOTH(cuEventDestroy_v2, hipEventDestroy, (void *event), do_event_end(event))
BOTH(cuEventQuery, hipEventQuery, (void *event), UNSAFE(do_happened(event)))
BOTH(cuEventRecord, hipEventRecord, (void *event, void *stream), do_record(event, stream))
BOTH(cuStreamWaitEvent, hipStreamWaitEvent, (void *stream, void *event, unsigned flags), do_await(stream, event, flags))
BOTH(cuEventElapsedTime, hipEventElapsedTime, (float *ms, void *begin, void *end), do_elapsed(ms, begin, end))
BOTH(cuStreamBeginCapture_v2, hipStreamBeginCapture, (void *stream, int mode), do_capture(stream, mode))
BOTH(cuStreamGetCaptureInfo_v2, hipStreamGetCaptureInfo_v2, (void *stream, int *status, u64 *number, void **graph, void ***nodes, size_t *count), do_capturing(stream, status, number, graph, nodes, count))
NAMED(cuGraphAddEventRecordNode, (void **node, void *graph, void **after, size_t count, void *event), do_graph_record(node, graph, after, count, event))
NAMED(cuGraphAddDependencies, (void *graph, void **from, void **to, size_t count), do_graph_depend(graph, from, to, count, true))
NAMED(cuGraphRemoveDependencies, (void *graph, void **from, void **to, size_t count), do_graph_depend(graph, from, to, count, false))
BOTH(cuStreamEndCapture, hipStreamEndCapture, (void *stream, void **graph), do_capture_end(stream, graph))
BOTH(cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags, (void **executable, void *graph, unsigned long long), do_instantiate(executable, graph))
BOTH(cuGraphDestroy, hipGraphDestroy, (void *graph), do_noted_end(graph))
BOTH(cuGraphLaunch, hipGraphLaunch, (void *executable, void *stream), do_graph(executable, stream))
BOTH(cuGraphExecDestroy, hipGraphExecDestroy, (void *executable), do_graph_end(executable))
BOTH(cuThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode, (int *mode), do_capture_mode(mode))
BOTH(cuMemHostAlloc, hipHostMalloc, (void **p, size_t bytes, unsigned flags), UNSAFE(do_host_alloc(p, bytes, flags)))
BOTH(cuMemFreeHost, hipHostFree, (void *p), UNSAFE(do_host_free(p)))
BOTH(cuMemHostRegister_v2, hipHostRegister, (void *p, size_t bytes, unsigned flags), do_pin(p, bytes, flags))
BOTH(cuMemHostUnregister, hipHostUnregister, (void *p), host_unpin(p) ? OK : INVALID_VALUE)
BOTH(cuMemHostGetDevicePointer_v2, hipHostGetDevicePointer, (u64 *address, void *p, unsigned), do_pin_address(address, p))
BOTH(cuStreamWriteValue64_v2, hipStreamWriteValue64, (void *stream, u64 word, u64 value, unsigned), do_write_word(stream, word, value))
NAMED(cuStreamWaitValue64_v2, (void *stream, u64 word, u64 value, unsigned), do_wait_word(stream, word, value))
NAMED(hipStreamWaitValue64, (void *stream, u64 word, u64 value, unsigned, u64 mask), mask == ~0ull ? do_wait_word(stream, word, value) : INVALID_VALUE)
NAMED(cuModuleLoadDataEx, (void **module, const void *image, unsigned n, int *, void **values), load_ptx(module, image, n ? values[0] : nullptr, n > 1 ? (u32)(u64)values[1] : 0))
NAMED(hipModuleLoadDataEx, (void **module, const void *image, unsigned, int *, void **), load_object(module, image))
NAMED(cuLinkCreate_v2, (unsigned n, int *, void **values, void **state), do_link(state, n ? values[0] : nullptr, n > 1 ? (u32)(u64)values[1] : 0))
NAMED(cuLinkAddData_v2, (void *state, int kind, void *data, size_t bytes, const char *, unsigned, int *, void **), do_link_data(state, kind, data, bytes))
NAMED(cuLinkComplete, (void *state, void **made, size_t *bytes), do_link_complete(state, made, bytes))
NAMED(cuLinkDestroy, (void *state), do_link_end(state))
BOTH(cuModuleGetFunction, hipModuleGetFunction, (void **function, void *module, const char *name), do_function(function, module, name))
BOTH(cuOccupancyMaxActiveBlocksPerMultiprocessor, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, void *function, int threads, size_t), do_occupancy(blocks, function, threads))
#define LAUNCH_PARAMS (void *f, unsigned x, unsigned y, unsigned, unsigned threads, unsigned, unsigned, unsigned, void *stream, void **, void **packed)
NAMED(cuLaunchKernel, LAUNCH_PARAMS, do_launch(f, x, y, threads, stream, packed, 0))
NAMED(hipModuleLaunchKernel, LAUNCH_PARAMS, do_launch(f, x, y, threads, stream, packed, 3))
