/* What the scenes of the tests of mscclc.h share. A scene is run by all ranks, as threads or as processes, on the CPU
 * or on the mock driver. */
#pragma once
#include <mscclc.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a run is given, and what a rank has. Ranks that are threads share all but `rank`. */
struct setup {
  const char *scene, *path, *other;  /* bundles */
  int ranks, processes;
  mscclc_device device;
  mscclc_unique_id id;
  pthread_barrier_t *barrier;        /* of all ranks, also of processes */
};
extern struct setup setup;
extern __thread int rank;

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void must(mscclc_result result, const char *what);

/* wants ends the run unless a call gave a result, and prints its text for the test to compare. */
void wants(mscclc_result got, mscclc_result want, const char *what);
void print_id(void);
void meet(void);

/* The device of the rank: memory, streams, and captures of the mock driver. */
void device_open(void);
void *memory(size_t bytes);
void memory_end(void *at);
void *stream_new(void);
void stream_wait(void *stream);
void stream_end(void *stream);
void capture_begin(void *stream);
void *capture_end(void *stream);
void replay(void *graph, void *stream);

/* join makes the communicator, and loads the bundle. */
mscclc_comm join(void);
mscclc_programs load(mscclc_comm comm, const char *path);
mscclc_program find(mscclc_programs programs, const char *name);

/* A Turn is a call with its buffers, which lie between poisoned guards. */
struct turn {
  mscclc_program_info info;
  mscclc_program program;
  char *memory[2];
  uint8_t *at[2];
  size_t units[2], count, size;
  mscclc_dtype dtype;
  int inplace;
  uint32_t seed;
};
struct turn turn_new(mscclc_program program, size_t count, mscclc_dtype dtype, int inplace, uint32_t seed);
void turn_fill(struct turn *t);
mscclc_result turn_run(struct turn *t, void *stream);
void turn_check(const struct turn *t, const char *what);
void turn_end(struct turn *t);

/* The scenes. */
void scene_runs(void);
void scene_rules(void);
void scene_captures(void);
void scene_differ(void);
void scene_missing(void);
void scene_abort(void);
void scene_lost(void);
void scene_timeout(void);
void scene_fork(void);
void scene_exchange(void);
void scene_nccl(void);
void scene_lives(void);
void scene_windows(void);
void scene_outlived(void);
void scene_wrong(void);
void scene_strangers(void);
void scene_version(void);
void scene_same_rank(void);
void scene_late(void);
void scene_no_gpu(void);
void scene_rows(void);
void scene_row_graphs(void);
