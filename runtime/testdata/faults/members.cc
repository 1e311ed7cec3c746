// This file knows which members of the table of communicators are in use: members are never freed, but used again.
#include "../../src/front/front.h"

#include "live.h"

#include <stdio.h>

u64 live_members(bool print) {
  u64 n = 0;
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++) {
    const u32 users = __atomic_load_n(&e->users, __ATOMIC_SEQ_CST);
    if (!e->comm && e->state != STATE_GONE && !users) continue;
    n++;
    if (!print) continue;
    fprintf(stderr, "member %u: comm %p, state %d, %u users, team %p, agreeing %d, making %d, late %d,"
            " rank %u of %u: %s\n", i,
            (void *)e->comm.value, e->state.value, users, (void *)e->team.value, e->agreeing.value, e->making.value,
            e->late.value, e->rank, e->ranks, e->text);
  }
  return n;
}
