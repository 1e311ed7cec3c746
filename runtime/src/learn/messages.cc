// What ranks say to each other to learn: by the sockets of peers/peers.cc, and between ranks of one process by calls.
// The thread that polls sockets does all of it, so that no call of a collective waits for a call of a peer.
#include "learn.h"

#include <string.h>

namespace {

bool moved;  // a rank of this process has received something, and may have to answer

bool in_process(const Member *e, u32 rank) {
  return !memcmp(e->process[rank], peers_process(), sizeof e->process[rank]);
}

// beside finds another rank of the communicator of e in this process.
Member *beside(const Member *e, u32 rank) {
  Member *other;
  for (u32 i = 0; (other = member_at(i)); i++)
    if (other != e && other->comm && other->family == e->family && other->rank == rank && other->learn) return other;
  return nullptr;
}

// report prints and keeps what a class came to.
void report(Member *e, LearnClass *c, u32 choice, const u32 *took) {
  const Team *t = e->team;  // it ends once the sockets are closed
  if (c->reported || !t) return;
  const Where where(e);
  c->reported = true;
  const char *title = choice ? team_title(t, c->candidate[choice - 1]) : "NCCL";
  row_chosen(c->row, title, took);
  info("rank %u of %u learned for %s of up to %llu bytes: %s takes %.1f us, and NCCL %.1f us", e->rank, e->ranks,
       fn_name(c->fn), 1ull << c->key.log, title, took[1] / 1e3, took[0] / 1e3);
  if (!e->rank) learned_keep(e->learn, *c, choice, took);
}

// judged sees what rank 0 has found: that NCCL is the fastest needs no word.
void judged(Member *e, Learn *l, u32 of) {
  const Judge &j = l->judge[of];
  if (j.stage == JUDGE_DONE && !j.choice && j.took[0] && of < classes_of(l)) report(e, &l->of[of], 0, j.took);
}

// takes has a rank of this process hear a message.
void takes(Member *e, u32 from, const LearnMessage &m) {
  Learn *l = e->learn;
  moved = true;
  if (m.what == LEARN_TIMES || m.what == LEARN_PROMISES) {
    if (e->rank) return;
    judge_hears(&l->judge[m.of], e->ranks, from, m);
    return judged(e, l, m.of);
  }
  if (from || m.of >= classes_of(l)) return;
  LearnClass *c = &l->of[m.of];
  if (m.what != LEARN_NEVER && (!m.choice || m.choice >= c->options)) return;
  learner_hears(&c->l, m, SLACK);
  if (m.what == LEARN_WORD) report(e, c, m.choice, m.took);
}

// send says something to a rank. It gives false if the socket does not take it, which is tried again: the socket of a
// rank that has gone is closed soon. Who has gone hears nothing.
bool send(Member *e, u32 to, const LearnMessage &m) {
  if (to == e->rank) return takes(e, e->rank, m), true;
  if (in_process(e, to)) {
    if (Member *other = beside(e, to)) takes(other, e->rank, m);
    return true;
  }
  return e->peer[to] < 0 || sys_send_now(e->peer[to], &m, sizeof m) >= 0;
}

// says says all that is due. It gives false if something could not be said yet.
bool says(Member *e, Learn *l) {
  LearnMessage m;
  u32 to;
  for (u32 i = 0; i < classes_of(l); i++) {
    LearnClass &c = l->of[i];
    if (c.tried && !c.l.timed) learner_timed(&c.l);
    while (learner_next(&c.l, c.ns, &m)) {
      m.of = i, m.options = (u8)c.options;
      if (!send(e, 0, m)) return false;
      learner_said(&c.l, m.what);
    }
  }
  for (u32 i = 0; i < MOST_CLASSES && !e->rank; i++)
    while (judge_next(&l->judge[i], e->ranks, &to, &m)) {
      m.of = i;
      if (!send(e, to, m)) return false;
      judge_said(&l->judge[i], e->ranks, to);
    }
  return true;
}

bool look(Member *e) {
  Learn *l = e->learn;
  if (!l) return false;
  peers_lock();
  const bool all = says(e, l);
  peers_unlock();
  return !all;
}

bool look_all() {
  bool again = false;
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++) {
    const Comm comm = e->comm;
    if (!comm || !e->learn || !member_hold(e, comm)) continue;
    again |= look(e);  // in any state: the others wait for an answer
    member_leave(e);
  }
  return again;
}

}  // namespace

bool learn_look() {
  bool again;
  do moved = false, again = look_all();
  while (moved);
  return again;
}

bool learn_hears(Member *e, u32 rank, const void *message, u64 bytes) {
  LearnMessage m;
  if (bytes != sizeof m) return false;
  memcpy((void *)&m, message, sizeof m);
  const bool good = learn_says(m.what) && m.of < MOST_CLASSES && m.choice < LEARN_OPTIONS &&
                    (m.what != LEARN_TIMES || (m.options > 1 && m.options <= LEARN_OPTIONS));
  if (good && e->learn) takes(e, rank, m);
  return good;
}

void learn_gone(Member *e, u32 rank) {
  Learn *l = e->learn;
  if (!l) return;
  for (u32 i = 0; !rank && i < classes_of(l); i++) learner_alone(&l->of[i].l);
  for (u32 i = 0; !e->rank && i < MOST_CLASSES; i++) judge_gone(&l->judge[i], e->ranks, rank);
}

void learn_leaves(Member *e) {
  for (u32 r = 0; e->learn && r < e->ranks; r++)
    if (r != e->rank && in_process(e, r))
      if (Member *other = beside(e, r)) learn_gone(other, e->rank);
}
