// Communicators of several processes. Their ranks share a file in NCCL_STANDIN_DIR, with a slot for the input of each.
// A call waits for the other ranks, as NCCL's kernels do.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOT = 1 << 20 };
struct shared {
  unsigned come, round;
  char slot[MAX_RANKS][SLOT];
};

static void meet(struct shared *s, int ranks) {
  const unsigned round = __atomic_load_n(&s->round, __ATOMIC_ACQUIRE);
  if ((int)__atomic_add_fetch(&s->come, 1, __ATOMIC_ACQ_REL) == ranks) {
    __atomic_store_n(&s->come, 0, __ATOMIC_RELEASE);
    __atomic_add_fetch(&s->round, 1, __ATOMIC_ACQ_REL);
  }
  while (__atomic_load_n(&s->round, __ATOMIC_ACQUIRE) == round) nanosleep(&(struct timespec){0, 20000}, 0);
}

static struct shared *shared_file(const char *dir, const char *id) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, id);
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(struct shared))) perror(path), abort();
  void *p = mmap(0, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (p == MAP_FAILED) abort();
  return p;
}

// shared_call computes a collective from the slots. It keeps only its own rank's output.
static void shared_call(struct comm *c, const struct part *own) {
  const int ranks = c->world->ranks;
  const size_t bytes = own->count * sizes[own->type], whole = bytes * (size_t)ranks;
  struct shared *s = c->world->shared;
  if (own->kind == SEND || own->kind == RECV || whole > SLOT) abort();
  const int pieces = own->kind == REDUCESCATTER || own->kind == ALLTOALL ||
                     (own->kind == SCATTER && c->rank == own->peer);
  if (own->from) memcpy(s->slot[c->rank], own->from, pieces ? whole : bytes);
  meet(s, ranks);
  struct part parts[MAX_RANKS], *p[MAX_RANKS];
  char *others = malloc(whole + 1);
  for (int r = 0; r < ranks; r++) {
    p[r] = &parts[r];
    parts[r] = *own;
    parts[r].from = s->slot[r];
    if (r != c->rank) parts[r].to = others;
  }
  compute(c->world, p);
  free(others);
  meet(s, ranks);
}
