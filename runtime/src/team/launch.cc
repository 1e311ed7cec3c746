// This file launches.
#include "team.h"

#include <string.h>

namespace {

// make_rows fills in the launch of a call with an epilogue.
void make_rows(Team *t, const bundle_rule *rule, const Call *c, Ready *r) {
  const u32 index = t->of_rule[rule - t->set.rules];
  const Program &p = t->set.program[index];
  Seat &seat = t->seat[index];
  const Shape shape = shape_of(*rule, *c, RED_SUM);
  seat.rank[t->rank].input = (u64)c->send, seat.rank[t->rank].output = (u64)c->recv;
  general_launch(p, shape,
                 Where{seat.blocks, seat.steps, seat.operands, seat.states, seat.status, seat.rank, t->rank},
                 &r->finishes.one);
  rows_launch(p, c->dtype, c->rows->length, c->rows->value, c->rows->memory, t->rank, &r->finishes.rows);
  const Module *m = t->finisher[c->dtype];
  const Entry short_entry = entry_of(p, true, shape.dtype, shape.redop, false);
  const bool few = t->few && m->function[short_entry] &&
                   few_rows_launch(p, t->rank, r->finishes.one, r->finishes.rows, rule->threads, &r->few.few);
  r->function = m->function[few ? short_entry : entry_of(p, false, shape.dtype, shape.redop, false)];
  r->params = &r->finishes, r->bytes = sizeof r->finishes;
  if (few) {
    memcpy(r->few.one, &r->finishes.one, sizeof r->few.one), r->few.rows = r->finishes.rows;
    r->params = &r->few, r->bytes = sizeof r->few;
  }
  r->blocks = r->finishes.one.block_count, r->iterations = r->finishes.one.iterations;
}

// note keeps the numbers of a call by which `same` knows it again.
void note(const bundle_rule *rule, const Call *c, Ready *r) {
  r->replicas = c->then ? r->finishes.one.replicas : rule->replicas, r->threads = rule->threads;
  r->rule = rule, r->count = c->count, r->send = c->send, r->recv = c->recv, r->dtype = c->dtype, r->redop = c->redop;
}

// make fills in a launch that is ready.
void make(Team *t, const bundle_rule *rule, const Call *c, Ready *r) {
  const u32 index = t->of_rule[rule - t->set.rules];
  const Program &p = t->set.program[index];
  Seat &seat = t->seat[index];
  const bool copies = p.row->copies;
  const Shape shape = shape_of(*rule, *c, copies ? (u32)RED_SUM : c->redop);
  const bool placed = !p.row->direct || windows_place(t, c, seat.rank);
  seat.rank[t->rank].input = (u64)c->send, seat.rank[t->rank].output = (u64)c->recv;
  general_launch(p, shape,
                 Where{seat.blocks, seat.steps, seat.operands, seat.states, seat.status, seat.rank, t->rank},
                 &r->launch.one);
  if (t->net) net_offer(t, index, &r->launch.one);
  const bool few = t->few && !t->net && few_launch(p, t->rank, r->launch.one, &r->launch.few);
  const Module *m = (copies ? t->copier : t->image)[c->dtype];
  r->function = m->function[entry_of(p, few, shape.dtype, shape.redop, copies)];
  if (!r->function && copies) r->function = m->function[entry_of(p, few, shape.dtype, shape.redop, false)];
  if (!placed) r->function = nullptr;
  r->params = few ? (void *)&r->launch : (void *)&r->launch.one;
  r->bytes = few ? sizeof r->launch : sizeof r->launch.one;
  r->blocks = r->launch.one.block_count, r->iterations = r->launch.one.iterations;
}

// same_rows says whether a launch of the same rule has a call's epilogue: all its numbers and addresses.
bool same_rows(const Ready *r, const Call *c) {
  if (!c->then) return true;
  const abi_rows &rows = r->finishes.rows;
  bool same = rows.length == c->rows->length && !memcmp(&rows.rank, &c->rows->memory, sizeof rows.rank);
  for (u32 i = 0; i < rows.stages && same; i++)
    same = !memcmp(&rows.stage[i].value, c->rows->value + i, sizeof(double));
  return same;
}

bool same(const Ready *r, const bundle_rule *rule, const Call *c) {
  return r->rule == rule && r->count == c->count && r->send == c->send && r->recv == c->recv && r->dtype == c->dtype &&
         r->redop == c->redop && same_rows(r, c);
}

// ready is the launch of a call, made once while calls repeat.
Ready *ready(Team *t, const bundle_rule *rule, const Call *c) {
  const u64 mix = (u64)c->send * 3 + (u64)c->recv * 5 + c->count * 7 + (u64)(rule - t->set.rules);
  Ready *r = t->ready + (mix * 0x9e3779b97f4a7c15 >> 61);
  if (same(r, rule, c)) return r;
  if (c->then) make_rows(t, rule, c, r);
  else make(t, rule, c, r);
  return note(rule, c, r), r;
}

int start(const Gpu *g, Ready *r, void *stream) {
  enum { PARAMS = 1, BYTES = 2, END = 0 };
  void *packed[] = {(void *)PARAMS, r->params, (void *)BYTES, &r->bytes, (void *)END};
  return g->f->launch(r->function, r->replicas, r->blocks, 1, r->threads, 1, 1, 0, stream, nullptr, packed);
}

}  // namespace

static_assert(READY == 8, "three bits of a product choose a launch");

// A Forget ends what team_captured found out for a call, however the call ends.
struct Forget {
  Order &order;
  ~Forget() { order.asked = false; }
};

int team_launch(Team *t, const Choice *choice, const Call *call, void *stream) {
  const Forget forget = {*t->order};
  t->last_launch = 0;
  if (!alive()) return ENGINE_FORKED;
  if (__atomic_load_n(&t->aborted, __ATOMIC_ACQUIRE) || team_over(t)) return ENGINE_ABORTED;
  if (!choice->rule) return ENGINE_ARGUMENT;
  if (call->count == 0) return 0;
  Ready *r = ready(t, choice->rule, call);
  if (r->blocks == 0 || r->iterations == 0) return 0;
  if (!r->function) return ENGINE_ARGUMENT;
  Current current(t->gpu);
  TRY(current.code);
  StreamSeen seen;
  TRY(order_before(t, stream, &seen));
  t->turn = 0;
  if (seen.capture || !oversubscribed(t)) {
    TRY(start(t->gpu, r, stream));
  } else {
    TRY(admission_before(t, stream));
    TRY(admission_after(t, stream, start(t->gpu, r, stream)));
  }
  if (!seen.capture) {
    t->last_program = t->of_rule[choice->rule - t->set.rules];
    t->last_launch = ++t->seat[t->last_program].launched;
  }
  return order_after(t, stream, seen);
}
