/* Ranks, devices and buffers of the tests of mscclc.h. */
#include "capi.h"

#include <dlfcn.h>
#include <stdarg.h>

struct setup setup;
__thread int rank;

enum { GUARD = 64, POISON = 0xa5 };

void die(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(stderr, "rank %d: ", rank);
  vfprintf(stderr, format, list);
  fprintf(stderr, "\n");
  va_end(list);
  _exit(1);
}

void must(mscclc_result result, const char *what) {
  if (result) die("%s: %s (%s)", what, mscclc_last_error(), mscclc_result_text(result));
}

void wants(mscclc_result got, mscclc_result want, const char *what) {
  if (got != want)
    die("%s: %s, and not %s: %s", what, mscclc_result_text(got), mscclc_result_text(want), mscclc_last_error());
  if (want && mscclc_last_result() != want)
    die("%s: the last result is %s", what, mscclc_result_text(mscclc_last_result()));
  if (want) printf("rank %d: %s: %s\n", rank, what, mscclc_last_error());
  fflush(stdout);
}

void print_id(void) {
  for (size_t i = 0; i < sizeof setup.id.bytes; i++) printf("%02x", setup.id.bytes[i]);
  printf("\n");
  fflush(stdout);
}

void meet(void) { pthread_barrier_wait(setup.barrier); }

/* The functions of the mock driver. */
static void *driver(const char *name) {
  static void *library;
  if (!library) library = dlopen(getenv("MSCCLC_LIBCUDA"), RTLD_NOW);
  void *f = library ? dlsym(library, name) : NULL;
  if (!f) die("the driver has no %s", name);
  return f;
}
#define DRIVER(name, ...)                                            \
  do {                                                               \
    int (*f_)() = (int (*)())driver(name);                           \
    const int code_ = f_(__VA_ARGS__);                               \
    if (code_) die("%s gave %d", name, code_);                       \
  } while (0)

void device_open(void) {
  void *context;
  if (setup.device == MSCCLC_CPU) return;
  DRIVER("cuInit", 0);
  DRIVER("cuDevicePrimaryCtxRetain", &context, rank);
  DRIVER("cuCtxSetCurrent", context);
}

void *memory(size_t bytes) {
  uint64_t at = 0;
  if (setup.device == MSCCLC_CPU) return malloc(bytes);
  DRIVER("cuMemAlloc_v2", &at, (uint64_t)bytes);
  return (void *)at;
}
void memory_end(void *at) {
  if (setup.device == MSCCLC_CPU) free(at);
  else DRIVER("cuMemFree_v2", (uint64_t)at);
}

void *stream_new(void) {
  void *s = NULL;
  if (setup.device == MSCCLC_CPU) must(mscclc_stream_new((mscclc_stream *)&s), "a stream");
  else DRIVER("cuStreamCreate", &s, 1u);
  return s;
}
void stream_wait(void *s) {
  if (setup.device == MSCCLC_GPU) DRIVER("cuStreamSynchronize", s);
  else if (s) must(mscclc_stream_wait(s), "a stream");
}
void stream_end(void *s) {
  if (setup.device == MSCCLC_GPU) DRIVER("cuStreamDestroy_v2", s);
  else must(mscclc_stream_end(s), "a stream");
}
void capture_begin(void *s) { DRIVER("cuStreamBeginCapture_v2", s, 2); }
void *capture_end(void *s) {
  void *graph, *executable;
  DRIVER("cuStreamEndCapture", s, &graph);
  DRIVER("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  DRIVER("cuGraphDestroy", graph);
  return executable;
}
void replay(void *graph, void *s) { DRIVER("cuGraphLaunch", graph, s); }

mscclc_comm join(void) {
  mscclc_comm comm;
  int ranks = 0, own = -1;
  device_open();
  must(mscclc_comm_by_id(&comm, &setup.id, setup.ranks, rank, setup.device), "a communicator");
  must(mscclc_comm_ranks(comm, &ranks, &own), "its ranks");
  if (ranks != setup.ranks || own != rank) die("rank %d of %d", own, ranks);
  return comm;
}

mscclc_programs load(mscclc_comm comm, const char *path) {
  mscclc_bundle bundle;
  mscclc_programs programs;
  must(mscclc_open(path, &bundle), "a bundle");
  must(mscclc_load(comm, bundle, &programs), "its programs");
  must(mscclc_close(bundle), "its end");
  return programs;
}

mscclc_program find(mscclc_programs programs, const char *name) {
  mscclc_program program;
  must(mscclc_find(programs, name, &program), name);
  return program;
}

static size_t size_of(mscclc_dtype d) {
  static const size_t sizes[] = {2, 2, 4, 8, 1, 1, 4, 4, 8, 8, 1, 1};
  return sizes[d];
}

/* byte_of is a byte of the input of a rank: element and byte count from the beginning of the input. */
static uint8_t byte_of(int of, size_t at, uint32_t seed) {
  return (uint8_t)((uint32_t)(at * 131 + (size_t)of * 7919 + seed) * 2654435761u >> 24);
}

struct turn turn_new(mscclc_program program, size_t count, mscclc_dtype dtype, int inplace, uint32_t seed) {
  struct turn t = {.info = {.size = sizeof(mscclc_program_info)}, .program = program, .count = count,
                   .size = size_of(dtype), .dtype = dtype, .inplace = inplace, .seed = seed};
  must(mscclc_program_describe(program, &t.info), "a description");
  for (int b = 0; b < 2; b++) {
    t.units[b] = t.info.buffer[b].units[rank];
    t.memory[b] = memory(t.units[b] * count * t.size + 2 * GUARD);
    t.at[b] = (uint8_t *)t.memory[b] + GUARD;
  }
  if (inplace) t.at[0] = t.at[1] + (t.info.collective == MSCCLC_ALLGATHER ? (size_t)rank * count * t.size : 0);
  return t;
}

void turn_fill(struct turn *t) {
  for (int b = 0; b < 2; b++) memset(t->memory[b], POISON, t->units[b] * t->count * t->size + 2 * GUARD);
  for (size_t i = 0; i < t->units[0] * t->count * t->size; i++) t->at[0][i] = byte_of(rank, i, t->seed);
}

mscclc_result turn_run(struct turn *t, void *stream) {
  void *buffers[2] = {t->at[0], t->at[1]};
  return mscclc_run(t->program, buffers, t->count, t->dtype, MSCCLC_SUM, stream);
}

/* sent is how many units rank r sends to rank q in the AllToAllV. */
static int sent(int r, int q) { return (r + 2 * q) % 4; }

/* source says what a unit of the output is: unit *from of rank *of, or nothing. */
static int source(const struct turn *t, int unit, int *of, int *from) {
  if (t->info.collective == MSCCLC_ALLGATHER) return *of = unit, *from = 0, 1;
  if (!strcmp(t->info.name, "halo"))
    return *of = unit ? rank + 1 : rank - 1, *from = !unit, *of >= 0 && *of < setup.ranks;
  for (*of = 0; *of < setup.ranks; unit -= sent(*of, rank), ++*of)
    if (unit < sent(*of, rank)) {
      *from = unit;
      for (int k = 0; k < rank; k++) *from += sent(*of, k);
      return 1;
    }
  return 0;
}

void turn_check(const struct turn *t, const char *what) {
  const size_t bytes = t->count * t->size;
  size_t wrong = 0;
  for (size_t u = 0; u < t->units[1]; u++) {
    int of = 0, from = 0;
    const int some = source(t, (int)u, &of, &from);
    for (size_t i = 0; i < bytes; i++) {
      const uint8_t got = t->at[1][u * bytes + i];
      if (some) wrong += got != byte_of(of, (size_t)from * bytes + i, t->seed);
      else if (!t->inplace) wrong += got != POISON;
    }
  }
  const uint8_t *first = (const uint8_t *)t->memory[1], *last = first + GUARD + t->units[1] * bytes;
  for (int i = 0; i < GUARD; i++) wrong += (first[i] != POISON) + (last[i] != POISON);
  if (wrong) die("%s: %s: %zu bytes wrong, of %zu elements a unit%s", what, t->info.name, wrong, t->count,
                 t->inplace ? " in place" : "");
}

void turn_end(struct turn *t) {
  memory_end(t->memory[0]);
  memory_end(t->memory[1]);
}
