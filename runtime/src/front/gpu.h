// This file is what the front asks of GPUs (gpu.cc).
#pragma once
#include "../bundle/rows_gen.h"

#include <stddef.h>

// GPUs, by their number, as NCCL has it.
int gpu_enter(int device, void **before);
void gpu_leave(void *before);
bool gpu_foreign(int device);   // the thread has a context of this GPU that is not the primary one
int gpu_current(int *device);  // of the calling thread's context
int gpu_stream(void **stream);
void gpu_stream_end(void *stream);
int gpu_busy(void *stream, bool *busy);
int gpu_captured(void *stream, bool *captured);
int gpu_copy(u64 to, u64 from, u64 bytes, void *stream);
int gpu_event(void **event);
int gpu_version();  // of the driver, or 0
void gpu_event_end(void *event);  // or null
int gpu_record(void *event, void *stream);
bool gpu_happened(void *event);
bool gpu_between(void *begin, void *end, double *seconds);
