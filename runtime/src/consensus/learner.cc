// What ranks say to each other to learn which program is fastest, and what follows from it.
#include "learner.h"

namespace {

u32 bit(u32 rank) { return 1u << rank; }
u32 all_of(u32 ranks) { return bit(ranks) - 1; }

// median_of is the median of the times of an option, or 0: it has too few. Of an even number it is the larger one of
// the two in the middle.
u32 median_of(const u32 *ns, u32 options, u32 option) {
  u32 sorted[LEARN_TRIALS], count = 0;
  for (u32 i = 0; i < options * LEARN_ROUNDS; i++) {
    if (option_of(i, options) != option || !ns[i]) continue;
    u32 at = count++;
    for (; at && sorted[at - 1] > ns[i]; at--) sorted[at] = sorted[at - 1];
    sorted[at] = ns[i];
  }
  return count < LEARN_ENOUGH ? 0 : sorted[count / 2];
}

// decide finds the fastest option. A candidate must take 2 % less than NCCL, so that noise alone chooses none.
void decide(Judge *j, u32 options) {
  for (u32 k = 0; k < options; k++) j->median[k] = median_of(j->ns, options, k);
  j->took[0] = j->took[1] = j->median[0];
  for (u32 k = 1; k < options && j->took[0]; k++)
    if (j->median[k] && j->median[k] < j->took[0] - j->took[0] / 50 && j->median[k] < j->took[1])
      j->choice = k, j->took[1] = j->median[k];
}

void enter(Judge *j, JudgeStage to) { j->stage = to, j->notified = 0; }

// proceed goes on where all have said what is due.
void proceed(Judge *j, u32 ranks) {
  if (j->stage == JUDGE_PROPOSES && j->promised == all_of(ranks)) enter(j, JUDGE_WORD);
}

}  // namespace

void learner_timed(Learner *l) { l->timed = true; }

void learner_hears(Learner *l, const LearnMessage &m, u64 slack) {
  if (l->over) return;
  if (m.what == LEARN_PROPOSES && !l->promised) {
    l->promised = true;
    gate_promise(&l->gate, slack);
    return;
  }
  if (m.what != LEARN_WORD && m.what != LEARN_NEVER) return;
  l->over = true;
  if (m.what == LEARN_NEVER) return gate_outcome(&l->gate, 0, nullptr, 0);
  l->took[0] = m.took[0], l->took[1] = m.took[1];
  __atomic_store_n(&l->choice, (u32)m.choice, __ATOMIC_RELEASE);
  gate_outcome(&l->gate, 1, &m.number, 1);
}

void learner_alone(Learner *l) {
  if (l->over) return;
  l->over = true;
  gate_outcome(&l->gate, 0, nullptr, 0);
}

bool learner_next(const Learner *l, const u32 *ns, LearnMessage *m) {
  *m = LearnMessage{};
  if (l->over) return false;
  if (l->timed && !l->said_times) {
    m->what = LEARN_TIMES;
    for (u32 i = 0; i < LEARN_TRIALS; i++) m->ns[i] = ns[i];
    return true;
  }
  m->what = LEARN_PROMISES, m->number = l->gate.limit;
  return l->promised && !l->said_promise;
}

void learner_said(Learner *l, char what) { (what == LEARN_TIMES ? l->said_times : l->said_promise) = true; }

void judge_hears(Judge *j, u32 ranks, u32 rank, const LearnMessage &m) {
  if (m.what == LEARN_TIMES && j->stage == JUDGE_GATHERS && !(j->timed & bit(rank))) {
    for (u32 i = 0; i < LEARN_TRIALS; i++)
      if (m.ns[i] && (!j->ns[i] || m.ns[i] < j->ns[i])) j->ns[i] = m.ns[i];
    j->timed |= bit(rank);
    if (j->timed != all_of(ranks)) return;
    decide(j, m.options);
    return enter(j, j->choice ? JUDGE_PROPOSES : JUDGE_DONE);
  }
  if (m.what != LEARN_PROMISES || j->stage != JUDGE_PROPOSES || j->promised & bit(rank)) return;
  j->promised |= bit(rank);
  if (m.number > j->most) j->most = m.number;
  proceed(j, ranks);
}

void judge_gone(Judge *j, u32 ranks, u32 rank) {
  j->gone |= bit(rank);
  if (j->stage == JUDGE_GATHERS) enter(j, JUDGE_DONE);  // it would not promise
  if (j->stage == JUDGE_PROPOSES && !(j->promised & bit(rank))) enter(j, JUDGE_NEVER);
  proceed(j, ranks);
}

// Rank 0 is the last: what it says to itself holds only once all others have been notified.
bool judge_next(const Judge *j, u32 ranks, u32 *to, LearnMessage *m) {
  *m = LearnMessage{};
  if (j->stage == JUDGE_GATHERS || j->stage == JUDGE_DONE) return false;
  m->what = j->stage == JUDGE_PROPOSES ? LEARN_PROPOSES : j->stage == JUDGE_WORD ? LEARN_WORD : LEARN_NEVER;
  m->choice = (u8)j->choice, m->number = j->most;
  m->took[0] = j->took[0], m->took[1] = j->took[1];
  for (u32 r = ranks; r-- > 0;)
    if (!((j->notified | j->gone) & bit(r))) return *to = r, true;
  return false;
}

void judge_said(Judge *j, u32 ranks, u32 to) {
  j->notified |= bit(to);
  if (j->stage != JUDGE_PROPOSES && ((j->notified | j->gone) & all_of(ranks)) == all_of(ranks)) j->stage = JUDGE_DONE;
}
