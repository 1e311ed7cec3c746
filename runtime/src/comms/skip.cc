// MSCCLC_SKIP names communicators that stay NCCL's: terms with commas between them. A term is size<N, size>N or size=N,
// or name:PATTERN, where * stands for any text and ? for one character of the name in a configuration of NCCL's.
#include "../front/front.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

// next copies the next term, and gives where the next one begins, or null where there is none.
const char *next(const char *text, char *term) {
  const size_t n = strcspn(text, ",");
  snprintf(term, TERM, "%.*s", (int)(n < TERM ? n : TERM - 1), text);
  return text[n] ? text + n + 1 : nullptr;
}

// matches says whether a term is of a communicator: 1, or 0, or -1 where it has no meaning.
int matches(const char *term, u32 ranks, const char *name) {
  if (!strncmp(term, "name:", 5) && term[5]) return fnmatch(term + 5, name, 0) == 0;
  const char how = strncmp(term, "size", 4) ? (char)0 : term[4];
  if (how != '<' && how != '>' && how != '=') return -1;
  char *end;
  errno = 0;
  const unsigned long n = strtoul(term + 5, &end, 10);
  if (term[5] < '0' || term[5] > '9' || *end || errno) return -1;
  return how == '<' ? ranks < n : how == '>' ? ranks > n : ranks == n;
}

}  // namespace

bool skipped(u32 ranks, const char *name, char *why, size_t size) {
  char term[TERM];
  for (const char *at = getenv("MSCCLC_SKIP"); at && *at;) {
    at = next(at, term);
    if (matches(term, ranks, name) > 0) return snprintf(why, size, "MSCCLC_SKIP has %s", term), true;
  }
  return false;
}

bool skip_wrong(const char *text, char (&term)[TERM]) {
  while (text) {
    text = next(text, term);
    if (matches(term, 0, "") < 0) return true;
  }
  return false;
}
