// This program changes bytes of a bundle at random, opens each copy, and uses all of it that can be opened. In most
// copies the hashes are those of the changed bytes, so that the later checks are tried. The first copy is not
// changed, and all of its sets are used.
//
//	mutate BUNDLE DEVICE COPIES SEED RANKS...
#include "../src/sha256.h"
#include "../src/team/team.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static u64 state;
static u64 next() {
  state += 0x9e3779b97f4a7c15;
  u64 x = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}
static u64 below(u64 n) { return n ? next() % n : 0; }

struct Copy {
  u8 *data;
  u64 bytes;
  bundle_header *header() { return (bundle_header *)data; }
  bundle_section *table() { return (bundle_section *)(data + sizeof(bundle_header)); }
};

static u64 number() {
  static const u64 numbers[] = {0,   1,       2,       3,          15,         16,  63,  64,
                                127, 255,     1 << 12, 1 << 16,    0x7fffffff, 0x80000000, ~0u, ~0ull};
  return below(3) ? numbers[below(16)] : next() >> below(64);
}

// strike writes a number of 1 to 8 bytes somewhere, mostly where programs, parts and rules have their rows.
static void strike(Copy *c, u64 from, u64 bytes) {
  const u64 size = 1ull << below(4), n = number();
  if (bytes < 8) return;
  const u64 reach = below(2) ? bytes : bytes < 512 ? bytes : 512;
  memcpy(c->data + from + below(reach / size) * size, &n, size);
}

static void mutate(Copy *c) {
  const u32 sections = c->header()->sections;
  const u32 which = (u32)below(sections);
  const bundle_section s = c->table()[which];
  const u64 kind = below(20);
  if (kind == 0) strike(c, 0, sizeof(bundle_header));
  else if (kind == 1) strike(c, sizeof(bundle_header), sections * sizeof(bundle_section));
  else if (kind == 2) c->bytes = below(c->bytes);
  else if (kind == 3) strike(c, 0, c->bytes);
  else
    for (u64 n = 1 + below(3); n > 0; n--) strike(c, s.offset, s.bytes);
  if (kind < 4 && below(2)) return;
  if (c->bytes < sizeof(bundle_header) + sections * sizeof(bundle_section) || c->header()->sections != sections) return;
  if (kind > 3) sha256(c->data + s.offset, s.bytes, c->table()[which].sha256);
  sha256(c->table(), sections * sizeof(bundle_section), c->header()->table);
}

static u64 checksum;  // of what was read, so that no compiler leaves it out

// call lays out launches of a program.
static void call(const Program &p, u32 rank, u32 replicas) {
  abi_one_memory memory[ONE_RANKS];
  for (u32 r = 0; r < ONE_RANKS; r++) memory[r] = {next(), next() & ~15ull, next(), next() & ~15ull, next()};
  const Shape shape = {number(), (u32)below(DT_COUNT), (u32)below(RED_COUNT), replicas, 1 + number() % (1 << 30)};
  if (cannot(p, shape)) return;
  abi_few_launch l = {};
  general_launch(p, shape, Where{1, 2, 3, 4, 5, memory, rank}, &l.one);
  checksum += l.one.iterations + few_launch(p, rank, l.one, &l.few);
  checksum += entry_of(p, below(2), shape.dtype, shape.redop, p.row->copies);
}

// tell has a failure of a program put in words.
static void tell(Bundle *b, const Set &set, u32 rank, u32 program) {
  Team t = {};
  t.bundle = b, t.set = set, t.rank = rank, t.ranks = set.row->ranks;
  abi_status s = {};
  s.code = STATUS_TIMEOUT, s.block = (u32)below(64), s.step = (u32)below(64), s.what = (u32)below(7);
  s.want = number(), s.have = number(), s.tile = number(), s.operand = (u32)below(8);
  if (!below(4)) s.block = (u32)number(), s.step = (u32)number(), s.operand = (u32)number();
  Why why = {};
  tell_failure(&t, program, s, number(), number(), &why);
  checksum += strlen(why.text);
}

// What was used of the first copy.
static u32 programs;
static bool images[64];

// use gives whether a set could be opened: for a number of ranks on one node, as 4, or on each, as 4/2. Of the
// first copy it has each program tell of a failure.
static bool use(Bundle *b, const char *which, const char *device, bool first, Why *why) {
  Set set;
  const u32 ranks = (u32)atoi(which);
  const char *each = strchr(which, '/');
  u8 node[ONE_RANKS] = {};
  for (u32 r = 0; each && r < ranks; r++) node[r] = (u8)(r / (u32)atoi(each + 1));
  if (!set_open(b, ranks, each ? node : nullptr, false, device, &set, why)) return false;
  for (u32 i = 0; i < set.row->rules; i++) {
    if (set.rules[i].program == BUNDLE_NCCL) continue;
    const Program &p = set.program[set_find(&set, set.rules[i].program)];
    call(p, (u32)below(ranks), set.rules[i].replicas);
  }
  const u32 count = set.row->programs;
  for (u32 n = 0; n < (first ? count : count ? 4 : 0); n++)
    tell(b, set, (u32)below(ranks), first ? n : (u32)below(count));
  if (first) programs += count;
  const u32 *both[] = {set.row->image, set.row->copier};
  for (u32 d = 0; d < DT_COUNT; d++)
    for (const u32 *of : both) {
      const u32 image = of[d];
      const bundle_image *row = nullptr;
      if (image == BUNDLE_NONE || !image_open(b, image, &row, why)) continue;
      if (first) images[image % 64] = true;
      checksum += strlen(row->name) + (row->form == IMAGE_PTX ? strlen((const char *)(row + 1)) : row->bytes);
    }
  set_close(&set);
  return true;
}

int main(int argc, char **argv) {
  if (argc < 6) return 2;
  const int file = open(argv[1], O_RDONLY), changed = memfd_create("bundle", 0);
  struct stat about;
  if (file < 0 || fstat(file, &about) || changed < 0 || fchmod(changed, 0600)) return 2;
  const u64 bytes = (u64)about.st_size;
  u8 *whole = (u8 *)malloc(bytes), *copy = (u8 *)malloc(bytes);
  if (read(file, whole, bytes) != (ssize_t)bytes) return 2;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", changed);
  state = (u64)atoll(argv[4]);
  u32 opened = 0, used = 0;
  const u32 copies = (u32)atoi(argv[3]);
  for (u32 i = 0; i < copies; i++) {
    Copy c = {copy, bytes};
    memcpy(copy, whole, bytes);
    if (i) mutate(&c);
    if (ftruncate(changed, (off_t)c.bytes) || pwrite(changed, copy, c.bytes, 0) != (ssize_t)c.bytes) return 2;
    Why why = {};
    Bundle *b = bundle_open(path, &why);
    if (!b && !why.text[0]) return fprintf(stderr, "copy %u is refused without a reason\n", i), 1;
    if (!b) continue;
    opened++;
    for (int k = 5; k < argc; k++) {
      if (i && below((u64)argc - 5)) continue;
      const bool good = use(b, argv[k], argv[2], i == 0, &why);
      used += good;
      if (!good && !why.text[0]) return fprintf(stderr, "copy %u is refused without a reason\n", i), 1;
      if (!i && !good) return fprintf(stderr, "the bundle itself is refused: %s\n", why.text), 1;
    }
    bundle_forget(b);
  }
  u32 seen = 0;
  for (bool image : images) seen += image;
  printf("%u programs, %u images; %u copies, %u opened, %u used; %llx\n", programs, seen, copies, opened, used,
         checksum);
  free(whole);
  free(copy);
  return 0;
}
