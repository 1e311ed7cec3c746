// This file declares what is used of NCCL's net plugins, versions 8 to 11. Their tables have the same functions in the
// same order; later versions have more after them, and some functions have other parameters. So a table is one struct
// here, whose functions that changed are cast as the version has them.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { NCCLNET_OLDEST = 8, NCCLNET_NEWEST = 11, NCCLNET_HANDLE = 128, NCCLNET_HOST = 1, NCCLNET_CUDA = 2 };

typedef void (*ncclnet_logger)(int level, unsigned long flags, const char *file, int line, const char *format, ...);
enum { NCCLNET_LOG_WARN = 2 };

struct ncclnet_plugin {
  const char *name;
  void *init;
  int (*devices)(int *count);
  int (*properties)(int device, void *properties);
  void *listen, *connect;
  int (*accept)(void *ear, void **from, void **device_side);
  int (*reg)(void *connection, void *data, size_t bytes, int kind, void **region);
  void *reg_dma_buf;
  int (*dereg)(void *connection, void *region);
  void *isend, *irecv;
  int (*flush)(void *from, int count, void **data, int *bytes, void **regions, void **request);
  int (*test)(void *request, int *done, int *bytes);
  int (*close_send)(void *to);
  int (*close_recv)(void *from);
  int (*close_listen)(void *ear);
  void *device_region, *recv_consumed;
  void *make_device;             // from version 9 on
  int (*finalize)(void *context);  // from version 11 on
};

// What connections are to have: no traffic class of ours.
struct ncclnet_config {
  int traffic_class;
};

typedef int (*ncclnet_init_8)(ncclnet_logger);
typedef int (*ncclnet_init_10)(ncclnet_logger, void *profiler);
typedef int (*ncclnet_init_11)(void **context, uint64_t job, struct ncclnet_config *, ncclnet_logger, void *profiler);
typedef int (*ncclnet_listen_8)(int device, void *handle, void **ear);
typedef int (*ncclnet_listen_11)(void *context, int device, void *handle, void **ear);
typedef int (*ncclnet_connect_8)(int device, void *handle, void **to, void **device_side);
typedef int (*ncclnet_connect_10)(int device, struct ncclnet_config *, void *handle, void **to, void **device_side);
typedef int (*ncclnet_connect_11)(void *context, int device, void *handle, void **to, void **device_side);
typedef int (*ncclnet_isend_8)(void *to, void *data, int bytes, int tag, void *region, void **request);
typedef int (*ncclnet_isend_9)(void *to, void *data, size_t bytes, int tag, void *region, void **request);
typedef int (*ncclnet_isend_10)(void *to, void *data, size_t bytes, int tag, void *region, void *profile,
                                void **request);
typedef int (*ncclnet_irecv_8)(void *from, int count, void **data, int *bytes, int *tags, void **regions,
                               void **request);
typedef int (*ncclnet_irecv_9)(void *from, int count, void **data, size_t *bytes, int *tags, void **regions,
                               void **request);
typedef int (*ncclnet_irecv_10)(void *from, int count, void **data, size_t *bytes, int *tags, void **regions,
                                void **profiles, void **request);

// How the properties of a device begin. Version 9 added force_flush.
struct ncclnet_properties_8 {
  char *name, *pci;
  uint64_t guid;
  int kinds, global_regions, speed;  // megabits a second
};
struct ncclnet_properties_9 {
  char *name, *pci;
  uint64_t guid;
  int kinds, global_regions, force_flush, speed;
};
