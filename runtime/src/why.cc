#include "why.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void say(Why *why, const char *format, ...) {
  va_list list;
  va_start(list, format);
  if (why) vsnprintf(why->text, sizeof why->text, format, list);
  va_end(list);
}

void cut(char *to, size_t size, const char *text) {
  const char more[] = "...";
  const size_t length = strlen(text);
  if (length < size) return (void)memcpy(to, text, length + 1);
  size_t n = size - sizeof more;
  while (n && text[n] != ' ') n--;
  if (!n) n = size - sizeof more;
  memcpy(to, text, n), memcpy(to + n, more, sizeof more);
}
