// This file reads sysfs. Paths are compared from /devices on: links of sysfs are relative, and plugins have followed
// them.
#include "pci.h"

#include "system.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *pci_sysfs = "/sys";

enum { ROOM = 512 };

// tree returns a path from /devices on, or null: what is no PCI device has none.
static const char *tree(const char *path) { return path ? strstr(path, "/devices/pci") : nullptr; }

// common returns how many folders two paths have in common.
static int common(const char *a, const char *b) {
  int n = 0;
  for (;; a++, b++) {
    const bool ends_a = !*a || *a == '/', ends_b = !*b || *b == '/';
    if (ends_a && ends_b) n++;
    if (*a != *b || !*a) return n;
  }
}

// path_of stores where a device of this host is in sysfs.
static bool path_of(const char *device, char (&to)[ROOM]) {
  char link[ROOM];
  snprintf(link, sizeof link, "%s/bus/pci/devices/%.32s", pci_sysfs, device);
  const ssize_t n = readlink(link, to, sizeof to - 1);
  to[n > 0 ? n : 0] = 0;
  return n > 0;
}

// kind_of stores the vendor and the class of a device, as sysfs writes them.
static bool kind_of(const char *device, char (&to)[64]) {
  to[0] = 0;
  static const char *const names[] = {"vendor", "class"};
  for (const char *name : names) {
    char file[ROOM];
    snprintf(file, sizeof file, "%s/bus/pci/devices/%.32s/%s", pci_sysfs, device, name);
    const size_t at = strlen(to);
    if (sys_text(file, to + at, sizeof to - at) <= 0) return false;
  }
  return true;
}

// index_of returns how many GPUs of the host are before a GPU: devices of the same vendor and class. A process may be
// shown that one alone.
static int index_of(const char *gpu) {
  char own[64], other[64], folder[ROOM];
  int before = 0;
  snprintf(folder, sizeof folder, "%s/bus/pci/devices", pci_sysfs);
  DIR *all = kind_of(gpu, own) ? opendir(folder) : nullptr;
  for (const dirent *e; all && (e = readdir(all));)
    before += *e->d_name != '.' && strcmp(e->d_name, gpu) < 0 && kind_of(e->d_name, other) && !strcmp(own, other);
  if (all) closedir(all);
  return before;
}

int pci_nearest(const char *gpu, const char *const *paths, int count) {
  char own[ROOM];
  const char *from = *gpu && path_of(gpu, own) ? tree(own) : nullptr;
  if (!from) return 0;
  int best = 0, equal = 0;
  for (int i = 0; i < count; i++) {
    const int n = tree(paths[i]) ? common(from, tree(paths[i])) : 0;
    if (n > best) best = n, equal = 0;
    equal += n == best;
  }
  int turn = index_of(gpu) % equal;
  for (int i = 0; i < count; i++) {
    const int n = tree(paths[i]) ? common(from, tree(paths[i])) : 0;
    if (n == best && !turn--) return i;
  }
  return 0;
}
