// Calls with an epilogue: AllReduces whose rows are finished on their way to the output.
#include "handles.h"

#include <stdio.h>
#include <string.h>

namespace {

const u64 MOST_ROW = 1 << 24;  // elements; as abi.MostRow

// A Span is memory of a call. Others may not overlap what is written, except that the updated residual may be the
// residual itself.
struct Span {
  const char *name;
  u64 at, bytes;
  bool written;
  bool updates;  // it may be the memory before it
};
enum { SPANS = 2 + 3 * ROW_STAGES };
struct Spans {
  Span span[SPANS];
  u32 count;
};

// A Rows is a call that is checked.
struct Rows {
  u64 rows, length;
  u32 dtype;
  const mscclc_epilogue *epilogue;
  const bundle_program *program;
};

// add checks the address of memory of a call, and keeps it.
mscclc_result add(Spans *s, const char *stage, const char *what, const void *at, u64 elements, u32 size, bool written,
                  bool updates = false) {
  const u64 address = (u64)at;
  if (elements && !address)
    return failed(MSCCLC_BAD_ARGUMENT, "mscclc_all_reduce_rows: %s%s is null", stage, what);
  if (address % size)
    return failed(MSCCLC_BAD_ARGUMENT, "mscclc_all_reduce_rows: the address of %s%s is no multiple of %u, the size of "
                  "an element", stage, what, size);
  s->span[s->count++] = Span{what, address, elements * size, written, updates};
  return MSCCLC_OK;
}

// operand adds what a stage reads or writes.
mscclc_result operand(Spans *s, const Rows &c, u32 stage, u8 kind, const void *at, const char *what, bool written) {
  static const char *const before[] = {"stage 0: ", "stage 1: ", "stage 2: ", "stage 3: ",
                                       "stage 4: ", "stage 5: ", "stage 6: ", "stage 7: "};
  if (kind == STAGE_NOTHING) return MSCCLC_OK;
  u64 elements = c.length;
  if (kind == STAGE_ROWS) elements = c.rows * c.length;
  if (kind == STAGE_SCALES) elements = c.rows * scales_of(*c.program, (u32)c.length);
  return add(s, before[stage], what, at, elements, kind == STAGE_SCALES ? size_of(DT_F32) : size_of(c.dtype), written,
             written && kind == STAGE_ROWS);
}

// stages checks what the stages of a call have, and gives it to the engine.
mscclc_result stages(const Rows &c, Spans *s, CallRows *to) {
  for (u32 i = 0; i < c.program->stages; i++) {
    const stage_kind &k = stage_kinds[c.program->stage[i]];
    const mscclc_stage &stage = c.epilogue->stage[i];
    const bool eps = !strcmp(k.value, "eps");
    if (*k.value && (!(stage.value - stage.value == 0) || (eps && stage.value < 0)))
      return failed(MSCCLC_BAD_ARGUMENT, "mscclc_all_reduce_rows: stage %u: %s of %s is %g", i, k.value, k.name,
                    stage.value);
    if (const mscclc_result r = operand(s, c, i, k.reads, stage.reads, "reads", false)) return r;
    if (const mscclc_result r = operand(s, c, i, k.wants, stage.wants, "wants", false)) return r;
    if (const mscclc_result r = operand(s, c, i, k.writes, stage.writes, "writes", true)) return r;
    to->value[i] = *k.value ? stage.value : 0;
    if (k.reads) to->memory.first[i] = (u64)stage.reads;
    if (k.wants) to->memory.second[i] = (u64)stage.wants;
    if (k.writes) to->memory.second[i] = (u64)stage.writes;
  }
  return MSCCLC_OK;
}

// apart says whether no memory that the call writes overlaps other memory of it.
mscclc_result apart(const Spans &s) {
  for (u32 i = 0; i < s.count; i++)
    for (u32 k = 0; k < s.count; k++) {
      const Span &a = s.span[i], &b = s.span[k];
      const bool overlap = a.at < b.at + b.bytes && b.at < a.at + a.bytes;
      const bool updated = a.updates && k + 1 == i && a.at == b.at;
      if (i != k && a.written && overlap && !updated)
        return failed(MSCCLC_BAD_ARGUMENT, "mscclc_all_reduce_rows: memory that the call writes (%s) overlaps other "
                      "memory of it (%s)", a.name, b.name);
    }
  return MSCCLC_OK;
}

// known finds the program that has the epilogue of a call: what the stages are depends on it.
mscclc_result known(const mscclc_programs_s *p, Rows *c, CallRows *to) {
  char all[400] = "";
  c->program = team_then(p->team, to, all, sizeof all);
  if (c->program) return MSCCLC_OK;
  return failed(MSCCLC_UNSUPPORTED, "no program for %u ranks has the epilogue \"%.100s\"; the bundle has: %s",
                p->comm->ranks, c->epilogue->stages, *all ? all : "none (mscclc bundle --then LIST adds some)");
}

// check checks the arguments that need no program.
mscclc_result check(const mscclc_programs_s *p, u64 rows, u64 length, u32 dtype, const mscclc_epilogue *epilogue) {
  if (!epilogue || epilogue->size != sizeof *epilogue || !epilogue->stages)
    return failed(MSCCLC_BAD_ARGUMENT, "mscclc_all_reduce_rows: set epilogue->size to sizeof(mscclc_epilogue), and its "
                  "stages");
  if (dtype != DT_F16 && dtype != DT_BF16 && dtype != DT_F32)
    return failed(MSCCLC_UNSUPPORTED, "mscclc_all_reduce_rows: rows have elements of f16, bf16 or f32, and not of %s",
                  dtype < DT_COUNT ? dtype_name(dtype) : "a type that there is not");
  if (!*epilogue->stages)
    return failed(MSCCLC_BAD_ARGUMENT, "mscclc_all_reduce_rows: epilogue->stages is empty; it lists stages, as in "
                  "\"residual, rms_norm(eps)\"; mscclc_call adds up without an epilogue");
  if (length < 1 || length > MOST_ROW)
    return failed(MSCCLC_BAD_ARGUMENT,
                  "mscclc_all_reduce_rows: a row of %llu elements is out of range: it has 1 to %llu", length, MOST_ROW);
  if (rows > (1ull << 56) / length / p->comm->ranks / size_of(dtype))
    return failed(MSCCLC_BAD_ARGUMENT, "mscclc_all_reduce_rows: %llu rows of %llu elements are too many: all ranks "
                  "together have at most 2^56 bytes", rows, length);
  return MSCCLC_OK;
}

}  // namespace

extern "C" mscclc_result mscclc_all_reduce_rows(mscclc_programs p, const void *send, void *recv, size_t rows,
                                                size_t length, mscclc_dtype dtype, const mscclc_epilogue *epilogue,
                                                void *stream) {
  if (forked()) return MSCCLC_FORKED;
  if (!p) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_all_reduce_rows: programs is null");
  if (const mscclc_result r = comm_state(p->comm)) return r;
  if (const mscclc_result r = check(p, rows, length, (u32)dtype, epilogue)) return r;
  Rows c = {rows, length, (u32)dtype, epilogue, nullptr};
  CallRows of = {epilogue->stages, (u32)length, {}, {}};
  if (const mscclc_result r = known(p, &c, &of)) return r;
  Spans spans = {};
  const u64 elements = rows * length;
  const u32 size = size_of(c.dtype), out_size = size_of(out_of(*c.program, c.dtype));
  if (const mscclc_result r = add(&spans, "", "send", send, elements, size, false)) return r;
  if (const mscclc_result r = add(&spans, "", "recv", recv, elements, out_size, true)) return r;
  if (const mscclc_result r = stages(c, &spans, &of)) return r;
  if (const mscclc_result r = apart(spans)) return r;
  Call call = {KIND_ALLREDUCE, 0, c.dtype, RED_SUM, elements, send, recv, 1, false, 0};
  call.then = true, call.rows = &of;
  bool captured = false;
  if (const int code = team_captured(p->team, stream, &captured)) return launch_failed(p->comm, code);
  const Choice choice = team_choose(p->team, &call, captured);
  if (!choice.rule)
    return failed(MSCCLC_UNSUPPORTED, "rank %u: %s; a row has %llu bytes, and programs of this epilogue take %llu",
                  p->comm->rank, choice.why, (u64)length * size, team_longest_row(p->team, of.text));
  return launch(p, choice, call, stream);
}
