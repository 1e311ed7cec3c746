/* Scenes of sums whose rows are finished, compared with what f64 gives. */
#include "capi.h"

#include <math.h>

enum { GUARD = 64, POISON = 0x5b };
static const double EPS = 1e-3;

/* A List is an epilogue. Data are small multiples of 1/8, so that sums are exact in each type. */
enum list { NORM, QUANTISED, LAYER };
static const char *const lists[] = {"residual, rms_norm(eps)", "residual, rms_norm(eps), quantise(e4m3)",
                                    " bias(),layer_norm ( eps, ),\tactivation(silu) , cast(f32),"};

/* A Rows is a call with its memory. Outputs lie between poisoned guards. */
struct rows {
  enum list list;
  size_t rows, length, size;
  mscclc_dtype dtype;
  uint32_t seed;
  int updates;  /* the residual in place */
  uint8_t *send, *residual, *weights, *bias;
  uint8_t *out, *updated, *scales;  /* with guards */
  size_t out_bytes, updated_bytes, scale_bytes;
};

static double value(uint32_t seed, int of, size_t i) {
  uint32_t h = (uint32_t)i * 2654435761u + seed * 40503u + (uint32_t)of * 7919u;
  h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
  return (double)((int)(h % 33) - 16) / 8;
}

static void put(uint8_t *at, mscclc_dtype type, size_t i, double x) {
  float f = (float)x;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  if (type == MSCCLC_F32) memcpy(at + 4 * i, &f, 4);
  else if (type == MSCCLC_BF16) memcpy(at + 2 * i, (uint8_t *)&bits + 2, 2);
  else {
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const uint16_t half = f == 0 ? 0 : (uint16_t)(((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 1023));
    const uint16_t all = sign | half;
    memcpy(at + 2 * i, &all, 2);
  }
}

static double get(const uint8_t *at, mscclc_dtype type, size_t i) {
  if (type == MSCCLC_F32) {
    float f;
    return memcpy(&f, at + 4 * i, 4), f;
  }
  uint16_t h;
  memcpy(&h, at + 2 * i, 2);
  if (type == MSCCLC_BF16) {
    const uint32_t bits = (uint32_t)h << 16;
    float f;
    return memcpy(&f, &bits, 4), f;
  }
  const int e = h >> 10 & 31, m = h & 1023;
  const double x = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return h & 0x8000 ? -x : x;
}

static double e4m3(uint8_t b) {
  const int e = b >> 3 & 15, m = b & 7;
  const double x = e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
  return b & 0x80 ? -x : x;
}

static uint8_t *guarded(size_t bytes) { return memory(bytes + 2 * GUARD + 16); }

static struct rows rows_new(enum list list, size_t rows, size_t length, mscclc_dtype dtype, int updates) {
  struct rows r = {.list = list, .rows = rows, .length = length, .dtype = dtype, .updates = updates};
  const size_t n = rows * length, size = r.size = dtype == MSCCLC_F32 ? 4 : 2;
  r.out_bytes = n * (list == QUANTISED ? 1 : list == LAYER ? 4 : size);
  r.updated_bytes = list == LAYER ? 0 : n * size, r.scale_bytes = list == QUANTISED ? rows * 4 : 0;
  r.send = memory(n * size + 16), r.residual = guarded(n * size), r.weights = memory(length * size + 16);
  r.bias = memory(length * size + 16);
  r.out = guarded(r.out_bytes), r.scales = guarded(r.scale_bytes);
  r.updated = updates ? r.residual : guarded(r.updated_bytes);
  return r;
}

static void rows_end(struct rows *r) {
  memory_end(r->send), memory_end(r->residual), memory_end(r->weights), memory_end(r->bias);
  memory_end(r->out), memory_end(r->scales);
  if (!r->updates) memory_end(r->updated);
}

static void rows_fill(struct rows *r, uint32_t seed) {
  r->seed = seed;
  memset(r->out, POISON, r->out_bytes + 2 * GUARD), memset(r->scales, POISON, r->scale_bytes + 2 * GUARD);
  memset(r->updated, POISON, r->updated_bytes + 2 * GUARD);
  for (size_t i = 0; i < r->rows * r->length; i++) {
    put(r->send, r->dtype, i, value(seed, rank, i));
    put(r->residual + GUARD, r->dtype, i, value(seed, 100, i));
  }
  for (size_t i = 0; i < r->length; i++)
    put(r->weights, r->dtype, i, value(seed, 101, i)), put(r->bias, r->dtype, i, value(seed, 102, i));
}

static mscclc_result rows_run(struct rows *r, mscclc_programs programs, void *stream) {
  mscclc_epilogue e = {.size = sizeof e, .stages = lists[r->list]};
  if (r->list == LAYER) {
    e.stage[0].reads = r->bias;
    e.stage[1] = (mscclc_stage){.value = EPS, .reads = r->weights, .wants = r->bias};
  } else {
    e.stage[0] = (mscclc_stage){.reads = r->residual + GUARD, .writes = r->updated + GUARD};
    e.stage[1] = (mscclc_stage){.value = EPS, .reads = r->weights};
    e.stage[2].writes = r->scales + GUARD;
  }
  return mscclc_all_reduce_rows(programs, r->send, r->out + GUARD, r->rows, r->length, r->dtype, &e, stream);
}

static void near(const struct rows *r, const char *what, size_t i, double got, double want, double bound) {
  if (!(fabs(got - want) <= bound))
    die("%s of %zu x %zu, type %d: %s %zu is %.9g, and not %.9g", lists[r->list], r->rows, r->length, (int)r->dtype,
        what, i, got, want);
}

static void whole(const struct rows *r, const char *what, const uint8_t *at, size_t bytes) {
  for (size_t i = 0; i < GUARD; i++)
    if (at[i] != POISON || at[GUARD + bytes + i] != POISON)
      die("%s of %zu x %zu: the call wrote outside %s", lists[r->list], r->rows, r->length, what);
}

/* finish computes a row as ir/epilogue has it, and gives the sum with residual or bias in `row`. */
static void finish(const struct rows *r, size_t row, double *sum, double *out) {
  const size_t n = r->length;
  double mean = 0, square = 0;
  for (size_t i = 0; i < n; i++) {
    sum[i] = r->list == LAYER ? value(r->seed, 102, i) : value(r->seed, 100, row * n + i);
    for (int k = 0; k < setup.ranks; k++) sum[i] += value(r->seed, k, row * n + i);
    mean += r->list == LAYER ? sum[i] / (double)n : 0;
  }
  for (size_t i = 0; i < n; i++) square += (sum[i] - mean) * (sum[i] - mean) / (double)n;
  for (size_t i = 0; i < n; i++) {
    out[i] = (sum[i] - mean) / sqrt(square + EPS) * value(r->seed, 101, i);
    if (r->list == LAYER) out[i] += value(r->seed, 102, i), out[i] /= 1 + exp(-out[i]);
  }
}

static void rows_check(mscclc_comm comm, const struct rows *r) {
  mscclc_result state = MSCCLC_OK;
  if (mscclc_error(comm, &state) || state) die("%zu x %zu: %s", r->rows, r->length, mscclc_last_error());
  const size_t n = r->length;
  const double unit = r->dtype == MSCCLC_F32 ? 0 : r->dtype == MSCCLC_BF16 ? 1.0 / 256 : 1.0 / 2048;
  double *sum = malloc(n * sizeof *sum), *out = malloc(n * sizeof *out);
  whole(r, "the output", r->out, r->out_bytes), whole(r, "the scales", r->scales, r->scale_bytes);
  if (!r->updates) whole(r, "the updated residual", r->updated, r->updated_bytes);
  for (size_t row = 0; row < r->rows; row++) {
    double largest = 0, scale = 1;
    finish(r, row, sum, out);
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(out[i]));
    if (r->list == QUANTISED) {
      if (largest > 0) scale = largest / 448;
      near(r, "scale", row, get(r->scales + GUARD, MSCCLC_F32, row), scale, scale * 1e-5);
    }
    for (size_t i = 0; i < n; i++) {
      const size_t at = row * n + i;
      if (r->list != LAYER) near(r, "residual", at, get(r->updated + GUARD, r->dtype, at), sum[i], 0);
      if (r->list == QUANTISED)
        near(r, "element", at, e4m3(r->out[GUARD + at]) * scale, out[i], fabs(out[i]) / 15.9 + scale / 900);
      else
        near(r, "element", at, get(r->out + GUARD, r->list == LAYER ? MSCCLC_F32 : r->dtype, at), out[i],
             fabs(out[i]) * (r->list == LAYER ? 0 : unit) + 2e-5 * (1 + fabs(out[i])));
    }
  }
  free(sum), free(out);
}

static const size_t shapes[][2] = {{0, 64}, {1, 1}, {1, 64}, {3, 100},  {5, 513},
                                   {33, 128}, {90, 1000}, {7, 4096}, {300, 72}};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static const mscclc_dtype types[] = {MSCCLC_BF16, MSCCLC_F16, MSCCLC_F32};

static void refused(mscclc_programs programs, struct rows r, mscclc_result want, const char *what) {
  const mscclc_result got = rows_run(&r, programs, NULL);
  wants(got, want, what);
}

/* rows finishes rows of all types and shapes, in one step and in two, and refuses wrong arguments. */
void scene_rows(void) {
  mscclc_comm comm = join();
  mscclc_programs programs = load(comm, setup.path);
  void *streams[2] = {NULL, stream_new()};
  uint32_t seed = 1;
  for (int s = 0; s < SHAPES; s++)
    for (int t = 0; t < 3; t++)
      for (int l = 0; l < 3; l++) {
        if (types[t] == MSCCLC_F32 && shapes[s][1] > 4000) continue;  /* a row is longer than the tiles */
        struct rows r = rows_new((enum list)l, shapes[s][0], shapes[s][1], types[t], l < 2 && (s + t) % 2);
        for (int k = 0; k < 2; k++) {
          rows_fill(&r, seed++);
          must(rows_run(&r, programs, streams[(k + s) % 2]), lists[l]);
          stream_wait(streams[(k + s) % 2]);
          rows_check(comm, &r);
        }
        rows_end(&r);
      }
  struct rows r = rows_new(NORM, 2, 64, MSCCLC_BF16, 0), wrong = r;
  rows_fill(&r, seed);
  wrong.weights = NULL, refused(programs, wrong, MSCCLC_BAD_ARGUMENT, "no weights");
  wrong = r, wrong.send++, refused(programs, wrong, MSCCLC_BAD_ARGUMENT, "an odd address");
  wrong = r, wrong.updated = r.out, refused(programs, wrong, MSCCLC_BAD_ARGUMENT, "outputs that overlap");
  wrong = r, wrong.send = r.out + GUARD, refused(programs, wrong, MSCCLC_BAD_ARGUMENT, "in place");
  wrong = r, wrong.dtype = MSCCLC_F64, refused(programs, wrong, MSCCLC_UNSUPPORTED, "f64");
  wrong = r, wrong.send = NULL, refused(programs, wrong, MSCCLC_BAD_ARGUMENT, "no input");
  mscclc_epilogue e = {.size = sizeof e, .stages = "residual"};
  const mscclc_dtype bf16 = MSCCLC_BF16;
  wants(mscclc_all_reduce_rows(programs, r.send, r.out, 2, 64, bf16, &e, NULL), MSCCLC_UNSUPPORTED, "another list");
  e.size = 1;
  wants(mscclc_all_reduce_rows(programs, r.send, r.out, 2, 64, bf16, &e, NULL), MSCCLC_BAD_ARGUMENT, "the size");
  struct rows big = rows_new(NORM, 1, 100000, MSCCLC_BF16, 0);
  rows_fill(&big, 1);
  refused(programs, big, MSCCLC_UNSUPPORTED, "a long row");
  if (!strstr(mscclc_last_error(), "a row has 200000 bytes, and programs of this epilogue take 12288"))
    die("a long row: %s", mscclc_last_error());
  must(rows_run(&r, programs, NULL), "after errors");
  stream_wait(NULL);
  rows_check(comm, &r);
  float sums[4] = {1, 2, 3, 4};
  wants(mscclc_call(programs, MSCCLC_ALLREDUCE, sums, sums, 4, MSCCLC_F32, MSCCLC_SUM, 0, NULL), MSCCLC_UNSUPPORTED,
        "a call without an epilogue");
  must(mscclc_destroy(comm), "the end");
  stream_end(streams[1]);
}

/* row_graphs captures calls, and replays the graph with other data, between eager calls. */
void scene_row_graphs(void) {
  mscclc_comm comm = join();
  mscclc_programs programs = load(comm, setup.path);
  void *stream = stream_new();
  struct rows r[] = {rows_new(NORM, 8, 512, MSCCLC_BF16, 0), rows_new(QUANTISED, 90, 1000, MSCCLC_F16, 0),
                     rows_new(LAYER, 3, 100, MSCCLC_F32, 0)};
  capture_begin(stream);
  for (int i = 0; i < 3; i++) must(rows_run(&r[i], programs, stream), "a captured call");
  void *graph = capture_end(stream);
  for (uint32_t k = 1; k < 5; k++) {
    for (int i = 0; i < 3; i++) rows_fill(&r[i], 11 * k);
    if (k % 2) {
      replay(graph, stream);
    } else {
      for (int i = 0; i < 3; i++) must(rows_run(&r[i], programs, stream), "an eager call");
    }
    stream_wait(stream);
    for (int i = 0; i < 3; i++) rows_check(comm, &r[i]);
  }
  must(mscclc_destroy(comm), "the end");
}
