// This file hears of ranks of other nodes whose processes end by exit() (team/exit.cc).
#include "net.h"

#include <stdlib.h>

void net_exits(Team *t) {
  if (!t->net || pthread_mutex_trylock(&t->mu)) return;
  u64 *all = nullptr;
  for (u32 i = 0, first = 0; !t->net->left && i < t->set.row->programs; first += replicas(t, i++)) {
    u32 rank;
    while (t->net->seat[i].job && mscclc_net_exits(t->net->seat[i].job) > t->net->seat[i].exits) {
      if (!all && !(all = (u64 *)malloc(team_marks(t) * sizeof *all + 1)))  // at the next look
        return (void)pthread_mutex_unlock(&t->mu);
      for (u32 k = 0; k < team_marks(t); k++) all[k] = NO_PART;
      const u64 launches = mscclc_net_exited(t->net->seat[i].job, t->net->seat[i].exits++, &rank, all + first,
                                             replicas(t, i));
      team_exits(t, rank, launches, all);
    }
  }
  free(all);
  pthread_mutex_unlock(&t->mu);
}
