// The table of communicators. It is read without a lock: rows are written once, and hold members that are never freed.
#include "front.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

// Hashed by the communicator's address, with open addressing. A hidden member leaves its slot as a stone, so that those
// after it are still found.
enum { SLOTS = 4 * MOST_COMMS };
struct Slot {
  Comm key;
  Member *member;
};
Slot slots[SLOTS];
Member *members[MOST_COMMS];
u32 member_count;
const char *last = "";  // the last error of any communicator: its member may be another one by now
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
const Comm STONE = (Comm)1;

u32 slot_of(Comm c) { return (u32)(((u64)c >> 4) * 0x9e3779b97f4a7c15ull >> 40) % SLOTS; }

Slot *find(Comm c) {
  for (u32 i = slot_of(c), n = 0; n < SLOTS; n++, i = (i + 1) % SLOTS) {
    const Comm key = __atomic_load_n(&slots[i].key, __ATOMIC_ACQUIRE);
    if (key == c) return &slots[i];
    if (!key) return nullptr;
  }
  return nullptr;
}

Member *free_member() {
  for (u32 i = 0; i < member_count; i++)
    if (!members[i]->comm && members[i]->state != STATE_GONE && !__atomic_load_n(&members[i]->users, __ATOMIC_ACQUIRE))
      return members[i];
  if (member_count == MOST_COMMS) return nullptr;
  Member *e = (Member *)calloc(1, sizeof(Member));
  if (e) {
    for (int &fd : e->peer) fd = -1;
    for (int &fd : e->ended) fd = -1;
    __atomic_store_n(&members[member_count], e, __ATOMIC_RELEASE);
    __atomic_store_n(&member_count, member_count + 1, __ATOMIC_RELEASE);
  }
  return e;
}

}  // namespace

__thread Thread own __attribute__((tls_model("initial-exec")));

Member *member_at(u32 i) {
  return i < __atomic_load_n(&member_count, __ATOMIC_ACQUIRE) ? __atomic_load_n(&members[i],
      __ATOMIC_ACQUIRE) : nullptr;
}

Member *member_peek(Comm comm) {
  if (!comm || comm == STONE) return nullptr;
  Slot *s = find(comm);
  Member *e = s ? __atomic_load_n(&s->member, __ATOMIC_ACQUIRE) : nullptr;
  if (!e) return nullptr;
  __atomic_fetch_add(&e->users, 1, __ATOMIC_SEQ_CST);
  if (e->comm == comm) return e;
  member_leave(e);
  return nullptr;
}

bool member_hold(Member *e, Comm comm) {
  Member *now = member_peek(comm);
  if (now && now != e) member_leave(now);
  return now == e && now;
}

Member *member_enter(Comm comm) {
  Member *e = member_peek(comm);
  if (!e || !e->agreeing) return e;
  member_agreed(e, FOREVER);
  if (e->comm == comm) return e;  // else it was aborted since
  member_leave(e);
  return nullptr;
}

// A communicator that does not block refuses calls until it is ready, as NCCL does.
Member *member_use(Comm comm, Result *r) {
  Member *e = member_peek(comm);
  if (!e || (!e->agreeing && e->state != STATE_FAILED)) return e;
  if (e->agreeing && e->blocking) {
    member_agreed(e, FOREVER);
    if (e->comm == comm && e->state != STATE_FAILED) return e;
  }
  if (e->comm == comm && e->state == STATE_FAILED) *r = e->error, member_failed(e, FAILED_AGREEMENT);
  else if (e->agreeing) {
    *r = INVALID_ARGUMENT;
    member_text(e, "the communicator is not ready: ncclCommGetAsyncError must give ncclSuccess before it is used");
  }
  member_leave(e);
  return nullptr;
}

void member_stay(Member *e) { __atomic_fetch_add(&e->users, 1, __ATOMIC_SEQ_CST); }
void member_leave(Member *e) { __atomic_fetch_sub(&e->users, 1, __ATOMIC_SEQ_CST); }

Member *member_add(Comm comm, u32 ctas, bool blocking) {
  pthread_mutex_lock(&mu);
  Member *e = free_member();
  u32 i = slot_of(comm), n = 0;
  while (n < SLOTS && slots[i].key && slots[i].key != STONE) i = (i + 1) % SLOTS, n++;
  if (!e || n == SLOTS) {
    pthread_mutex_unlock(&mu);
    return nullptr;
  }
  member_stay(e);
  e->team = nullptr, e->dead = 0, e->explained = 0, e->spread = 0, e->exits = 0, e->goodbye = 0;
  e->family = 0;
  peers_lock();
  memset((void *)&e->rank, 0, sizeof *e - offsetof(Member, rank));
  for (int &fd : e->peer) fd = -1;
  for (int &fd : e->ended) fd = -1;
  peers_unlock();
  e->ctas = ctas;
  e->blocking = blocking;
  e->state = STATE_NEW;
  e->comm = comm;
  record_open(e);
  slots[i].member = e;
  __atomic_store_n(&slots[i].key, comm, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&mu);
  watch_begin();
  return e;
}

void member_hide(Member *e) {
  pthread_mutex_lock(&mu);
  Slot *s = e->comm ? find(e->comm) : nullptr;
  if (s && s->member == e) {
    const u32 next = (u32)(s - slots + 1) % SLOTS;
    __atomic_store_n(&s->key, slots[next].key ? STONE : nullptr, __ATOMIC_RELEASE);
  }
  e->comm = (Comm) nullptr;
  pthread_mutex_unlock(&mu);
}

void member_forget(Member *e) {
  pthread_mutex_lock(&mu);
  e->team = nullptr;
  e->state = STATE_NEW;
  pthread_mutex_unlock(&mu);
}

bool member_settled(Member *e, u64 limit_ns) {
  for (const u64 end = now_ns() + limit_ns; __atomic_load_n(&e->users, __ATOMIC_SEQ_CST) > 1; nap(50000))
    if (now_ns() > end) return false;
  return true;
}

bool member_agreed(const Member *e, u64 limit_ns) {
  Slow slow;
  for (const u64 begin = now_ns(); e->agreeing; nap(50000)) {
    if (slow.now()) info("a call waits until the ranks of its communicator have agreed who runs calls");
    if (now_ns() - begin > limit_ns) return false;
  }
  return true;
}

bool member_made(const Member *e, u64 limit_ns) {
  for (const u64 begin = now_ns(); e->making; nap(50000))
    if (now_ns() - begin > limit_ns) return false;
  return true;
}

static void note(Member *e, const char *format, va_list args) {
  static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;
  vsnprintf(e->text, sizeof e->text, format, args);
  pthread_mutex_lock(&noting);
  static char texts[16][sizeof(Member::text)];  // who reads one has time until 16 errors later
  static u32 next;
  char *to = texts[next++ % 16];
  memcpy(to, e->text, sizeof texts[0]);
  __atomic_store_n(&last, to, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&noting);
}

void member_text(Member *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  note(e, format, args);
  va_end(args);
}

Result system_fails(const char *format, ...) {
  static Member nobody;
  va_list args;
  va_start(args, format);
  note(&nobody, format, args);
  va_end(args);
  tell("%s", nobody.text);
  return SYSTEM_ERROR;
}

const char *last_text(Comm comm) {
  if (!comm) return __atomic_load_n(&last, __ATOMIC_ACQUIRE);
  Member *e = member_peek(comm);
  if (e) member_leave(e);  // members are never freed
  return e ? e->text : nullptr;
}
