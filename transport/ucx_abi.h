// This file declares what is used of UCX (libucp.so.0, API 1.x), so that building needs no header of it. The layouts
// are UCX's own and do not change within a major version: a struct grows at its end, and its first field says which
// others are set. A test compares all of this with ucp.h where that is installed.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { UCX_API_MAJOR = 1, UCX_API_MINOR = 10 };  // the oldest that has all functions below

enum {
  UCX_OK = 0,
  UCX_INPROGRESS = 1,
  UCX_ERR_NO_MEMORY = -4,
  UCX_ERR_CANCELED = -16,
  UCX_ERR_LAST = -100,
};

typedef struct ucx_config ucx_config;
typedef struct ucx_context ucx_context;
typedef struct ucx_worker ucx_worker;
typedef struct ucx_ep ucx_ep;
typedef struct ucx_address ucx_address;

enum { UCX_PARAM_FEATURES = 1, UCX_FEATURE_TAG = 1 };
struct ucx_params {
  uint64_t field_mask, features;
  size_t request_size;
  void *request_init, *request_cleanup;
  uint64_t tag_sender_mask;
  int mt_workers_shared;
  size_t estimated_num_eps, estimated_num_ppn;
  const char *name;
};

enum { UCX_WORKER_PARAM_THREAD_MODE = 1, UCX_THREAD_SERIALIZED = 1 };
struct ucx_worker_params {
  uint64_t field_mask;
  int thread_mode;
  uint64_t rest[32];  // more than what follows
};

enum { UCX_EP_PARAM_ADDRESS = 1, UCX_EP_PARAM_ERR_MODE = 2, UCX_EP_PARAM_ERR_HANDLER = 4, UCX_ERR_MODE_PEER = 1 };
typedef void (*ucx_err_handler)(void *arg, ucx_ep *ep, int8_t status);
struct ucx_ep_params {
  uint64_t field_mask;
  const ucx_address *address;
  int err_mode;
  ucx_err_handler handler;
  void *handler_arg;
  uint64_t rest[32];
};

struct ucx_tag_info {
  uint64_t sender_tag;
  size_t length;
};

enum { UCX_MAP_ADDRESS = 1, UCX_MAP_LENGTH = 2 };
typedef struct ucx_mapped ucx_mapped;
struct ucx_map_params {
  uint64_t field_mask;
  void *address;
  size_t length;
  uint64_t rest[32];
};

enum { UCX_OP_FLAGS = 16, UCX_OP_MEMORY = 256, UCX_OP_NOT_AT_ONCE = 1 << 16, UCX_CLOSE_FORCE = 1 };
enum { UCX_MEMORY_MINOR = 13 };  // of 1.x: from 1.13 on an operation may name mapped memory
struct ucx_op {
  uint32_t mask, flags;
  void *request, *callback;
  uint64_t datatype;
  void *user_data, *reply;
  int memory_type;
  void *received;
  ucx_mapped *memory;
  uint64_t rest[24];
};

// The functions: what they return, their names and their parameters. A status of UCX is a signed byte.
#define UCX_FUNCTIONS(F)                                                                                               \
  F(int8_t, config_read, (const char *prefix, const char *file, ucx_config **))                                        \
  F(int8_t, config_modify, (ucx_config *, const char *name, const char *value))                                        \
  F(void, config_release, (ucx_config *))                                                                              \
  F(void, get_version, (unsigned *major, unsigned *minor, unsigned *release))                                          \
  F(int8_t, init_version, (unsigned major, unsigned minor, const struct ucx_params *, const ucx_config *,              \
                           ucx_context **))                                                                            \
  F(void, cleanup, (ucx_context *))                                                                                    \
  F(int8_t, worker_create, (ucx_context *, const struct ucx_worker_params *, ucx_worker **))                           \
  F(int8_t, mem_map, (ucx_context *, const struct ucx_map_params *, ucx_mapped **))                                    \
  F(int8_t, mem_unmap, (ucx_context *, ucx_mapped *))                                                                  \
  F(void, worker_destroy, (ucx_worker *))                                                                              \
  F(int8_t, worker_get_address, (ucx_worker *, ucx_address **, size_t *))                                              \
  F(void, worker_release_address, (ucx_worker *, ucx_address *))                                                       \
  F(unsigned, worker_progress, (ucx_worker *))                                                                         \
  F(int8_t, ep_create, (ucx_worker *, const struct ucx_ep_params *, ucx_ep **))                                        \
  F(void *, ep_close_nbx, (ucx_ep *, const struct ucx_op *))                                                           \
  F(void, ep_print_info, (const ucx_ep *, FILE *))                                                                     \
  F(void *, tag_send_nbx, (ucx_ep *, const void *, size_t, uint64_t tag, const struct ucx_op *))                       \
  F(void *, tag_recv_nbx, (ucx_worker *, void *, size_t, uint64_t tag, uint64_t mask, const struct ucx_op *))          \
  F(int8_t, request_check_status, (void *))                                                                            \
  F(int8_t, tag_recv_request_test, (void *, struct ucx_tag_info *))                                                    \
  F(void, request_cancel, (ucx_worker *, void *))                                                                      \
  F(void, request_free, (void *))

// What a function gives as a pointer is nothing where the operation is over, a status where it has failed, and else a
// request.
static inline int ucx_failed(const void *p) { return (uintptr_t)p >= (uintptr_t)UCX_ERR_LAST; }
static inline int ucx_status(const void *p) { return (int)(intptr_t)p; }
