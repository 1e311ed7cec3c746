// This file is a small net plugin of NCCL's, for tests: messages over TCP, of the version that VERSION says. It is
// built as a library of its own. Calls that could go on at once sometimes do not, as in real plugins. A handle is an
// address. Its state is in the handle while it connects, as plugins do it.
#include "../ncclnet_abi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OK = 0, SYSTEM = 2, USAGE = 5, REMOTE = 6, MOST = 32 };

static ncclnet_logger say;
static int fail(int code, const char *what) {
  if (say) say(NCCLNET_LOG_WARN, 16, __FILE__, __LINE__, "%s: %s", what, strerror(errno));
  return code;
}
static thread_local unsigned chance = 1;
static bool not_now() { return (chance = chance * 1103515245 + 12345) >> 16 & 1; }

struct Handle {
  sockaddr_in to;
  int socket, connecting;
};
static_assert(sizeof(Handle) <= NCCLNET_HANDLE, "a handle has room");

// A message on the wire is its length, of 8 bytes, and its data. Messages of a connection go one after the other.
struct Request {
  struct Comm *of;
  char *data;
  uint64_t size, length, done;  // length is the message's, done counts its bytes and those of the length
  bool used;
};
struct Comm {
  int socket;
  bool sends;
  Request request[MOST];
  uint64_t begun, over;  // of all requests: those that test has moved to their end
  int regions;
};

static void quick(int socket) {
  int one = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(socket, F_SETFL, O_NONBLOCK);
}

// PLUGIN_PATHS has the paths of devices in sysfs, with | between them; "-" is a device without one.
static int devices(int *count) {
  const char *none = getenv("PLUGIN_NO_DEVICE"), *paths = getenv("PLUGIN_PATHS");
  *count = none && *none ? 0 : 1;
  for (; *count && paths && (paths = strchr(paths, '|')); paths++) ++*count;
  return OK;
}
static int properties(int device, void *p) {
  static char name[] = "tcp of the tests", path[16][256];
  const char *paths = getenv("PLUGIN_PATHS");
  for (int i = 0; i < device && paths; i++) paths = strchr(paths, '|') + 1;
  if (!paths) paths = "-";
  char *pci = *paths == '-' ? 0 : path[device % 16];
  if (pci) snprintf(pci, sizeof *path, "%.*s", (int)strcspn(paths, "|"), paths);
  if (VERSION >= 9) *(ncclnet_properties_9 *)p = {name, pci, 1, NCCLNET_HOST, 0, 0, 10000};
  else *(ncclnet_properties_8 *)p = {name, pci, 1, NCCLNET_HOST, 0, 10000};
  return OK;
}

static int listen_at(int, void *handle, void **ear) {
  const char *own = getenv("PLUGIN_ADDRESS");
  Handle h = {};
  socklen_t size = sizeof h.to;
  h.to.sin_family = AF_INET, h.to.sin_addr.s_addr = inet_addr(own && *own ? own : "127.0.0.1");
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s < 0 || bind(s, (sockaddr *)&h.to, sizeof h.to) || listen(s, 64) || getsockname(s, (sockaddr *)&h.to, &size))
    return fail(SYSTEM, "listen");
  fcntl(s, F_SETFL, O_NONBLOCK);
  memcpy(handle, &h, sizeof h);
  Comm *c = (Comm *)calloc(1, sizeof *c);
  c->socket = s;
  *ear = c;
  return OK;
}

static int connect_to(int, void *handle, void **to) {
  Handle *h = (Handle *)handle;
  *to = 0;
  if (not_now()) return OK;
  if (!h->connecting) {
    h->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    quick(h->socket);
    h->connecting = 1;
  }
  if (connect(h->socket, (sockaddr *)&h->to, sizeof h->to) && errno != EISCONN) {
    if (errno == EINPROGRESS || errno == EALREADY) return OK;
    return fail(REMOTE, "connect");
  }
  Comm *c = (Comm *)calloc(1, sizeof *c);
  c->socket = h->socket, c->sends = true;
  *to = c;
  return OK;
}

static int accept_from(void *ear, void **from, void **) {
  *from = 0;
  if (not_now()) return OK;
  const int s = accept4(((Comm *)ear)->socket, 0, 0, SOCK_CLOEXEC);
  if (s < 0) return errno == EAGAIN ? OK : fail(SYSTEM, "accept");
  quick(s);
  Comm *c = (Comm *)calloc(1, sizeof *c);
  c->socket = s;
  *from = c;
  return OK;
}

// A region is the memory that it is of, so that other memory is noticed. Plugins of InfiniBand need each deregistered
// by the connection that has registered it, before that is closed.
struct Region {
  Comm *of;
  char *data;
  size_t size;
};
static int reg(void *comm, void *data, size_t size, int kind, void **region) {
  if (kind != NCCLNET_HOST) return USAGE;
  Region *r = (Region *)malloc(sizeof *r);
  *r = {(Comm *)comm, (char *)data, size};
  r->of->regions++;
  *region = r;
  return OK;
}
static void must(bool kept, const char *rule) {
  if (kept) return;
  fprintf(stderr, "net plugin of the tests: %s\n", rule);
  abort();
}
static int dereg(void *comm, void *region) {
  Region *r = (Region *)region;
  must(r && r->of == comm, "a region is deregistered by another connection");
  r->of->regions--;
  free(r);
  return OK;
}

static int begin(Comm *c, void *data, size_t size, void *region, void **request) {
  *request = 0;
  Region *in = (Region *)region;
  if (!in || in->of != c || (char *)data < in->data || (char *)data + size > in->data + in->size) return USAGE;
  Request *r = c->request + c->begun % MOST;
  if (r->used || not_now()) return OK;
  *r = {c, (char *)data, size, c->sends ? size : 0, 0, true};
  c->begun++;
  *request = r;
  return OK;
}

// go moves some bytes of a request: 1 is all, 0 is not now, below 0 is a failure.
static int go(Request *r) {
  Comm *c = r->of;
  while (r->done < 8 + r->length || r->done < 8) {
    char *at = r->done < 8 ? (char *)&r->length + r->done : r->data + (r->done - 8);
    const size_t left = r->done < 8 ? 8 - r->done : 8 + r->length - r->done;
    const ssize_t n = c->sends ? send(c->socket, at, left, MSG_NOSIGNAL) : recv(c->socket, at, left, 0);
    if (n < 0 && errno == EAGAIN) return 0;
    if (n <= 0) return -1;
    r->done += (uint64_t)n;
    if (!c->sends && r->done == 8 && r->length > r->size) return -1;
    if (r->done > 8 && not_now()) return 0;
  }
  return 1;
}

// test moves the connection's first request that is not over, until the one asked for is.
static int test(void *request, int *done, int *size) {
  Request *asked = (Request *)request;
  Comm *c = asked->of;
  *done = 0;
  for (; c->over < c->begun; c->over++) {
    const int went = go(c->request + c->over % MOST);
    if (went < 0) {
      asked->used = false;
      return fail(REMOTE, c->sends ? "send" : "recv");
    }
    if (!went) break;
  }
  if (asked->done < 8 || asked->done < 8 + asked->length) return OK;
  asked->used = false;
  *done = 1;
  if (size) *size = (int)asked->length;
  return OK;
}

static int flush(void *, int, void **, int *, void **, void **request) {
  *request = 0;
  return OK;
}
static int finish(void *comm) {
  must(!((Comm *)comm)->regions, "a connection is closed that has regions");
  close(((Comm *)comm)->socket);
  free(comm);
  return OK;
}

#if VERSION >= 11
static int init(void **context, uint64_t, ncclnet_config *, ncclnet_logger log, void *) {
  *context = (void *)&say, say = log;
  return OK;
}
static int listen_own(void *context, int device, void *handle, void **ear) {
  return context == &say ? listen_at(device, handle, ear) : USAGE;
}
static int connect_own(void *context, int device, void *handle, void **to, void **) {
  return context == &say ? connect_to(device, handle, to) : USAGE;
}
#else
#if VERSION == 10
static int init(ncclnet_logger log, void *) {
  say = log;
  return OK;
}
static int connect_own(int device, ncclnet_config *, void *handle, void **to, void **) {
  return connect_to(device, handle, to);
}
#else
static int init(ncclnet_logger log) {
  say = log;
  return OK;
}
static int connect_own(int device, void *handle, void **to, void **) { return connect_to(device, handle, to); }
#endif
static int (*const listen_own)(int, void *, void **) = listen_at;
#endif
static int finalize(void *context) { return context == &say ? OK : USAGE; }

#if VERSION >= 10
static int isend(void *to, void *data, size_t size, int, void *region, void *, void **request) {
  return begin((Comm *)to, data, size, region, request);
}
static int irecv(void *from, int, void **data, size_t *size, int *, void **region, void **, void **request) {
  return begin((Comm *)from, *data, *size, *region, request);
}
#elif VERSION == 9
static int isend(void *to, void *data, size_t size, int, void *region, void **request) {
  return begin((Comm *)to, data, size, region, request);
}
static int irecv(void *from, int, void **data, size_t *size, int *, void **region, void **request) {
  return begin((Comm *)from, *data, *size, *region, request);
}
#else
static int isend(void *to, void *data, int size, int, void *region, void **request) {
  return begin((Comm *)to, data, (size_t)size, region, request);
}
static int irecv(void *from, int, void **data, int *size, int *, void **region, void **request) {
  return begin((Comm *)from, *data, (size_t)*size, *region, request);
}
#endif

#define NAME2(v) ncclNetPlugin_v##v
#define NAME(v) NAME2(v)
extern "C" ncclnet_plugin NAME(VERSION);
ncclnet_plugin NAME(VERSION) = {"tests",         (void *)init,        devices,       properties, (void *)listen_own,
                                (void *)connect_own, accept_from, reg,           0,          dereg,
                                (void *)isend,   (void *)irecv,       flush,         test,       finish,
                                finish,          finish,              0,             0,          0,
                                VERSION >= 11 ? finalize : nullptr};
