// This file says how far the launches of a team have come, by the counters that their kernels leave in its memory.
#include "team.h"

#include <stdlib.h>

u64 team_last(const Team *t, u32 *program) { return *program = t->last_program, t->last_launch; }

u64 team_arena(const Team *t) { return t->arena_bytes; }

// fewest reads the states of a program, and gives the fewest launches of a block's first replica, which all have.
static int fewest(Team *t, u32 program, u64 *launches) {
  const Program &p = t->set.program[program];
  const u64 replicas = p.row->replicas, bytes = p.part[t->rank].blocks * replicas * sizeof(abi_one_state);
  abi_one_state *all = (abi_one_state *)calloc(1, bytes + 1);
  if (!all) return ENGINE_ARGUMENT;
  int code = t->gpu->f->get(all, t->seat[program].states, bytes, t->side);
  if (!code) code = t->gpu->f->sync(t->side);
  *launches = ~0ull;
  for (u32 i = 0; !code && i < p.part[t->rank].blocks; i++)
    if (all[i * replicas].launches < *launches) *launches = all[i * replicas].launches;
  free(all);
  return code;
}

bool team_reached(Team *t, u32 program, u64 *launches) {
  if (!alive() || !t->own || program >= t->set.row->programs) return false;
  Current current(t->gpu);
  if (current.code) return false;
  pthread_mutex_lock(&t->mu);
  Relaxed relaxed(t->gpu);
  const int code = fewest(t, program, launches);
  pthread_mutex_unlock(&t->mu);
  return code == 0;
}
