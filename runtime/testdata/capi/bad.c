/* Scenes in which calls fail, ranks are lost, or ranks do different things. */
#include "capi.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/wait.h>

/* differ has the last rank load another bundle. */
void scene_differ(void) {
  mscclc_comm comm = join();
  mscclc_bundle bundle;
  mscclc_programs programs;
  must(mscclc_open(rank == setup.ranks - 1 ? setup.other : setup.path, &bundle), "a bundle");
  wants(mscclc_load(comm, bundle, &programs), MSCCLC_MISMATCH, "programs");
  must(mscclc_close(bundle), "its end");
  /* The communicator stays: all load the same now. */
  struct turn t = turn_new(find(load(comm, setup.path), "halo"), 10, MSCCLC_F32, 0, 1);
  turn_fill(&t);
  must(turn_run(&t, NULL), "halo");
  stream_wait(NULL);
  turn_check(&t, "differ");
  must(mscclc_destroy(comm), "the end");
}

/* missing has the last rank load nothing, or, in "late", not even join. */
void scene_missing(void) {
  mscclc_comm comm = join();
  mscclc_bundle bundle;
  mscclc_programs programs;
  must(mscclc_open(setup.path, &bundle), "a bundle");
  if (rank < setup.ranks - 1) wants(mscclc_load(comm, bundle, &programs), MSCCLC_TIMED_OUT, "programs");
  meet();
  must(mscclc_destroy(comm), "the end");
}
void scene_late(void) {
  mscclc_comm comm;
  device_open();
  if (rank < setup.ranks - 1)
    wants(mscclc_comm_by_id(&comm, &setup.id, setup.ranks, rank, setup.device), MSCCLC_TIMED_OUT, "mscclc_comm_by_id");
  meet();
}

/* same_rank has two ranks be rank 0, and all others another number of ranks. */
void scene_same_rank(void) {
  mscclc_comm comm;
  device_open();
  wants(mscclc_comm_by_id(&comm, &setup.id, setup.ranks, rank < 2 ? 0 : rank, setup.device), MSCCLC_MISMATCH,
        "mscclc_comm_by_id");
  meet();
}

/* no_gpu has the last rank have no context. */
void scene_no_gpu(void) {
  mscclc_comm comm;
  if (rank < setup.ranks - 1) device_open();
  wants(mscclc_comm_by_id(&comm, &setup.id, setup.ranks, rank, setup.device), MSCCLC_DEVICE, "mscclc_comm_by_id");
  meet();
}

struct waiter {
  struct turn turn;
  int rank;
  mscclc_result result;
  char text[500];
};
static void *waits(void *with) {
  struct waiter *w = with;
  rank = w->rank;
  device_open();
  w->result = turn_run(&w->turn, NULL);
  snprintf(w->text, sizeof w->text, "%s", mscclc_last_error());
  return NULL;
}

/* state waits until a communicator has failed. */
static mscclc_result state(mscclc_comm comm) {
  mscclc_result r = MSCCLC_OK;
  for (int i = 0; i < 60000 && !r; i++, usleep(1000)) must(mscclc_error(comm, &r), "a state");
  return r;
}

/* abort has all ranks but the last one wait for it, and rank 0 abort. */
void scene_abort(void) {
  mscclc_comm comm = join();
  mscclc_programs programs = load(comm, setup.path);
  struct waiter w = {turn_new(find(programs, "both_ways"), 100, MSCCLC_F32, 0, 1), rank, MSCCLC_OK, ""};
  pthread_t thread;
  turn_fill(&w.turn);
  if (rank < setup.ranks - 1 && pthread_create(&thread, NULL, waits, &w)) die("no thread");
  usleep(20000);
  meet();
  if (rank == 0) must(mscclc_abort(comm), "an abort");
  wants(state(comm), rank ? MSCCLC_REMOTE : MSCCLC_ABORTED, "mscclc_error");
  if (rank < setup.ranks - 1) pthread_join(thread, NULL);
  if (rank < setup.ranks - 1 && setup.device == MSCCLC_CPU && w.result != (rank ? MSCCLC_REMOTE : MSCCLC_ABORTED))
    die("the run that waited gave %s: %s", mscclc_result_text(w.result), w.text);
  wants(turn_run(&w.turn, NULL), rank ? MSCCLC_REMOTE : MSCCLC_ABORTED, "mscclc_run");
  must(mscclc_destroy(comm), "the end");
}

/* lost has the process of the last rank end while others wait for it. */
void scene_lost(void) {
  mscclc_comm comm = join();
  mscclc_programs programs = load(comm, setup.path);
  struct turn t = turn_new(find(programs, "both_ways"), 100, MSCCLC_F32, 0, 1);
  turn_fill(&t);
  if (rank == setup.ranks - 1) _exit(0);
  if (setup.device == MSCCLC_CPU) wants(turn_run(&t, NULL), MSCCLC_REMOTE, "mscclc_run");
  wants(state(comm), MSCCLC_REMOTE, "mscclc_error");
  must(mscclc_destroy(comm), "the end");
}

/* timeout has rank 0 wait for a launch that never comes, with MSCCLC_TIMEOUT. */
void scene_timeout(void) {
  mscclc_comm comm = join();
  mscclc_programs programs = load(comm, setup.path);
  struct turn t = turn_new(find(programs, "both_ways"), 100, MSCCLC_F32, 0, 1);
  turn_fill(&t);
  if (rank == 0 && setup.device == MSCCLC_CPU) wants(turn_run(&t, NULL), MSCCLC_TIMED_OUT, "mscclc_run");
  if (rank == 0 && setup.device == MSCCLC_GPU) must(turn_run(&t, NULL), "a launch");
  wants(state(comm), rank ? MSCCLC_REMOTE : MSCCLC_TIMED_OUT, "mscclc_error");
  must(mscclc_destroy(comm), "the end");
}

/* fork has a child call what its parent may call. */
void scene_fork(void) {
  mscclc_comm comm = join();
  mscclc_programs programs = load(comm, setup.path);
  struct turn t = turn_new(find(programs, "both_ways"), 100, MSCCLC_F32, 0, 1);
  turn_fill(&t);
  const pid_t child = fork();
  if (child == 0) {
    mscclc_result r;
    mscclc_unique_id id;
    if (turn_run(&t, NULL) != MSCCLC_FORKED || mscclc_error(comm, &r) != MSCCLC_FORKED ||
        mscclc_new_id(&id) != MSCCLC_FORKED || mscclc_destroy(comm) != MSCCLC_FORKED ||
        !strstr(mscclc_last_error(), "forked"))
      _exit(1);
    _exit(0);
  }
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (status) die("the child ended with %d", status);
  must(turn_run(&t, NULL), "a launch after a fork");
  stream_wait(NULL);
  turn_check(&t, "fork");
  must(mscclc_destroy(comm), "the end");
}

/* wrong calls functions with arguments that are wrong. */
void scene_wrong(void) {
  mscclc_comm comm = join(), none;
  mscclc_bundle bundle;
  mscclc_programs programs = load(comm, setup.path);
  mscclc_program program = find(programs, "a2av"), other;
  mscclc_program_info info = {.size = 4};
  char memory_[4000];
  void *null[2] = {NULL, memory_}, *overlap[2] = {memory_, memory_ + 4}, *odd[2] = {memory_ + 2001, memory_};
  wants(mscclc_open("no such file", &bundle), MSCCLC_BAD_BUNDLE, "mscclc_open");
  wants(mscclc_open(NULL, &bundle), MSCCLC_BAD_ARGUMENT, "mscclc_open");
  wants(mscclc_find(programs, "ring", &other), MSCCLC_UNSUPPORTED, "mscclc_find");
  wants(mscclc_program_describe(program, &info), MSCCLC_BAD_ARGUMENT, "mscclc_program_describe");
  wants(mscclc_run(program, null, 10, MSCCLC_F32, MSCCLC_SUM, NULL), MSCCLC_BAD_ARGUMENT, "a null buffer");
  wants(mscclc_run(program, overlap, 10, MSCCLC_F32, MSCCLC_SUM, NULL), MSCCLC_BAD_ARGUMENT, "buffers that overlap");
  void *same[2] = {memory_, memory_};
  wants(mscclc_run(program, same, 10, MSCCLC_F32, MSCCLC_SUM, NULL), MSCCLC_BAD_ARGUMENT, "one buffer");
  wants(mscclc_run(program, odd, 10, MSCCLC_F32, MSCCLC_SUM, NULL), MSCCLC_BAD_ARGUMENT, "an odd address");
  wants(mscclc_run(program, overlap, 10, (mscclc_dtype)12, MSCCLC_SUM, NULL), MSCCLC_BAD_ARGUMENT, "a type");
  wants(mscclc_run(program, overlap, ~(size_t)0, MSCCLC_F32, MSCCLC_SUM, NULL), MSCCLC_BAD_ARGUMENT, "a count");
  wants(mscclc_run(NULL, overlap, 10, MSCCLC_F32, MSCCLC_SUM, NULL), MSCCLC_BAD_ARGUMENT, "no program");
  wants(mscclc_call(programs, MSCCLC_SENDRECV, memory_, memory_, 1, MSCCLC_F32, MSCCLC_SUM, 0, NULL),
        MSCCLC_BAD_ARGUMENT, "a SendRecv");
  wants(mscclc_call(programs, MSCCLC_ALLREDUCE, NULL, memory_, 1, MSCCLC_F32, MSCCLC_SUM, 0, NULL), MSCCLC_BAD_ARGUMENT,
        "an AllReduce of nothing");
  wants(mscclc_call(programs, MSCCLC_ALLREDUCE, memory_, memory_, 1, MSCCLC_I64, MSCCLC_SUM, 0, NULL),
        MSCCLC_UNSUPPORTED, "an AllReduce of i64");
  wants(mscclc_comm_by_id(&none, &(mscclc_unique_id){{0}}, 2, 0, MSCCLC_CPU), MSCCLC_BAD_ARGUMENT, "zeros as an id");
  wants(mscclc_comm_by_id(&none, &setup.id, 17, 0, MSCCLC_CPU), MSCCLC_BAD_ARGUMENT, "17 ranks");
  wants(mscclc_comm_by_id(&none, &setup.id, 2, 2, MSCCLC_CPU), MSCCLC_BAD_ARGUMENT, "rank 2 of 2");
  if (setup.device == MSCCLC_CPU) wants(mscclc_comm_by_nccl(&none, memory_, NULL), MSCCLC_BAD_USE, "no NCCL");
  must(mscclc_destroy(comm), "the end");
}

/* version has the test be the last rank, with a library of another version. */
void scene_version(void) {
  mscclc_comm comm;
  if (rank == setup.ranks - 1) return;
  if (rank == 0) print_id();
  device_open();
  wants(mscclc_comm_by_id(&comm, &setup.id, setup.ranks, rank, setup.device), MSCCLC_MISMATCH, "mscclc_comm_by_id");
}

/* nccl makes a communicator of one of the mock NCCL. */
void scene_nccl(void) {
  const mscclc_unique_id id = {"world-of-mscclc"};  /* as long as NCCL's */
  int (*init)(void **, int, mscclc_unique_id, int) = NULL;
  void *of_nccl = NULL, *library = dlopen(getenv("MSCCLC_TEST_NCCL"), RTLD_NOW | RTLD_LOCAL);
  mscclc_comm comm;
  device_open();
  if (library) init = (int (*)(void **, int, mscclc_unique_id, int))dlsym(library, "ncclCommInitRank");
  if (!init || init(&of_nccl, setup.ranks, id, rank)) die("no NCCL");
  void *stream = stream_new();
  must(mscclc_comm_by_nccl(&comm, of_nccl, stream), "mscclc_comm_by_nccl");
  struct turn t = turn_new(find(load(comm, setup.path), "both_ways"), 50, MSCCLC_F32, 0, 1);
  turn_fill(&t);
  must(turn_run(&t, stream), "both_ways");
  stream_wait(stream);
  turn_check(&t, "nccl");
  must(mscclc_destroy(comm), "the end");
}

/* outlived has the last rank leave after one call, as it should, and the others make one more. */
void scene_outlived(void) {
  mscclc_comm comm = join();
  struct turn t = turn_new(find(load(comm, setup.path), "both_ways"), 50, MSCCLC_F32, 0, 1);
  mscclc_result state = MSCCLC_OK;
  turn_fill(&t);
  must(turn_run(&t, NULL), "the first call");
  stream_wait(NULL);
  turn_check(&t, "the first call");
  if (rank < setup.ranks - 1) {
    /* Where a call returns when it is queued, the state says what has become of it. */
    mscclc_result r = turn_run(&t, NULL);
    while (!r && !state) must(mscclc_error(comm, &state), "the state"), usleep(1000);
    wants(r ? r : state, MSCCLC_REMOTE, "a call too many");
    wants(turn_run(&t, NULL), MSCCLC_REMOTE, "a later call");
  }
  must(mscclc_destroy(comm), "the end");
}
