// This file is the memory of a team. The arena is what other ranks reach: the programs of the set lie there side by
// side. The team's own memory holds a status of each program, then the states of each, and then their tables.
//
// Each program has a word in memory of the host, if the driver pins memory, which tells its launches to leave (end.cc).
#include "team.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

namespace {

enum { NON_BLOCKING = 1, ROW = 256 };
const u64 BLOCK = 2 << 20;  // of the driver: a handle gives others all of the block that the memory is part of

u64 up(u64 n, u64 to) { return (n + to - 1) / to * to; }

// places gives each seat its offsets, and returns the bytes of all.
u64 places(Team *t) {
  const u32 programs = t->set.row->programs;
  const u64 states = up(programs * sizeof(abi_status), ROW);
  u64 at = states;
  for (u32 i = 0; i < programs; i++) {
    const Program &p = t->set.program[i];
    t->seat[i].status = i * sizeof(abi_status);
    t->seat[i].states = at, at += up((u64)p.part[t->rank].blocks * p.row->replicas * sizeof(abi_one_state), ROW);
  }
  t->state_bytes = at - states;
  for (u32 i = 0; i < programs; i++) {
    const bundle_part &part = t->set.program[i].part[t->rank];
    Seat &s = t->seat[i];
    s.blocks = at, at += up(part.blocks * sizeof(abi_one_block), ROW);
    s.steps = at, at += up(part.steps * sizeof(abi_one_step), ROW);
    s.operands = at, at += up(part.operands * sizeof(abi_one_operand), ROW);
  }
  return at;
}

// write fills in the team's own memory as it begins.
void write(const Team *t, u8 *to) {
  for (u32 i = 0; i < t->set.row->programs; i++) {
    const Program &p = t->set.program[i];
    const bundle_part &part = p.part[t->rank];
    const Seat &s = t->seat[i];
    abi_status *status = (abi_status *)(to + s.status);
    status->limit_ns = t->limit_ns;
    if (t->leave.at) status->leave = t->leave.at + i * sizeof(u64);
    memcpy(to + s.blocks, blocks_of(p, t->rank), part.blocks * sizeof(abi_one_block));
    memcpy(to + s.steps, steps_of(p, t->rank), part.steps * sizeof(abi_one_step));
    memcpy(to + s.operands, operands_of(p, t->rank), part.operands * sizeof(abi_one_operand));
  }
}

// pin_leave makes the words that tell launches to leave, if memory can be pinned.
void pin_leave(Team *t) {
  Why why = {};
  if (t->gpu->host || !t->gpu->f->pin) return;
  if (!pinned_make(t->gpu, t->set.row->programs * sizeof(u64), false, &t->leave, &why)) pinned_end(t->gpu, &t->leave);
}

// place turns offsets into addresses, and says where each program's memory of each rank lies.
void place(Team *t) {
  for (u32 i = 0; i < t->set.row->programs; i++) {
    Seat &s = t->seat[i];
    const bundle_program &p = *t->set.program[i].row;
    s.status += t->own, s.states += t->own, s.blocks += t->own, s.steps += t->own, s.operands += t->own;
    for (u32 r = 0; r < t->ranks; r++)
      if (t->reach[r]) s.rank[r] =
          abi_one_memory{0, 0, t->reach[r] + p.scratch_at, t->reach[r] + p.packets_at, t->reach[r] + p.flags_at};
  }
}

// What the teams of this process have of MSCCLC_ARENA.
u64 taken;

// take counts a team's memory, where MSCCLC_ARENA has room for it.
bool take(Team *t, u64 bytes, Why *why) {
  const char *text = getenv("MSCCLC_ARENA");
  u64 most = ~0ull;
  if (!text || !bytes_read(text, &most)) most = ~0ull;  // front/settings.cc warns
  u64 before = __atomic_load_n(&taken, __ATOMIC_ACQUIRE);
  do {
    const u64 left = most > before ? most - before : 0;
    if (bytes > left)
      return say(why, "its programs need %llu bytes of the GPU, and MSCCLC_ARENA=%s leaves %llu", bytes, text, left),
             false;
  } while (!__atomic_compare_exchange_n(&taken, &before, before + bytes, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return t->taken = bytes, true;
}

// give has a team's memory count no more.
void give(Team *t, u64 bytes) {
  __atomic_fetch_sub(&taken, bytes, __ATOMIC_ACQ_REL);
  t->taken -= bytes;
}

bool fail(int code, const char *what, u64 bytes, Why *why) {
  say(why, "%s of %llu bytes: %s", what, bytes, driver_text(code));
  return false;
}

}  // namespace

bool bytes_read(const char *text, u64 *bytes) {
  char *end;
  errno = 0;
  const unsigned long long n = strtoull(text, &end, 10);
  static const char units[] = "KMG";
  const char *unit = *end ? strchr(units, *end) : nullptr;
  const u32 shift = unit ? 10 * (u32)(unit - units + 1) : 0;
  if (*text < '0' || *text > '9' || errno || (*end && (!unit || end[1])) || n > ~0ull >> shift) return false;
  return *bytes = n << shift, true;
}

bool arena_make(Team *t, Why *why) {
  const gpu_symbols *f = t->gpu->f;
  const u64 bytes = up(t->set.row->arena + 1, BLOCK);
  if (!take(t, bytes + up(places(t), ROW), why)) return false;
  int code = f->stream(&t->side, NON_BLOCKING);
  if (!code) code = order_make(t);
  t->arena_bytes = bytes;
  if (t->hosted) {  // zeros, as it begins
    if (!code && !pinned_make(t->gpu, bytes, true, &t->host_arena, why)) return false;
    t->arena = t->host_arena.at;
  } else {
    if (!code) code = f->alloc(&t->arena, bytes);
    if (!code) code = f->fill(t->arena, 0, bytes, t->side);
    if (!code) code = f->sync(t->side);
  }
  if (!code && t->nodes > 1) code = net_skip(t);
  return code == 0 || fail(code, "an arena", bytes, why);
}

bool own_make(Team *t, Why *why) {
  const gpu_symbols *f = t->gpu->f;
  const u64 bytes = up(places(t), ROW);
  u8 *from = (u8 *)calloc(1, bytes);
  if (!from) return say(why, "no memory"), false;
  pin_leave(t);
  write(t, from);
  int code = f->alloc(&t->own, bytes);
  if (!code) code = f->put(t->own, from, bytes, t->side);
  if (!code) code = f->sync(t->side);
  free(from);
  if (code) return fail(code, "tables", bytes, why);
  place(t);
  return true;
}

void team_free(Team *t, bool keep_arena) {
  if (t->gpu) {
    const gpu_symbols *f = t->gpu->f;
    Current current(t->gpu);
    Relaxed relaxed(t->gpu);
    admission_leave(t);
    windows_free(t);
    net_free(t, keep_arena);
    for (u32 r = 0; r < t->ranks; r++) {
      if (t->opened[r]) f->leave(t->reach[r]);
      pinned_end(t->gpu, t->host_reached + r);
    }
    if (t->own) f->release(t->own);
    if (t->leave.at) pinned_end(t->gpu, &t->leave);
    if (t->hosted && !keep_arena) pinned_end(t->gpu, &t->host_arena);
    else if (t->arena && !keep_arena) f->release(t->arena);
    if (t->taken) give(t, t->arena && keep_arena ? t->taken - up(t->set.row->arena + 1, BLOCK) : t->taken);
    order_leave(t);
    if (t->side) f->stream_end(t->side);
  }
  if (t->set.program) set_close(&t->set);
  free(t->ready);
  free(t->seat);
  free(t->statuses);
  exits_free(t);
  free(t->of_rule);
  free(t->ctas_of);
  pthread_mutex_destroy(&t->mu);
  free(t);
}
