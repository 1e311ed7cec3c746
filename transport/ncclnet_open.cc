// This file finds and begins a net plugin of NCCL's.
#include "ncclnet.h"
#include "pci.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// The last warning of any plugin, and the thread that it came in: they log by a function without an argument of ours.
// Memory of each thread is rare in libraries that a process opens late.
static struct {
  pthread_t thread;
  char text[256];
} warned;
static pthread_mutex_t warning = PTHREAD_MUTEX_INITIALIZER;

__attribute__((format(printf, 5, 6))) static void log_line(int level, unsigned long, const char *, int,
                                                           const char *format, ...) {
  if (level != NCCLNET_LOG_WARN) return;
  va_list args;
  va_start(args, format);
  pthread_mutex_lock(&warning);
  vsnprintf(warned.text, sizeof warned.text, format, args);
  warned.thread = pthread_self();
  pthread_mutex_unlock(&warning);
  va_end(args);
}

static const char *meaning(int code) {
  static const char *const list[] = {"success", "unhandled CUDA error", "system error", "internal error",
                                     "invalid argument", "invalid usage", "remote error", "in progress"};
  return code >= 0 && code < (int)(sizeof list / sizeof *list) ? list[code] : "unknown error";
}

int ncclnet_fail(struct ncclnet_engine *e, int code, const char *doing) {
  pthread_mutex_lock(&warning);
  const bool own = *warned.text && pthread_equal(warned.thread, pthread_self());
  snprintf(e->why, sizeof e->why, "net plugin %s, version %d: %s: %s%s%s", e->name, e->version, doing, meaning(code),
           own ? ": " : "", own ? warned.text : "");
  if (own) warned.text[0] = 0;
  pthread_mutex_unlock(&warning);
  return 1;
}

// load opens a path as it is, and a name as NCCL does.
static int load(struct ncclnet_engine *e, const char *spec) {
  struct stat is;
  if (strchr(spec, '/') && stat(spec, &is) == 0 && !S_ISREG(is.st_mode)) {  // opening a pipe would wait
    snprintf(e->why, sizeof e->why, "no net plugin of NCCL's: %.400s is no file", spec);
    return 1;
  }
  char file[256];
  const char *name = *spec ? spec : "libnccl-net.so";
  char first[256] = "";  // why the name alone is no library, if there is a file of that name
  e->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!e->library) snprintf(first, sizeof first, "%s", dlerror());
  snprintf(file, sizeof file, "%.250s", name);
  if (!e->library && !strchr(spec, '/') && *spec) {
    snprintf(file, sizeof file, "libnccl-net-%.230s.so", spec);
    e->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  }
  if (!e->library) {
    const char *second = dlerror();
    snprintf(e->why, sizeof e->why, "no net plugin of NCCL's: %.200s%s%.200s", second ? second : first,
             second ? "; " : "", second ? first : "");
    return 1;
  }
  for (int v = NCCLNET_NEWEST; v >= NCCLNET_OLDEST; v--) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclNetPlugin_v%d", v);
    if ((e->plugin = (struct ncclnet_plugin *)dlsym(e->library, symbol))) {
      e->version = v;
      snprintf(e->name, sizeof e->name, "%s", e->plugin->name ? e->plugin->name : "without a name");
      return 0;
    }
  }
  snprintf(e->why, sizeof e->why, "%s exports no ncclNetPlugin_v%d to v%d: it is no net plugin, or too old or new",
           file, NCCLNET_OLDEST, NCCLNET_NEWEST);
  return 1;
}

static int init(struct ncclnet_engine *e) {
  void *f = e->plugin->init;
  static struct ncclnet_config config = {-1};
  if (e->version >= 11) return ((ncclnet_init_11)f)(&e->context, 0, &config, log_line, 0);
  if (e->version == 10) return ((ncclnet_init_10)f)(log_line, 0);
  return ((ncclnet_init_8)f)(log_line);
}

// A Device is what is used of the properties of one.
struct Device {
  const char *name, *pci;
  int kinds, speed;
};

// look reads what a device is.
static int look(struct ncclnet_engine *e, int device, Device *is) {
  uint64_t room[64] = {};  // more than any version has
  const int code = e->plugin->properties(device, room);
  if (code) return ncclnet_fail(e, code, "reading the properties of a device");
  if (e->version >= 9) {
    const struct ncclnet_properties_9 *p = (const struct ncclnet_properties_9 *)room;
    *is = {p->name, p->pci, p->kinds, p->speed};
  } else {
    const struct ncclnet_properties_8 *p = (const struct ncclnet_properties_8 *)room;
    *is = {p->name, p->pci, p->kinds, p->speed};
  }
  return 0;
}

// take has the engine use a device, and messages name it, and why it is this one.
static int take(struct ncclnet_engine *e, int device, const char *why) {
  Device is;
  if (look(e, device, &is)) return 1;
  e->device = device, e->kinds = is.kinds, e->gbytes = is.speed / 8e3;
  snprintf(e->cards, sizeof e->cards, "device %d %.40s (%s)", device, is.name ? is.name : "", why);
  return 0;
}

// nearest returns the device that is nearest to the process's GPU.
static int nearest(struct ncclnet_engine *e, int count, int *device) {
  enum { MOST = 256 };
  const char *paths[MOST] = {};
  Device is;
  for (int i = 0; i < count && i < MOST; i++) {
    if (look(e, i, &is)) return 1;
    paths[i] = is.pci;
  }
  *device = pci_nearest(e->gpu, paths, count < MOST ? count : MOST);
  return 0;
}

static int choose(struct ncclnet_engine *e) {
  const char *wanted = getenv("MSCCLC_NET_DEVICE");
  int count = 0, near = 0;
  const int code = e->plugin->devices(&count);
  if (code) return ncclnet_fail(e, code, "counting its devices");
  if (count < 1) {
    snprintf(e->why, sizeof e->why, "net plugin %s has no device here", e->name);
    return 1;
  }
  if (!wanted || !*wanted) {
    if (count == 1) return take(e, 0, "the only one");
    if (!*e->gpu) return take(e, 0, "MSCCLC_NET_DEVICE names another");
    return nearest(e, count, &near) || take(e, near, "the nearest to the GPU; MSCCLC_NET_DEVICE names another");
  }
  char *end = 0;
  const long device = strtol(wanted, &end, 10);
  if (*end || device < 0 || device >= count) {
    snprintf(e->why, sizeof e->why, "MSCCLC_NET_DEVICE is %s, and net plugin %s has devices 0 to %d", wanted, e->name,
             count - 1);
    return 1;
  }
  return take(e, (int)device, "MSCCLC_NET_DEVICE names it");
}

// split parts a spec: the plugin, and after a line feed the PCI address of a GPU.
static void split(struct ncclnet_engine *e, const char *spec, char *plugin, size_t size) {
  const size_t n = strcspn(spec, "\n");
  snprintf(plugin, size, "%.*s", (int)n, spec);
  if (spec[n]) snprintf(e->gpu, sizeof e->gpu, "%s", spec + n + 1);
}

int ncclnet_open(const char *spec, int, void **engine, char *why, size_t size) {
  *engine = 0;
  struct ncclnet_engine *e = (struct ncclnet_engine *)calloc(1, sizeof *e);
  if (!e) {
    snprintf(why, size, "no memory");
    return 1;
  }
  char plugin[4096] = "";
  if (spec) split(e, spec, plugin, sizeof plugin);
  int failed = load(e, plugin);
  if (!failed) {
    const int code = init(e);
    e->begun = !code;
    failed = code ? ncclnet_fail(e, code, "beginning") : choose(e);
  }
  if (failed) {
    snprintf(why, size, "%s", e->why);
    ncclnet_close(e);
    return 1;
  }
  *engine = e;
  return 0;
}

// The library stays: plugins leave threads behind.
void ncclnet_close(void *engine) {
  struct ncclnet_engine *e = (struct ncclnet_engine *)engine;
  if (e->begun && e->version >= 11 && e->plugin->finalize) e->plugin->finalize(e->context);
  free(e);
}
