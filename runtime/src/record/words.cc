// Names of functions, types, operations, hosts and communicators, and times, as texts.
#include "../front/front.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *fn_name(Fn fn) {
  static const char *const names[] = {
#define X(result, name, params) "nccl" #name,
      NCCL_CALLED(X)
#undef X
  };
  return names[fn];
}

const char *interned(const char *text) {
  static const char *texts[64];
  static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
  const char *found = nullptr;
  pthread_mutex_lock(&mu);
  for (u32 i = 0; i < 64 && !found; i++) {
    if (!texts[i]) texts[i] = strdup(text);
    if (texts[i] && !strcmp(texts[i], text)) found = texts[i];
  }
  pthread_mutex_unlock(&mu);
  return found ? found : "one of many reasons";
}

const char *host_name() {
  static char name[256];
  static Atom<int> known;
  if (known) return name;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  host[strcspn(host, ".")] = 0;
  for (char *c = host; *c; c++)
    if (*c == '/' || *c <= ' ') *c = '_';
  memcpy(name, host, sizeof name);  // others write the same
  known = 1;
  return name;
}

void name_of_comm(const Member *e, Comm comm, char (*to)[SHORT_NAME]) {
  if (const u64 f = e->family) snprintf(*to, sizeof *to, "%08x", (u32)(f >> 32));
  else snprintf(*to, sizeof *to, "%p", (void *)comm);
}

// The calendar is computed here: the C library's may take a lock, which a forked child can find taken.
void time_text(u64 at, char (*to)[TIME_TEXT]) {
  const u64 seconds = at / SECOND, of_day = seconds % 86400;
  const u64 days = seconds / 86400 + 719468;  // since March 1 of year 0
  const u64 era = days / 146097, of_era = days % 146097;
  const u64 year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const u64 of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
  const u64 day = of_year - (153 * month + 2) / 5 + 1;
  snprintf(*to, sizeof *to, "%04llu-%02llu-%02lluT%02llu:%02llu:%02llu.%03lluZ", year + era * 400 + (month >= 10),
           month < 10 ? month + 3 : month - 9, day, of_day / 3600 % 100, of_day / 60 % 60, of_day % 60,
           at / 1000000 % 1000);
}
