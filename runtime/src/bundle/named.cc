// This file checks programs that jobs run by their names: their names, buffers and rules. bundle/named.go checks the
// same.
#include "bundle.h"

#include <string.h>

namespace {

const char *const buffer_names[BUNDLE_NUM_BUFFERS] = {"input", "output"};

// check_buffers checks all but the units of the ranks that there are.
bool check_buffers(const bundle_buffer *buffer, u32 ranks) {
  for (u32 i = 0; i < BUNDLE_NUM_BUFFERS; i++) {
    const bundle_buffer &b = buffer[i];
    const size_t name = strlen(buffer_names[i]);
    if (b.direction != BUFFER_INPUT + i || !blank(b) || memcmp(b.name, buffer_names[i], name) ||
        !blank(b.name + name, sizeof b.name - name) || !blank(b.units + ranks, (ONE_RANKS - ranks) * sizeof *b.units))
      return false;
  }
  return true;
}

}  // namespace

bool named_open(Bundle *b, Program *p, Why *why) {
  u64 bytes = 0;
  if (!section_there(b, SECTION_NAMED, p->number)) return true;
  const bundle_named *n = (const bundle_named *)section_of(b, SECTION_NAMED, p->number, &bytes, why);
  if (!n) return false;
  if (bytes != sizeof *n + BUNDLE_NUM_BUFFERS * sizeof(bundle_buffer))
    return say(why, "its names have another length"), false;
  if (!check(*n, why)) return false;
  p->named = n, p->buffer = (const bundle_buffer *)(n + 1);
  return check_buffers(p->buffer, p->row->ranks) || (say(why, "its buffers are not input and output"), false);
}

bool named_units(const Program &p, const u8 *node) {
  const bundle_program &row = *p.row;
  if (node[row.ranks - 1] || row.direct) return false;
  for (u32 r = 0; r < row.ranks; r++) {
    const u32 in = p.buffer[0].units[r], out = p.buffer[1].units[r];
    u32 want_in, want_out;
    pieces_of(row, r, &want_in, &want_out);
    if (row.kind == KIND_CUSTOM ? in > row.chunks || out > row.chunks : in != want_in || out != want_out) return false;
  }
  return true;
}

bool named_check(const Set &set, Why *why) {
  for (u32 i = 0; i < set.row->programs; i++) {
    const Program &p = set.program[i];
    if (!p.named) continue;
    u32 rules = 0, same = 0;
    for (u32 k = 0; k < set.row->rules; k++) rules += set.rules[k].program == p.number;
    for (u32 k = 0; k < i; k++)
      same += set.program[k].named && !memcmp(set.program[k].named->name, p.named->name, sizeof p.named->name);
    if (rules == 1 && !same) continue;
    say(why, "of %u ranks, two programs are called %s, or it has %u rules", set.row->ranks, p.named->name, rules);
    return false;
  }
  return true;
}
