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

// A Tokens reads a list as ir/epilogue/parse.go does: words and single signs, with spaces between them.
struct Tokens {
  const char *at, *end;  // of the token, which is empty at the end of the text
};

bool in_word(char c) { return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

Tokens after(const Tokens &t) {
  const char *at = t.end + strspn(t.end, " \t\r\n"), *end = at;
  while (in_word(*end)) end++;
  return {at, end + (end == at && *at)};
}

bool is(const Tokens &t, char sign) { return *t.at == sign && sign; }
bool ends(const Tokens &t) { return t.at == t.end; }

// plain is the token after t, without what a list may have or lack: the () of a stage, and the comma after the last
// argument or the last stage.
Tokens plain(const Tokens &t, bool inside) {
  Tokens n = after(t);
  if (ends(t)) return n;
  if (is(n, '(') && !inside && in_word(*t.at) && is(after(n), ')') && !is(after(after(n)), '(')) n = after(after(n));
  if (is(n, ',') && (inside ? is(after(n), ')') : ends(after(n)))) n = after(n);
  return n;
}

}  // namespace

bool same_list(const char *text, const char *list) {
  bool inside = false;
  for (Tokens a = {text, text}, b = {list, list};;) {
    a = plain(a, inside), b = after(b);
    if (a.end - a.at != b.end - b.at || memcmp(a.at, b.at, (size_t)(a.end - a.at))) return false;
    if (ends(b)) return true;
    inside = is(b, '(') || (inside && !is(b, ')'));
  }
}

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
