// This program checks the check of headers: what it lets through stays within scratch and flags, and moves as many
// bytes as the kernel does (iteration_bytes in kernels/moves/cells.h). header SEED COUNT.
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

enum { RANKS = 3, BLOCKS = 3, REPLICAS = 2, DEPTH = 3, CHUNKS = 4, FLAGS = 5 };
static const net_segment segments[] = {{0, 2, 3}, {4, 3, 1}};
static const net_message messages[] = {{0, 0, 1, 0, 2}, {0, 3, 2, 0, 0}, {1, 1, 0, 1, 1}, {2, 0, 1, 0, 1}};
static const u32 own[] = {0, 1, 2}, rank_of[] = {0, 1, 2};
static const net_program program = {messages, segments, own, own, rank_of, 4, 2, RANKS, BLOCKS, REPLICAS, DEPTH, CHUNKS,
                                    FLAGS, 512, 8 * 512 * REPLICAS, {}};
static const u64 SCRATCH = 8 * 512 * REPLICAS * DEPTH;
static u8 scratch[8 * 512 * REPLICAS * DEPTH];
static u64 flags[REPLICAS * FLAGS];

static int wrong(const char *what, const wire_post &post) {
  const wire_header &h = post.h;
  printf("%s: block %u replica %u, %u replicas, operand %u rank %u flag %u of %llu, %llu\n", what, h.block, h.replica,
         h.replicas, h.operand, h.rank, h.flag, h.chunk, h.elems);
  for (const wire_part *p = post.part; p < post.part + least(h.replicas, REPLICAS); p++)
    printf("copy %u [%llu, %llu)\n", p->copy, p->first, p->end);
  return 1;
}

static u64 strange(u64 x) {
  const u64 all[] = {0,          1,          x + 1,      x - 1, x * 2,       0x7fffffff,
                     0xffffffff, 1ull << 32, 1ull << 62, ~0ull, dice(~0ull), dice(8)};
  return all[dice(sizeof all / sizeof *all)];
}

static wire_post good() {
  wire_post post = {};
  wire_header &h = post.h;
  h.replicas = (u32)(1 + dice(REPLICAS)), h.rank = 1, h.flag = (u32)dice(FLAGS);
  h.chunk = dice(3) ? 1 + dice(512) : 512, h.elems = 1 + dice(4 * h.chunk);
  const bool skewed = !dice(3);
  const u32 copy = (u32)dice(DEPTH);
  for (u32 i = 0; i < h.replicas; i++)
    post.part[i] = wire_part{1, 0, h.chunk, skewed ? (u32)dice(DEPTH) : copy, 0};
  return post;
}

// lies says whether a post stays within the memory that it may write, and has the bytes that were announced. Its pieces
// are its cells in their order, of which no two that follow each other are left apart.
static bool lies(const wire_post &post, const Checked &checked) {
  const wire_header &h = post.h;
  u64 bytes = 0, within = 0, end = ~0ull;
  Piece piece, cell;
  Cursor cells = {};
  for (Cursor c = {}; next_piece(program, *checked.message, post, &c, &piece); bytes += piece.bytes) {
    if (piece.at >= SCRATCH || piece.bytes > SCRATCH - piece.at || piece.at == end) return false;
    memset(scratch + piece.at, 1, piece.bytes);
    end = piece.at + piece.bytes;
    for (within = 0; within < piece.bytes; within += cell.bytes)
      if (!next_cell(program, *checked.message, post, &cells, &cell) || cell.at != piece.at + within ||
          cell.bytes > 512)
        return false;
    if (within != piece.bytes) return false;
  }
  for (u32 i = 0; i < h.replicas; i++) flags[(h.replica + i) * FLAGS + h.flag] = 1;
  return bytes == checked.bytes && h.rank == 1 && h.block == 0 &&
         !next_cell(program, *checked.message, post, &cells, &cell);
}

static int hostile() {
  net_memory memory[RANKS] = {};
  memory[1] = net_memory{(u64)scratch, SCRATCH, (u64)flags, sizeof flags};
  Checked checked;
  wire_post post = good();
  wire_header &h = post.h;
  if (check_post(program, post, 0, 1, memory, &checked)) return wrong("a good header is refused", post);
  if (!checked.message || checked.bytes == 0) return wrong("a good header moves nothing", post);
  if (!lies(post, checked)) return wrong("a good header lies elsewhere", post);
  wire_part &part = post.part[dice(h.replicas)];
  u32 *const narrow[] = {&h.block, &h.replica, &h.replicas, &h.operand, &h.rank, &h.flag, &part.copy};
  u64 *const wide[] = {&part.first, &part.end, &h.elems, &h.chunk};
  for (u64 n = 1 + dice(3); n > 0; n--) {
    if (u64 *at = wide[dice(4)]; dice(2)) *at = strange(*at);
    else if (u32 *small = narrow[dice(7)]) *small = (u32)strange(*small);
  }
  if (check_post(program, post, 0, 1, memory, &checked) || lies(post, checked)) return 0;
  return wrong("a header is believed", post);
}

// Each of these is one fault in a good header.
static int single() {
  net_memory memory[RANKS] = {};
  memory[1] = net_memory{(u64)scratch, SCRATCH, (u64)flags, sizeof flags};
  const wire_post post = good();
  const u32 last = post.h.replicas - 1;
  wire_post bad[14];
  for (wire_post &b : bad) b = post;
  bad[0].h.block = 1, bad[1].h.block = BLOCKS, bad[2].h.replica = REPLICAS, bad[3].part[last].copy = DEPTH;
  bad[4].h.replicas = REPLICAS + 1, bad[5].h.rank = 2, bad[6].h.rank = RANKS, bad[7].h.flag = FLAGS;
  bad[8].h.operand = 1, bad[9].h.operand = 3, bad[10].part[last].first = post.part[last].end + 1;
  bad[11].h.chunk = bad[11].part[last].end = 513, bad[11].h.elems = 4 * 513;
  bad[12].h.replicas = 0, bad[13].h.replica = bad[13].h.replicas = 1;
  Checked checked;
  for (const wire_post &b : bad)
    if (!check_post(program, b, 0, 1, memory, &checked)) return wrong("a bad header is believed", b);
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
  wire_post post = {};
  post.part[0].first = t.first, post.part[0].end = t.end;
  post.h.elems = a.elems * a.elem_size, post.h.chunk = a.chunk * a.elem_size;
  for (u32 k = 0; k < a.chunks; k++)
    if (iteration_bytes_of(post.h, post.part[0], k) != iteration_bytes(t, k))
      return wrong("the kernel moves other bytes", post);
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
