// Communicators that NCCL has made, and the threads in which their ranks agree.
#include "agree.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

namespace {

bool facts(Member *e) {
  const Nccl *n = nccl();
  int rank = -1, ranks = 0;
  const Comm c = e->comm;  // null where another thread ends it; that waits until this agreement has ended
  const Inside inside;
  if (!c || n->CommUserRank(c, &rank) || n->CommCount(c, &ranks) || n->CommCuDevice(c, &e->device)) return false;
  e->rank = rank < 0 ? 0 : (u32)rank, e->ranks = (u32)ranks;  // those of a split are known once all have split
  return true;
}

void pending_leave(Pending *p) {
  if (p && !__atomic_sub_fetch(&p->held, 1, __ATOMIC_ACQ_REL)) free(p);
}

// ended frees what a communicator has for its agreement.
void ended(Side *s) {
  Member *e = s->e;
  Pending *p = s->pending;
  init_forget(&s->init);
  free(s);
  if (e) e->agreeing = 0;
  if (p) p->over = 1;
  pending_leave(p);
  if (e) member_leave(e);
}

// made_by_nccl waits until NCCL has made a communicator that does not block, and says whether it has.
bool made_by_nccl(Side *s) {
  Member *e = s->e;
  for (u64 pause = 100000;; pause = pause < 2000000 ? pause * 2 : pause) {
    Result state = SUCCESS;
    const Comm c = e->comm;
    if (c && nccl_state(c, true, &state)) state = INTERNAL_ERROR;
    if (e->state != STATE_NEW || !c) return say(&s->why, "the communicator was aborted"), false;
    if (state == SUCCESS) return true;
    if (state != IN_PROGRESS) return say(&s->why, "NCCL has error %d", state), false;
    nap(pause);
  }
}

// place has a rank of a split hear its place and where its communicator meets, over the line of the parent. All ranks
// of the parent take part.
bool place(Side *s) {
  Init *i = &s->init;
  const Wait wait = {s->e, STATE_NEW, "the other ranks of a split or a shrink", wait_limit(), &s->pending->soon};
  Answer a;
  if (!i->parent) return say(&s->why, "the ranks of the communicator that it was made of have not met"), false;
  const bool open = line_turn(i->parent, i->ticket, wait);
  i->waits = false;
  const bool offers = open && s->e && hub_open(nullptr, i->parent, meet_limit(), &i->ask.tail, &s->why);
  Event event = EVENT_LOST;
  if (open) line_say(i->parent, ROUND_SPLIT, i->without, i->without_count, true, &i->ask, sizeof i->ask);
  if (open) event = line_answer(i->parent, wait, &a, &s->why);
  if (event == EVENT_ENDED) line_shut(i->parent);
  line_next(i->parent);
  Placed p = {};
  const bool came = later_step(false, event) > 0 && a.bytes == sizeof p;
  if (came) memcpy(&p, a.body, sizeof p);
  if (open) free(a.body);
  if (offers && memcmp(p.tail.secret, i->ask.tail.secret, sizeof p.tail.secret)) hub_forget(i->ask.tail);
  i->tail = p.tail, i->has_tail = came && tail_good(p.tail);
  if (came && s->e && alone()) alone_placed(s->e->comm, p.rank, p.ranks);
  if (!came && !open) say(&s->why, "the connection of the communicator that it was made of is lost");
  return came;
}

// meet is the agreement of a communicator.
void meet(Side *s) {
  Member *e = s->e;
  Init *i = &s->init;
  if (!made_by_nccl(s)) return;
  if (i->of_one && alone()) alone_placed(e->comm, 0, 1);
  const bool placed = i->nccl || i->of_one || !i->of || place(s);
  if (!facts(e)) return say(&s->why, "NCCL does not know the communicator");
  if (placed && e->ranks < 2) i->nccl = "bundles have no such number of ranks";
  if (i->has_tail) e->family = tail_family(i->tail);
  if (i->nccl) return say(&s->why, "%s", i->nccl);
  if (placed && !i->has_tail && i->of) say(&s->why, "the process of its first rank cannot have the ranks meet");
  else if (placed && !i->has_tail)
    say(&s->why, "its ncclUniqueId does not say where the ranks meet: %s", getenv("NCCL_COMM_ID")
        ? "NCCL_COMM_ID is set"
        : "the process that made it has no such library, or no descriptor for the meeting (ulimit -n)");
  if (i->has_tail) agree_ranks(s);
}

void *agree(void *side) {
  Side *s = (Side *)side;
  const Where where(s->e);
  if (s->e) meet(s), agree_ends(s);
  else place(s);
  ended(s);
  return nullptr;
}

// begin_agreement starts the agreement of a communicator, in a thread of its own. It gives what the call may wait for,
// and holds, or null.
Pending *begin_agreement(Member *e, Init *i) {
  Side *s = (Side *)calloc(1, sizeof(Side));
  Pending *p = s ? (Pending *)calloc(1, sizeof(Pending)) : nullptr;
  if (!p && e) keep_nccl(e, "no memory");
  if (!p) return init_forget(i), free(s), nullptr;
  p->held = 2;
  s->e = e, s->init = *i, s->pending = p, s->board = -1, s->stage = STAGE_NCCL;
  if (e) s->line = &e->line, s->state = STATE_NEW, memcpy(e->name, i->name, sizeof e->name);
  i->parent = nullptr, i->without = nullptr;  // they are the side's now
  if (e) {
    int device = 0;
    s->foreign = (e->blocking ? !facts(e) : gpu_current(&device) != 0) ? false
                 : gpu_foreign(e->blocking ? e->device : device);
    if (!e->ctas) e->ctas = ctas_of(nullptr);
    member_stay(e);
    e->agreeing = 1;
  }
  fork_watch();
  if (thread_begin(agree, s)) return p;
  say(&s->why, "the system gives no thread");
  if (e) agree_ends(s);
  return ended(s), p;
}

// An Awaited is an agreement that a call waits for. The call is a user of the member, which is null where this rank has
// no communicator of a split.
struct Awaited {
  Member *e;
  Pending *pending;
};

}  // namespace

// NCCL ends what a communicator has begun in the thread that asks, and two at once would both do so.
Result nccl_state(Comm comm, bool one_at_a_time, Result *state) {
  static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
  const Inside inside;
  if (one_at_a_time) pthread_mutex_lock(&mu);
  const Result r = nccl()->CommGetAsyncError(comm, state);
  if (one_at_a_time) pthread_mutex_unlock(&mu);
  return r;
}

// One that is gone stays gone, so that its memory is freed.
void keep_nccl(Member *e, const char *why) {
  e->why = why;
  for (int is = e->state; is != STATE_GONE && !change(e, &is, STATE_NCCL);) {
  }
}

void part(Member *e) {
  for (Init *i = __atomic_exchange_n(&e->splits, nullptr, __ATOMIC_ACQ_REL), *next; i; i = next) {
    next = i->next;
    init_forget(i), free(i);
  }
  Tail second;
  memcpy((void *)&second, e->second, sizeof second);
  if (!e->rank && tail_good(second)) hub_forget(second);
  memset(e->second, 0, sizeof e->second);
  Line *line = e->line;
  e->line = nullptr;
  if (line) line_leave(line, true);
}

// wait_made waits for the agreements of communicators that block, without NCCL as long as they take. Else it waits no
// longer than the ranks have to come, and 1 s for one that a rank makes in a group with others: NCCL ends that rank's
// group only once the others have made all of its communicators, for which this thread may have to go on.
static Result wait_made(const Awaited *list, u32 count) {
  Result r = SUCCESS;
  Slow slow;
  const u64 begun = now_ns(), limit = alone() ? FOREVER : meet_limit() + SECOND;  // the word comes soon after it
  const u64 short_limit = alone() ? FOREVER : SECOND;
  for (u32 i = 0; i < count; i++) {
    const Pending *p = list[i].pending;
    for (; p && !p->over && now_ns() - begun < (p->soon ? short_limit : limit); nap(50000))
      if (slow.now()) info("a call waits until the ranks of its communicator have agreed who runs calls");
    Member *e = list[i].e;
    if (!r && e && e->state == STATE_FAILED) r = e->error, member_failed(e, FAILED_AGREEMENT);
  }
  return r;
}

// later keeps a split that NCCL has not made yet with its parent.
static void later(Init *i) {
  Member *e = member_peek(i->of);
  Init *kept = e ? (Init *)malloc(sizeof(Init)) : nullptr;
  if (!kept) init_forget(i);
  else {
    *kept = *i, kept->next = __atomic_load_n(&e->splits, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&e->splits, &kept->next, kept, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
  }
  if (e) member_leave(e);
}

// add registers a communicator, and begins its agreement. It says whether the caller is to wait for it.
static bool add(Init *i, bool among, Awaited *to) {
  const bool blocking = i->blocking;
  *to = Awaited{nullptr, nullptr};
  if (i->at && !*i->at) return later(i), false;
  Member *e = i->at ? member_add(*i->at, i->ctas, blocking) : nullptr;
  if (i->at && !e) return init_forget(i), false;
  if (e) e->among = among;
  *to = Awaited{e, begin_agreement(e, i)};
  return blocking;
}

static void unwait(const Awaited &a) {
  pending_leave(a.pending);
  if (a.e) member_leave(a.e);
}

Result made(Init *list, u32 count) {
  Awaited *fresh = (Awaited *)calloc(count ? count : 1, sizeof(Awaited)), one;
  u32 n = 0;
  for (u32 i = 0; i < count; i++) {
    const bool waits = add(&list[i], count > 1, &one);
    if (waits && fresh) fresh[n++] = one;
    else unwait(one);
  }
  reap();
  const Result r = wait_made(fresh, n);
  for (u32 i = 0; i < n; i++) unwait(fresh[i]);
  free(fresh);
  return r;
}

// meets_at is where the ranks of a communicator meet, or those of its parent. It gives null where they do not.
static const Tail *meets_at(const Init &i) { return i.parent ? &line_tail(i.parent) : i.has_tail ? &i.tail : nullptr; }

// several says whether a thread's group makes more than one communicator. It may make several ranks of one.
static bool several(const Init *list, u32 count) {
  for (u32 i = 1; i < count; i++) {
    const Tail *a = meets_at(list[0]), *b = meets_at(list[i]);
    if (!a || !b || memcmp(a, b, sizeof *a)) return true;
    for (u32 k = 0; k < i; k++)
      if (list[i].of && list[i].of == list[k].of) return true;
  }
  return false;
}

// Tails are where communicators of a group meet.
struct Tails {
  u32 count;
  Tail at[1];
};

static void *tell_soon(void *of) {
  Tails *t = (Tails *)of;
  for (u32 i = 0; i < t->count; i++) line_soon(t->at[i]);
  return free(t), nullptr;
}

void inits_soon() {
  if (alone() || !several(own.inits, own.init_count)) return;
  Tails *t = (Tails *)malloc(sizeof(Tails) + own.init_count * sizeof(Tail));
  if (!t) return;
  t->count = 0;
  for (u32 i = 0; i < own.init_count; i++)
    if (const Tail *at = meets_at(own.inits[i])) t->at[t->count++] = *at;
  if (!t->count || !thread_begin(tell_soon, t)) free(t);
}

void splits_made(Member *e) {
  if (!__atomic_load_n(&e->splits, __ATOMIC_RELAXED)) return;
  for (Init *i = __atomic_exchange_n(&e->splits, nullptr, __ATOMIC_ACQ_REL), *next; i; i = next) {
    next = i->next;
    made(i, 1);
    free(i);
  }
}

void init_forget(Init *i) {
  if (i->parent && i->waits) line_shut(i->parent);  // the others would wait for its turn
  if (i->parent) line_leave(i->parent, true);
  free(i->without);
  i->parent = nullptr, i->without = nullptr;
}
