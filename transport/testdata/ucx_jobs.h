// This file has two engines of UCX in one process carry jobs, for programs that count what they ask of UCX.
#pragma once
#include "../ucx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const transport_table *const t = &transport_ucx;
static void *near, *far;

// A program says what it counts, for its messages.
struct Count {
  const char *name;
  int *number;
};
enum { COUNTS = 4 };
extern const Count counts[COUNTS];

static void check(bool good, const char *what) {
  if (good) return;
  printf("%s; %s; %s", what, near ? t->why(near) : "", far ? t->why(far) : "");
  for (const Count &c : counts) printf("; %d %s", *c.number, c.name);
  printf("\n");
  fflush(stdout);
  _exit(1);
}

static double seconds() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

// A Job has a control and a bulk connection.
enum { CONTROL, BULK, BOTH };
struct Job {
  void *ear[BOTH], *to[BOTH], *from[BOTH];
};

static void join(Job *j) {
  for (int i = 0; i < BOTH; i++) {
    transport_handle handle = {};
    check(!t->listen(far, (unsigned)i, &handle, &j->ear[i]), "listen");
    check(!t->connect(near, (unsigned)i, &handle, i ? j->to[CONTROL] : nullptr, &j->to[i]), "connect");
    free(handle.at);
  }
  for (const double begin = seconds(); !j->from[CONTROL] || !j->from[BULK];) {
    for (int i = 0; i < BOTH; i++)
      if (!j->from[i]) check(!t->accept(j->ear[i], &j->from[i]), "accept");
    t->progress(near);
    check(seconds() - begin < 30, "nobody connects");
  }
}

static void begin(void *to, const void *data, size_t bytes, void **request, void *region = nullptr) {
  check(!t->send(to, data, bytes, region, request) && *request, "send");
}

// arrives receives a message, while the near engine goes on.
static void arrives(void *from, const unsigned char *want, size_t bytes) {
  static unsigned char got[1 << 20];
  void *request;
  int done = 0;
  size_t length = 0;
  check(!t->recv(from, got, sizeof got, nullptr, &request) && request, "recv");
  for (const double start = seconds(); !done; check(seconds() - start < 30, "nothing arrives")) {
    check(!t->test(far, request, &done, &length), "a message");
    t->progress(near);
  }
  check(length == bytes && !memcmp(got, want, bytes), "a message has other data");
}

static unsigned char text[1 << 19];

static void open_both() {
  char why[512] = "";
  if (t->open("", 0, &near, why, sizeof why) || t->open("", 0, &far, why, sizeof why)) {
    printf("open: %s\n", why);
    _exit(1);
  }
  for (size_t i = 0; i < sizeof text; i++) text[i] = (unsigned char)(i * 7 + (i >> 8));
}

static void close_both() {
  t->close(near), t->close(far);
  near = far = nullptr;
}

static void leave(Job *j) {
  for (int i = 0; i < BOTH; i++) t->close_from(j->from[i]), t->close_ear(j->ear[i]);
}
