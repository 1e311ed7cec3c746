/* mscclc.h is the C interface of libmscclc.so, which runs the programs of bundles (docs/bundle.md, docs/c.md).
 *
 * A process opens a bundle, joins a communicator, loads the bundle there together with all other ranks, and runs its
 * programs. `mscclc bundle` writes bundles. The library needs no Go, no libstdc++ and no NCCL.
 *
 * Results. Each function that can fail returns a mscclc_result. If it is not MSCCLC_OK, mscclc_last_error() says what
 * is wrong, where, and what to do. A function that fails sets none of its results, and leaves no handle behind.
 *
 * Threads. Calls on different communicators may come from different threads at once. Calls on one communicator come one
 * at a time. mscclc_error and mscclc_abort are the exception: any thread may call them at any time before
 * mscclc_destroy.
 *
 * Forks. In a process that was forked after the library was used, each function returns MSCCLC_FORKED.
 *
 * Collective. mscclc_comm_by_*, mscclc_load, mscclc_register, mscclc_run, mscclc_call and mscclc_all_reduce_rows are
 * collective: all ranks of a communicator call them, in the same order. */
#ifndef MSCCLC_H
#define MSCCLC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* MSCCLC_ABI counts incompatible changes of this file. All ranks of a communicator have libraries of one number. */
#define MSCCLC_ABI 1

#define MSCCLC_MAX_RANKS 16  /* of a communicator */
#define MSCCLC_MAX_BUFFERS 8 /* of a program */
#define MSCCLC_MAX_STAGES 8  /* of an epilogue */

typedef enum {
  MSCCLC_OK = 0,
  MSCCLC_BAD_ARGUMENT = 1, /* an argument is wrong: no such handle, rank, type, number of buffers */
  MSCCLC_BAD_USE = 2,      /* the call is not possible now, such as a run after an abort of another thread */
  MSCCLC_SYSTEM = 3,       /* an error of the operating system: files, sockets, memory */
  MSCCLC_DEVICE = 4,       /* an error of the GPU's driver */
  MSCCLC_BAD_BUNDLE = 5,   /* the file is no bundle, is damaged, or is of another version */
  MSCCLC_UNSUPPORTED = 6,  /* no program is for this call, device, number of ranks or type */
  MSCCLC_MISMATCH = 7,     /* ranks have different versions, bundles, devices or numbers of ranks */
  MSCCLC_TIMED_OUT = 8,    /* ranks did not come in time */
  MSCCLC_REMOTE = 9,       /* another rank failed, ended, or was aborted */
  MSCCLC_ABORTED = 10,     /* this communicator was aborted */
  MSCCLC_FORKED = 11       /* the process was forked after the library was used */
} mscclc_result;

/* The types of elements. MSCCLC_F8E4M3 and MSCCLC_F8E5M2 are OCP's E4M3 (without infinities) and E5M2. */
typedef enum {
  MSCCLC_F16 = 0,
  MSCCLC_BF16 = 1,
  MSCCLC_F32 = 2,
  MSCCLC_F64 = 3,
  MSCCLC_I8 = 4,
  MSCCLC_U8 = 5,
  MSCCLC_I32 = 6,
  MSCCLC_U32 = 7,
  MSCCLC_I64 = 8,
  MSCCLC_U64 = 9,
  MSCCLC_F8E4M3 = 10,
  MSCCLC_F8E5M2 = 11
} mscclc_dtype;

/* Reductions. MSCCLC_AVG is the sum over all ranks, divided by their number. */
typedef enum { MSCCLC_SUM = 0, MSCCLC_PROD = 1, MSCCLC_MIN = 2, MSCCLC_MAX = 3, MSCCLC_AVG = 4 } mscclc_redop;

/* The collectives. Those up to MSCCLC_SCATTER run by the rules of a bundle (mscclc_call). */
typedef enum {
  MSCCLC_ALLREDUCE = 0,
  MSCCLC_ALLGATHER = 1,
  MSCCLC_REDUCESCATTER = 2,
  MSCCLC_ALLTOALL = 3,
  MSCCLC_BROADCAST = 4,
  MSCCLC_REDUCE = 5,
  MSCCLC_GATHER = 6,
  MSCCLC_SCATTER = 7,
  MSCCLC_SENDRECV = 8,
  MSCCLC_CUSTOM = 9
} mscclc_collective;

/* Where a communicator's ranks run. MSCCLC_GPU is the GPU of the calling thread's current CUDA context, which is the
 * GPU's primary context (the one of the CUDA runtime). MSCCLC_CPU runs the same programs on the host: buffers are
 * memory of the process, by malloc or of a numpy array, and no GPU or driver is needed. */
typedef enum { MSCCLC_GPU = 0, MSCCLC_CPU = 1 } mscclc_device;

typedef enum { MSCCLC_INPUT = 1, MSCCLC_OUTPUT = 2 } mscclc_direction;

/* A buffer of a program. On rank r it holds units[r] x count elements, where count is the argument of mscclc_run. units
 * may differ between ranks, and may be 0: then the pointer of that rank is not used and may be null. */
typedef struct {
  char name[32];      /* "input", "output" */
  int32_t direction;  /* mscclc_direction */
  uint32_t units[MSCCLC_MAX_RANKS];
} mscclc_buffer;

/* A program. Before a call, size is sizeof(mscclc_program_info), so that later versions may add fields.
 * In a call in place, input and output are one memory: they begin at the same address, except in an AllGather or a
 * Gather, where the input is the rank's part of the output, and in a ReduceScatter or a Scatter, where the output is
 * the rank's part of the input. */
typedef struct {
  uint32_t size;
  char name[64];       /* by which mscclc_find finds it */
  int32_t ranks;       /* the number of ranks that it is for */
  int32_t collective;  /* mscclc_collective */
  int32_t root;        /* of a collective that has one */
  int32_t reduces;     /* 1: it applies a mscclc_redop; 0: it only moves elements, and the redop does not matter */
  int32_t in_place;    /* 1: a call may be in place */
  int32_t out_of_place; /* 1: a call may be out of place. If both are 1, ranks of one call may differ */
  uint32_t dtypes;     /* bit d is set if type d may be used: dtypes >> MSCCLC_BF16 & 1 */
  int32_t buffers;     /* how many there are, in the order of mscclc_run's argument */
  mscclc_buffer buffer[MSCCLC_MAX_BUFFERS];
} mscclc_program_info;

typedef struct mscclc_bundle_s *mscclc_bundle;
typedef struct mscclc_comm_s *mscclc_comm;
typedef struct mscclc_programs_s *mscclc_programs;
typedef const struct mscclc_program_s *mscclc_program;
typedef struct mscclc_stream_s *mscclc_stream;
typedef struct mscclc_window_s *mscclc_window;

/* A unique id names a communicator that is to be made. Its bytes may be sent by any means: a file, MPI, a store. They
 * hold a secret: whoever knows it may join. */
typedef struct {
  unsigned char bytes[128];
} mscclc_unique_id;

/* ---- Versions and errors ---- */

/* mscclc_version returns the library's version, such as "0.9.0". mscclc_abi returns the MSCCLC_ABI that it was built
 * with; compare it with the header's. */
const char *mscclc_version(void);
int mscclc_abi(void);

/* mscclc_result_text returns a few words for a result. mscclc_last_error returns the text of the last call that failed
 * in the calling thread, or "". mscclc_last_result returns its code. The text is valid until the thread's next call. */
const char *mscclc_result_text(mscclc_result result);
const char *mscclc_last_error(void);
mscclc_result mscclc_last_result(void);

/* ---- Bundles ---- */

/* mscclc_open opens a bundle and checks its tables. The file must belong to the user or to root, and nobody else may
 * be able to write to it. mscclc_close ends the handle; programs that were loaded from the bundle stay.
 * Errors: MSCCLC_BAD_BUNDLE, MSCCLC_SYSTEM. */
mscclc_result mscclc_open(const char *path, mscclc_bundle *bundle);
mscclc_result mscclc_close(mscclc_bundle bundle);

/* mscclc_bundle_count gives how many named programs a bundle has, for all numbers of ranks together.
 * mscclc_bundle_program describes one of them, from 0. A name occurs once for each number of ranks. */
mscclc_result mscclc_bundle_count(mscclc_bundle bundle, int *count);
mscclc_result mscclc_bundle_program(mscclc_bundle bundle, int index, mscclc_program_info *info);

/* ---- Communicators ---- */

/* mscclc_new_id makes a unique id. The calling process listens on a TCP socket until all ranks have come, and serves
 * them while they live; it may be a rank itself, and must not end before the ranks do. The address is 127.0.0.1, or the
 * IPv4 address in the variable MSCCLC_ADDRESS.
 * mscclc_comm_by_id joins the communicator of an id as one of its ranks: 2 to MSCCLC_MAX_RANKS, numbered from 0. All
 * ranks are on one machine. On GPUs, each has its own. Several ranks may be threads of one process. The function
 * returns once all ranks have come, or fails after MSCCLC_MEET seconds (default 60) and names those that are missing.
 * Errors: MSCCLC_TIMED_OUT, MSCCLC_MISMATCH (another version, device or number of ranks), MSCCLC_REMOTE (a rank or the
 * id's process ended), MSCCLC_SYSTEM, MSCCLC_DEVICE. */
mscclc_result mscclc_new_id(mscclc_unique_id *id);
mscclc_result mscclc_comm_by_id(mscclc_comm *comm, const mscclc_unique_id *id, int ranks, int rank,
                                mscclc_device device);

/* An exchange gives each rank's bytes to all ranks: it sends `bytes` bytes from mine, and fills all with ranks x bytes
 * bytes, those of rank 0 first. It returns 0, or another number if it failed. mscclc_comm_by_exchange calls it once, in
 * the calling thread, to hand a unique id to all ranks; user is passed on to it. */
typedef int (*mscclc_exchange)(void *user, const void *mine, void *all, size_t bytes);
mscclc_result mscclc_comm_by_exchange(mscclc_comm *comm, mscclc_exchange exchange, void *user, int ranks, int rank,
                                      mscclc_device device);

/* mscclc_comm_by_nccl makes a communicator with the ranks of an ncclComm_t, on its GPU, which must be the one of the
 * calling thread's context. It runs one ncclAllGather on stream, a CUstream or cudaStream_t, and waits for it. NCCL is
 * the one that the process has loaded. The ncclComm_t stays the caller's, and is not used afterwards. */
mscclc_result mscclc_comm_by_nccl(mscclc_comm *comm, void *nccl_comm, void *stream);

mscclc_result mscclc_comm_ranks(mscclc_comm comm, int *ranks, int *rank);

/* mscclc_error gives what has become of a communicator: MSCCLC_OK, or why its calls no longer end as they should:
 * MSCCLC_REMOTE (a rank ended or failed), MSCCLC_TIMED_OUT (a wait was longer than MSCCLC_TIMEOUT seconds; no wait has
 * a limit by default), MSCCLC_DEVICE, MSCCLC_ABORTED. mscclc_last_error() then says which rank, or which line of the
 * program waited. The function does not wait. Once a communicator has failed, its launches end soon by themselves.
 * mscclc_abort has all launches of this rank end soon. Their outputs are undefined. Other ranks see MSCCLC_REMOTE.
 * After mscclc_abort, only mscclc_error and mscclc_destroy are allowed.
 * mscclc_destroy waits for the rank's launches to end, frees all that belongs to the communicator, and ends the
 * programs that were loaded. Graphs that hold its launches must not be launched afterwards. */
mscclc_result mscclc_error(mscclc_comm comm, mscclc_result *state);
mscclc_result mscclc_abort(mscclc_comm comm);
mscclc_result mscclc_destroy(mscclc_comm comm);

/* ---- Programs ---- */

/* mscclc_load loads all programs and rules that a bundle has for the communicator's number of ranks. The ranks compare
 * what they load. If they differ, or if a rank does not call mscclc_load within 9 s, it fails on all ranks, and
 * mscclc_last_error() names the difference: which rank lacks a program, or has another one of its name. The error is
 * MSCCLC_MISMATCH or MSCCLC_TIMED_OUT. Memory is allocated here; no later call allocates on the GPU.
 * The handle is valid until mscclc_destroy. A communicator may load several bundles. */
mscclc_result mscclc_load(mscclc_comm comm, mscclc_bundle bundle, mscclc_programs *programs);

/* mscclc_find finds a program by its name. It is not collective. The handle is valid until mscclc_destroy.
 * mscclc_program_describe fills in info, whose size the caller has set. Error: MSCCLC_UNSUPPORTED, which lists the
 * names that there are. */
mscclc_result mscclc_find(mscclc_programs programs, const char *name, mscclc_program *program);
mscclc_result mscclc_program_describe(mscclc_program program, mscclc_program_info *info);

/* mscclc_run runs a program. buffers holds a pointer for each of the program's buffers, in the order of
 * mscclc_program_info. count is the elements of a unit: buffer b has buffer[b].units[rank] x count elements here.
 * count, dtype and redop are the same on all ranks. Addresses are multiples of the size of an element.
 *
 * On a GPU, buffers are memory of it, and stream is a CUstream or cudaStream_t; null is the default stream. The call
 * returns when the launch is queued. If the stream is being captured, the launch becomes part of the graph. Buffers
 * must stay until the launch has ended.
 * On the CPU, a null stream means that the call returns when the rank's part is done. Else stream is a mscclc_stream,
 * and the call returns when the launch is queued. Nothing can be captured.
 *
 * Errors: MSCCLC_BAD_ARGUMENT (also buffers that overlap, or that are in place where the program is not),
 * MSCCLC_UNSUPPORTED (a type that the bundle has no kernel for, an average that the program cannot compute, or a
 * captured call where other communicators have the room on the GPU),
 * MSCCLC_DEVICE, MSCCLC_ABORTED; and on the CPU with a null stream those of mscclc_error. */
mscclc_result mscclc_run(mscclc_program program, void *const *buffers, size_t count, mscclc_dtype dtype,
                         mscclc_redop redop, void *stream);

/* mscclc_call runs a collective by the first of the bundle's rules that is for it. count, send and recv are as in
 * NCCL's function for the collective: count is the elements of a rank's part. root is 0 for collectives without one.
 * If no rule is for the call, or the rule names NCCL, the error is MSCCLC_UNSUPPORTED. */
mscclc_result mscclc_call(mscclc_programs programs, mscclc_collective collective, const void *send, void *recv,
                          size_t count, mscclc_dtype dtype, mscclc_redop redop, int root, void *stream);

/* ---- Rows that are finished ---- */

/* What a stage of an epilogue has on this rank. Vectors have an element for each element of a row. Vectors and the rows
 * of residuals have the type of the sum, and addresses are multiples of the size of an element.
 *
 *   scale       value: the factor
 *   bias        reads: a vector, which is added
 *   residual    reads: rows, which are added; writes: the sum of both, the updated residual. It may be the residual
 *   rms_norm    value: eps; reads: the weights, a vector
 *   layer_norm  value: eps; reads: the weights; wants: the bias, another vector
 *   quantise    writes: the scales in float, one for each row, or for each block of a row, row by row
 *
 * activation and cast have nothing. Fields that a stage does not have are not looked at. */
typedef struct {
  double value;
  const void *reads, *wants;
  void *writes;
} mscclc_stage;

/* What becomes of each row of a sum. stages is a list as a program and `mscclc bundle --then` have it, such as
 * "residual, rms_norm(eps), quantise(e4m3)"; spaces do not count. stage has the operands of each, in this order. */
typedef struct {
  uint32_t size;  /* sizeof(mscclc_epilogue) */
  const char *stages;
  mscclc_stage stage[MSCCLC_MAX_STAGES];
} mscclc_epilogue;

/* mscclc_all_reduce_rows sums rows of all ranks, finishes each row of the sum, and has all ranks get them: an AllReduce
 * and its epilogue in one launch. send has `rows` rows of `length` elements of dtype: MSCCLC_F16, MSCCLC_BF16 or
 * MSCCLC_F32. recv gets as many elements, of the type that the last stage gives them, or else of dtype. Both are dense.
 * The sum stays in float between the stages: each output is rounded once. What the call writes overlaps nothing else
 * that it has, except that the updated residual may be the residual. It follows the stream as mscclc_run does.
 *
 * rows, length, dtype and stages are the same on all ranks. The first of the bundle's rules that is for such calls, of
 * as many bytes of sums, gives the program (`mscclc bundle --then`). If there is none, or a row is longer than the
 * program takes, or the bundle has no kernel for the type, the error is MSCCLC_UNSUPPORTED on all ranks, and nothing is
 * launched. */
mscclc_result mscclc_all_reduce_rows(mscclc_programs programs, const void *send, void *recv, size_t rows,
                                     size_t length, mscclc_dtype dtype, const mscclc_epilogue *epilogue, void *stream);

/* ---- Registered memory ---- */

/* mscclc_alloc allocates memory that may be registered: on the communicator's GPU, or on the CPU in shared memory.
 * mscclc_free frees it. On a GPU, any memory of cuMemAlloc or cudaMalloc may be registered, too. */
mscclc_result mscclc_alloc(mscclc_comm comm, size_t bytes, void **memory);
mscclc_result mscclc_free(mscclc_comm comm, void *memory);

/* mscclc_register has all ranks register memory together: as many bytes on each. mscclc_call then takes the bundle's
 * rules for windows where all buffers of a call lie in registered memory. Their programs may be direct: they read and
 * write buffers of other ranks. So all ranks of a call give buffers at the same offsets of the same registration, and
 * all of them are in place, or none is. Collectives with a root have no such rules.
 * Programs that are loaded later do not use the registration.
 * If the memory of one rank cannot be reached by all others, the function fails on all ranks: MSCCLC_UNSUPPORTED, and
 * the text says why. Memory of other processes that was mapped (cuMemMap) cannot be reached.
 * mscclc_deregister ends a registration, before the memory is freed; it is not collective. Later calls do not use it.
 * Graphs that hold calls with such buffers must not be launched afterwards, on any rank. mscclc_destroy ends what is
 * left. */
mscclc_result mscclc_register(mscclc_comm comm, void *memory, size_t bytes, mscclc_window *window);
mscclc_result mscclc_deregister(mscclc_window window);

/* ---- Streams of the CPU device ---- */

/* A mscclc_stream is a thread that runs launches one after the other. mscclc_stream_wait returns when all that was
 * queued has ended. mscclc_stream_end waits, too, and ends the handle. Communicators that used the stream are destroyed
 * before it. */
mscclc_result mscclc_stream_new(mscclc_stream *stream);
mscclc_result mscclc_stream_wait(mscclc_stream stream);
mscclc_result mscclc_stream_end(mscclc_stream stream);

#ifdef __cplusplus
}
#endif

#endif
