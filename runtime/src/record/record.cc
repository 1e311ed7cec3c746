// The record of each communicator's last calls, for mscclc doctor. A call costs some stores and a look at the clock.
#include "../front/front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

enum { LAST = 64 };

// A Noted is a call. number is 0 while it is written.
struct Noted {
  u64 number;  // of the communicator's calls here, from 1
  u64 call;    // of its collectives, which are the same on all ranks; 0: Send and Recv
  u64 at, count, launch;  // launch: of its program, from 1; 0: unknown
  const void *stream;
  const char *why;  // null: native
  u32 program;
  Fn fn;
  int type, op, root;
  bool captured;
};

const char *state_of(const Member *e) {
  if (!e->comm || e->state == STATE_GONE) return "ended";
  if (e->agreeing) return "agreeing";
  switch (e->state) {
    case STATE_NEW: case STATE_READY: return "new";
    case STATE_TEAM: return "native";
    case STATE_PAUSED: return "suspended";
    default: return "nccl";
  }
}

bool collective(Fn fn) { return kind_of(fn) != KIND_NONE; }

}  // namespace

struct Record {
  u64 notes;  // calls that were noted
  u64 ended;  // the last of them that is known to have ended: those before it have, too
  u64 looked;   // how many there were when the GPU was asked last
  bool graphs;  // native calls were captured
  Comm comm;
  Noted last[LAST];
};

void record_open(Member *e) {
  if (!observed(OBSERVES_METRICS)) return;
  if (!e->record) e->record = (Record *)calloc(1, sizeof(Record));
  else memset((void *)e->record, 0, sizeof(Record));
  if (e->record) e->record->comm = e->comm;
}

void keep_call(Member *e, const Op &op, const char *why) {
  if (traces()) {
    const Where where(e);
    trace("%s: %s", fn_name(op.fn), why ? why : "native");
  }
  count_call(op.fn, why, bytes_of(op, e->ranks));
  if (why && own.depth && !own.grouped++) own.only = e, own.only_stream = op.stream, own.only_fn = op.fn;
  Record *r = e->record;
  if (!r) return;
  const u64 n = r->notes + 1;
  Noted &to = r->last[n % LAST];
  __atomic_store_n(&to.number, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);  // who sees a new field sees the 0, too
  to.call = collective(op.fn) ? e->calls : 0, to.at = realtime_ns(), to.count = op.count, to.stream = op.stream;
  to.why = why, to.fn = op.fn, to.type = op.type, to.op = op.op, to.root = op.root, to.captured = op.captured;
  to.launch = 0;
  if (op.captured && !why) r->graphs = true;
  __atomic_store_n(&to.number, n, __ATOMIC_RELEASE);
  __atomic_store_n(&r->notes, n, __ATOMIC_RELEASE);
}

void keep_launch(Member *e) {
  Record *r = e->record;
  if (!r->notes) return;
  Noted &to = r->last[r->notes % LAST];
  const u64 launch = team_last(e->team, &to.program);
  __atomic_store_n(&to.launch, launch, __ATOMIC_RELEASE);
}

namespace {

// find copies a call, or gives false where it was not made, or many were made since.
bool find(const Record *r, u64 number, Noted *to) {
  const Noted &at = r->last[number % LAST];
  if (!number || __atomic_load_n(&at.number, __ATOMIC_ACQUIRE) != number) return false;
  *to = at;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&at.number, __ATOMIC_ACQUIRE) == number;
}

// ended_native looks for the last native call that has ended. Calls of a communicator follow each other. It gives false
// if the GPU does not say.
bool ended_native(Member *e, const Record *r, u64 notes, u64 *ended) {
  u32 asked = ~0u;
  u64 launches = 0;
  Noted c;
  *ended = 0;
  for (u64 n = notes; n > r->ended && n + LAST > notes; n--) {
    if (!find(r, n, &c) || c.why) continue;
    const u64 launch = __atomic_load_n(&c.launch, __ATOMIC_ACQUIRE);
    if (!launch) continue;
    if (c.program != asked && !team_reached(e->team, asked = c.program, &launches)) return false;
    if (launch <= launches) return *ended = n, true;
  }
  return true;
}

}  // namespace

// Launches that were asked to leave have left, but not ended: only counters tell these apart. Launches of graphs count
// there, too, so that they say nothing once there are captured calls.
void record_look(Member *e) {
  Record *r = e->record;
  if (!r || !e->team) return;
  const u64 notes = __atomic_load_n(&r->notes, __ATOMIC_ACQUIRE);
  u64 ended = notes;
  const bool idle = !e->failures && !e->dead && !team_busy(e->team);
  if (!idle && (r->graphs || !ended_native(e, r, notes, &ended))) return;
  if (ended > r->ended) __atomic_store_n(&r->ended, ended, __ATOMIC_RELEASE);
  __atomic_store_n(&r->looked, notes, __ATOMIC_RELEASE);
}

namespace {

void put_name(Text *t, const char *key, const char *name, int number) {
  if (name) put(t, ",\"%s\":\"%s\"", key, name);
  else put(t, ",\"%s\":\"%d\"", key, number);
}

// open says that a call is known not to have ended: a native one after the last that has.
bool open(const Record *r, const Noted &c) { return c.launch && c.number > r->ended && c.number <= r->looked; }

void put_call(Text *t, const Record *r, const Noted &c) {
  char at[TIME_TEXT];
  time_text(c.at, &at);
  put(t, "{\"number\":%llu,\"call\":%llu,\"function\":\"%s\",\"count\":%llu", c.number, c.call, fn_name(c.fn),
      c.count);
  put_name(t, "type", dtype_name(dtype_of(c.type)), c.type);
  if (kind_reduces(kind_of(c.fn))) put_name(t, "op", redop_name(redop_of(c.op)), c.op);
  if (kind_rooted(kind_of(c.fn))) put(t, ",\"root\":%d", c.root);
  if (!collective(c.fn)) put(t, ",\"peer\":%d", c.root);
  put(t, ",\"stream\":\"%p\",\"native\":%s", c.stream, c.why ? "false" : "true");
  if (c.why) put(t, ",\"reason\":"), put_string(t, c.why);
  put(t, ",\"captured\":%s,\"time\":\"%s\",\"state\":\"%s\"}", c.captured ? "true" : "false", at,
      c.number <= r->ended ? "ended" : open(r, c) ? "open" : "unknown");
}

void put_member(Text *t, const Member *e) {
  const Record *r = e->record;
  char name[SHORT_NAME];
  const u64 notes = __atomic_load_n(&r->notes, __ATOMIC_ACQUIRE);
  name_of_comm(e, r->comm, &name);
  put(t, "{\"name\":\"%s\",\"id\":\"", name);
  if (e->family) put(t, "%016llx", (u64)e->family);
  put(t, "\",\"rank\":%u,\"ranks\":%u,\"device\":%d,\"state\":\"%s\"", e->rank, e->ranks, e->device, state_of(e));
  if (e->why) put(t, ",\"reason\":"), put_string(t, e->why);
  if (e->failures && e->text[0]) put(t, ",\"failure\":"), put_string(t, e->text);
  put(t, ",\"calls\":%llu,\"last\":[", e->calls);
  const char *comma = "";
  Noted c;
  for (u64 n = notes > LAST ? notes - LAST + 1 : 1; n <= notes; n++) {
    if (!find(r, n, &c)) continue;
    put(t, "%s\n  ", comma), put_call(t, r, c);
    comma = ",";
  }
  put(t, "]}");
}

}  // namespace

void record_text(Text *t, const char *why, bool exits) {
  char at[TIME_TEXT];
  time_text(realtime_ns(), &at);
  put(t, "{\"schema\":1,\"host\":");
  put_string(t, host_name());
  put(t, ",\"pid\":%d,\"time\":\"%s\",\"written\":\"%s\",\"communicators\":[", (int)getpid(), at, why);
  const char *comma = "";
  Member *e;
  for (u32 i = 0; (e = member_at(i)); i++) {
    const Comm comm = e->comm;
    if (!e->record || (!comm && !e->record->notes)) continue;
    const bool uses = comm && member_hold(e, comm);
    if (uses && !exits && e->comm == comm) record_look(e);
    put(t, "%s\n ", comma), put_member(t, e);
    if (uses) member_leave(e);
    comma = ",";
  }
  put(t, "]}\n");
}
