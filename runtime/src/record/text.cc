// Texts that grow, and files that are written at once.
#include "../front/front.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void put(Text *t, const char *format, ...) {
  for (;;) {
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->at ? t->at + t->size : nullptr, t->room - t->size, format, args);
    va_end(args);
    if (n < 0) return;
    if (t->size + (size_t)n < t->room) {
      t->size += (size_t)n;
      return;
    }
    const size_t room = 2 * (t->size + (size_t)n + 2048);
    char *more = (char *)realloc(t->at, room);
    if (!more) return;
    t->at = more, t->room = room;
  }
}

// What is no ASCII may be no UTF-8 either.
void put_string(Text *t, const char *s) {
  put(t, "\"");
  for (; *s; s++) {
    const unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') put(t, "\\%c", c);
    else put(t, "%c", c < ' ' ? ' ' : c >= 0x7f ? '?' : c);
  }
  put(t, "\"");
}

bool write_whole(const char *dir, const char *name, const Text &t) {
  char path[2 * PATH_ROOM], fresh[2 * PATH_ROOM];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  snprintf(fresh, sizeof fresh, "%s/.%s.%d.new", dir, name, (int)getpid());
  if (!t.at) return false;
  unlink(fresh);  // of a process that was killed
  const int fd = sys_open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  bool written = fd >= 0 && sys_write(fd, t.at, t.size);
  int code = errno;
  if (fd >= 0 && close(fd) && written) written = false, code = errno;
  if (written && rename(fresh, path)) written = false, code = errno;
  if (fd >= 0 && !written) unlink(fresh);
  errno = code;
  return written;
}
