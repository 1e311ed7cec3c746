// This file opens bundles. A section is copied to memory when it is first used, and checked there, so that a later
// change of the file changes nothing.
#include "bundle.h"
#include "sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MSCCLC_ABI
#define MSCCLC_ABI ""  // the hash of the kernel's sources, in hexadecimal; without one, bundles of any are opened
#endif

struct Bundle {
  int file;
  bundle_header header;
  u8 hash[32];
  bundle_section *table;
  u8 **data;  // of sections that were checked
  pthread_mutex_t mu;
};

namespace {

enum { MOST_SECTIONS = 1 << 16 };

bool read_all(int file, void *to, u64 bytes, u64 offset) {
  for (u64 done = 0; done < bytes;) {
    const ssize_t n = pread(file, (u8 *)to + done, bytes - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (u64)n;
  }
  return true;
}

// trusted says whether only the user, or root, can have written a file.
bool trusted(int file, u64 *bytes, Why *why) {
  struct stat about;
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return say(why, "it is no regular file"), false;
  *bytes = (u64)about.st_size;
  if (about.st_uid != geteuid() && about.st_uid != 0)
    return say(why, "it belongs to another user; copy it to a file of your own"), false;
  if (about.st_mode & (S_IWGRP | S_IWOTH))
    return say(why, "other users may write to it; chmod go-w would change that"), false;
  return true;
}

// known says whether the hash of the kernel's sources is the one that this library was built with.
bool known(const u8 abi[32]) {
  static const char digits[] = "0123456789abcdef", *own = MSCCLC_ABI;
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
  if (h->sections > MOST_SECTIONS || h->sections > (bytes - sizeof *h) / sizeof(bundle_section))
    return say(why, "it is too short for %u sections", h->sections), false;
  return true;
}

bool check_table(const Bundle *b, Why *why) {
  const bundle_header &h = b->header;
  u8 hash[32];
  sha256(b->table, h.sections * sizeof(bundle_section), hash);
  if (memcmp(hash, h.table, sizeof hash)) return say(why, "its table is damaged"), false;
  const u64 first = sizeof h + h.sections * sizeof(bundle_section);
  for (u32 i = 0; i < h.sections; i++) {
    const bundle_section &s = b->table[i];
    if (s.offset % BUNDLE_ALIGN || s.offset < first || s.offset > h.bytes || s.bytes > h.bytes - s.offset)
      return say(why, "section %u lies outside of it", i), false;
  }
  return true;
}

bool open_into(Bundle *b, const char *path, Why *why) {
  u64 bytes = 0;
  // A pipe of that name would have open wait.
  b->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (b->file < 0) return say(why, "%s", strerror(errno)), false;
  if (!trusted(b->file, &bytes, why)) return false;
  if (bytes >= sizeof b->header && !read_all(b->file, &b->header, sizeof b->header, 0))
    return say(why, "it cannot be read"), false;
  if (!check_header(&b->header, bytes, why)) return false;
  const u64 table = b->header.sections * sizeof(bundle_section);
  b->table = (bundle_section *)malloc(table + 1);
  b->data = (u8 **)calloc(b->header.sections + 1, sizeof *b->data);
  if (!b->table || !b->data) return say(why, "there is no memory for its table"), false;
  if (!read_all(b->file, b->table, table, sizeof b->header)) return say(why, "it cannot be read"), false;
  sha256(&b->header, sizeof b->header, b->hash);
  return check_table(b, why);
}

// load reads and checks a section.
u8 *load(Bundle *b, const bundle_section &s, Why *why) {
  void *data = nullptr;
  if (posix_memalign(&data, BUNDLE_ALIGN, s.bytes + 1)) return say(why, "there is no memory for a section"), nullptr;
  u8 hash[32];
  const bool whole = read_all(b->file, data, s.bytes, s.offset);
  if (whole) sha256(data, s.bytes, hash);
  if (whole && !memcmp(hash, s.sha256, sizeof hash)) return ((u8 *)data)[s.bytes] = 0, (u8 *)data;
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

const u8 *section_of(Bundle *b, u32 kind, u32 number, u64 *bytes, Why *why) {
  for (u32 i = 0; i < b->header.sections; i++) {
    const bundle_section &s = b->table[i];
    if (s.kind != kind || s.number != number) continue;
    pthread_mutex_lock(&b->mu);
    if (!b->data[i]) b->data[i] = load(b, s, why);
    const u8 *data = b->data[i];
    pthread_mutex_unlock(&b->mu);
    *bytes = s.bytes;
    return data;
  }
  if (kind == SECTION_SET) say(why, "the bundle is not for communicators of %u ranks", number);
  else say(why, "the bundle has no section of kind %u and number %u", kind, number);
  return nullptr;
}
