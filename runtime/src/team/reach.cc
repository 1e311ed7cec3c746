// This file reaches memory that others have made. A rank offers its own in one of two ways: plain memory by a handle of
// its allocation, and memory that was made and mapped in two steps (cuMemCreate, cuMemMap) as files, one for each step.
// Ranks of one process use the addresses as they are.
#include "team.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

enum { MEMORY_TYPE = 2, DEVICE_ORDINAL = 9, ON_DEVICE = 2, DEVICE = 1, POSIX_FILE = 1, READ_WRITE = 3 };
enum { LAZY_PEER_ACCESS = 1, OUT_OF_MEMORY = 2 };

bool fail(const char *what, int code, Why *why) { return say(why, "%s: %s", what, driver_text(code)), false; }

// maps says whether the driver has the functions of memory that is mapped.
bool maps(const gpu_symbols *f) {
  return f->retain_handle && f->release_handle && f->properties && f->export_handle && f->import_handle && f->reserve &&
         f->reserve_end && f->map && f->unmap && f->get_access && f->set_access;
}

bool is_mapped(const gpu_symbols *f, u64 at) {
  u64 handle = 0;
  if (!maps(f) || f->retain_handle(&handle, at)) return false;
  f->release_handle(handle);
  return true;
}

// of_gpu says whether memory is that of a GPU.
bool of_gpu(const Gpu *g, u64 at, Why *why) {
  unsigned type = 0;
  int ordinal = -1;
  const bool known = !g->f->pointer(&type, MEMORY_TYPE, at) && type == ON_DEVICE;
  if (g->host) return known || (say(why, "it is not memory of mscclc_alloc"), false);
  if (!known || g->f->pointer(&ordinal, DEVICE_ORDINAL, at)) return say(why, "it is not memory of a GPU"), false;
  if (ordinal == g->number) return true;
  return say(why, "it is memory of GPU %d, and the rank's is GPU %d", ordinal, g->number), false;
}

// export_part exports what is mapped at an address. There is no file (-1) where it was made without.
int export_part(const gpu_symbols *f, u64 at, int *file) {
  gpu_properties p = {};
  u64 handle = 0;
  *file = -1;
  TRY(f->retain_handle(&handle, at));
  int code = f->properties(&p, handle);
  if (!code && (p.handles & POSIX_FILE)) code = f->export_handle(file, handle, POSIX_FILE, 0);
  f->release_handle(handle);
  if (*file >= 0) fcntl(*file, F_SETFD, FD_CLOEXEC);
  return code;
}

// each_part does something with each part that is mapped between two addresses, until that fails.
template <typename F>
int each_part(const gpu_symbols *f, u64 at, u64 end, F does) {
  while (at < end) {
    u64 base = 0, bytes = 0;
    TRY(f->range(&base, &bytes, at));
    TRY(does(base, bytes));
    at = base + bytes;
  }
  return 0;
}

enum { TOO_MANY = -1, OTHER_GPU = -2 };

// offer_mapped exports all parts. Where one has no file, there is none: ranks of this process reach the memory yet.
bool offer_mapped(const Gpu *g, u64 at, u64 bytes, WindowOffer *mine, Files *files, Why *why) {
  bool all = true;
  u64 first = at;
  const int code = each_part(g->f, at, at + bytes, [&](u64 base, u64 part) -> int {
    int file = -1;
    if (base < first) first = base;
    if (files->count == MOST_FILES) return TOO_MANY;
    if (!of_gpu(g, base, why)) return OTHER_GPU;
    TRY(export_part(g->f, base, &file));
    files->file[files->count] = file, files->bytes[files->count++] = part;
    all &= file >= 0;
    return 0;
  });
  mine->reach = REACH_MAPPED, mine->offset = at - first, mine->files = all ? files->count : 0;
  if (code == TOO_MANY) return say(why, "it has more than %d parts", (int)MOST_FILES), false;
  return code == 0 || code == OTHER_GPU ? code == 0 : fail("it cannot be exported", code, why);
}

// admit lets a GPU access memory of another one of this process, which peer access says nothing of.
int admit(const Gpu *g, u64 at, u64 bytes) {
  const gpu_access wanted = {{DEVICE, g->number}, READ_WRITE};
  return each_part(g->f, at, at + bytes, [&](u64 base, u64 part) -> int {
    unsigned long long flags = 0;
    TRY(g->f->get_access(&flags, &wanted.location, base));
    return flags == READ_WRITE ? 0 : g->f->set_access(base, part, &wanted, 1);
  });
}

// map_file maps a file at an address. What is mapped keeps the memory, without the handle.
int map_file(const Gpu *g, int file, u64 at, u64 bytes) {
  const gpu_access wanted = {{DEVICE, g->number}, READ_WRITE};
  u64 handle = 0;
  TRY(g->f->import_handle(&handle, (void *)(u64)file, POSIX_FILE));
  int code = g->f->map(at, bytes, 0, handle, 0);
  g->f->release_handle(handle);
  if (!code && (code = g->f->set_access(at, bytes, &wanted, 1))) g->f->unmap(at, bytes);
  return code;
}

// map_files maps files one after another.
int map_files(const Gpu *g, const Files &from, Mapping *m) {
  u64 all = 0;
  for (u32 i = 0; i < from.count; i++) all += from.bytes[i];
  if (!(m->file = (u64 *)calloc(from.count + 1, sizeof *m->file))) return OUT_OF_MEMORY;
  int code = g->f->reserve(&m->at, all, 0, 0, 0);
  if (code) m->at = 0;
  else m->bytes = all;
  for (u64 at = m->at; !code && m->files < from.count; at += m->file[m->files++]) {
    m->file[m->files] = from.bytes[m->files];
    if ((code = map_file(g, from.file[m->files], at, from.bytes[m->files]))) break;
  }
  if (code) unreach(g, m);
  return code;
}

}  // namespace

bool offer_of(const Gpu *g, u64 at, u64 bytes, WindowOffer *mine, Files *files, Why *why) {
  const gpu_symbols *f = g->f;
  u64 base = 0, whole = 0;
  mine->pid = (u64)getpid(), mine->address = at, mine->bytes = bytes;
  if (!at || !bytes || at + bytes < at) return say(why, "it is empty"), false;
  if (!of_gpu(g, at, why)) return false;
  if (is_mapped(f, at)) return offer_mapped(g, at, bytes, mine, files, why);
  if (const int code = f->range(&base, &whole, at)) return fail("its allocation", code, why);
  if (at + bytes > base + whole) return say(why, "it is longer than its allocation"), false;
  mine->reach = REACH_HANDLE, mine->offset = at - base;
  const int code = f->share(mine->handle, base);
  return code == 0 || fail("it cannot be shared with other processes", code, why);
}

void unreach(const Gpu *g, Mapping *m) {
  u64 at = m->at;
  if (m->at && !m->bytes) g->f->leave(m->at);
  for (u32 i = 0; i < m->files; at += m->file[i++]) g->f->unmap(at, m->file[i]);
  if (m->bytes) g->f->reserve_end(m->at, m->bytes);
  free(m->file);
  *m = Mapping{};
}

bool window_reach(Team *t, Window *w, u32 rank, const WindowOffer &o, const Files *files, Why *why) {
  const Gpu *g = t->gpu;
  Current current(g);
  Relaxed relaxed(g);
  int code = current.code;
  w->rank[rank] = o.address;
  if (code || rank == t->rank) return code == 0 || fail("the GPU", code, why);
  if (o.pid == (u64)getpid()) {
    if (o.reach == REACH_MAPPED) code = admit(g, o.address, o.bytes);
    return code == 0 || fail("access to the memory of another rank of the process", code, why);
  }
  Mapping &m = w->map[rank];
  if (o.reach == REACH_HANDLE) {
    gpu_handle handle;
    memcpy(&handle, o.handle, sizeof handle);
    code = g->f->reach(&m.at, handle, LAZY_PEER_ACCESS);
    if (code) m.at = 0;
  } else {
    if (!maps(g->f)) return say(why, "this driver cannot map memory of other processes"), false;
    if (!o.files || !files) return say(why, "the memory of rank %u was made without handles for files", rank), false;
    code = map_files(g, *files, &m);
    if (!code && (o.offset > m.bytes || o.bytes > m.bytes - o.offset))
      return say(why, "the memory of rank %u is longer than its files", rank), false;
  }
  if (code) return say(why, "the memory of rank %u: %s", rank, driver_text(code)), false;
  w->rank[rank] = m.at + o.offset;
  return true;
}
