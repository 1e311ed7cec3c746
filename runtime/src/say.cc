#include "engine.h"

#include <stdarg.h>
#include <stdio.h>

void say(Why *why, const char *format, ...) {
  va_list list;
  va_start(list, format);
  if (why) vsnprintf(why->text, sizeof why->text, format, list);
  va_end(list);
}
