// The search for NCCL, and for the bundle. Both happen at the first call that needs them.
#include "nccl_front.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

Nccl functions;
void *library;  // NCCL's handle, or RTLD_NEXT
bool found, is_alone, is_passive, has_forked;
pthread_once_t once = PTHREAD_ONCE_INIT;

#ifdef MSCCLC_FORWARDS
// open_nccl opens the NCCL behind this library, away from all names that others see: this library has the same.
void *open_nccl() {
  const char *path = getenv("MSCCLC_NCCL");
  if (!path || !*path) {
    tell("MSCCLC_NCCL is not set: it names the file of NCCL that this libnccl.so.2 hands calls on to");
    return nullptr;
  }
  int flags = RTLD_NOW | RTLD_LOCAL;
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__)
  flags |= RTLD_DEEPBIND;
#endif
  void *h = dlopen(path, flags);
  if (!h) tell("MSCCLC_NCCL: %s", dlerror());
  if (h && dlsym(h, "mscclc_forwards")) {
    tell("MSCCLC_NCCL names this library itself, not NCCL: %s", path);
    return nullptr;
  }
  return h;
}
#else
// open_nccl finds the NCCL that the program has: by its name, or behind this library in the order of symbols.
void *open_nccl() {
  void *h = dlopen("libnccl.so.2", RTLD_NOLOAD | RTLD_NOW);
  if (!h) h = RTLD_NEXT;
  // Where our own libnccl.so.2 is there too, it does the work.
  if (dlsym(h, "mscclc_forwards")) is_passive = true;
  return h;
}
#endif

// lacking lists the functions that teams need and this NCCL does not have.
bool lacking(char *to, size_t size) {
  size_t n = 0;
  *to = 0;
  const struct {
    const char *name;
    bool has;
  } all[] = {
#define ROW(name) {"nccl" #name, functions.name != nullptr}
      ROW(GroupStart),   ROW(GroupEnd),     ROW(AllGather),         ROW(CommCount),
      ROW(CommUserRank), ROW(CommCuDevice), ROW(CommGetAsyncError), ROW(CommDestroy)};
  for (const auto &f : all)
    if (!f.has && n < size) n += (size_t)snprintf(to + n, size - n, "%s%s", n ? ", " : "", f.name);
#undef ROW
  return n != 0;
}

void find() {
  const char *path = getenv("MSCCLC_NCCL");
  is_alone = path && !strcmp(path, "none");
#ifndef MSCCLC_FORWARDS
  library = open_nccl();
  if (is_alone && !is_passive && dlsym(library, "ncclCommInitRank")) is_alone = false;  // the program has its own
#else
  if (!is_alone) library = open_nccl();
#endif
  if (!is_passive) settings_check();
  if (is_alone) {
    functions = *alone_functions();
    found = true;
    return;
  }
#define X(result, name, params) functions.name = library ? (result(*) params)dlsym(library, "nccl" #name) : nullptr;
  NCCL_CALLED(X)
#undef X
#define X(result, name, params) found |= functions.name != nullptr;
  NCCL_CALLED(X)
#undef X
  char text[300];
  if (!found && library) tell("there is no NCCL here: libnccl.so.2 is not loaded");
  if (!found || is_passive || !lacking(text, sizeof text)) return;
  is_passive = true;
  tell("NCCL runs all calls: programs need functions that this NCCL does not have: %s", text);
}

void in_child() {
  __atomic_store_n(&has_forked, true, __ATOMIC_RELEASE);
  peers_child();
}

void watch() { pthread_atfork(nullptr, nullptr, in_child); }

Bundle *bundle;
char bundle_why[600];
pthread_once_t bundle_once = PTHREAD_ONCE_INIT;

void open_bundle() {
  const char *path = getenv("MSCCLC_BUNDLE");
  if (!path || !*path) {
    snprintf(bundle_why, sizeof bundle_why, "MSCCLC_BUNDLE is not set");
    return;
  }
  Why why = {};
  bundle = bundle_open(path, &why);
  if (!bundle) snprintf(bundle_why, sizeof bundle_why, "%s", why.text);
}

}  // namespace

const Nccl *nccl() {
  pthread_once(&once, find);
  return found ? &functions : nullptr;
}
bool passive() {
  pthread_once(&once, find);
  return is_passive;
}
bool alone() {
  pthread_once(&once, find);
  return is_alone;
}

void *nccl_symbol(const char *name) {
  pthread_once(&once, find);
  if (!is_alone) return library ? dlsym(library, name) : nullptr;
  if (*name == 'p') name++;
#define X(result, fn, params) \
  if (!strcmp(name, "nccl" #fn)) return (void *)functions.fn;
  NCCL_CALLED(X)
#undef X
  return nullptr;
}

Result nccl_lacks(const char *name) {
  static const char *told[128];
  for (const char *&t : told) {
    const char *empty = nullptr;
    if (__atomic_compare_exchange_n(&t, &empty, name, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      if (is_alone) tell("%s was called, which needs NCCL (MSCCLC_NCCL=none)", name);
      else tell("%s was called, which this NCCL does not have", name);
      break;
    }
    if (empty == name) break;
  }
  return INVALID_USAGE;
}

void fork_watch() {
  static pthread_once_t watched = PTHREAD_ONCE_INIT;
  pthread_once(&watched, watch);
}
bool forked() { return __atomic_load_n(&has_forked, __ATOMIC_ACQUIRE); }
Result after_fork() {
  static bool told;
  if (!told) tell("NCCL was used before this process was forked: its calls fail here");
  told = true;
  return SYSTEM_ERROR;
}

Bundle *the_bundle(const char **why) {
  pthread_once(&bundle_once, open_bundle);
  *why = bundle ? nullptr : bundle_why;
  return bundle;
}

// What is left to do when the process ends properly, or the library is closed.
__attribute__((destructor)) static void at_exit() {
  if (forked()) return;
  peers_exit();
  stats_write();
}
