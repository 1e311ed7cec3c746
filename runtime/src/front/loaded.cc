// The NCCL that the process has loaded: libnccl.so.2, or another object that NCCL is linked into, in whatever way it
// was opened. The functions of the preloaded library come first in the order of names, so that calls of all objects
// come here, also those of an object that is opened with RTLD_LOCAL and has NCCL inside. Where they would have gone is
// asked in this order: the objects that all see (RTLD_NEXT), libnccl.so.2 by its name, then each object by its path.
//
// Calls that do not come here need nothing: of functions that dlsym found in NCCL's handle, of an object that was
// opened with RTLD_DEEPBIND or by dlmopen, of one whose NCCL is hidden, and of an executable that has NCCL.
#include "front.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

namespace {

// A function that each release has.
const char MARK[] = "ncclCommInitRank";

struct Paths {
  char **list;
  u32 count, room;
};

int add(dl_phdr_info *object, size_t, void *to) {
  Paths *p = (Paths *)to;
  if (!object->dlpi_name || !*object->dlpi_name) return 0;
  if (char **at = grow(&p->list, &p->count, &p->room)) *at = strdup(object->dlpi_name);
  return 0;
}

// object_of is the file that has a function, or null if that is this library.
const char *object_of(void *function) {
  Dl_info own, its;
  if (!function || !dladdr((void *)object_of, &own) || !dladdr(function, &its)) return nullptr;
  return own.dli_fbase == its.dli_fbase ? nullptr : its.dli_fname;
}

// handle is of the object that has NCCL. next: it, or a library that wraps it, is among the objects that all see.
void *handle;
bool next;

// opened is the handle of a loaded object in which NCCL is found, or null.
void *opened(const char *path) {
  void *h = path ? dlopen(path, RTLD_NOLOAD | RTLD_NOW) : nullptr;
  if (!h || object_of(dlsym(h, MARK))) return h;
  dlclose(h);
  return nullptr;
}

void *opened_any() {
  Paths all = {};
  dl_iterate_phdr(add, &all);
  void *h = nullptr;
  for (u32 i = 0; i < all.count; i++) {
    if (!h) h = opened(all.list[i]);
    free(all.list[i]);
  }
  free(all.list);
  return h;
}

}  // namespace

bool loaded_find() {
  const char *seen = object_of(dlsym(RTLD_NEXT, MARK));
  next = seen != nullptr;
  handle = opened("libnccl.so.2");
  if (!handle) handle = next ? opened(seen) : opened_any();
  return next || handle;
}

void *loaded_symbol(const char *name) {
  void *p = next ? dlsym(RTLD_NEXT, name) : nullptr;
  if (!p && handle) p = dlsym(handle, name);
  return p && object_of(p) ? p : nullptr;
}
