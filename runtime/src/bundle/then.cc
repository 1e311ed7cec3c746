// This file reads the epilogues of programs: what becomes of each row of a complete sum on its way to the output.
// bundle/then.go reads and checks the same.
#include "../../../kernels/rows/abi.h"
#include "bundle.h"

#include <stdio.h>
#include <string.h>

static_assert((u32)ROW_KINDS == (u32)STAGE_KINDS && LIMIT_STAGES == ROW_STAGES, "kernels/rows/abi.h has Go's stages");

namespace {

const stage_type *type_of(const stage_kind &kind, u8 number, u8 dtype) {
  for (const stage_type &t : stage_types)
    if (kind.last && t.kind == number && t.dtype == dtype) return &t;
  return nullptr;
}

// last_of is the last stage, which may give the output a type of its own; null without an epilogue.
const stage_kind *last_of(const bundle_program &p) {
  return p.stages ? stage_kinds + p.stage[p.stages - 1] : nullptr;
}

}  // namespace

bool check_then(const bundle_program &p, Why *why) {
  bool good = true, seen[STAGE_KINDS] = {}, last = false;
  for (u32 i = 0; i < LIMIT_STAGES && good; i++) {
    const u8 k = p.stage[i];
    if (i >= p.stages) good = k == 0;
    else if ((good = k < STAGE_KINDS && !seen[k] && !last)) {
      seen[k] = true, last = stage_kinds[k].last;
      if (last) good = type_of(stage_kinds[k], k, p.type);
    }
  }
  good = good && (seen[ROW_ACTIVATION] ? p.function < STAGE_FUNCTIONS : p.function == 0) && (last || p.type == 0) &&
         (seen[ROW_QUANTISE] || p.block == 0);
  return good || (say(why, "it has an epilogue that no program has"), false);
}

void then_text(const bundle_program &p, char text[THEN_TEXT]) {
  size_t n = 0;
  text[0] = 0;
  for (u32 i = 0; i < p.stages && n < THEN_TEXT; i++) {
    const stage_kind &k = stage_kinds[p.stage[i]];
    const stage_type *t = type_of(k, p.stage[i], p.type);
    const char *argument = !strcmp(k.argument, "function") ? stage_functions[p.function] : t ? t->name : k.argument;
    n += (size_t)snprintf(text + n, THEN_TEXT - n, "%s%s%s%s", i ? ", " : "", k.name, *argument ? "(" : "", argument);
    if (n < THEN_TEXT && k.block && p.block) n += (size_t)snprintf(text + n, THEN_TEXT - n, ", block = %u", p.block);
    if (n < THEN_TEXT && *argument) n += (size_t)snprintf(text + n, THEN_TEXT - n, ")");
  }
}

u32 out_of(const bundle_program &p, u32 dtype) {
  const stage_kind *last = last_of(p);
  return last && last->last ? p.type : dtype;
}

u32 scales_of(const bundle_program &p, u32 length) {
  const stage_kind *last = last_of(p);
  if (!last || last->writes != STAGE_SCALES) return 0;
  return p.block ? (length + p.block - 1) / p.block : 1;
}
