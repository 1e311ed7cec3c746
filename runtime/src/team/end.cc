// This file is how teams fail and end. Statuses are read and written on a stream of the team's own, beside what runs.
// Words of the host ask launches to leave, if the driver pins memory: then a thread that waits for room in a
// full queue of launches, and holds the driver's lock, keeps nobody from telling them.
#include "team.h"

#include <stddef.h>
#include <string.h>

namespace {

const u64 LOOK_AGAIN = 1000000, LOOK_OLD = 2000000, SAY_WHERE = 50000000;  // ns
const u64 LEAVE_AFTER = 10000000000, LEAVE_AGAIN = 1000000000;
enum { DEINITIALIZED = 4 };

// programs_of is how many statuses there are: none before the team has joined.
u32 programs_of(const Team *t) { return t->own ? t->set.row->programs : 0; }
u64 status_at(const Team *t, u32 program) { return t->seat[program].status; }

struct Lock {
  pthread_mutex_t *mu;
  explicit Lock(pthread_mutex_t *m) : mu(m) { pthread_mutex_lock(mu); }
  ~Lock() { pthread_mutex_unlock(mu); }
};

// read brings the statuses of all programs, which lie one after another.
int read(Team *t) {
  if (!programs_of(t)) return 0;
  TRY(t->gpu->f->get(t->statuses, status_at(t, 0), programs_of(t) * sizeof(abi_status), t->side));
  return t->gpu->f->sync(t->side);
}

int cancel(Team *t) {
  static const u32 cancelled = STATUS_CANCELLED;
  for (u32 i = 0; i < programs_of(t); i++)
    if (t->statuses[i].code == STATUS_OK)
      TRY(t->gpu->f->put(status_at(t, i) + offsetof(abi_status, code), &cancelled, sizeof cancelled, t->side));
  return t->gpu->f->sync(t->side);
}

// tell takes the status of a program whose launch timed out.
void tell(Team *t, u32 program) {
  const abi_status s = t->statuses[program];
  const Program &p = t->set.program[program];
  const bundle_part &part = p.part[t->rank];
  abi_one_state state = {s.tile, 0};
  const u32 first = part.blocks ? blocks_of(p, t->rank)[0].number : 0, row = s.block - first;
  if (row < part.blocks && s.replica < p.row->replicas) {
    const u64 at = t->seat[program].states + ((u64)row * p.row->replicas + s.replica) * sizeof state;
    if (t->gpu->f->get(&state, at, sizeof state, t->side) == 0) t->gpu->f->sync(t->side);
  }
  tell_failure(t, program, s, state.iterations, state.launches, &t->failure);
  exits_explain(t, program);
  __atomic_store_n(&t->failed, true, __ATOMIC_RELEASE);
}

// prepend puts what the network has failed with before what a launch waited for.
void prepend(const Why &net, Why *step) {
  const Why before = *step;
  say(step, before.text[0] ? "%.250s; %.250s" : "%.250s", net.text, before.text);
}

// look_at notes a failure that statuses tell of.
void look_at(Team *t) {
  const int code = read(t);
  if (code == DEINITIALIZED) return;  // the process ends
  if (code) {
    say(&t->failure, "rank %u: the GPU: %s", t->rank, driver_text(code));
    __atomic_store_n(&t->failed, true, __ATOMIC_RELEASE);
    return;
  }
  for (u32 i = 0; i < programs_of(t) && !t->failed; i++)
    if (t->statuses[i].code == STATUS_TIMEOUT) tell(t, i);
  if (t->failed) hurry(t, 0, programs_of(t));
}

// look notes a failure, if there is one and none was noted before. Who failed first has the others' launches leave.
// Where the network has failed, launches that wait say where they were first.
void look(Team *t) {
  Why net = {};
  if (t->failed) return;
  const bool lost = net_lost(t, &net);
  if (lost && hurry(t, 0, programs_of(t)) == DEINITIALIZED) return;
  for (const u64 begin = now_of_engine();; nap_of_engine(LOOK_AGAIN)) {
    look_at(t);
    if (t->failed || !lost || now_of_engine() - begin > SAY_WHERE) break;
  }
  if (!lost) return;
  prepend(net, &t->failure);
  __atomic_store_n(&t->failed, true, __ATOMIC_RELEASE);
}

}  // namespace

int hurry(Team *t, u32 first, u32 end) {
  static const u64 soon = 1;
  u64 *leave = (u64 *)t->leave.at;
  for (u32 i = first; i < end; i++)
    if (leave) __atomic_store_n(leave + i, soon, __ATOMIC_RELEASE);
    else TRY(t->gpu->f->put(status_at(t, i) + offsetof(abi_status, limit_ns), &soon, sizeof soon, t->side));
  return leave ? 0 : t->gpu->f->sync(t->side);
}

void team_unseen(Team *t, int code) {
  Lock lock(&t->mu);
  if (t->failed) return;
  say(&t->failure, "rank %u: the GPU: no event could be recorded after a launch: %s", t->rank, driver_text(code));
  __atomic_store_n(&t->failed, true, __ATOMIC_RELEASE);
  hurry(t, 0, programs_of(t));
}

// A look takes the driver some 10 us and its locks, beside launches. So who polls without a pause gets what was seen
// at most LOOK_OLD ago.
bool team_failed(Team *t, Why *why) {
  if (!alive()) return say(why, "%s", driver_text(ENGINE_FORKED)), true;
  const u64 at = now_of_engine();
  if (at - __atomic_load_n(&t->looked, __ATOMIC_RELAXED) < LOOK_OLD && !__atomic_load_n(&t->failed, __ATOMIC_ACQUIRE))
    return false;
  __atomic_store_n(&t->looked, at, __ATOMIC_RELAXED);
  Current current(t->gpu);
  Lock lock(&t->mu);
  if (!t->failed && current.code) {
    if (current.code == DEINITIALIZED) return false;
    say(&t->failure, "rank %u: the GPU: %s", t->rank, driver_text(current.code));
    __atomic_store_n(&t->failed, true, __ATOMIC_RELEASE);
  }
  Relaxed relaxed(t->gpu);
  look(t);
  if (t->failed && why) *why = t->failure;
  return t->failed;
}

// ask_to_leave has all launches leave, or gives false where the driver does not let it.
static bool ask_to_leave(Team *t) {
  Current current(t->gpu);
  if (current.code) return false;
  Lock lock(&t->mu);
  Relaxed relaxed(t->gpu);
  if (hurry(t, 0, programs_of(t))) return false;
  // What waits says where it is, and leaves. What does not wait yet is asked to leave when it does. Whether a graph
  // runs is not known.
  const u64 begin = now_of_engine();
  const bool graphs = __atomic_load_n(&t->order->captured, __ATOMIC_ACQUIRE) != 0;
  while (!t->failed && now_of_engine() - begin < SAY_WHERE && (!order_idle(t, LOOK_AGAIN) || graphs)) {
    nap_of_engine(LOOK_AGAIN);
    look(t);
  }
  look(t);
  return read(t) || !cancel(t);
}

// A launch that is not asked waits for ever. A GPU with a fault runs nothing.
void team_abort(Team *t) {
  if (!alive()) return;
  __atomic_store_n(&t->aborted, true, __ATOMIC_RELEASE);
  if (t->leave.at) hurry(t, 0, programs_of(t));  // before all that may wait for the driver
  sure([&] {
    if (ask_to_leave(t)) return 0;
    return nap_of_engine(LOOK_AGAIN), 1;
  });
}

void team_end(Team *t, bool peers_may_run) {
  if (!t || !alive()) return;
  bool over = false;
  {
    Current current(t->gpu);
    Relaxed relaxed(t->gpu);
    over = current.code || order_idle(t, LEAVE_AFTER);
  }
  if (!over) {
    for (Team *o = t->order->teams; o; o = o->beside) team_abort(o);
    Current current(t->gpu);
    Relaxed relaxed(t->gpu);
    over = current.code || order_idle(t, LEAVE_AGAIN);
  }
  if (over) team_free(t, peers_may_run);  // else launches still use all of it
}
