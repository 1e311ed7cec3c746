// What the client does with descriptors. client.cc includes it.
#pragma once

#include <sys/resource.h>
#include <sys/un.h>

// knock connects to the library's own socket of this process, among its descriptors.
void knock(Rank &r, int with) {
  for (int fd = 0; fd < with; fd++) {
    struct sockaddr_un name = {};
    socklen_t size = sizeof name;
    if (getsockname(fd, (struct sockaddr *)&name, &size) || name.sun_family != AF_UNIX) continue;
    if (strncmp(name.sun_path + 1, "mscclc-", 7)) continue;
    if (connect(with, (struct sockaddr *)&name, size)) fail(r, "the library's socket: %s", strerror(errno));
    return;
  }
  fail(r, "the library has no socket");
}

// full takes all descriptors of this process, and the last one is a connection to the library's socket.
std::vector<int> eaten;
void full(Rank &r, int type) {
  const struct rlimit limit = {200, 4096};
  setrlimit(RLIMIT_NOFILE, &limit);
  for (int fd; (fd = dup(0)) >= 0;) eaten.push_back(fd);
  close(eaten.back());
  const int last = socket(AF_UNIX, type, 0);
  if (last != eaten.back()) fail(r, "descriptor %d", last);
  knock(r, last);
}

// leave takes all descriptors of this process but some.
void leave(Rank &r, size_t count) {
  const struct rlimit limit = {200, 4096};
  setrlimit(RLIMIT_NOFILE, &limit);
  for (int fd; (fd = dup(0)) >= 0;) eaten.push_back(fd);
  if (eaten.size() < count) fail(r, "there are %zu descriptors", eaten.size());
  for (; count; count--) close(eaten.back()), eaten.pop_back();
}

// spare gives them back.
void spare() {
  for (const int fd : eaten) close(fd);
  eaten.clear();
}

// busy prints how much of some milliseconds this process works.
void busy(Rank &r, int ms) {
  struct timespec begin, end;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  usleep((useconds_t)ms * 1000);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  printf("rank %d: works took %.3f ms\n", r.rank,
         (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
}
