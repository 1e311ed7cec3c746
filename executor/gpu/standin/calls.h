// The calls of a driver, as both have them.
#pragma once
#include "standin.h"

#include <cstddef>
#include <cstdlib>
#include <memory>

struct gpu_handle {
  char bytes[64];
};

// What most calls begin with.
#define NEED(x) \
  if (!(x)) return INVALID_VALUE
#define CONTEXT                              \
  Device *d = current();                     \
  if (!d) return INVALID_CONTEXT;            \
  if (const int fault = d->fault) return fault
#define STREAM                     \
  CONTEXT;                         \
  Stream *s = stream_of(d, stream); \
  if (!s || s->device != d) return INVALID_HANDLE

const char *text_of(int code);
int do_init(unsigned);
int do_version(int *v);
int do_count(int *n);
int do_device(int *d, int n);
int do_name(char *name, int bytes, int n);
int do_attribute(int *value, int which, int n);
int do_current(Device *d);
int do_context(void *context);
void *context_now();
int do_green(void **green, int device);
int do_context_device(int *number);
int do_uuid(void *uuid, int n);
int do_memory_info(size_t *left, size_t *total);
int do_stream_id(void *stream, u64 *id);
int do_can_peer(int *can, int a, int b);
int do_pair(int *is, int a, int b);
int do_peer(Device *to);
int do_alloc(u64 *address, u64 bytes);
int do_release(u64 address);
int do_pointer(void *value, int which, u64 address);
int do_range(u64 *base, u64 *bytes, u64 address);
int do_share(void *handle, u64 base);
int do_reach(u64 *address, const gpu_handle &h);
int do_leave(u64 address);
int do_import(u64 *handle, int file);
int do_fill(u64 address, unsigned char value, u64 bytes, void *stream);
int do_put(u64 address, const void *from, u64 bytes, void *stream);
int do_get(void *to, u64 address, u64 bytes, void *stream);
int do_copy(u64 to, u64 from, u64 bytes, void *stream);
int do_stream(void **stream, unsigned);
int do_stream_end(void *stream);
int do_sync(void *stream);
int do_query(void *stream);
int do_event(void **event, unsigned);
int do_event_end(void *event);
int do_happened(void *event);
int do_record(void *event, void *stream);
int do_await(void *stream, void *event, unsigned flags);
int do_elapsed(float *ms, void *begin, void *end);
int do_capture(void *stream, int);
int do_capturing(void *stream, int *status, u64 *number, void **graph, void ***nodes, size_t *count);
int do_graph_record(void **node, void *graph, void **after, size_t count, void *event);
int do_graph_depend(void *graph, void **from, void **to, size_t count, bool depend);
int do_capture_end(void *stream, void **graph);
int do_instantiate(void **executable, void *graph);
int do_noted_end(void *graph);
int do_graph(void *executable, void *stream);
int do_graph_end(void *executable);
int do_capture_mode(int *mode);
int while_capturing();
int do_host_alloc(void **p, size_t bytes, unsigned flags);
int do_pin(void *p, size_t bytes, unsigned flags);
int do_pin_address(u64 *address, void *p);
int do_host_free(void *p);
int do_write_word(void *stream, u64 word, u64 value);
int do_wait_word(void *stream, u64 word, u64 value);
int load_ptx(void **module, const void *image, void *log, u32 log_bytes);
int do_link(void **state, void *log, u32 log_bytes);
int do_link_data(void *state, int kind, const void *data, size_t bytes);
int do_link_complete(void *state, void **code, size_t *bytes);
int do_link_end(void *state);
int load_object(void **module, const void *image);
int do_function(void **function, void *module, const char *name);
int do_occupancy(int *blocks, void *, int threads);
int do_launch(void *function, unsigned x, unsigned y, unsigned threads, void *stream, void **packed, u64 end_mark);
