// This program opens bundles as the library does, and uses all of each: all sets, programs, images and texts. They come
// from stdin, each preceded by its length in 8 bytes. A line says of each "ok", or why it is refused.
#include "bundle/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// use_set opens a set, by its place in the bundle, and all that it names.
static bool use_set(Bundle *b, u32 at, Why *why) {
  u64 bytes = 0;
  const bundle_set *row = set_at(b, at, why);
  Set set;
  const bool nodes = row->node[row->ranks - 1];
  if (!set_open(b, row->ranks, nodes ? row->node : nullptr, row->invariant, row->device, &set, why)) return false;
  bool good = set.row == row || (say(why, "set %u is found by its ranks as another", at), false);
  u32 finisher = 0;
  for (u32 d = 0; good && d < DT_COUNT; d++)
    good = set_image(b, &set, d, false, why) && set_image(b, &set, d, true, why) &&
           set_finisher(b, &set, d, &finisher, why);
  for (u32 i = 0; good && i < row->programs; i++)
    good = where_open(b, set.program[i], &bytes, why) && section_of(b, SECTION_SOURCE, set.programs[i], &bytes, why);
  set_close(&set);
  return good;
}

static bool use(const char *path, Why *why) {
  Bundle *b = bundle_open(path, why);
  if (!b) return false;
  u64 bytes = 0;
  const Sections *count = sections_of(b);
  bool good = section_of(b, SECTION_ABOUT, 0, &bytes, why);
  for (u32 i = 0; good && i < count->sets; i++) good = use_set(b, i, why);
  for (u32 i = 0; good && i < count->images; i++) {
    const bundle_image *image = nullptr;
    good = image_open(b, i, &image, why);
  }
  bundle_forget(b);
  return good;
}

int main() {
  const int file = memfd_create("bundle", 0);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (file < 0 || fchmod(file, 0600)) return 2;
  for (u64 bytes = 0; fread(&bytes, sizeof bytes, 1, stdin) == 1;) {
    char *data = (char *)malloc(bytes + 1);
    if (!data || fread(data, 1, bytes, stdin) != bytes) return 2;
    if (ftruncate(file, (off_t)bytes) || pwrite(file, data, bytes, 0) != (ssize_t)bytes) return 2;
    free(data);
    Why why = {};
    const bool good = use(path, &why);
    for (char *c = why.text; *c; c++)
      if (*c < ' ') *c = '?';
    if (good) puts("ok");
    else printf("no %s\n", why.text);
    if (!good && !why.text[0]) return 3;
    fflush(stdout);
  }
  return 0;
}
