// Versions, and the last error of each thread.
#include "../device/device.h"
#include "api.h"

#include <stdarg.h>
#include <stdio.h>

#ifndef MSCCLC_VERSION
#define MSCCLC_VERSION "0.1.0"
#endif

namespace {

struct Last {
  mscclc_result result;
  char text[1024];
};
__thread Last last;

}  // namespace

mscclc_result failed(mscclc_result result, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(last.text, sizeof last.text, format, list);
  va_end(list);
  return last.result = result;
}

bool forked() {
  if (alive()) return false;
  failed(MSCCLC_FORKED, "%s", driver_text(ENGINE_FORKED));
  return true;
}

void begun() { alive_from_now(); }

extern "C" {

const char *mscclc_version(void) { return MSCCLC_VERSION; }
int mscclc_abi(void) { return MSCCLC_ABI; }
const char *mscclc_last_error(void) { return last.text; }
mscclc_result mscclc_last_result(void) { return last.result; }

const char *mscclc_result_text(mscclc_result result) {
  static const char *const texts[] = {
      "no error", "an argument is not valid", "the call is not possible now", "an error of the operating system",
      "an error of the GPU's driver", "the file is no bundle that this library reads", "no program is for the call",
      "ranks do not fit together", "ranks did not come in time", "another rank failed or ended",
      "the communicator was aborted", "the process was forked"};
  return (unsigned)result < sizeof texts / sizeof *texts ? texts[result] : "no such result";
}
}
