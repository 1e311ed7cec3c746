// This file opens bundles. A section is copied to memory when it is first used, and checked there, so that a later
// change of the file changes nothing.
#include "../sha256.h"
#include "bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MSCCLC_KERNELS
#define MSCCLC_KERNELS ""  // the hash of the kernel's sources, in hexadecimal; without one, bundles of any are opened
#endif

struct Bundle {
  int file;
  bundle_header header;
  u8 hash[32];
  bundle_section *table;
  u8 **data;  // of sections that were checked
  Sections count;
  pthread_mutex_t mu;
};

namespace {

u64 aligned(u64 n) { return (n + BUNDLE_ALIGN - 1) & ~(u64)(BUNDLE_ALIGN - 1); }

// known says whether the hash of the kernel's sources is the one that this library was built with.
bool known(const u8 abi[32]) {
  static const char digits[] = "0123456789abcdef", *own = MSCCLC_KERNELS;
  for (int i = 0; *own && i < 32; i++)
    if (own[2 * i] != digits[abi[i] >> 4] || own[2 * i + 1] != digits[abi[i] & 15]) return false;
  return true;
}

bool check_header(const bundle_header *h, u64 bytes, Why *why) {
  if (bytes < sizeof *h || memcmp(h->magic, BUNDLE_MAGIC, sizeof h->magic)) return say(why, "it is no bundle"), false;
  if (h->version != BUNDLE_VERSION)
    return say(why, "it has version %u, and this library reads version %d; make it anew", h->version, BUNDLE_VERSION),
           false;
  if (!known(h->abi)) return say(why, "it is for other kernels than this library's; make it anew"), false;
  if (h->bytes != bytes) return say(why, "it has %llu bytes, and should have %llu", bytes, h->bytes), false;
  if (bytes > LIMIT_FILE || h->sections > LIMIT_SECTIONS)
    return say(why, "it has more bytes or sections than a bundle may have"), false;
  if (h->sections > (bytes - sizeof *h) / sizeof(bundle_section))
    return say(why, "it is too short for %u sections", h->sections), false;
  if (!blank(*h)) return say(why, "a field that is not used is not 0"), false;
  return true;
}

bool check_table(Bundle *b, Why *why) {
  const bundle_header &h = b->header;
  u8 hash[32];
  sha256(b->table, h.sections * sizeof(bundle_section), hash);
  if (memcmp(hash, h.table, sizeof hash)) return say(why, "its table is damaged"), false;
  u64 at = aligned(sizeof h + h.sections * sizeof(bundle_section));
  for (u32 i = 0; i < h.sections; i++) {
    const bundle_section &s = b->table[i];
    if (s.offset != at || at > h.bytes || s.bytes > h.bytes - at || !blank(s))
      return say(why, "section %u does not lie after the previous one", i), false;
    at = aligned(at + s.bytes);
  }
  if (at != h.bytes) return say(why, "it has bytes that are of no section"), false;
  return check_sections(b->table, h.sections, &b->count, why);
}

bool open_into(Bundle *b, const char *path, Why *why) {
  u64 bytes = 0;
  // A pipe of that name would have open wait.
  b->file = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  if (b->file < 0) return say(why, "%s", strerror(errno)), false;
  if (!trusted(b->file, path, &bytes, why)) return false;
  if (bytes >= sizeof b->header && !sys_read_at(b->file, &b->header, sizeof b->header, 0))
    return say(why, "it cannot be read"), false;
  if (!check_header(&b->header, bytes, why)) return false;
  const u64 table = b->header.sections * sizeof(bundle_section);
  const u64 room = aligned(sizeof b->header + table) - sizeof b->header;  // with what follows up to the first section
  if (room > bytes - sizeof b->header) return say(why, "it is too short for its table"), false;
  b->table = (bundle_section *)malloc(room + 1);
  b->data = (u8 **)calloc(b->header.sections + 1, sizeof *b->data);
  if (!b->table || !b->data) return say(why, "there is no memory for its table"), false;
  if (!sys_read_at(b->file, b->table, room, sizeof b->header)) return say(why, "it cannot be read"), false;
  if (!blank((u8 *)b->table + table, room - table)) return say(why, "bytes after its table are not 0"), false;
  sha256(&b->header, sizeof b->header, b->hash);
  return check_table(b, why) && sets_check(b, why);
}

// load reads and checks a section.
u8 *load(Bundle *b, const bundle_section &s, Why *why) {
  void *data = nullptr;
  const u64 room = aligned(s.bytes);
  if (posix_memalign(&data, BUNDLE_ALIGN, room + 1)) return say(why, "there is no memory for a section"), nullptr;
  u8 hash[32];
  const bool whole = sys_read_at(b->file, data, room, s.offset);
  if (whole) sha256(data, s.bytes, hash);
  if (whole && !memcmp(hash, s.sha256, sizeof hash) && blank((u8 *)data + s.bytes, room - s.bytes))
    return ((u8 *)data)[s.bytes] = 0, (u8 *)data;
  say(why, "a section of the bundle is damaged (kind %u, number %u)", s.kind, s.number);
  free(data);
  return nullptr;
}

}  // namespace

Bundle *bundle_open(const char *path, Why *why) {
  Why inner = {};
  Bundle *b = (Bundle *)calloc(1, sizeof *b);
  if (!b) return say(why, "no memory"), nullptr;
  pthread_mutex_init(&b->mu, nullptr);
  if (open_into(b, path, &inner)) return b;
  say(why, "bundle %.200s: %s", path, inner.text);
  bundle_forget(b);
  return nullptr;
}

void bundle_forget(Bundle *b) {
  if (!b) return;
  if (b->file >= 0) close(b->file);
  for (u32 i = 0; b->data && i < b->header.sections; i++) free(b->data[i]);
  free(b->data);
  free(b->table);
  pthread_mutex_destroy(&b->mu);
  free(b);
}

const u8 *bundle_hash(const Bundle *b) { return b->hash; }
const Sections *sections_of(const Bundle *b) { return &b->count; }

static const u8 *section_at(Bundle *b, u32 i, u64 *bytes, Why *why) {
  pthread_mutex_lock(&b->mu);
  if (!b->data[i]) b->data[i] = load(b, b->table[i], why);
  const u8 *data = b->data[i];
  pthread_mutex_unlock(&b->mu);
  if (bytes) *bytes = b->table[i].bytes;
  return data;
}

const bundle_set *set_at(Bundle *b, u32 set, Why *why, u32 *number, u64 *bytes) {
  const u32 i = 1 + set;  // sets follow SECTION_ABOUT
  if (number) *number = b->table[i].number;
  return (const bundle_set *)section_at(b, i, bytes, why);
}

bool section_there(const Bundle *b, u32 kind, u32 number) {
  for (u32 i = 0; i < b->header.sections; i++)
    if (b->table[i].kind == kind && b->table[i].number == number) return true;
  return false;
}

const u8 *section_of(Bundle *b, u32 kind, u32 number, u64 *bytes, Why *why) {
  for (u32 i = 0; i < b->header.sections; i++)
    if (b->table[i].kind == kind && b->table[i].number == number) return section_at(b, i, bytes, why);
  if (kind == SECTION_SET) say(why, "the bundle is not for communicators of %u ranks", number);
  else say(why, "the bundle has no section of kind %u and number %u", kind, number);
  return nullptr;
}
