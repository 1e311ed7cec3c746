// This file is the engine of NCCL's net plugins. A receive has one buffer, and every message tag 0, so that a plugin
// matches messages in their order.
#include "ncclnet.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *ncclnet_why(void *engine) { return ((struct ncclnet_engine *)engine)->why; }

static int ncclnet_properties(void *engine, struct transport_properties *p) {
  struct ncclnet_engine *e = (struct ncclnet_engine *)engine;
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "%s, plugin version %d", e->name, e->version);
  snprintf(p->cards, sizeof p->cards, "%s", e->cards);
  p->reaches_cuda = (e->kinds & NCCLNET_CUDA) != 0, p->gbytes = e->gbytes;
  return 0;
}

static int wrap(struct ncclnet_engine *e, void *at, void **connection) {
  struct ncclnet_connection *c = (struct ncclnet_connection *)calloc(1, sizeof *c);
  if (!c) return ncclnet_fail(e, 2, "no memory");
  c->of = e, c->at = at;
  for (int i = 0; i < TRANSPORT_REQUESTS; i++) c->request[i].of = c;
  *connection = c;
  return 0;
}

static int ncclnet_listen(void *engine, unsigned, struct transport_handle *handle, void **ear) {
  struct ncclnet_engine *e = (struct ncclnet_engine *)engine;
  *ear = 0;
  void *f = e->plugin->listen, *at = 0, *own = calloc(1, NCCLNET_HANDLE);
  *handle = transport_handle{(unsigned char *)own, NCCLNET_HANDLE};
  if (!own) return ncclnet_fail(e, 2, "no memory");
  const int code = e->version >= 11 ? ((ncclnet_listen_11)f)(e->context, e->device, own, &at)
                                    : ((ncclnet_listen_8)f)(e->device, own, &at);
  if (code || !at) return ncclnet_fail(e, code, "listening");
  return wrap(e, at, ear);
}

static int ncclnet_connect(void *engine, unsigned, const struct transport_handle *handle, void *, void **to) {
  struct ncclnet_engine *e = (struct ncclnet_engine *)engine;
  *to = 0;
  struct ncclnet_config config = {-1};
  void *f = e->plugin->connect, *at = 0, *device_side = 0, *own = handle->at;
  int code;
  if (handle->bytes != NCCLNET_HANDLE) {
    snprintf(e->why, sizeof e->why, "net plugin %s: a handle of %u bytes: do all processes have the same MSCCLC_NET?",
             e->name, handle->bytes);
    return 1;
  }
  if (e->version >= 11) code = ((ncclnet_connect_11)f)(e->context, e->device, own, &at, &device_side);
  else if (e->version == 10) code = ((ncclnet_connect_10)f)(e->device, &config, own, &at, &device_side);
  else code = ((ncclnet_connect_8)f)(e->device, own, &at, &device_side);
  if (code) return ncclnet_fail(e, code, "connecting");
  return at ? wrap(e, at, to) : 0;
}

static int ncclnet_accept(void *ear, void **from) {
  struct ncclnet_connection *c = (struct ncclnet_connection *)ear;
  *from = 0;
  void *at = 0, *device_side = 0;
  const int code = c->of->plugin->accept(c->at, &at, &device_side);
  if (code) return ncclnet_fail(c->of, code, "accepting");
  return at ? wrap(c->of, at, from) : 0;
}

static void ncclnet_close_ear(void *ear) {
  struct ncclnet_connection *c = (struct ncclnet_connection *)ear;
  c->of->plugin->close_listen(c->at);
  free(c);
}
static void ncclnet_close_to(void *to) {
  struct ncclnet_connection *c = (struct ncclnet_connection *)to;
  c->of->plugin->close_send(c->at);
  free(c);
}
static void ncclnet_close_from(void *from) {
  struct ncclnet_connection *c = (struct ncclnet_connection *)from;
  c->of->plugin->close_recv(c->at);
  free(c);
}

static int ncclnet_reg(void *connection, void *data, size_t bytes, int kind, void **region) {
  struct ncclnet_connection *c = (struct ncclnet_connection *)connection;
  const int code = c->of->plugin->reg(c->at, data, bytes, kind == TRANSPORT_CUDA ? NCCLNET_CUDA : NCCLNET_HOST, region);
  return code ? ncclnet_fail(c->of, code, "registering memory (ulimit -l limits what may be locked)") : 0;
}
static void ncclnet_dereg(void *connection, void *region) {
  struct ncclnet_connection *c = (struct ncclnet_connection *)connection;
  c->of->plugin->dereg(c->at, region);
}

static struct ncclnet_request *free_request(struct ncclnet_connection *c) {
  for (int i = 0; i < TRANSPORT_REQUESTS; i++)
    if (!c->request[i].under_way) return c->request + i;
  return 0;
}

// too_long refuses what plugins, which tell sizes as int, cannot carry.
static int too_long(struct ncclnet_engine *e, size_t bytes) {
  if (bytes <= INT_MAX) return 0;
  snprintf(e->why, sizeof e->why, "net plugin %s: a message of %zu bytes, of up to %d: take shorter tiles (--tile)",
           e->name, bytes, INT_MAX);
  return 1;
}

static int began(struct ncclnet_request *r, int code, void *under_way, const char *doing, void **request) {
  if (code) return ncclnet_fail(r->of->of, code, doing);
  r->under_way = under_way;
  *request = under_way ? r : 0;
  return 0;
}

static int ncclnet_send(void *to, const void *data, size_t bytes, void *region, void **request) {
  struct ncclnet_connection *c = (struct ncclnet_connection *)to;
  struct ncclnet_request *r = free_request(c);
  *request = 0;
  if (too_long(c->of, bytes)) return 1;
  if (!r) return 0;
  void *f = c->of->plugin->isend, *own = (void *)data, *under_way = 0;
  int code;
  if (c->of->version >= 10) code = ((ncclnet_isend_10)f)(c->at, own, bytes, 0, region, 0, &under_way);
  else if (c->of->version == 9) code = ((ncclnet_isend_9)f)(c->at, own, bytes, 0, region, &under_way);
  else code = ((ncclnet_isend_8)f)(c->at, own, (int)bytes, 0, region, &under_way);
  return began(r, code, under_way, "sending", request);
}

static int ncclnet_recv(void *from, void *data, size_t bytes, void *region, void **request) {
  struct ncclnet_connection *c = (struct ncclnet_connection *)from;
  struct ncclnet_request *r = free_request(c);
  *request = 0;
  if (!r) return 0;
  void *f = c->of->plugin->irecv, *under_way = 0, *profile = 0;
  int code, tag = 0, few = (int)bytes;
  if (c->of->version >= 10)
    code = ((ncclnet_irecv_10)f)(c->at, 1, &data, &bytes, &tag, &region, &profile, &under_way);
  else if (c->of->version == 9) code = ((ncclnet_irecv_9)f)(c->at, 1, &data, &bytes, &tag, &region, &under_way);
  else code = ((ncclnet_irecv_8)f)(c->at, 1, &data, &few, &tag, &region, &under_way);
  return began(r, code, under_way, "receiving", request);
}

static int ncclnet_flush(void *from, void *data, size_t bytes, void *region, void **request) {
  struct ncclnet_connection *c = (struct ncclnet_connection *)from;
  struct ncclnet_request *r = free_request(c);
  *request = 0;
  if (!r) return 0;
  void *under_way = 0;
  int few = (int)bytes;
  return began(r, c->of->plugin->flush(c->at, 1, &data, &few, &region, &under_way), under_way, "flushing", request);
}

static int ncclnet_test(void *engine, void *request, int *done, size_t *bytes) {
  struct ncclnet_engine *e = (struct ncclnet_engine *)engine;
  struct ncclnet_request *r = (struct ncclnet_request *)request;
  int size = 0;
  *done = 0;
  const int code = e->plugin->test(r->under_way, done, &size);
  if (code || *done) r->under_way = 0;
  *bytes = (size_t)size;
  return code ? ncclnet_fail(e, code, "a message") : 0;
}

extern "C" const struct transport_table transport_ncclnet = {
    ncclnet_open,   ncclnet_close,   ncclnet_why,       ncclnet_properties, ncclnet_listen,     ncclnet_connect,
    ncclnet_accept, ncclnet_close_ear, ncclnet_close_to, ncclnet_close_from, ncclnet_reg,       ncclnet_dereg,
    ncclnet_send,   ncclnet_recv,    ncclnet_flush,     ncclnet_test,       nullptr};
