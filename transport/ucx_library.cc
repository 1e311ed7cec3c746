// This file opens UCX.
#include "cards.h"
#include "ucx.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int ucx_fail(struct ucx_engine *u, int8_t status, const char *doing) {
  snprintf(u->why, sizeof u->why, "UCX: %s: %s", doing, u->f.status_string ? u->f.status_string(status) : "?");
  return 1;
}

// What UCX does in a process that is not its own, unless the user says otherwise. It must leave signals to Go's
// runtime, and allocators alone; what it logs would be between the lines of our output, and errors are reported by us.
// UCX reads these when it is loaded, before any of its functions can be called: then it takes the signals. So they are
// variables of the environment, and not settings that ucp_config_modify or ucs_global_opts_set_value change.
//
// setenv is a race with getenv of other threads. So Go programs that link this package, such as mscclc, set them before
// they have any thread. The library in the process of a training job must not change what others see of UCX before it
// is used: it sets them here, at the first communicator of several nodes. Both set only those that are not set.
#ifdef TRANSPORT_OF_PROGRAM
__attribute__((constructor))
#endif
static void prepare(void) {
  setenv("UCX_ERROR_SIGNALS", "", 0);
  setenv("UCX_MEM_EVENTS", "n", 0);
  setenv("UCX_LOG_FILE", "stderr", 0);
  setenv("UCX_LOG_LEVEL", "fatal", 0);
  setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 0);
  // Over TCP, UCX's usual 8 KiB a send halve the bandwidth of messages of 64 KiB (PROXY.md, Measured).
  setenv("UCX_TCP_TX_SEG_SIZE", "256K", 0);
  setenv("UCX_TCP_RX_SEG_SIZE", "512K", 0);
  // Else connect(2) waits in the thread that carries everything, for two minutes where nothing answers.
  setenv("UCX_TCP_CONN_NB", "y", 0);
}

// open_files is how many files this process has open, or 0 where nobody says so.
static unsigned long long open_files(void) {
  DIR *all = opendir("/proc/self/fd");
  unsigned long long n = 0;
  for (; all && readdir(all); n++) {}
  if (all) closedir(all);
  return n;
}

// UCX 1.13 ends the process, or waits, where it has too few files for its sockets. An engine takes about 10, and one
// for each endpoint.
enum { FEWEST_FILES = 48 };
static int few_files(struct ucx_engine *u) {
  struct rlimit limit;
  const unsigned long long need = open_files() + FEWEST_FILES;
  if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need) return 0;
  snprintf(u->why, sizeof u->why, "UCX: a process may open %llu files, and at least %llu are needed (ulimit -n)",
           (unsigned long long)limit.rlim_cur, need);
  return 1;
}

static int find(struct ucx_engine *u) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  u->library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!u->library) {
    snprintf(u->why, sizeof u->why,
             "UCX is not here: %s. Install it (Debian and Ubuntu: libucx0), or name a plugin of NCCL's by "
             "MSCCLC_NET=ncclnet:FILE. One node needs neither",
             dlerror());
    return 1;
  }
  const char *missing = 0;
#define FIND(result, name, parameters)                                       \
  if (!(*(void **)&u->f.name = dlsym(u->library, "ucp_" #name))) missing = "ucp_" #name;
  UCX_FUNCTIONS(FIND)
#undef FIND
  if (!(*(void **)&u->f.status_string = dlsym(u->library, "ucs_status_string"))) missing = "ucs_status_string";
  if (!missing) return 0;
  snprintf(u->why, sizeof u->why, "UCX: libucp.so.0 has no %s: at least version %d.%d is needed", missing,
           UCX_API_MAJOR, UCX_API_MINOR);
  return 1;
}

// UCX looks at a transport by which something is sent, and has others wake it. Those of shared memory do not, where the
// sender is in another network namespace. So where nothing may be sent back, it is to look at all.
static int8_t look_at_all(struct ucx_engine *u, ucx_config *config) {
  if (getenv("UCX_ADAPTIVE_PROGRESS")) return UCX_OK;
  return u->f.config_modify(config, "ADAPTIVE_PROGRESS", "n");
}

// A List is the devices that UCX is to use, with commas between them.
struct List {
  char text[2048];
  size_t length;
  void add(const char *name) {
    const int n = snprintf(text + length, sizeof text - length, "%s%s", length ? "," : "", name);
    if (n > 0 && (size_t)n < sizeof text - length) length += (size_t)n;
    else text[length] = 0;  // a device too much is left out
  }
};

// each calls f with the name of each entry of a folder.
template <class F> static void each(const char *folder, F f) {
  DIR *all = opendir(folder);
  for (const dirent *e; all && (e = readdir(all));)
    if (*e->d_name != '.') f(e->d_name);
  if (all) closedir(all);
}

// next_card stores the first name of a list, and returns the rest of it, or null.
static const char *next_card(const char *list, char (&name)[64]) {
  const size_t n = strcspn(list, ",");
  snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), list);
  return *list ? list + n + (list[n] == ',') : nullptr;
}

// UCX names the ports of InfiniBand's devices NAME:PORT. They lead to all hosts that have one, whatever TCP is to use.
static void add_infiniband(List *list) {
  const char *const all = "/sys/class/infiniband";
  each(all, [=](const char *name) {
    char folder[512], device[300];
    snprintf(folder, sizeof folder, "%s/%.250s/ports", all, name);
    each(folder, [&](const char *port) {
      snprintf(device, sizeof device, "%.250s:%.8s", name, port);
      list->add(device);
    });
  });
}

// cards_here says whether this host has the cards of a list, which messages call by `list` and its text. UCX takes a
// card that is not here for none at all.
static int cards_here(struct ucx_engine *u, const char *cards, const char *list) {
  char name[64];
  for (const char *at = cards; (at = next_card(at, name));) {
    if (strchr(name, ':') || card_here(name)) continue;
    snprintf(u->why, sizeof u->why, "%s%.80s: this host has no network card %s", list, cards, *name ? name : "\"\"");
    return 0;
  }
  return 1;
}

// tell_cards has messages name the cards that UCX may use, the address of the first, and why it is these.
static void tell_cards(struct ucx_engine *u, const char *cards, const char *why) {
  char name[64], address[64];
  const char *rest = next_card(cards, name);
  const int known = rest && card_address(name, address, sizeof address);
  snprintf(u->cards, sizeof u->cards, "network card %.40s%s%.45s (%s)", cards, known ? ", " : "",
           known ? address : "", why);
}

// only_cards has UCX use some cards: those of MSCCLC_NET_DEVICE alone, or those of spec and InfiniBand. UCX's own
// variable comes first.
static int only_cards(struct ucx_engine *u, ucx_config *config, const char *spec) {
  const char *own = getenv("UCX_NET_DEVICES"), *wanted = getenv("MSCCLC_NET_DEVICE");
  if (own && *own) return tell_cards(u, own, "UCX_NET_DEVICES names it"), 0;
  const int named = wanted && *wanted;
  const char *cards = named ? wanted : spec;
  if (!cards || !*cards) return 0;
  if (!cards_here(u, cards, named ? "MSCCLC_NET_DEVICE=" : "ucx:")) return 1;
  List list = {};
  list.add(cards);
  if (!named) add_infiniband(&list);
  const char *met = "by which the processes met; UCX takes its first address; MSCCLC_NET_DEVICE names another";
  tell_cards(u, cards, named ? "MSCCLC_NET_DEVICE names it" : met);
  const int8_t status = u->f.config_modify(config, "NET_DEVICES", list.text);
  return status ? ucx_fail(u, status, "choosing network cards") : 0;
}

int ucx_open_library(struct ucx_engine *u, const char *spec, int one_way) {
  if (few_files(u) || find(u)) return 1;
  ucx_config *config = 0;
  int8_t status = u->f.config_read(0, 0, &config);
  if (status) return ucx_fail(u, status, "reading its settings");
  if (one_way && (status = look_at_all(u, config))) {
    u->f.config_release(config);
    return ucx_fail(u, status, "changing its settings");
  }
  if (only_cards(u, config, spec)) {
    u->f.config_release(config);
    return 1;
  }
  struct ucx_params params;
  memset(&params, 0, sizeof params);
  params.field_mask = UCX_PARAM_FEATURES, params.features = UCX_FEATURE_TAG;
  status = u->f.init_version(UCX_API_MAJOR, UCX_API_MINOR, &params, config, &u->context);
  u->f.config_release(config);
  if (status) {
    u->context = 0;
    return ucx_fail(u, status, "beginning (UCX_TLS may name transports that are not here)");
  }
  struct ucx_worker_params worker;
  memset(&worker, 0, sizeof worker);
  worker.field_mask = UCX_WORKER_PARAM_THREAD_MODE, worker.thread_mode = UCX_THREAD_SERIALIZED;
  if ((status = u->f.worker_create(u->context, &worker, &u->worker))) {
    u->worker = 0;
    return ucx_fail(u, status, "making a worker");
  }
  unsigned major, minor, release;
  u->f.get_version(&major, &minor, &release);
  u->names_memory = major == UCX_API_MAJOR && minor >= UCX_MEMORY_MINOR;
  return 0;
}

// The library stays: it has threads and handlers that do not end.
void ucx_close_library(struct ucx_engine *u) {
  if (u->worker) u->f.worker_destroy(u->worker);
  if (u->context) ucx_unmap_all(u);
  if (u->context) u->f.cleanup(u->context);
}
