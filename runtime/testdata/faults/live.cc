// This file keeps the list of what the library has open, for faults.cc.
#include "live.h"

#include <pthread.h>
#include <stdio.h>

namespace {

enum { ROOM = 1 << 16 };
struct Entry {
  u64 key, site;
  int kind, used;
};
Entry entries[ROOM];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

u64 slot_of(int kind, u64 key) { return (key * 0x9e3779b97f4a7c15ull + (u64)kind * 977) >> 48; }

const char *const names[LIVE_KINDS] = {"memory", "mapping", "GPU memory", "stream", "event", "reached memory",
                                       "addresses", "mapped memory", "pinned memory", "handle", "host memory"};

}  // namespace

void live_add(int kind, u64 key) {
  pthread_mutex_lock(&lock);
  u64 i = slot_of(kind, key);
  while (entries[i].used == 1) i = (i + 1) % ROOM;
  entries[i] = Entry{key, fault_site, kind, 1};
  pthread_mutex_unlock(&lock);
}

// What was open before is not known: its end is no matter. A place that is empty again is 2, so that a search goes on.
void live_end(int kind, u64 key) {
  pthread_mutex_lock(&lock);
  for (u64 i = slot_of(kind, key), n = 0; entries[i].used && n < ROOM; i = (i + 1) % ROOM, n++) {
    if (entries[i].used != 1 || entries[i].key != key || entries[i].kind != kind) continue;
    entries[i].used = 2;
    break;
  }
  pthread_mutex_unlock(&lock);
}

namespace {

struct Count {
  u64 at, open;
  int kind;
};
Count counts[FAULT_SITES];

// count_all counts what is open by site.
u32 count_all() {
  u32 n = 0;
  for (const Entry &e : entries) {
    if (e.used != 1) continue;
    u32 i = 0;
    while (i < n && counts[i].at != e.site) i++;
    if (i == n && n < FAULT_SITES) counts[n++] = Count{e.site, 0, e.kind};
    counts[i].open++;
  }
  return n;
}

FaultUsual *usual_of(u64 at) {
  FaultUsual *u = fault_control()->usual;
  while (u->at && u->at != at) u++;
  return u;
}

}  // namespace

void mscclc_faults_usual() {
  pthread_mutex_lock(&lock);
  for (u32 i = 0, n = count_all(); i < n; i++) {
    FaultUsual *u = usual_of(counts[i].at);
    u->at = counts[i].at;
    if (u->open < counts[i].open) u->open = counts[i].open;
  }
  pthread_mutex_unlock(&lock);
  for (const u64 n = live_members(false); fault_control()->members < n;) fault_control()->members = n;
}

u64 mscclc_faults_left(bool print) {
  u64 left = 0;
  pthread_mutex_lock(&lock);
  for (u32 i = 0, n = count_all(); i < n; i++) {
    const u64 usual = usual_of(counts[i].at)->open;
    if (counts[i].open <= usual) continue;
    left += counts[i].open - usual;
    if (print) printf("left %llx %llu %s\n", counts[i].at, counts[i].open - usual, names[counts[i].kind]);
  }
  pthread_mutex_unlock(&lock);
  const u64 in_use = live_members(print), usual = fault_control()->members;
  const u64 members = in_use > usual ? in_use - usual : 0;
  if (print && members) printf("left 0 %llu members\n", members);
  if (print) fflush(stdout);
  return left + members;
}
