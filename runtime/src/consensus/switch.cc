// The gate between NCCL's calls of a communicator and those of its programs.
#include "switch.h"

namespace {

enum { PHASES = 4 };

// enter changes the phase, whatever calls come beside it.
void enter(Gate *g, Phase to) {
  u64 w = __atomic_load_n(&g->word, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&g->word, &w, w / PHASES * PHASES + to, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
  }
}

}  // namespace

u64 gate_call(Gate *g) { return __atomic_fetch_add(&g->word, (u64)PHASES, __ATOMIC_ACQ_REL) / PHASES + 1; }

// A call that was counted before the promise is not above it, whenever it asks.
Turn gate_turn(const Gate *g, u64 call) {
  switch (__atomic_load_n(&g->word, __ATOMIC_ACQUIRE) % PHASES) {
    case PHASE_PROMISED: return call > g->limit ? TURN_WAIT : TURN_NCCL;
    case PHASE_WORD: return call >= g->from ? TURN_PROGRAM : TURN_ORDERED;
    default: return TURN_NCCL;
  }
}

// gate_promise promises anew where a call came between, so that the promise is never below the calls that were made.
u64 gate_promise(Gate *g, u64 slack) {
  u64 w = __atomic_load_n(&g->word, __ATOMIC_ACQUIRE);
  do g->limit = w / PHASES + slack;
  while (!__atomic_compare_exchange_n(&g->word, &w, w / PHASES * PHASES + PHASE_PROMISED, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE));
  return g->limit;
}

void gate_outcome(Gate *g, int step, const u64 *promises, u32 ranks) {
  u64 most = 0;
  if (step < 0) return;
  if (!step) return enter(g, PHASE_NCCL);
  for (u32 r = 0; r < ranks; r++)
    if (promises[r] > most) most = promises[r];
  g->from = most + 2;
  enter(g, PHASE_WORD);
}
