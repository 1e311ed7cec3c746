// This file is the host as a device of the engine: functions of a driver (executor/gpu/symbols.h) that run launches by
// the CPU device's kernel (executor/fibers/host.cc). A communicator's rank has a device of its own. Memory that other
// processes reach is a file in memory. Buffers of calls are any memory of the process.
#pragma once
#include "../../../transport/system.h"
#include "../device/device.h"

#include <unistd.h>

// A HostStream that has no thread runs work in the thread that starts it. The null stream, and the engine's own, are
// so.
struct HostStream;
HostStream *host_stream(bool thread);
bool host_stream_wait(HostStream *s);  // until all that was queued has ended
void host_stream_end(HostStream *s);   // waits, too
u64 host_stream_number(const HostStream *s);

// host_later has a stream do something after what was queued before, or does it at once. It frees what it is given.
int host_later(void *stream, void (*run)(void *), void *with);

// host_symbols are the functions, of which those stay null that the engine does not need on a host.
const gpu_symbols *host_symbols();

// In memory.cc, launch.cc and streams.cc: what fills in the functions.
void host_memory_symbols(gpu_symbols *f);
void host_launch_symbols(gpu_symbols *f);
void host_stream_symbols(gpu_symbols *f);

// host_gpu makes a device, and host_gone ends it once no team uses it.
Gpu *host_gpu(Why *why);
void host_gone(Gpu *g);
