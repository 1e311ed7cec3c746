// Whose bundles the library takes: the user's, root's, and those that the machine's configuration names. Nobody else
// may write to them. package files has the same rules (conf.go).
#include "bundle.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MSCCLC_CONF
#define MSCCLC_CONF "/etc/mscclc.conf"  // tests build the library with another
#endif

namespace {

enum { MOST_CONF = 64 << 10, MOST_PATH = 4096 };

// open_conf opens the configuration, if it is there and only root can have written it.
int open_conf(Why *why) {
  struct stat about;
  const int fd = sys_open(MSCCLC_CONF, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  if (fd < 0) return -1;
  const char *fault = nullptr;
  if (fstat(fd, &about) || !S_ISREG(about.st_mode)) fault = "it is no regular file";
  else if (about.st_uid != 0) fault = "it is not root's";
  else if (about.st_mode & (S_IWGRP | S_IWOTH)) fault = "other users may write to it";
  else if (about.st_size > MOST_CONF) fault = "it is too long";
  if (!fault) return fd;
  close(fd);
  return say(why, "; " MSCCLC_CONF " does not count: %s", fault), -1;
}

// names says whether a line of the configuration names the file or its owner.
bool names(char *line, const char *file, const char *owner) {
  char *save = nullptr;
  const char *space = " \t\r\v\f";
  const char *what = strtok_r(line, space, &save), *which = strtok_r(nullptr, space, &save);
  if (!what || !which || strtok_r(nullptr, space, &save)) return false;
  return (!strcmp(what, "bundle-owner") && !strcmp(which, owner)) || (!strcmp(what, "bundle") && !strcmp(which, file));
}

bool conf_names(const char *path, u32 uid, Why *why) {
  const int fd = open_conf(why);
  if (fd < 0) return false;
  char *text = (char *)malloc(MOST_CONF + 1), *real = realpath(path, nullptr), owner[16];
  snprintf(owner, sizeof owner, "%u", uid);
  const ssize_t n = text ? sys_read_some(fd, text, MOST_CONF) : -1;
  bool named = false;
  for (char *line = text, *end = n > 0 ? text + n : text; line < end && !named;) {
    *end = 0;
    char *next = strchr(line, '\n');
    if (next) *next = 0;
    named = names(line, real ? real : "", owner);
    line = next ? next + 1 : end;
  }
  close(fd);
  free(text), free(real);
  return named;
}

}  // namespace

bool trusted(int file, const char *path, u64 *bytes, Why *why) {
  struct stat about;
  Why conf = {};
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return say(why, "it is no regular file"), false;
  *bytes = (u64)about.st_size;
  if (about.st_mode & (S_IWGRP | S_IWOTH))
    return say(why, "other users may write to it; chmod go-w would change that"), false;
  if (about.st_uid == geteuid() || about.st_uid == 0 || conf_names(path, about.st_uid, &conf)) return true;
  say(why, "it belongs to another user (%u), whom " MSCCLC_CONF " does not name; copy it to a file of your own%.200s",
      about.st_uid, conf.text);
  return false;
}
