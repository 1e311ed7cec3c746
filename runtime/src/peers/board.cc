// The board: memory that the ranks of a communicator share, in which each notes its last native calls. Where calls do
// not match, launches wait for each other without end. Then a message says which rank called what. It is a file in
// memory (memfd), which the ranks find among the files of rank 0 by its name: so nothing is left when a rank is killed.
#include "board.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

// name_of is what the link of the board's file ends with, of its name.
void name_of(const u8 *id, char *name, size_t size) {
  int n = snprintf(name, size, "mscclc-");
  for (int i = 0; i < 16; i++) n += snprintf(name + n, size - (size_t)n, "%02x", id[i]);
}

// open_of opens the board of an id among the files of a process, or gives -1. The id is a secret of rank 0's, so that
// no file of another process has its name.
int open_of(u64 pid, const u8 *id) {
  char dir[32], name[64], link[128], path[320];
  name_of(id, name, sizeof name);
  snprintf(dir, sizeof dir, "/proc/%llu/fd", pid);
  DIR *all = opendir(dir);
  int found = -1;
  for (dirent *d; all && found < 0 && (d = readdir(all));) {
    snprintf(path, sizeof path, "%s/%s", dir, d->d_name);
    const ssize_t n = readlink(path, link, sizeof link - 1);
    if (n <= 0) continue;
    link[n] = 0;
    if (!strncmp(link, "/memfd:", 7) && !strncmp(link + 7, name, strlen(name)))
      found = sys_open(path, O_RDWR | O_CLOEXEC, 0);
  }
  if (all) closedir(all);
  return found;
}

// name is the function of a kind.
const char *name(u32 kind) {
  u32 fn = 0;
  while (fn < FN_COUNT - 1 && kind_of((Fn)fn) != kind) fn++;
  return fn_name((Fn)fn);
}


bool same(const Note &a, const Note &b) {
  return a.count == b.count && a.kind == b.kind && a.dtype == b.dtype && a.redop == b.redop && a.root == b.root;
}

}  // namespace

const Note *board_find(const Row &r, u64 n) {
  const Note *at = &r.last[n % BOARD_CALLS];
  return n && __atomic_load_n(&at->number, __ATOMIC_ACQUIRE) == n ? at : nullptr;
}

int board_put(char *to, size_t size, const Note &n) {
  return snprintf(to, size, "call %llu, %s of %llu %s", n.number, name(n.kind), n.count, dtype_name(n.dtype));
}

static int put(char *to, size_t size, u32 rank, const Note *n) {
  return snprintf(to, size, "rank %u called %s of %llu %s", rank, name(n->kind), n->count, dtype_name(n->dtype));
}

// board_make is rank 0's, before the others hear of it, and gives the file, or -1. board_open is all ranks', by the
// secret of rank 0, which then closes the file.
int board_make(const u8 *id) {
  char name[64];
  name_of(id, name, sizeof name);
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0 || !sys_truncate(fd, BUNDLE_RANKS * sizeof(Row))) return fd;
  close(fd);
  return -1;
}

void board_open(Member *e, const u8 *id) {
  const int fd = open_of(e->pid[0], id);
  if (fd < 0) return;
  void *p = mmap(nullptr, BUNDLE_RANKS * sizeof(Row), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (p != MAP_FAILED) e->board = p;
}

void board_close(Member *e) {
  if (e->board) munmap(e->board, BUNDLE_RANKS * sizeof(Row));
  e->board = nullptr;
}

void board_note(Member *e, const Call *c) {
  if (!e->board) return;
  Row &r = ((Row *)e->board)[e->rank];
  const u64 n = r.calls + 1;
  Note &at = r.last[n % BOARD_CALLS];
  __atomic_store_n(&at.number, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);  // who sees a new field sees the 0, too
  at.count = c->count, at.kind = (u8)c->kind, at.dtype = (u8)c->dtype, at.redop = (u8)c->redop, at.root = (u8)c->root;
  at.turn = 0;
  __atomic_store_n(&at.number, n, __ATOMIC_RELEASE);
  __atomic_store_n(&r.calls, n, __ATOMIC_RELEASE);
}

void board_call(Member *e, u64 number, char *to, size_t size) {
  const Row *r = e->board ? (const Row *)e->board + e->rank : nullptr;
  if (r && !number) number = __atomic_load_n(&r->calls, __ATOMIC_ACQUIRE);
  const Note *n = r ? board_find(*r, number) : nullptr;
  if (n) {
    const int k = board_put(to, size - 1, *n);
    snprintf(to + k, size - (size_t)k, ",");
    return;
  }
  if (number) snprintf(to, size, "call %llu", number);
  else snprintf(to, size, "a call");
}

void board_turn(Member *e, u64 turn) {
  if (!e->board || !turn) return;
  Row &r = board_rows(e)[e->rank];
  __atomic_store_n(&r.last[r.calls % BOARD_CALLS].turn, turn, __ATOMIC_RELEASE);
}

// board_says writes where ranks' calls differ: the first of the last calls that do not match, or who has made fewer.
bool board_says(Member *e, char *to, size_t size) {
  if (!e->board) return false;
  const Row *rows = (const Row *)e->board;
  u64 most = 0, fewest = ~0ull;
  u32 slow = 0;
  for (u32 r = 0; r < e->ranks; r++) {
    const u64 n = __atomic_load_n(&rows[r].calls, __ATOMIC_ACQUIRE);
    if (n > most) most = n;
    if (n < fewest) fewest = n, slow = r;
  }
  for (u64 n = fewest > BOARD_CALLS ? fewest - BOARD_CALLS + 1 : 1; n <= fewest; n++) {
    const Note *a = board_find(rows[0], n);
    for (u32 r = 1; a && r < e->ranks; r++) {
      const Note *b = board_find(rows[r], n);
      if (!b || same(*a, *b)) continue;
      int k = snprintf(to, size, "call %llu: ", n);
      k += put(to + k, size - (size_t)k, 0, a);
      k += snprintf(to + k, size - (size_t)k, ", and ");
      put(to + k, size - (size_t)k, r, b);
      return true;
    }
  }
  if (most == fewest) return false;
  snprintf(to, size, "rank %u has made %llu native calls on this communicator, and others up to %llu", slow, fewest,
      most);
  return true;
}
