/* This program runs a scene of the tests of mscclc.h:
 *
 *     capi SCENE threads|processes cpu|gpu RANKS BUNDLE OTHER */
#include "capi.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

static const struct {
  const char *name;
  void (*run)(void);
} scenes[] = {{"runs", scene_runs},       {"rules", scene_rules},       {"captures", scene_captures},
              {"differ", scene_differ},   {"missing", scene_missing},   {"late", scene_late},
              {"abort", scene_abort},     {"lost", scene_lost},         {"timeout", scene_timeout},
              {"fork", scene_fork},       {"exchange", scene_exchange}, {"nccl", scene_nccl},
              {"lives", scene_lives},     {"windows", scene_windows}, {"wrong", scene_wrong},
              {"strangers", scene_strangers},
              {"version", scene_version}, {"same_rank", scene_same_rank},
              {"outlived", scene_outlived}, {"no_gpu", scene_no_gpu},
              {"rows", scene_rows},       {"row_graphs", scene_row_graphs}};

static void *run(void *of) {
  rank = (int)(intptr_t)of;
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    if (!strcmp(scenes[i].name, setup.scene)) return scenes[i].run(), NULL;
  die("there is no scene %s", setup.scene);
}

static void threads(void) {
  pthread_t thread[MSCCLC_MAX_RANKS];
  must(mscclc_new_id(&setup.id), "an id");
  for (int r = 0; r < setup.ranks; r++)
    if (pthread_create(&thread[r], NULL, run, (void *)(intptr_t)r)) die("no thread");
  for (int r = 0; r < setup.ranks; r++) pthread_join(thread[r], NULL);
}

/* processes has rank 0 make the id, and the others read it. */
static int processes(void) {
  mscclc_unique_id *id = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int bad = 0;
  for (int r = 0; r < setup.ranks; r++)
    if (fork() == 0) {
      rank = r;
      if (r == 0) must(mscclc_new_id(id), "an id");
      meet();
      setup.id = *id;
      run((void *)(intptr_t)r);
      fflush(stdout);
      _exit(0);
    }
  for (int r = 0; r < setup.ranks; r++) {
    int status;
    while (wait(&status) < 0 && errno == EINTR) {}
    bad |= status;
  }
  return bad != 0;
}

/* list prints what a bundle has. It ends well if the library refuses the bundle. */
static int list(const char *path) {
  mscclc_bundle bundle;
  int count = 0;
  if (mscclc_open(path, &bundle) || mscclc_bundle_count(bundle, &count))
    return printf("no %s\n", mscclc_last_error()), 0;
  for (int i = 0; i < count; i++) {
    mscclc_program_info p = {.size = sizeof p};
    must(mscclc_bundle_program(bundle, i, &p), "a program");
    printf("%s ranks=%d collective=%d reduces=%d inplace=%d outofplace=%d dtypes=%#x", p.name, p.ranks, p.collective,
           p.reduces, p.in_place, p.out_of_place, p.dtypes);
    for (int b = 0; b < p.buffers; b++) {
      printf(" %s:%d", p.buffer[b].name, p.buffer[b].direction);
      for (int r = 0; r < p.ranks; r++) printf(",%u", p.buffer[b].units[r]);
    }
    printf("\n");
  }
  must(mscclc_close(bundle), "its end");
  return 0;
}

int main(int argc, char **argv) {
  if (argc >= 3 && !strcmp(argv[1], "list")) {
    int bad = 0;
    for (int i = 2; i < argc; i++) bad |= list(argv[i]);
    return bad;
  }
  if (argc != 7) return 2;
  setup.scene = argv[1], setup.processes = !strcmp(argv[2], "processes");
  setup.device = strcmp(argv[3], "cpu") ? MSCCLC_GPU : MSCCLC_CPU;
  setup.ranks = atoi(argv[4]), setup.path = argv[5], setup.other = argv[6];
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  setup.barrier = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_barrier_init(setup.barrier, &attributes, (unsigned)setup.ranks);
  if (setup.processes) return processes();
  threads();
  return 0;
}
