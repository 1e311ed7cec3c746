// What runs calls that no measured rule is for, and that have candidates. NCCL and the candidates take turns in the
// first eager calls of a class; then NCCL runs the calls until the ranks have agreed on the fastest. All of it depends
// only on the calls and their order, which are the same on all ranks, and on words of rank 0.
#include "learn.h"

#include <stdlib.h>
#include <string.h>

namespace {

const char TRIED[] = "a trial, to learn what is fastest",
           KEPT[] = "no candidate was faster in trials, or the ranks have not agreed yet",
           UNKNOWN[] = "not learned yet",
           LITTLE[] = "captured, and a candidate was faster by too little",
           FULL[] = "the communicator has too many classes of calls to learn";
enum { FREE, TAKEN, PENDING };
enum { OVERHEAD_NS = 5000 };  // of eager launches, that replays of graphs do not have

// keeps_bits says whether the order in which operands are reduced changes no result.
bool keeps_bits(const Call &c, u32 ranks) {
  return !order_matters(c.kind, c.dtype, c.redop, ranks);
}

u8 log_of(u64 bytes) {
  u8 n = 0;
  while (n < 63 && (1ull << n) < bytes) n++;
  return n;
}

LearnKey key_of(const Member *e, const Op &op) {
  LearnKey k = {};
  const Call &c = op.call;
  k.kind = (u8)c.kind, k.root = (u8)c.root, k.windows = c.windows, k.redop = (u8)c.redop;
  k.type = kind_reduces(c.kind) ? (u8)c.dtype : (u8)(128 + size_of(dtype_of(op.type)));
  k.log = log_of(bytes_of(op, e->ranks));
  return k;
}

// know has a class be decided by what rank 0 knew when the ranks agreed. That rule may be none of its candidates.
void know(const Member *e, const Learn *l, LearnClass *c) {
  for (u32 i = 0; i < l->known.count; i++) {
    const Learned &is = l->known.of[i];
    if (!same(is.key, c->key)) continue;
    u32 choice = 0;
    while (choice + 1 < c->options && c->candidate[choice] != is.rule) choice++;
    const bool nccl = is.rule == LEARNED_NCCL;
    if (!nccl && choice + 1 == c->options) return;
    c->l.choice = nccl ? 0 : choice + 1, c->l.over = c->reported = true, c->tried = 1;
    c->l.took[0] = is.took[0], c->l.took[1] = is.took[1];
    c->l.gate.word = nccl ? (u64)PHASE_NCCL : (u64)PHASE_WORD;  // from the first call on
    c->made = c->options * LEARN_ROUNDS;
    return row_chosen(c->row, nccl ? "NCCL" : team_title(e->team, is.rule), is.took);
  }
}

// class_of finds the class of a call, or adds it. It gives null if the call cannot be learned.
LearnClass *class_of(Member *e, Learn *l, Op *op) {
  const LearnKey key = key_of(e, *op);
  for (u32 i = 0; i < l->count; i++)
    if (same(l->of[i].key, key)) return &l->of[i];
  if (!l->sums && !keeps_bits(op->call, e->ranks)) return nullptr;
  u32 rules[LEARN_CANDIDATES];
  const u32 candidates = team_candidates(e->team, &op->call, rules, LEARN_CANDIDATES);
  if (!candidates) return nullptr;
  if (l->count == MOST_CLASSES) return op->choice.why = FULL, nullptr;
  LearnClass *c = &l->of[l->count];
  c->key = key, c->fn = op->fn, c->options = 1 + candidates;
  memcpy(c->candidate, rules, sizeof rules);
  c->row = row_of(e, op->fn, op->type, key);
  know(e, l, c);
  __atomic_store_n(&l->count, l->count + 1, __ATOMIC_RELEASE);
  return c;
}

// await waits for the word, which is on its way.
Turn await(const Member *e, const LearnClass *c, u64 call) {
  Turn t;
  Slow slow;
  for (u64 pause = 2000; (t = gate_turn(&c->l.gate, call)) == TURN_WAIT && e->state == STATE_TEAM && !e->dead;
       pause = pause < 200000 ? pause * 2 : pause) {
    if (slow.now()) info("a call waits until the ranks of its communicator have agreed on what they learned");
    nap(pause);
  }
  return t;
}

// gains says whether a captured call takes a choice. Eager calls of NCCL's may only have been slower to launch.
bool gains(const u32 *took) {
  const u32 less = took[0] > took[1] ? took[0] - took[1] : 0;
  return less > OVERHEAD_NS || less > took[0] / 10;
}

void take(Member *e, const LearnClass *c, Op *op) {
  if (op->captured && !gains(c->l.took)) return (void)(op->choice.why = LITTLE);
  const Choice is = team_take(e->team, c->candidate[c->l.choice - 1], &op->call);
  op->choice.rule = is.rule;
  op->choice.why = is.why;
}

// try_next makes a call a trial. A candidate that is not for this call leaves its trial to NCCL, without a time.
void try_next(Member *e, LearnClass *c, Op *op) {
  const u32 option = option_of(op->trial = c->made++, c->options);
  const Choice is = option ? team_take(e->team, c->candidate[option - 1], &op->call) : Choice{nullptr, TRIED};
  op->choice.rule = is.rule, op->choice.why = is.rule ? nullptr : TRIED;
  if (is.rule || !option) op->learns = c;
  row_trial(c->row, is.rule != nullptr);
}

bool take_slot(LearnSlot *s, int from) {
  const bool is = s->state == from;
  if (is) s->state = TAKEN;
  return is;
}

// read notes the time of a slot that the caller has, if its events are over. The GPU of e is current.
bool read(LearnSlot *s) {
  double seconds = 0;
  if (!gpu_happened(s->end)) return s->state = PENDING, false;
  const bool good = gpu_between(s->begin, s->end, &seconds) && seconds < 4;
  if (good) s->of->ns[s->trial] = seconds > 1e-9 ? (u32)(seconds * 1e9) : 1;
  s->of->pending--;
  return true;
}

// The thread of the calls reads all times: the thread that polls sockets makes no call of the driver, which could wait
// for a call of a peer that waits for an answer of that thread. free_slot takes a slot. If all are in use, it looks at
// some whether they are over.
LearnSlot *free_slot(Learn *l) {
  for (u32 n = 0; n < LEARN_SLOTS; n++)
    if (LearnSlot *s = &l->slot[(l->next + n) % LEARN_SLOTS]; take_slot(s, FREE)) return l->next += n + 1, s;
  for (u32 n = 0; n < 4; n++)
    if (LearnSlot *s = &l->slot[(l->next + n) % LEARN_SLOTS]; take_slot(s, PENDING) && read(s)) return s;
  return nullptr;
}

// timed reads the times of a class, and says whether all are there.
bool timed(const Member *e, Learn *l, const LearnClass *c) {
  void *before;
  if (!c->pending || gpu_enter(e->device, &before)) return !c->pending;
  for (LearnSlot &s : l->slot)
    if (s.of == c && take_slot(&s, PENDING) && read(&s)) s.state = FREE;
  gpu_leave(before);
  return !c->pending;
}

}  // namespace

const char *learn_setting() {
  const char *is = getenv("MSCCLC_LEARN"), *repeats = getenv("CUBLAS_WORKSPACE_CONFIG");
  if ((is && !strcmp(is, "0")) || (repeats && *repeats)) return "0";
  return is && !strcmp(is, "all") && !invariant_bits() ? "all" : "1";
}

bool learn_serves(const Member *e, const Team *t, const Call &c) {
  u32 rule;
  const char *is = learn_setting();
  return !alone() && *is != '0' && (*is == 'a' || keeps_bits(c, e->ranks)) && team_candidates(t, &c, &rule, 1);
}

bool learn_begin(Member *e, const Team *t, u32 nodes) {
  if (alone() || nodes > 1 || !team_has_candidates(t)) return true;
  const char *repeats = getenv("CUBLAS_WORKSPACE_CONFIG"), *is = getenv("MSCCLC_LEARN");
  if (repeats && *repeats && !(is && !strcmp(is, "0")))
    info("rank %u of %u does not learn which candidates are faster, since CUBLAS_WORKSPACE_CONFIG is set", e->rank,
         e->ranks);
  if (*learn_setting() == '0') return true;
  Learn *l = (Learn *)calloc(1, sizeof(Learn));
  if (!l) return false;
  l->sums = *learn_setting() == 'a';
  if (!e->rank) learned_name(e, t, l->name, sizeof l->name);
  if (!e->rank) l->known.count = learned_read(l->name, l->known.of, MOST_CLASSES);
  e->learn = l;
  return true;
}

u32 learn_tells(const Member *e, const void **known) {
  const Learn *l = e->learn;
  *known = l ? &l->known : nullptr;
  return l ? sizeof l->known : 0;
}

void learn_known(Member *e, const void *known) {
  Learn *l = e->learn;
  memcpy((void *)&l->known, known, sizeof l->known);
  if (l->known.count > MOST_CLASSES) l->known.count = 0;
}

// learn_end is for a communicator that no other thread uses.
void learn_end(Member *e) {
  void *before;
  peers_lock();
  Learn *l = e->learn;
  e->learn = nullptr;
  peers_unlock();
  if (!l) return;
  if (!e->rank) learned_await();
  if (!gpu_enter(e->device, &before)) {
    for (LearnSlot &s : l->slot) gpu_event_end(s.begin), gpu_event_end(s.end);
    gpu_leave(before);
  }
  free(l);
}

void learn_choose(Member *e, Op *op) {
  Learn *l = e->learn;
  op->learns = nullptr;
  if (!l || op->choice.rule || !op->choice.open || op->call.ctas) return;
  LearnClass *c = class_of(e, l, op);
  if (!c) return;
  const u64 call = gate_call(&c->l.gate);
  const Turn turn = await(e, c, call);
  if (turn == TURN_PROGRAM) return take(e, c, op);
  const bool all = c->made == c->options * LEARN_ROUNDS;
  op->choice.why = all ? KEPT : UNKNOWN;
  if (all && !c->tried && timed(e, l, c)) c->tried = 1, peers_wake();
  if (!op->captured && op->call.group == 1 && !all) try_next(e, c, op);
}

LearnSlot *learn_start(Member *e, const Op &op) {
  Learn *l = e->learn;
  void *before;
  if (!l || gpu_enter(e->device, &before)) return nullptr;
  LearnSlot *s = free_slot(l);
  const bool good = s && (s->begin || !gpu_event(&s->begin)) && (s->end || !gpu_event(&s->end)) &&
                    !gpu_record(s->begin, op.stream);
  gpu_leave(before);
  if (s && !good) s->state = FREE;
  if (!good) return nullptr;
  s->of = op.learns, s->trial = op.trial, s->stream = op.stream;
  s->of->pending++;
  return s;
}

void learn_stop(Member *e, LearnSlot *s) {
  void *before;
  int code = 1;
  if (!gpu_enter(e->device, &before)) code = gpu_record(s->end, s->stream), gpu_leave(before);
  if (code) s->of->pending--;
  s->state = code ? FREE : PENDING;
}
