// This file chooses how calls run.
#include "../launch/layout.h"
#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

// bytes_of counts as nccl-tests: the larger of input and output.
u64 bytes_of(const Call *c, u32 ranks) {
  const u32 k = c->kind;
  const bool one = k == KIND_ALLREDUCE || k == KIND_BROADCAST || k == KIND_REDUCE || k == KIND_SENDRECV;
  return c->count * size_of(c->dtype) * (one ? 1 : ranks);
}

// unable says why a team cannot run a rule's program, or gives null: its launch needs more CTAs than the team has or
// the call wants, or the GPUs lack NVLink. It is the same on all ranks.
const char *unable(const Team *t, u32 rule, const Call *c) {
  const u32 most = c->ctas && c->ctas < t->ctas ? c->ctas : t->ctas, program = t->of_rule[rule];
  if (program == BUNDLE_NONE) return nullptr;
  if (t->ctas_of[rule] > most) return "the program needs more CTAs";
  if (t->pieces && t->set.program[program].row->lines) return "the program needs NVLink between all GPUs";
  return nullptr;
}

// finishes says whether a program finishes rows as a call wants it.
bool finishes(const Program &p, const char *then) { return p.row->stages && !strcmp(p.then, then); }

// held_of is the most bytes of a row that a rule's thread blocks hold. A thread holds 8 units of 16 bytes
// (kernels/rows/lanes.h), and a row may begin and end in one. Of a row of lines, a block has room for 4 units of each
// thread (kernels/rows/room.h).
u64 held_of(const Team *t, u32 rule) {
  const u64 threads = t->set.rules[rule].threads;
  return t->set.program[t->of_rule[rule]].row->lines ? threads * 64 : (threads * 8 - 2) * 16 + 15;
}

// rows_unfit says why a rule that is for calls with an epilogue is not for this one, or gives null. It is the same on
// all ranks.
const char *rows_unfit(const Team *t, u32 rule, const Call *c) {
  const Program &p = t->set.program[t->of_rule[rule]];
  if (!finishes(p, c->rows->text)) return "no rule is for calls with such an epilogue";
  const u64 row = (u64)c->rows->length * size_of(c->dtype);
  if (row > p.row->tile) return "a row is longer than the tiles of the program";
  if (row > held_of(t, rule)) return "a row is longer than a thread block holds";
  return nullptr;
}

// candidate says whether nobody measured a rule. Then no call takes it, but the library may learn about it.
bool candidate(const Team *t, u32 rule) { return (t->set.rules[rule].when & RULE_CANDIDATE) && !t->alone; }

// elsewhere says whether a rule was measured among GPUs that reach each other's memory, and those of the team do not,
// or the other way around. The former count where NCCL may not run the call.
bool elsewhere(const Team *t, u32 rule) {
  const u8 when = t->set.rules[rule].when;
  if (when & (RULE_CANDIDATE | RULE_NAMED)) return false;
  if (!t->hosted) return (when & RULE_APART) != 0;
  return !(when & RULE_APART) && !t->alone && !t->set.row->invariant;
}

// judged is the rule that fits, or why it does not serve.
Choice judged(const Team *t, u32 rule, const Call *c) {
  const bundle_rule *r = t->set.rules + rule;
  const u32 program = t->of_rule[rule];
  if (program == BUNDLE_NONE) return {nullptr, "the bundle leaves such calls to NCCL"};
  const Program &p = t->set.program[program];
  const u32 *images = p.row->copies ? t->set.row->copier : t->set.row->image;
  if (c->then ? t->finisher[c->dtype] == nullptr : images[c->dtype] == BUNDLE_NONE)
    return {nullptr, "the bundle has no kernel of the type"};
  const u32 redop = p.row->copies ? (u32)RED_SUM : c->redop;
  switch (cannot(p, shape_of(*r, *c, redop))) {
    case CANNOT_COUNT: return {nullptr, "the count is out of range"};
    case CANNOT_UNEVEN: return {nullptr, "the count does not divide into chunks"};
    case CANNOT_AVERAGE: return {nullptr, "the program computes no average"};
    case CAN: break;
  }
  return {r, nullptr};
}

// unordered says whether no rule of a team's bundle is for a call whose bits may not depend on its size.
bool unordered(const Team *t, const Call *c) {
  return t->invariant && !t->set.row->invariant && order_matters(c->kind, c->dtype, c->redop, t->ranks);
}

}  // namespace

bool invariant_bits() {
  static int is = -1;
  int now = __atomic_load_n(&is, __ATOMIC_RELAXED);
  if (now >= 0) return now;
  const char *text = getenv("MSCCLC_BITS");
  now = text && !strcmp(text, "invariant");
  __atomic_store_n(&is, now, __ATOMIC_RELAXED);
  return now;
}

bool order_matters(u32 kind, u32 dtype, u32 redop, u32 ranks) {
  return ranks > 2 && kind_reduces(kind) && is_float(dtype) && redop != RED_MAX && redop != RED_MIN;
}

Choice team_choose(const Team *t, const Call *c, bool captured) {
  if (captured && t->late) return {nullptr, "captured calls have no room beside other communicators"};
  if (c->kind >= KIND_COUNT || c->dtype >= DT_COUNT || c->redop >= RED_COUNT || c->root >= t->ranks)
    return {nullptr, "no rule is for such calls"};
  const u8 when = captured ? RULE_CAPTURED : RULE_EAGER;
  const u32 size = size_of(c->dtype);
  if (unordered(t, c)) return {nullptr, "no rule of the bundle is for invariant bits"};
  if (c->count > (1ull << 56) / t->ranks / size) return {nullptr, "the count is out of range"};
  const u64 bytes = bytes_of(c, t->ranks);
  const char *why = c->then ? "no rule is for calls with such an epilogue" : "no rule is for such calls";
  for (u32 i = t->first_rule[c->kind]; i < t->end_rule[c->kind]; i++) {
    if (candidate(t, i) || !fits(t->set.rules[i], *c, bytes, when)) continue;
    const char *cannot = c->then ? rows_unfit(t, i, c) : nullptr;
    if (!cannot) cannot = elsewhere(t, i) ? "the rule was measured with another access among GPUs" : unable(t, i, c);
    if (!cannot) return judged(t, i, c);
    why = cannot;
  }
  return {nullptr, why, true};
}

bool team_has_candidates(const Team *t) {
  for (u32 i = 0; i < t->set.row->rules; i++)
    if (candidate(t, i)) return true;
  return false;
}

u32 team_candidates(const Team *t, const Call *c, u32 *rules, u32 most) {
  u32 count = 0;
  const u64 bytes = bytes_of(c, t->ranks);
  for (u32 i = t->first_rule[c->kind]; i < t->end_rule[c->kind] && count < most; i++)
    if (candidate(t, i) && fits(t->set.rules[i], *c, bytes, RULE_EAGER) && !unable(t, i, c) && judged(t, i, c).rule)
      rules[count++] = i;
  return count;
}

Choice team_take(const Team *t, u32 rule, const Call *c) {
  if (!fits(t->set.rules[rule], *c, bytes_of(c, t->ranks), RULE_EAGER)) return {nullptr, "no rule is for such calls"};
  if (const char *why = unable(t, rule, c)) return {nullptr, why};
  return judged(t, rule, c);
}

Choice team_named(const Team *t, u32 rule, const Call *c) {
  if (c->dtype >= DT_COUNT || c->redop >= RED_COUNT) return {nullptr, "there is no such type or reduction"};
  if (const char *why = unable(t, rule, c)) return {nullptr, why};
  return judged(t, rule, c);
}

const bundle_program *team_then(const Team *t, CallRows *rows, char *all, size_t room) {
  size_t n = 0;
  for (u32 i = 0; i < t->set.row->programs; i++) {
    const Program &p = t->set.program[i];
    if (p.row->stages && same_list(rows->text, p.then)) return rows->text = p.then, p.row;
    bool said = !p.row->stages;
    for (u32 k = 0; k < i && !said; k++) said = finishes(t->set.program[k], p.then);
    if (!said && n < room) n += (size_t)snprintf(all + n, room - n, "%s%s", n ? "; " : "", p.then);
  }
  return nullptr;
}

u64 team_longest_row(const Team *t, const char *then) {
  u64 longest = 0;
  for (u32 i = t->first_rule[KIND_ALLREDUCE]; i < t->end_rule[KIND_ALLREDUCE]; i++) {
    if (!(t->set.rules[i].when & RULE_THEN)) continue;
    const Program &p = t->set.program[t->of_rule[i]];
    const u64 held = held_of(t, i), row = held < p.row->tile ? held : p.row->tile;
    if (finishes(p, then) && row > longest) longest = row;
  }
  return longest;
}

const char *team_device(const Team *t) { return t->set.row->device; }
const char *team_title(const Team *t, u32 rule) { return t->set.program[t->of_rule[rule]].row->name; }

bool team_serves(const Team *t, u32 kind, u32 dtype) {
  if (kind >= KIND_COUNT) return false;
  for (u32 i = t->first_rule[kind]; i < t->end_rule[kind]; i++) {
    const bundle_rule &r = t->set.rules[i];
    const bool of_type = r.dtype == BUNDLE_ANY || r.dtype == dtype;
    const bool of_calls = (r.when & (RULE_EAGER | RULE_CAPTURED)) && !(r.when & RULE_THEN);
    const bool is = !candidate(t, i) && !elsewhere(t, i) && r.kind == kind && of_calls && of_type;
    if (is && t->of_rule[i] != BUNDLE_NONE) return true;
  }
  return false;
}
