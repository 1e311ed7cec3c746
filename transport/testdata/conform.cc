// This file is one of two processes that try an engine: conform ENGINE SPEC [HELPERS]. It prints its handle in hex and
// reads the other's, connects both ways, and sends and receives at the same time: messages of many sizes, many at once.
// It prints what went wrong and ends with 1. Or it prints the device and "fine", and waits for a line: where that is
// "send", it then sends until that fails.
#include "../helpers.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const transport_table *t;
static void *engine;

static void die(const char *what) {
  printf("%s: %s\n", what, engine ? t->why(engine) : "");
  fflush(stdout);
  _exit(1);
}
static void must(int failed, const char *what) {
  if (failed) die(what);
}
static double seconds() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void say(const transport_handle &handle) {
  printf("%u ", handle.bytes);
  for (uint32_t i = 0; i < handle.bytes; i++) printf("%02x", handle.at[i]);
  printf("\n");
  fflush(stdout);
}
static transport_handle hear() {
  transport_handle h = {};
  if (scanf("%u ", &h.bytes) != 1 || !(h.at = (unsigned char *)malloc(h.bytes))) die("no handle came");
  for (uint32_t i = 0; i < h.bytes; i++) {
    unsigned byte;
    if (scanf("%2x", &byte) != 1) die("no handle came");
    h.at[i] = (unsigned char)byte;
  }
  return h;
}

// Message n has a length and bytes that both ends know.
static const size_t lengths[] = {0, 1, 8, 4097, 8192, 65536, 1 << 20, 3, 8 << 20, 12345};
enum { KINDS = sizeof lengths / sizeof *lengths, MESSAGES = 60, AT_ONCE = 40 };
static size_t length_of(int n) { return lengths[n % KINDS]; }
static unsigned char byte_of(int n, size_t i) { return (unsigned char)(n * 31 + i * 7 + (i >> 8)); }

struct Message {
  unsigned char *data;
  void *region, *request;
  int number;
};
static const size_t LONGEST = 8 << 20;

static void make(Message *m, void *connection) {
  m->data = (unsigned char *)malloc(LONGEST + 64);
  must(t->reg(connection, m->data, LONGEST + 64, TRANSPORT_HOST, &m->region), "reg");
}
static void fill(Message *m) {
  for (size_t i = 0; i < length_of(m->number); i++) m->data[i] = byte_of(m->number, i);
}
static void check(const Message *m, size_t bytes) {
  if (bytes != length_of(m->number)) {
    printf("message %d has %zu bytes, and must have %zu\n", m->number, bytes, length_of(m->number));
    _exit(1);
  }
  for (size_t i = 0; i < bytes; i++)
    if (m->data[i] != byte_of(m->number, i)) {
      printf("message %d: byte %zu is wrong\n", m->number, i);
      _exit(1);
    }
}

// finish says whether a message that was begun is over.
static int finish(Message *m, size_t *bytes) {
  int done = 0;
  must(t->test(engine, m->request, &done, bytes), "test");
  if (done) m->request = 0;
  return done;
}

// exchange sends and receives all messages, as many at once as the engine takes.
static void exchange(void *to, void *from) {
  static Message out[AT_ONCE], in[AT_ONCE];
  for (int i = 0; i < AT_ONCE; i++) make(out + i, to), make(in + i, from);
  int sent = 0, begun = 0, sends_over = 0, received = 0;
  for (const double begin = seconds(); sends_over < MESSAGES || received < MESSAGES;) {
    if (seconds() - begin > 60) die("the messages do not arrive");
    size_t bytes = 0;
    Message *m = out + sent % AT_ONCE;
    if (sent < MESSAGES && sent - sends_over < AT_ONCE) {
      m->number = sent;
      fill(m);
      must(t->send(to, m->data, length_of(sent), m->region, &m->request), "send");
      sent += m->request != 0;
    }
    m = in + begun % AT_ONCE;
    if (begun < MESSAGES && begun - received < AT_ONCE) {
      m->number = begun;
      memset(m->data, 0xee, 64);
      must(t->recv(from, m->data, length_of(begun) + 64, m->region, &m->request), "recv");
      begun += m->request != 0;
    }
    for (; sends_over < sent && finish(out + sends_over % AT_ONCE, &bytes); sends_over++) {}
    for (; received < begun && finish(in + received % AT_ONCE, &bytes); received++)
      check(in + received % AT_ONCE, bytes);
  }
  for (int i = 0; i < AT_ONCE; i++) {
    t->dereg(to, out[i].region), t->dereg(from, in[i].region);
    free(out[i].data), free(in[i].data);
  }
}

// until_failed sends small messages until the other end is found to be gone.
static void until_failed(void *to) {
  static unsigned char data[64];
  void *region, *request = 0;
  must(t->reg(to, data, sizeof data, TRANSPORT_HOST, &region), "reg");
  for (const double begin = seconds(); seconds() - begin < 30; usleep(10000)) {
    int done = 0;
    size_t bytes;
    if (!request && t->send(to, data, sizeof data, region, &request)) break;
    if (request && t->test(engine, request, &done, &bytes)) break;
    if (done) request = 0;
  }
  printf("gone: %s\n", t->why(engine));
  t->dereg(to, region);
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) return 2;
  const transport_table *below = strcmp(argv[1], "ucx") == 0 ? &transport_ucx : &transport_ncclnet;
  t = argc == 4 ? &transport_helpers : below;
  char why[512] = "";
  if (argc == 4 ? helpers_open(below, argv[2], (unsigned)atoi(argv[3]), &engine, why, sizeof why)
                : below->open(argv[2], 0, &engine, why, sizeof why)) {
    printf("open: %s\n", why);
    return 1;
  }
  transport_handle own = {};
  void *ear, *to = 0, *from = 0;
  must(t->listen(engine, 1, &own, &ear), "listen");
  say(own);
  const transport_handle other = hear();
  for (const double begin = seconds(); !to || !from;) {
    if (!to) must(t->connect(engine, 1, &other, nullptr, &to), "connect");
    if (!from) must(t->accept(ear, &from), "accept");
    if (seconds() - begin > 30) die("the other end does not connect");
  }
  t->close_ear(ear);
  free(own.at), free(other.at);
  exchange(to, from);
  transport_properties p;
  must(t->properties(engine, &p), "properties");
  printf("%s\nfine\n", p.name);
  fflush(stdout);
  char line[16];
  if (!fgets(line, sizeof line, stdin) || !fgets(line, sizeof line, stdin)) return 1;
  if (strcmp(line, "send\n") == 0) until_failed(to);
  // A recv is under way that nobody sends for.
  unsigned char *left = (unsigned char *)malloc(64);
  void *region = 0, *request = 0;
  if (!t->reg(from, left, 64, TRANSPORT_HOST, &region) && t->recv(from, left, 64, region, &request))
    printf("recv fails\n");
  t->dereg(from, region);
  t->close_to(to);
  t->close_from(from);
  t->close(engine);
  free(left);
  return 0;
}
