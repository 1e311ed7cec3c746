/* Scenes in which all goes well. */
#include "capi.h"

static const char *const names[] = {"both_ways", "halo", "a2av"};
static const size_t counts[] = {0, 1, 3, 1000, 4099, 30000};

/* runs runs each program with counts and types of any kind, in place on some ranks, on streams that change. */
void scene_runs(void) {
  static const mscclc_dtype types[] = {MSCCLC_F32, MSCCLC_U8, MSCCLC_F64, MSCCLC_BF16};
  mscclc_comm comm = join();
  mscclc_programs programs = load(comm, setup.path);
  void *streams[3] = {NULL, stream_new(), stream_new()};
  uint32_t seed = 1;
  for (int p = 0; p < 3; p++)
    for (int c = 0; c < 6; c++) {
      mscclc_program program = find(programs, names[p]);
      const int inplace = p < 2 && (rank + c + p) % 3 == 0;  /* the AllToAllV has no calls in place */
      struct turn t = turn_new(program, counts[c], types[(p + c) % 4], inplace, seed++);
      for (int s = 0; s < 3; s++) {
        turn_fill(&t);
        must(turn_run(&t, streams[(s + c) % 3]), names[p]);
        stream_wait(streams[(s + c) % 3]);
        turn_check(&t, "runs");
      }
      turn_end(&t);
    }
  /* Many launches, one after another, on streams that change. */
  enum { TURNS = 24 };
  struct turn t[TURNS];
  for (int i = 0; i < TURNS; i++) {
    t[i] = turn_new(find(programs, names[i % 3]), 700, MSCCLC_F32, 0, seed++);
    turn_fill(&t[i]);
  }
  for (int i = 0; i < TURNS; i++) must(turn_run(&t[i], streams[i / 4 % 3]), "a launch");
  for (int s = 0; s < 3; s++) stream_wait(streams[s]);
  for (int i = 0; i < TURNS; i++) turn_check(&t[i], "one after another"), turn_end(&t[i]);
  must(mscclc_destroy(comm), "the end");
  stream_end(streams[1]), stream_end(streams[2]);
}

/* rules runs an AllReduce by the bundle's rules: eager, and of several reductions. */
void scene_rules(void) {
  mscclc_comm comm = join();
  mscclc_programs programs = load(comm, setup.path);
  for (int c = 1; c < 6; c++) {
    const size_t n = counts[c];
    float *data = memory(n * sizeof *data);
    const mscclc_redop op = c % 2 ? MSCCLC_SUM : MSCCLC_MAX;
    for (size_t i = 0; i < n; i++) data[i] = (float)((int)(i % 1000) * (rank + 1));
    must(mscclc_call(programs, MSCCLC_ALLREDUCE, data, data, n, MSCCLC_F32, op, 0, NULL), "an AllReduce");
    stream_wait(NULL);
    const int times = op == MSCCLC_SUM ? setup.ranks * (setup.ranks + 1) / 2 : setup.ranks;
    for (size_t i = 0; i < n; i++)
      if (data[i] != (float)((int)(i % 1000) * times))
        die("an AllReduce of %zu: element %zu is %f", n, i, (double)data[i]);
    memory_end(data);
  }
  float *in = memory(40), *out = memory(4000);
  for (int i = 0; i < 10; i++) in[i] = (float)(rank * 10 + i);
  for (int root = 0; root < setup.ranks; root++) {
    void *to = rank == root ? out : NULL;
    must(mscclc_call(programs, MSCCLC_GATHER, in, to, 10, MSCCLC_F32, MSCCLC_SUM, root, NULL), "a Gather");
    stream_wait(NULL);
    for (int i = 0; rank == root && i < 10 * setup.ranks; i++)
      if (out[i] != (float)i) die("a Gather: element %d is %f", i, (double)out[i]);
  }
  memory_end(in), memory_end(out);
  must(mscclc_destroy(comm), "the end");
}

/* captures captures programs of several bundles one after another, and replays the graph. Together, all bundles have
 * more CTAs than the GPU has room for. But calls of one communicator follow each other, over all streams. */
void scene_captures(void) {
  enum { LOADS = 16 };
  mscclc_comm comm = join();
  mscclc_programs programs = load(comm, setup.path), other = NULL;
  for (int i = 0; i < LOADS; i++) other = load(comm, setup.other);
  void *stream = stream_new(), *beside = stream_new();
  struct turn t[2] = {turn_new(find(programs, "both_ways"), 900, MSCCLC_F32, 0, 1),
                      turn_new(find(other, "halo"), 900, MSCCLC_F32, 0, 1)};
  capture_begin(stream);
  for (int i = 0; i < 2; i++) must(turn_run(&t[i], stream), "a captured launch");
  void *graph = capture_end(stream);
  for (uint32_t k = 0; k < 4; k++) {
    for (int i = 0; i < 2; i++) t[i].seed = 7 * k, turn_fill(&t[i]);
    if (k == 2) must(turn_run(&t[0], stream), "an eager launch");
    replay(graph, stream);
    stream_wait(stream);
    for (int i = 0; i < 2; i++) turn_check(&t[i], "captures");
    for (int i = 0; i < 2; i++) t[i].seed = 7 * k + 3, turn_fill(&t[i]);
    for (int i = 0; i < 2; i++) must(turn_run(&t[i], i ? beside : stream), "an eager launch on a stream of its own");
    stream_wait(stream), stream_wait(beside);
    for (int i = 0; i < 2; i++) turn_check(&t[i], "eager");
  }
  must(mscclc_destroy(comm), "the end");
}

/* lives makes and ends communicators, loads two bundles into one, and runs both. */
void scene_lives(void) {
  for (int i = 0; i < 6; i++) {
    mscclc_comm comm;
    /* Rank 0 has made an id for each life, which all know by then. */
    static mscclc_unique_id ids[6];
    device_open();
    if (setup.processes) ids[0] = setup.id;
    else if (rank == 0) must(mscclc_new_id(&ids[i]), "an id");
    meet();
    must(mscclc_comm_by_id(&comm, &ids[i], setup.ranks, rank, setup.device), "a communicator");
    mscclc_programs a = load(comm, setup.path), b = load(comm, setup.other);
    struct turn t = turn_new(find(a, "both_ways"), 500, MSCCLC_F32, 0, 5);
    struct turn u = turn_new(find(b, "halo"), 600, MSCCLC_F32, 0, 6);
    turn_fill(&t), turn_fill(&u);
    must(turn_run(&t, NULL), "both_ways"), must(turn_run(&u, NULL), "halo");
    stream_wait(NULL);
    turn_check(&t, "lives"), turn_check(&u, "lives");
    turn_end(&t), turn_end(&u);
    /* Ranks leave at other times: memory that others reach stays until all have left. */
    if (i % 2) usleep((unsigned)rank * 150000);
    must(mscclc_destroy(comm), "the end");
    if (setup.processes) break;
  }
}

/* An exchange by memory that ranks share. */
static unsigned char *shared;
static int swap(void *user, const void *mine, void *all, size_t bytes) {
  memcpy(shared + (size_t)rank * bytes, mine, bytes);
  meet();
  memcpy(all, shared, bytes * (size_t)setup.ranks);
  return *(int *)user;
}

void scene_exchange(void) {
  mscclc_comm comm;
  int fails = 0;
  device_open();
  if (rank == 0) shared = malloc(4096);
  meet();
  must(mscclc_comm_by_exchange(&comm, swap, &fails, setup.ranks, rank, setup.device), "a communicator");
  mscclc_programs programs = load(comm, setup.path);
  struct turn t = turn_new(find(programs, "a2av"), 100, MSCCLC_F32, 0, 3);
  turn_fill(&t);
  must(turn_run(&t, NULL), "a2av");
  stream_wait(NULL);
  turn_check(&t, "exchange");
  turn_end(&t);
  must(mscclc_destroy(comm), "the end");
  fails = 7;
  wants(mscclc_comm_by_exchange(&comm, swap, &fails, setup.ranks, rank, setup.device), MSCCLC_SYSTEM, "an exchange");
}

/* strangers has the test connect to the hub before the ranks do, and send what it likes. */
void scene_strangers(void) {
  if (rank == 0) {
    print_id();
    if (getchar() != '\n') die("the test has ended");
  }
  meet();
  mscclc_comm comm = join();
  load(comm, setup.path);
  must(mscclc_destroy(comm), "the end");
}
