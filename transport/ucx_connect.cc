// This file connects workers of UCX. A connection is a tag: messages with it are matched in their order.
#include "system.h"
#include "ucx.h"

#include <stdlib.h>
#include <string.h>

static uint64_t draw(void) {
  uint64_t tag = 0;
  while (!tag && !sys_random(&tag, sizeof tag)) tag = 0;
  return tag;
}

// write_handle makes a handle of a tag and the worker's address.
static int write_handle(struct ucx_engine *u, uint64_t tag, struct transport_handle *handle) {
  ucx_address *address;
  size_t length;
  const int8_t status = u->f.worker_get_address(u->worker, &address, &length);
  if (status) return ucx_fail(u, status, "the worker's address");
  const int fits = length <= TRANSPORT_HANDLE_MOST - sizeof tag;
  struct ucx_handle *h = (struct ucx_handle *)(fits ? malloc(sizeof *h + length) : 0);
  if (h) {
    h->tag = tag;
    memcpy(h->address, address, length);
    *handle = transport_handle{(unsigned char *)h, (uint32_t)(sizeof *h + length)};
  }
  u->f.worker_release_address(u->worker, address);
  if (h) return 0;
  if (fits) return ucx_fail(u, UCX_ERR_NO_MEMORY, "connecting");
  snprintf(u->why, sizeof u->why,
           "UCX: the worker's address has %zu bytes, and %zu are allowed: choose fewer devices by UCX_NET_DEVICES, "
           "or fewer transports by UCX_TLS",
           length, (size_t)TRANSPORT_HANDLE_MOST - sizeof tag);
  return 1;
}

int ucx_listen(void *engine, unsigned, struct transport_handle *handle, void **ear) {
  struct ucx_engine *u = (struct ucx_engine *)engine;
  *ear = 0, *handle = transport_handle{};
  struct ucx_ear *e = (struct ucx_ear *)calloc(1, sizeof *e);
  if (!e) return ucx_fail(u, UCX_ERR_NO_MEMORY, "connecting");
  e->of = u, e->tag = draw();
  if (write_handle(u, e->tag, handle)) {
    free(e);
    return 1;
  }
  *ear = e;
  return 0;
}

static struct ucx_connection *connection(struct ucx_engine *u, uint64_t tag) {
  struct ucx_connection *c = (struct ucx_connection *)calloc(1, sizeof *c);
  if (!c) {
    ucx_fail(u, UCX_ERR_NO_MEMORY, "connecting");
    return 0;
  }
  c->of = u, c->tag = tag;
  for (int i = 0; i < TRANSPORT_REQUESTS; i++) c->request[i].of = c;
  return c;
}

int ucx_connect(void *engine, unsigned, const struct transport_handle *handle, void *beside, void **to) {
  struct ucx_engine *u = (struct ucx_engine *)engine;
  *to = 0;
  const struct ucx_handle *h = (const struct ucx_handle *)handle->at;
  uint64_t tag = 0;
  if (handle->bytes > sizeof *h) memcpy(&tag, h, sizeof tag);
  if (!tag) {
    snprintf(u->why, sizeof u->why, "UCX: a handle that is none of UCX's: do all processes have the same MSCCLC_NET?");
    return 1;
  }
  struct ucx_connection *c = connection(u, draw());
  if (!c) return 1;
  if (!(c->end = ucx_join(u, beside ? ((struct ucx_connection *)beside)->end : 0, h->address,
                          handle->bytes - sizeof *h))) {
    free(c);
    return 1;
  }
  struct ucx_op plain;
  memset(&plain, 0, sizeof plain);
  c->hello = c->tag;
  c->saying = u->f.tag_send_nbx(c->end->ep, &c->hello, sizeof c->hello, tag, &plain);
  if (ucx_failed(c->saying)) {
    const int8_t why = (int8_t)ucx_status(c->saying);
    c->saying = 0;
    ucx_close_connection(c);
    return ucx_fail(u, why, "connecting");
  }
  *to = c;
  return 0;
}

int ucx_accept(void *ear, void **from) {
  struct ucx_ear *e = (struct ucx_ear *)ear;
  struct ucx_engine *u = e->of;
  *from = 0;
  struct ucx_request *r = &e->incoming;
  ucx_look(u, &r->seen);
  if (!r->used && ucx_begin_recv(u, r, &e->hello, sizeof e->hello, 0, e->tag)) return 1;
  if (r->under_way) {
    r->status = u->f.tag_recv_request_test(r->under_way, &r->got);
    if (r->status == UCX_INPROGRESS) return 0;
    u->f.request_free(r->under_way);
    r->under_way = 0;
  }
  r->used = 0;
  if (r->status) return ucx_fail(u, r->status, "accepting");
  if (r->got.length != sizeof e->hello || !e->hello) {
    snprintf(u->why, sizeof u->why, "UCX: who connects is no mscclc");
    return 1;
  }
  *from = connection(u, e->hello);
  return *from == 0;
}

void ucx_close_ear(void *ear) {
  struct ucx_ear *e = (struct ucx_ear *)ear;
  ucx_cancel(e->of, &e->incoming);
  free(e);
}

// ucx_close_connection ends all requests of a connection. UCX goes on with sends, and the hello is in the connection's
// memory, so the connection is freed when they are over.
void ucx_close_connection(void *connection) {
  struct ucx_connection *c = (struct ucx_connection *)connection;
  struct ucx_engine *u = c->of;
  int drop = 0;
  for (int i = 0; i < TRANSPORT_REQUESTS; i++) {
    drop |= c->request[i].used && !c->request[i].receives && c->request[i].under_way != 0;
    if (c->request[i].receives) ucx_cancel(u, c->request + i);
  }
  if (!c->end) {
    free(c);
    return;
  }
  drop = ucx_leave(c->end, drop);
  c->next = u->closing, u->closing = c;
  ucx_closed(u, drop ? 100000000 : 0);
}
