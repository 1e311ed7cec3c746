// The search for NCCL, and for the bundle. Both happen at the first call that needs them.
#include "front.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

Nccl functions;
bool is_found, is_alone, is_passive, is_second, has_forked;
bool has_looked;  // at least once
pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

#ifdef MSCCLC_FORWARDS
void *library;  // NCCL's handle

// open_nccl opens the NCCL behind this library, away from all names that others see: this library has the same.
bool open_nccl() {
  const char *path = getenv("MSCCLC_NCCL");
  if (!path || !*path) {
    tell("MSCCLC_NCCL is not set: it names the file of NCCL that this libnccl.so.2 hands calls on to");
    return false;
  }
  int flags = RTLD_NOW | RTLD_LOCAL;
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__)
  flags |= RTLD_DEEPBIND;
#endif
  library = dlopen(path, flags);
  if (!library) tell("MSCCLC_NCCL: %s", dlerror());
  if (library && dlsym(library, "mscclc_forwards")) {
    tell("MSCCLC_NCCL names this library itself, not NCCL: %s", path);
    library = nullptr;
  }
  return library;
}
void *symbol(const char *name) { return library ? dlsym(library, name) : nullptr; }
#else
// open_nccl finds the NCCL that the program has.
bool open_nccl() {
  const bool has = loaded_find();
  // Where our own libnccl.so.2 is there too, it does the work.
  if (has && loaded_symbol("mscclc_forwards")) is_passive = is_second = true;
  return has;
}
void *symbol(const char *name) { return loaded_symbol(name); }
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

// find fills in NCCL's functions. It says whether there are any.
bool find() {
  const char *path = getenv("MSCCLC_NCCL");
  is_alone = path && !strcmp(path, "none");
#ifndef MSCCLC_FORWARDS
  if (open_nccl()) is_alone = false;  // there is one that does it
#else
  if (!is_alone) open_nccl();
#endif
  if (!is_passive && !has_looked) settings_check();
  if (is_alone) return functions = *alone_functions(), true;
#define X(result, name, params) functions.name = (result(*) params)symbol("nccl" #name);
  NCCL_CALLED(X)
#undef X
  bool any = false;
#define X(result, name, params) any |= functions.name != nullptr;
  NCCL_CALLED(X)
#undef X
  char text[300];
  if (!any && !has_looked) tell("there is no NCCL in this process: its functions fail until one is loaded");
  if (!any || is_passive || !lacking(text, sizeof text)) return any;
  is_passive = true;
  tell("NCCL runs all calls: programs need functions that this NCCL does not have: %s", text);
  return true;
}

// look finds NCCL, unless that has been done. Where there is none, the next call looks again: a program may ask for a
// function of NCCL's before it loads NCCL.
bool look() {
  if (__atomic_load_n(&is_found, __ATOMIC_ACQUIRE)) return true;
  pthread_mutex_lock(&looking);
  if (!is_found) {
    const bool now = find();
    has_looked = true;
    __atomic_store_n(&is_found, now, __ATOMIC_RELEASE);
  }
  const bool now = is_found;
  pthread_mutex_unlock(&looking);
  return now;
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

const Nccl *nccl() { return look() ? &functions : nullptr; }
bool passive() { return look(), is_passive; }
bool second() { return look(), is_second; }
bool alone() { return look(), is_alone; }

void *nccl_symbol(const char *name) {
  look();
  if (!is_alone) return symbol(name);
  if (*name == 'p') name++;
#define X(result, fn, params) \
  if (!strcmp(name, "nccl" #fn)) return (void *)functions.fn;
  NCCL_CALLED(X)
#undef X
  return nullptr;
}

Result nccl_lacks(const char *name) {
  static const char *said[128];
  for (const char *&t : said) {
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
  static bool said;
  if (!said) tell("NCCL was used before this process was forked: its calls fail here");
  said = true;
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
  hub_exit();
  peers_exit();
  watch_end();
}
