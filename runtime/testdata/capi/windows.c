/* Memory that ranks register. */
#include "capi.h"

enum { COUNT = 3000, LEAST = 4096 };

/* gather is a call whose buffers are a part of two pieces of memory. */
static mscclc_result gather(mscclc_programs programs, char *in, char *out, size_t at, void *stream) {
  return mscclc_call(programs, MSCCLC_ALLGATHER, in + at, out + at, COUNT, MSCCLC_I32, MSCCLC_SUM, 0, stream);
}

static void fill(char *in, char *out, size_t bytes, size_t at, int seed) {
  memset(out, 0xa5, bytes);
  for (int i = 0; i < COUNT; i++) ((int *)(in + at))[i] = seed * 1000000 + rank * 10000 + i;
}

static void check(const char *out, size_t at, int seed) {
  for (int r = 0; r < setup.ranks; r++)
    for (int i = 0; i < COUNT; i++) {
      const int got = ((const int *)(out + at))[r * COUNT + i];
      if (got != seed * 1000000 + r * 10000 + i) die("element %d of rank %d is %d, seed %d", i, r, got, seed);
    }
  for (size_t i = 0; i < at; i++)
    if ((unsigned char)out[i] != 0xa5) die("byte %zu before the output was written", i);
}

/* windows runs an AllGather by the only rule that there is, which is for windows. */
void scene_windows(void) {
  mscclc_comm comm = join();
  mscclc_programs programs = load(comm, setup.path);
  const size_t bytes = LEAST + sizeof(int) * COUNT * (size_t)setup.ranks;
  void *in, *out;
  mscclc_window a, b, none;
  void *stream = stream_new();
  must(mscclc_alloc(comm, bytes, &in), "memory"), must(mscclc_alloc(comm, bytes, &out), "memory");
  wants(gather(programs, in, out, 0, stream), MSCCLC_UNSUPPORTED, "a call before its buffers are registered");
  must(mscclc_register(comm, in, bytes, &a), "an input");
  wants(gather(programs, in, out, 0, stream), MSCCLC_UNSUPPORTED, "a call whose output is not registered");
  must(mscclc_register(comm, out, bytes, &b), "an output");
  for (int k = 0; k < 4; k++) {
    const size_t at = k % 2 ? LEAST : 64;
    fill(in, out, bytes, at, k);
    meet(); /* outputs are filled on all ranks before any writes there */
    must(gather(programs, in, out, at, stream), "a call");
    stream_wait(stream);
    check(out, at, k);
    meet();
  }
  wants(gather(programs, in, out, LEAST + 4, stream), MSCCLC_UNSUPPORTED, "a call beyond the end");
  meet();
  /* Memory that one rank cannot offer is registered by none. */
  void *odd = rank == setup.ranks - 1 ? malloc(bytes) : in;
  wants(mscclc_register(comm, odd, bytes, &none), MSCCLC_UNSUPPORTED, "foreign memory");
  wants(mscclc_register(comm, in, bytes - (rank == 1 ? 64 : 0), &none), MSCCLC_UNSUPPORTED, "other sizes");
  wants(mscclc_register(comm, in, bytes, NULL), MSCCLC_BAD_ARGUMENT, "no place for the window");
  if (odd != in) free(odd);
  fill(in, out, bytes, 0, 9);
  meet();
  must(gather(programs, in, out, 0, stream), "a call after failures");
  stream_wait(stream);
  check(out, 0, 9);
  must(mscclc_deregister(a), "the input");
  wants(mscclc_deregister(NULL), MSCCLC_BAD_ARGUMENT, "no window");
  wants(gather(programs, in, out, 0, stream), MSCCLC_UNSUPPORTED, "a call whose input is no longer registered");
  meet();
  stream_end(stream);
  must(mscclc_destroy(comm), "the end");
}
