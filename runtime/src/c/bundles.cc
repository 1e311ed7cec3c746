// Bundles, and what their programs are like.
#include "handles.h"

#include <stdlib.h>
#include <string.h>

namespace {

// Bundles that were loaded stay open until the process ends: kernels on a GPU are known by them. Whoever opens a file
// with the same bytes again gets the one that is there.
struct Kept {
  Bundle *bundle;
  Kept *next;
};
Kept *kept;
pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

// each_set calls does(set, ranks) for each set of one node, and gives false if one cannot be opened.
template <typename F>
bool each_set(Bundle *b, Why *why, F does) {
  for (u32 i = 0; i < sections_of(b)->sets; i++) {
    const bundle_set *row = set_at(b, i, why);
    if (!row) return false;
    if (row->node[row->ranks - 1] || row->invariant) continue;  // that for invariant bits has the same names
    Set set;
    if (!set_open(b, row->ranks, nullptr, false, nullptr, &set, why)) return false;
    does(set);
    set_close(&set);
  }
  return true;
}

// list describes all named programs of a bundle.
bool list(mscclc_bundle b, Why *why) {
  int count = 0;
  const auto named = [](const Set &s, u32 i) { return s.program[i].named != nullptr; };
  if (!each_set(b->bundle, why, [&](const Set &s) {
        for (u32 i = 0; i < s.row->programs; i++) count += named(s, i);
      }))
    return false;
  b->list = (mscclc_program_info *)calloc((size_t)count + 1, sizeof *b->list);
  if (!b->list) return say(why, "no memory"), false;
  return each_set(b->bundle, why, [&](const Set &s) {
    for (u32 i = 0; i < s.row->programs; i++)
      if (named(s, i)) describe(s, i, &b->list[b->count++]);
  });
}

mscclc_result listed(mscclc_bundle b) {
  Why why = {};
  if (!b) return failed(MSCCLC_BAD_ARGUMENT, "the bundle is null");
  pthread_mutex_lock(&b->mu);
  const bool good = b->listed || list(b, &why);
  b->listed = good;
  pthread_mutex_unlock(&b->mu);
  return good ? MSCCLC_OK : failed(MSCCLC_BAD_BUNDLE, "%s", why.text);
}

}  // namespace

bool bundle_keep(mscclc_bundle b) {
  if (b->kept) return true;
  Kept *k = (Kept *)malloc(sizeof *k);
  if (!k) return false;
  pthread_mutex_lock(&keeping);
  *k = Kept{b->bundle, kept}, kept = k;
  pthread_mutex_unlock(&keeping);
  return b->kept = true;
}

void describe(const Set &set, u32 program, mscclc_program_info *info) {
  const Program &p = set.program[program];
  const bundle_program &row = *p.row;
  *info = mscclc_program_info{};
  info->size = sizeof *info;
  memcpy(info->name, p.named->name, sizeof info->name);
  info->ranks = (int32_t)row.ranks, info->collective = (int32_t)row.kind, info->root = (int32_t)row.root;
  info->reduces = !row.copies, info->in_place = row.inplace, info->out_of_place = row.outofplace;
  for (u32 d = 0; d < DT_COUNT; d++)
    if ((row.copies ? set.row->copier : set.row->image)[d] != BUNDLE_NONE) info->dtypes |= 1u << d;
  info->buffers = (int32_t)p.named->buffers;
  for (u32 i = 0; i < p.named->buffers; i++) {
    mscclc_buffer &b = info->buffer[i];
    memcpy(b.name, p.buffer[i].name, sizeof b.name);
    b.direction = (int32_t)p.buffer[i].direction;
    memcpy(b.units, p.buffer[i].units, sizeof b.units);
  }
}

bool copy_info(const mscclc_program_info &from, mscclc_program_info *to) {
  if (!to || to->size < sizeof from) return false;
  const u32 size = to->size;
  *to = from, to->size = size;
  return true;
}

extern "C" {

mscclc_result mscclc_open(const char *path, mscclc_bundle *bundle) {
  Why why = {};
  begun();
  if (forked()) return MSCCLC_FORKED;
  if (!path || !bundle) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_open: the path or the bundle is null");
  mscclc_bundle b = (mscclc_bundle)calloc(1, sizeof *b);
  if (!b) return failed(MSCCLC_SYSTEM, "no memory");
  pthread_mutex_init(&b->mu, nullptr);
  if (!(b->bundle = bundle_open(path, &why))) return free(b), failed(MSCCLC_BAD_BUNDLE, "%s", why.text);
  pthread_mutex_lock(&keeping);
  const Kept *k = kept;
  while (k && memcmp(bundle_hash(k->bundle), bundle_hash(b->bundle), 32)) k = k->next;
  pthread_mutex_unlock(&keeping);
  if (k) bundle_forget(b->bundle), b->bundle = k->bundle, b->kept = true;
  return *bundle = b, MSCCLC_OK;
}

mscclc_result mscclc_close(mscclc_bundle b) {
  if (forked()) return MSCCLC_FORKED;
  if (!b) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_close: the bundle is null");
  if (!b->kept) bundle_forget(b->bundle);
  pthread_mutex_destroy(&b->mu);
  free(b->list);
  free(b);
  return MSCCLC_OK;
}

mscclc_result mscclc_bundle_count(mscclc_bundle b, int *count) {
  if (forked()) return MSCCLC_FORKED;
  if (!count) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_bundle_count: count is null");
  if (const mscclc_result r = listed(b)) return r;
  return *count = b->count, MSCCLC_OK;
}

mscclc_result mscclc_bundle_program(mscclc_bundle b, int index, mscclc_program_info *info) {
  if (forked()) return MSCCLC_FORKED;
  if (const mscclc_result r = listed(b)) return r;
  if (index < 0 || index >= b->count)
    return failed(MSCCLC_BAD_ARGUMENT, "mscclc_bundle_program: the bundle has %d programs, and none is number %d",
                  b->count, index);
  if (!copy_info(b->list[index], info))
    return failed(MSCCLC_BAD_ARGUMENT, "mscclc_bundle_program: set info->size to sizeof(mscclc_program_info)");
  return MSCCLC_OK;
}
}
