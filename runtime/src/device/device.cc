#include "device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

// Numbers from MOST_GPUS on are of devices that are none of the driver's.
enum { MOST_GPUS = 64, MOST_ADDED = 1024, ATTRIBUTE_MPS = 133, ATTRIBUTE_SMS = 16 };
Gpu *gpus[MOST_GPUS + MOST_ADDED];
pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

// A page that a forked process finds empty, or the number of the process where there is no such page.
volatile u32 *page;
pid_t process;
pthread_once_t page_once = PTHREAD_ONCE_INIT;
void make_page() {
  process = getpid();
  void *p = mmap(nullptr, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return;
  if (madvise(p, sizeof *page, MADV_WIPEONFORK)) {
    munmap(p, sizeof *page);
    return;
  }
  *(volatile u32 *)p = 1;
  page = (volatile u32 *)p;
}

bool fail(const gpu_driver *d, int code, const char *what, Why *why) {
  say(why, "%s: %s", what, mscclc_gpu_error((gpu_driver *)d, code));
  return false;
}

// primary says whether the thread's context is the GPU's primary one, which is retained.
bool primary(Gpu *g, void *context, Why *why) {
  int code = g->f->retain(&g->context, g->number);
  if (code) return fail(g->driver, code, "the GPU's context", why);
  if (g->context == context) return true;
  return say(why, "the calling thread has a context of its own, or a green one"), false;
}

bool describe(Gpu *g, Why *why) {
  int code, mps = 0;
  if ((code = g->f->name(g->name, sizeof g->name - 1, g->number))) return fail(g->driver, code, "the GPU's name", why);
  if ((code = g->f->attribute(&g->sms, ATTRIBUTE_SMS, g->number))) return fail(g->driver, code, "the GPU's size", why);
  if (g->f->uuid && (code = g->f->uuid(g->uuid, g->number))) return fail(g->driver, code, "the GPU's UUID", why);
  // Older drivers do not know of this number.
  if (g->f->attribute(&mps, ATTRIBUTE_MPS, g->number) == 0 && mps) return say(why, "the GPU is shared by MPS"), false;
  return true;
}

bool open_gpu(Gpu *g, Why *why) {
  void *context = nullptr;
  int code = g->f->get_current(&context);
  if (code) return fail(g->driver, code, "the current context", why);
  if (!context) return say(why, "the calling thread has no GPU"), false;
  if ((code = g->f->context_device(&g->number))) return fail(g->driver, code, "the current GPU", why);
  if (g->number < 0 || g->number >= MOST_GPUS) return say(why, "GPU %d is out of range", g->number), false;
  return true;
}

void begin(Gpu *g, const Gpu &made) {
  *g = made;
  pthread_mutex_init(&g->loading, nullptr);
  for (Admission &c : g->admission) pthread_mutex_init(&c.mu, nullptr), pthread_cond_init(&c.changed, nullptr);
}

}  // namespace

// text_of_missing says what a driver lacks that cannot be opened: its library, or a function of it.
static const char *text_of_missing(const char *missing) {
  static char *texts;
  const char *begin = "NVIDIA's driver cannot be opened: ";
  char *text = __atomic_load_n(&texts, __ATOMIC_ACQUIRE), *fresh = nullptr;
  if (text) return text;
  if (!(fresh = (char *)malloc(strlen(begin) + strlen(missing) + 1))) return "no driver";
  strcpy(fresh, begin), strcat(fresh, missing);
  if (__atomic_compare_exchange_n(&texts, &text, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return fresh;
  free(fresh);
  return text;
}

bool alive() { return page ? *page : process == 0 || process == getpid(); }
void alive_from_now() { pthread_once(&page_once, make_page); }

Gpu *gpu_of_thread(Why *why) {
  Gpu mine = {};
  const char *missing = nullptr;
  const int code = mscclc_gpu_open(GPU_CUDA, &mine.driver, &missing);
  if (code) return say(why, "%s%s", missing ? "" : "the driver: ", driver_text(code)), nullptr;
  mine.f = &mine.driver->f;
  if (!mine.f->get_current || !mine.f->context_device) return say(why, "the driver is too old"), nullptr;
  if (!open_gpu(&mine, why)) return nullptr;
  void *context = nullptr;
  mine.f->get_current(&context);
  pthread_mutex_lock(&opening);
  Gpu *g = gpus[mine.number];
  if (g && g->context != context) {
    say(why, "the calling thread has a context of its own, or a green one");
    g = nullptr;
  } else if (!g && primary(&mine, context, why) && describe(&mine, why) && (g = (Gpu *)malloc(sizeof *g))) {
    begin(g, mine);
    gpus[mine.number] = g;
  }
  pthread_mutex_unlock(&opening);
  return g;
}

Gpu *gpu_numbered(u32 number) {
  pthread_mutex_lock(&opening);
  Gpu *g = number < MOST_GPUS + MOST_ADDED ? gpus[number] : nullptr;
  pthread_mutex_unlock(&opening);
  return g;
}

Gpu *gpu_add(const Gpu &made, Why *why) {
  Gpu *g = (Gpu *)malloc(sizeof *g);
  int number = MOST_GPUS;
  pthread_mutex_lock(&opening);
  while (number < MOST_GPUS + MOST_ADDED && gpus[number]) number++;
  if (number == MOST_GPUS + MOST_ADDED) free(g), g = nullptr;
  if (g) begin(g, made), g->number = number, g->context = g, gpus[number] = g;
  pthread_mutex_unlock(&opening);
  if (!g) say(why, "the process has %d communicators on the CPU, which is the most, or no memory", MOST_ADDED);
  return g;
}

void gpu_gone(Gpu *g) {
  pthread_mutex_lock(&opening);
  gpus[g->number] = nullptr;
  pthread_mutex_unlock(&opening);
  while (Module *m = g->modules) g->modules = m->next, free(m);
  for (Admission &c : g->admission) pthread_mutex_destroy(&c.mu), pthread_cond_destroy(&c.changed);
  pthread_mutex_destroy(&g->loading);
  free(g);
}

const char *driver_text(int code) {
  switch (code) {
    case ENGINE_FORKED: return "this process was forked from one that uses GPUs";
    case ENGINE_ABORTED: return "the communicator was aborted";
    case ENGINE_HOST_MEMORY: return "the host has no memory for it";
    case ENGINE_HOST_REACH: return "/proc does not reach it: the ranks are of other users, or in other containers";
    case ENGINE_ARGUMENT: return "the call is not one of the communicator's";
  }
  gpu_driver *driver = nullptr;
  const char *missing = nullptr;
  const int opened = mscclc_gpu_open(GPU_CUDA, &driver, &missing);
  return missing && code == opened ? text_of_missing(missing) : mscclc_gpu_error(driver, code);
}
