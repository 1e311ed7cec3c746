// This file checks the sections of programs and images: every number that the engine or a kernel reads.
// bundle/decode_rows.go checks the same.
#include "bundle.h"

#include <string.h>

namespace {

// check_memory checks the parts of a program in the arena: scratch, packets and flags, in this order.
bool check_memory(const bundle_program &p) {
  Layout l;
  if (!layout_of(&p, &l)) return false;
  const u64 at[] = {p.scratch_at, p.packets_at, p.flags_at, p.end_at}, need[] = {l.scratch, l.packets, l.flag_mem};
  for (int i = 0; i < 3; i++)
    if (at[i] % LIMIT_PART_ALIGN || at[i] > at[i + 1] || at[i + 1] - at[i] < need[i]) return false;
  return true;
}

// check_table says whether a table lies at *at of a section, with zeros after it, and moves *at to their end.
bool check_table(const u8 *base, u64 bytes, u64 is_at, u64 rows, u64 row_bytes, u64 *at) {
  if (is_at != *at || is_at > bytes || rows > (bytes - is_at) / row_bytes) return false;
  const u64 end = is_at + rows * row_bytes, next = (end + BUNDLE_ALIGN - 1) & ~(u64)(BUNDLE_ALIGN - 1);
  *at = next;
  return next <= bytes && blank(base + end, next - end);
}

// check_places says whether the tables of all ranks lie one after another, up to the section's end.
bool check_places(const Program &p, u64 bytes) {
  u64 at = 0;
  const u64 head = sizeof *p.row + p.row->ranks * sizeof *p.part;
  if (!check_table(p.base, bytes, 0, head, 1, &at)) return false;
  for (u32 r = 0; r < p.row->ranks; r++) {
    const bundle_part &t = p.part[r];
    if (!check_table(p.base, bytes, t.blocks_at, t.blocks, sizeof(abi_one_block), &at) ||
        !check_table(p.base, bytes, t.steps_at, t.steps, sizeof(abi_one_step), &at) ||
        !check_table(p.base, bytes, t.operands_at, t.operands, sizeof(abi_one_operand), &at) || !blank(t))
      return false;
  }
  return at == bytes;
}

// open_net reads what a program of several nodes sends.
bool open_net(Bundle *b, Program *p, Why *why) {
  u64 bytes = 0;
  const u8 *data = section_of(b, SECTION_NET, p->number, &bytes, why);
  const bundle_net *n = p->net = (const bundle_net *)data;
  if (!data || bytes < sizeof *n) return say(why, "it does not say what it sends between nodes"), false;
  if (!check(*n, p->row->scratch, why)) return false;
  p->message = (const net_message *)(n + 1), p->segment = (const net_segment *)(p->message + n->messages);
  return bytes - sizeof *n == (u64)n->messages * sizeof(net_message) + (u64)n->segments * sizeof(net_segment) ||
         (say(why, "what it sends between nodes has another length"), false);
}

// open_row reads the row of a program, and where its tables lie.
bool open_row(Bundle *b, u64 bytes, u32 ranks, Program *p, Why *why) {
  if (bytes < sizeof *p->row + ranks * sizeof *p->part) return say(why, "it is too short"), false;
  if (!check(*p->row, why) || !check_then(*p->row, why)) return false;
  if (p->row->ranks != ranks) return say(why, "it is for %u ranks, and its set for %u", p->row->ranks, ranks), false;
  if (!check_memory(*p->row)) return say(why, "it has too little memory"), false;
  if (!check_places(*p, bytes)) return say(why, "its tables do not follow each other"), false;
  if (!p->row->nodes && section_there(b, SECTION_NET, p->number))
    return say(why, "it is for one node, and has messages"), false;
  if (!named_open(b, p, why)) return false;
  return !p->row->nodes || open_net(b, p, why);
}

// check_tables checks the tables of all ranks.
bool check_tables(Program *p, const u8 *node, Why *why) {
  u32 blocks = 0;
  if (!p->named && !check_ruled(*p->row, why)) return false;
  if (p->named && !named_units(*p, node)) return say(why, "it has a name, and not the units of its buffers"), false;
  for (u32 r = 0; r < p->row->ranks; r++) {
    if (!check_part(*p, r, node, &blocks)) return say(why, "the tables of a rank do not fit together"), false;
    for (u32 i = 0; i < p->part[r].steps; i++) p->final |= steps_of(*p, r)[i].flags & STEP_FINAL;
    for (u32 i = 0; i < p->part[r].operands; i++) p->fresh |= operands_of(*p, r)[i].via & ONE_FRESH;
  }
  if (blocks != p->row->blocks) return say(why, "it has more or fewer blocks than it says"), false;
  return !p->net || check_net(*p, node) || (say(why, "its messages between nodes do not fit its tables"), false);
}

}  // namespace

bool program_open(Bundle *b, u32 number, u32 ranks, const u8 *node, Program *p, Why *why) {
  u64 bytes = 0;
  p->base = section_of(b, SECTION_PROGRAM, number, &bytes, why);
  if (!p->base) return false;
  p->number = number, p->final = p->fresh = false, p->net = nullptr;
  p->named = nullptr, p->buffer = nullptr;
  p->row = (const bundle_program *)p->base, p->part = (const bundle_part *)(p->base + sizeof(bundle_program));
  Why reason = {};
  if (open_row(b, bytes, ranks, p, &reason) && check_tables(p, node, &reason)) return then_text(*p->row, p->then), true;
  say(why, "program %u of the bundle is damaged, or of a bundle that mscclc verify refuses: %s", number, reason.text);
  return false;
}

bool image_open(Bundle *b, u32 number, const bundle_image **row, Why *why) {
  u64 bytes = 0;
  const u8 *data = section_of(b, SECTION_IMAGE, number, &bytes, why);
  if (!data) return false;
  const bundle_image *i = *row = (const bundle_image *)data;
  Why reason = {};
  if (bytes <= sizeof *i) say(&reason, "it is too short");
  else if (check(*i, bytes - sizeof *i, data[bytes - 1], &reason)) return true;
  say(why, "image %u of the bundle does not fit together: %s", number, reason.text);
  return false;
}

const char *where_open(Bundle *b, const Program &p, u64 *bytes, Why *why) {
  const char *text = (const char *)section_of(b, SECTION_WHERE, p.number, bytes, why);
  if (!text) return nullptr;
  u64 steps = 0, lines = 0;
  for (u32 r = 0; r < p.row->ranks; r++) steps += p.part[r].steps;
  for (u64 i = 0; i < *bytes; i++) lines += text[i] == '\n';
  if (lines == steps && (!*bytes || text[*bytes - 1] == '\n')) return text;
  say(why, "program %u of the bundle has other source positions than steps", p.number);
  return nullptr;
}
