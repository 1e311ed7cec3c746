// The driver of NVIDIA's GPUs as Go calls it. All functions give 0 or an error of
// the driver, whose text mscclc_cuda_error has; those that take a GPU make its
// context the calling thread's.
#pragma once
#include "../../kernels/abi.h"

struct cuda_gpu {
  void *context, *stream, *side;  // side is for the abort word, while the stream is busy
  void *begin, *end;              // events around a kernel
  int device;
};

// mscclc_cuda_open opens the driver once. What it could not find is in why.
int mscclc_cuda_open(const char **why);
const char *mscclc_cuda_error(int code);

int mscclc_cuda_version(int *version);
int mscclc_cuda_count(int *count);
int mscclc_cuda_gpu(int device, struct cuda_gpu *gpu);
int mscclc_cuda_name(int device, char *name, int bytes);

enum cuda_fact { FACT_MAJOR, FACT_MINOR, FACT_SMS, FACT_COUNT };
int mscclc_cuda_facts(int device, int facts[FACT_COUNT]);

// mscclc_cuda_peer lets a GPU reach the memory of another. *can is 0 where it
// cannot.
int mscclc_cuda_peer(struct cuda_gpu *gpu, struct cuda_gpu *to, int *can);

// Memory is zeroed. Copies are finished when they return.
int mscclc_cuda_alloc(struct cuda_gpu *gpu, u64 bytes, u64 *address);
int mscclc_cuda_free(struct cuda_gpu *gpu, u64 address);
int mscclc_cuda_zero(struct cuda_gpu *gpu, u64 address, u64 bytes);
int mscclc_cuda_put(struct cuda_gpu *gpu, u64 address, const void *from, u64 bytes);
int mscclc_cuda_get(struct cuda_gpu *gpu, void *to, u64 address, u64 bytes);

// mscclc_cuda_module compiles PTX; log gets what the compiler says.
int mscclc_cuda_module(struct cuda_gpu *gpu, const char *ptx, char *log, u32 log_bytes, void **module);
int mscclc_cuda_unload(struct cuda_gpu *gpu, void *module);
int mscclc_cuda_function(struct cuda_gpu *gpu, void *module, const char *name, void **function);

// mscclc_cuda_blocks is how many blocks of so many threads a multiprocessor holds.
int mscclc_cuda_blocks(struct cuda_gpu *gpu, void *function, u32 threads, u32 *blocks);

// One GPU's part of a launch.
struct cuda_part {
  struct cuda_gpu *gpu;
  void *function;
  struct abi_launch launch;
  u64 numbers;  // which blocks
  u32 blocks, threads;
  struct abi_status status;  // in: limit_ns; out: how it ended
  float ms;                  // that the kernel took
  int ended;
};

// mscclc_cuda_launch starts all parts and waits for their ends. As soon as
// *cancel is not 0, or one part has failed, the others are told to leave. A GPU
// that does not come to an end even so gives CUDA_HUNG; its memory must then be
// left alone.
enum { CUDA_HUNG = -1 };
int mscclc_cuda_launch(struct cuda_part *part, u32 parts, const u32 *cancel);
