// The driver's linker. Its machine code is a mark and then the PTX. Modules are loaded from it.
#include "calls.h"

#include <cstdio>
#include <cstring>

namespace {

enum { PTX = 1 };

struct Link {
  char *log;
  u32 log_bytes;
  std::string text, code;
};

int refused(const Link *link, const char *why) {
  if (link->log && link->log_bytes) snprintf(link->log, link->log_bytes, "ptxas: %s", why);
  return INVALID_IMAGE;
}

}  // namespace

int do_link(void **state, void *log, u32 log_bytes) {
  if (!current()) return INVALID_CONTEXT;
  return *state = new Link{(char *)log, log_bytes, "", ""}, OK;
}
int do_link_data(void *state, int kind, const void *data, size_t bytes) {
  Link *link = (Link *)state;
  if (!link || kind != PTX || !data || !bytes) return INVALID_VALUE;
  const char *text = (const char *)data;
  if (text[bytes - 1]) return refused(link, "the text does not end in a zero byte");
  if (!strstr(text, ".version")) return refused(link, "this is no PTX");
  return link->text += text, OK;
}
int do_link_complete(void *state, void **code, size_t *bytes) {
  Link *link = (Link *)state;
  if (!link || link->text.empty()) return INVALID_VALUE;
  link->code = "STANDIN\n" + link->text;
  *code = &link->code[0];
  return *bytes = link->code.size() + 1, OK;
}
int do_link_end(void *state) {
  if (!state) return INVALID_VALUE;
  delete (Link *)state;
  return OK;
}
