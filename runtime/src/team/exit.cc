// This file is about ranks whose process ends by exit() while the communicator is there. Such a rank tells what its
// launches have finished. Launches of others that it has finished, too, end as they should. Later ones wait for it in
// vain: they leave, once all before them have ended.
//
// Marks are how many launches each replica of each program has finished, as the states in the team's own memory count
// them. They count launches of graphs, too, which the host does not see. All ranks launch alike, so marks of ranks can
// be compared.
#include "team.h"

#include <stdlib.h>
#include <string.h>

namespace {

const u64 UNKNOWN = ~0ull, LOOK_AGAIN = 200000, LOCKED_FOR = 200000000;  // ns

struct Lock {
  pthread_mutex_t *mu;
  ~Lock() { pthread_mutex_unlock(mu); }
};

// locked takes the lock of a team, unless that takes longer than a limit.
bool locked(Team *t, u64 limit_ns) {
  for (const u64 begin = now_of_engine(); pthread_mutex_trylock(&t->mu); nap_of_engine(LOOK_AGAIN))
    if (now_of_engine() - begin > limit_ns) return false;
  return true;
}


// count writes the marks of all programs from their states.
void count(const Team *t, const abi_one_state *states, u64 *marks) {
  for (u32 i = 0; i < t->set.row->programs; i++) {
    const u32 blocks = t->set.program[i].part[t->rank].blocks, n = replicas(t, i);
    const abi_one_state *own = states + (t->seat[i].states - t->seat[0].states) / sizeof *states;
    for (u32 c = 0; c < n; c++) {
      u64 least = NO_PART;
      for (u32 b = 0; b < blocks; b++)
        if (own[(u64)b * n + c].launches < least) least = own[(u64)b * n + c].launches;
      *marks++ = least;
    }
  }
}

// read reads the marks. The lock is held.
int read(Team *t, u64 *marks) {
  const gpu_symbols *f = t->gpu->f;
  abi_one_state *states = (abi_one_state *)malloc(t->state_bytes + 1);
  if (!states) return ENGINE_ARGUMENT;
  int code = f->get(states, t->seat[0].states, t->state_bytes, t->side);
  if (!code) code = f->sync(t->side);
  if (!code) count(t, states, marks);
  free(states);
  return code;
}

// outrun has launches of programs leave where this rank has ended all that those who exit have finished. all says
// whether that is so of all programs; it never is where such a rank has no part in a program.
int outrun(Team *t, const u64 *own, bool *all) {
  const u64 *ends = t->exits.ends;
  *all = true;
  for (u32 i = 0; i < t->set.row->programs; i++) {
    const u32 n = replicas(t, i);
    bool over = true;
    for (u32 c = 0; c < n; c++) over &= own[c] >= ends[c];
    own += n, ends += n;
    *all &= over;
    if (!over || t->exits.over[i]) continue;
    TRY(hurry(t, i, i + 1));
    __atomic_store_n(&t->exits.over[i], true, __ATOMIC_RELEASE);
  }
  return 0;
}

}  // namespace

u32 team_marks(const Team *t) {
  u32 n = 0;
  for (u32 i = 0; i < t->set.row->programs; i++) n += replicas(t, i);
  return n;
}

// Replica 0 of a program takes part in all of its launches.
u64 team_launches(const Team *t, const u64 *marks) {
  u64 n = 0;
  for (u32 i = 0; i < t->set.row->programs; marks += replicas(t, i++))
    if (*marks != NO_PART) n += *marks;
  return n;
}

int team_finished(Team *t, u64 *marks, u64 limit_ns) {
  if (!alive()) return ENGINE_FORKED;
  __atomic_store_n(&t->aborted, true, __ATOMIC_RELEASE);
  Current current(t->gpu);
  TRY(current.code);
  Relaxed relaxed(t->gpu);
  order_idle(t, limit_ns);
  if (!locked(t, LOCKED_FOR)) return ENGINE_ABORTED;
  const Lock lock = {&t->mu};
  return read(t, marks);
}

bool team_exits(Team *t, u32 rank, u64 launches, const u64 *marks) {
  Exits &e = t->exits;
  const u32 n = team_marks(t);
  if (!e.ends) {
    bool *over = (bool *)calloc(t->set.row->programs + 1, sizeof *over);
    e.ends = over ? (u64 *)malloc(n * sizeof *e.ends + 1) : nullptr;
    if (!e.ends) return free(over), false;
    for (u32 i = 0; i < n; i++) e.ends[i] = NO_PART;
    e.launches = NO_PART;
    __atomic_store_n(&e.over, over, __ATOMIC_RELEASE);
  }
  if (launches < e.launches) {
    __atomic_store_n(&e.rank, rank, __ATOMIC_RELEASE);
    __atomic_store_n(&e.launches, launches, __ATOMIC_RELEASE);
  }
  for (u32 i = 0; i < n; i++)
    if (marks[i] < e.ends[i]) e.ends[i] = marks[i];
  return true;
}

Outrun team_exited(const Team *t) {
  const u64 launches = __atomic_load_n(&t->exits.launches, __ATOMIC_ACQUIRE);
  return Outrun{__atomic_load_n(&t->exits.rank, __ATOMIC_ACQUIRE), launches, UNKNOWN,
                __atomic_load_n(&t->order->captured, __ATOMIC_ACQUIRE) != 0};
}

bool team_outrun(Team *t, Outrun *is) {
  if (!alive()) return false;
  net_exits(t);
  if (!t->exits.ends) return false;
  *is = team_exited(t);
  if (team_over(t) && !__atomic_load_n(&t->failed, __ATOMIC_ACQUIRE)) return true;
  u64 *own = (u64 *)malloc(team_marks(t) * sizeof *own + 1);
  Current current(t->gpu);
  Relaxed relaxed(t->gpu);
  if (!own || current.code || !locked(t, LOCKED_FOR)) return free(own), true;
  const Lock lock = {&t->mu};
  bool all = false;
  if (!read(t, own) && !outrun(t, own, &all)) is->ended = team_launches(t, own);
  if (all) __atomic_store_n(&t->exits.all, true, __ATOMIC_RELEASE);
  free(own);
  return true;
}

// exits_explain notes that a launch of a program has failed, where that is since a rank has exited.
void exits_explain(Team *t, u32 program) {
  const bool *over = __atomic_load_n(&t->exits.over, __ATOMIC_ACQUIRE);
  if (over && __atomic_load_n(over + program, __ATOMIC_ACQUIRE))
    __atomic_store_n(&t->exits.failed, true, __ATOMIC_RELEASE);
}

void exits_free(Team *t) { free(t->exits.ends), free(t->exits.over); }

bool team_progress(Team *t, u64 *ended) {
  if (!alive() || __atomic_load_n(&t->order->captured, __ATOMIC_ACQUIRE)) return false;
  u64 *own = (u64 *)malloc(team_marks(t) * sizeof *own + 1);
  Current current(t->gpu);
  Relaxed relaxed(t->gpu);
  bool good = own && !current.code && locked(t, LOOK_AGAIN);
  if (good) {
    const Lock lock = {&t->mu};
    good = !read(t, own);
  }
  if (good) *ended = team_launches(t, own);
  free(own);
  return good;
}

bool team_over(const Team *t) { return __atomic_load_n(&t->exits.all, __ATOMIC_ACQUIRE); }
bool team_outlived(const Team *t) { return __atomic_load_n(&t->exits.failed, __ATOMIC_ACQUIRE); }

void team_exit(Team *t, const u64 *marks) { net_leave(t, marks); }
