// This program checks the check of headers: what it lets through stays within scratch and flags, and moves as many
// bytes as the kernel does (pass_bytes in kernels/moves/cells.h). header SEED COUNT.
#include "../../kernels/platform/cpu.h"
#include "../../kernels/moves/cells.h"
#include "../wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static u64 state;
static u64 dice(u64 n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return n ? (state >> 20) % n : 0;
}

enum { RANKS = 3, BLOCKS = 3, COLUMNS = 2, DEPTH = 3, CHUNKS = 4, FLAGS = 5 };
static const net_segment segments[] = {{0, 2, 3}, {4, 3, 1}};
static const net_message messages[] = {{0, 0, 1, 0, 2}, {0, 3, 2, 0, 0}, {1, 1, 0, 1, 1}, {2, 0, 1, 0, 1}};
static const u32 own[] = {0, 1, 2}, rank_of[] = {0, 1, 2};
static const net_program program = {messages, segments, own, own, rank_of, 4, 2, RANKS, BLOCKS, COLUMNS, DEPTH, CHUNKS,
                                    FLAGS, 512, 8 * 512, {}};
static const u64 SCRATCH = 8 * 512 * COLUMNS * DEPTH;
static u8 scratch[8 * 512 * COLUMNS * DEPTH];
static u64 flags[COLUMNS * FLAGS];

static int wrong(const char *what, const wire_header &h) {
  printf("%s: block %u column %u operand %u copy %u rank %u flag %u [%llu, %llu) of %llu, %llu\n", what, h.block,
         h.column, h.operand, h.copy, h.rank, h.flag, h.first, h.end, h.chunk, h.elems);
  return 1;
}

static u64 strange(u64 x) {
  const u64 all[] = {0,          1,          x + 1,      x - 1, x * 2,       0x7fffffff,
                     0xffffffff, 1ull << 32, 1ull << 62, ~0ull, dice(~0ull), dice(8)};
  return all[dice(sizeof all / sizeof *all)];
}

static wire_header good() {
  wire_header h = {};
  h.column = (u32)dice(COLUMNS), h.copy = h.column * DEPTH + (u32)dice(DEPTH), h.rank = 1, h.flag = (u32)dice(FLAGS);
  h.chunk = 1 + dice(512), h.elems = 1 + dice(4 * h.chunk), h.end = h.chunk, h.count = 1;
  return h;
}

// lies says whether a post stays within the memory that it may write, and has the bytes that were told.
static bool lies(const wire_header &h, const Checked &post) {
  u64 bytes = 0;
  Piece piece;
  for (Cursor c = {}; next_piece(program, *post.message, h, &c, &piece); bytes += piece.bytes) {
    if (piece.at >= SCRATCH || piece.bytes > SCRATCH - piece.at || piece.bytes > 512) return false;
    memset(scratch + piece.at, 1, piece.bytes);
  }
  flags[h.column * FLAGS + h.flag] = 1;
  return bytes == post.bytes && h.rank == 1 && h.block == 0;
}

static int hostile() {
  net_memory memory[RANKS] = {};
  memory[1] = net_memory{(u64)scratch, SCRATCH, (u64)flags, sizeof flags};
  Checked post;
  wire_header h = good();
  if (check_post(program, h, 0, 1, memory, &post)) return wrong("a good header is refused", h);
  if (!post.message || post.bytes == 0) return wrong("a good header moves nothing", h);
  u32 *const narrow[] = {&h.block, &h.column, &h.operand, &h.copy, &h.rank, &h.flag};
  u64 *const wide[] = {&h.first, &h.end, &h.elems, &h.chunk};
  for (u64 n = 1 + dice(3); n > 0; n--) {
    if (u64 *at = wide[dice(4)]; dice(2)) *at = strange(*at);
    else if (u32 *small = narrow[dice(6)]) *small = (u32)strange(*small);
  }
  return !check_post(program, h, 0, 1, memory, &post) && !lies(h, post) ? wrong("a header is believed", h) : 0;
}

// Each of these is one fault in a good header.
static int single() {
  net_memory memory[RANKS] = {};
  memory[1] = net_memory{(u64)scratch, SCRATCH, (u64)flags, sizeof flags};
  const wire_header h = good();
  wire_header bad[12];
  for (wire_header &b : bad) b = h;
  bad[0].block = 1, bad[1].block = BLOCKS, bad[2].column = COLUMNS, bad[3].copy = COLUMNS * DEPTH;
  bad[4].copy = (h.column + 1) % COLUMNS * DEPTH, bad[5].rank = 2, bad[6].rank = RANKS, bad[7].flag = FLAGS;
  bad[8].operand = 1, bad[9].operand = 3, bad[10].first = h.end + 1;
  bad[11].chunk = bad[11].end = 513, bad[11].elems = 4 * 513;
  Checked post;
  for (const wire_header &b : bad)
    if (!check_post(program, b, 0, 1, memory, &post)) return wrong("a bad header is believed", b);
  return 0;
}

// same compares with the kernel's own formula, which counts elements.
static int same() {
  static abi_one_launch a;
  a.elem_size = 1u << dice(4), a.chunk = dice(300), a.chunks = (u32)(1 + dice(9));
  a.elems = dice(a.chunk * a.chunks + 1);
  one_tables at = {};
  at.launch = &a;
  One t = one_thread(at, 0, abi_one_state{});
  t.first = dice(a.chunk * a.elem_size + 20), t.end = t.first + dice(a.chunk * a.elem_size + 20);
  wire_header h = {};
  h.first = t.first, h.end = t.end, h.elems = a.elems * a.elem_size, h.chunk = a.chunk * a.elem_size;
  for (u32 k = 0; k < a.chunks; k++)
    if (pass_bytes_of(h, k) != pass_bytes(t, k)) return wrong("the kernel moves other bytes", h);
  return 0;
}

__thread host_thread *host_self;
void host_barrier() {}
void host_pause() {}
u64 host_now() { return 0; }

int main(int count, char **argument) {
  if (count != 3) return 2;
  state = strtoull(argument[1], nullptr, 10);
  if (const char *no = check_program(program)) return printf("%s\n", no), 1;
  for (u64 n = strtoull(argument[2], nullptr, 10); n > 0; n--)
    if (hostile() || single() || same()) return 1;
  return 0;
}
