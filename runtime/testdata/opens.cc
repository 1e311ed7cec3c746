// A program that opens a framework (framework.cc) as its first argument says, or has one itself.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern "C" int framework_start() __attribute__((weak));

namespace {

void *open_as(const char *how, const char *file) {
  if (!strcmp(how, "dlmopen")) return dlmopen(LM_ID_NEWLM, file, RTLD_NOW);
  if (!strcmp(how, "deepbind")) return dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  return dlopen(file, RTLD_NOW | (strcmp(how, "global") ? RTLD_LOCAL : RTLD_GLOBAL));
}

}  // namespace

int main(int, char **words) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (!strcmp(words[1], "own")) return framework_start();
  if (!strcmp(words[1], "early")) {  // it asks for NCCL before there is one
    typedef int (*Version)(int *);
    int version = 0;
    if (const Version f = (Version)dlsym(RTLD_DEFAULT, "ncclGetVersion")) f(&version);
  }
  void *h = open_as(words[1], words[2]);
  if (!h) return puts(dlerror()), 1;
  int (*start)() = (int (*)())dlsym(h, "framework_start");
  return start ? start() : (puts("it has no framework_start"), 1);
}
