// This file connects workers of UCX. A connection is a tag: messages with it are matched in their order.
#include "rest.h"
#include "system.h"
#include "ucx.h"

#include <stdlib.h>
#include <string.h>

static uint64_t draw(void) {
  uint64_t tag = 0;
  while (!tag && !sys_random(&tag, sizeof tag)) tag = 0;
  return tag;
}

int ucx_listen(void *engine, unsigned, unsigned char handle[TRANSPORT_HANDLE], void **ear) {
  struct ucx_engine *u = (struct ucx_engine *)engine;
  *ear = 0;
  ucx_address *address;
  size_t length;
  const int8_t status = u->f.worker_get_address(u->worker, &address, &length);
  if (status) return ucx_fail(u, status, "the worker's address");
  struct ucx_handle h;
  memset(&h, 0, sizeof h);
  const int fits = length <= sizeof h.address;
  if (fits) memcpy(h.address, address, length);
  u->f.worker_release_address(u->worker, address);
  if (!fits) {
    snprintf(u->why, sizeof u->why,
             "UCX: the worker's address has %zu bytes, and %zu are allowed: choose fewer devices by UCX_NET_DEVICES, "
             "or fewer transports by UCX_TLS",
             length, sizeof h.address);
    return 1;
  }
  struct ucx_ear *e = (struct ucx_ear *)calloc(1, sizeof *e);
  if (!e) return ucx_fail(u, UCX_ERR_NO_MEMORY, "connecting");
  e->of = u, e->tag = h.tag = draw(), h.length = (uint32_t)length;
  static_assert(sizeof h <= TRANSPORT_HANDLE, "a handle has room");
  memcpy(handle, &h, sizeof h);
  *ear = e;
  return 0;
}

// ended is told by UCX of an endpoint that has failed.
static void ended(void *connection, ucx_ep *, int8_t status) { ((struct ucx_connection *)connection)->ended = status; }

// learn notes which transports an endpoint has: the words behind the number of a lane, such as 2:tcp/eth0.0.
static void learn(struct ucx_connection *c) {
  char *text = 0;
  size_t size = 0;
  FILE *to = open_memstream(&text, &size);
  if (!to) return;
  c->of->f.ep_print_info(c->ep, to);
  fclose(to);
  c->of->lanes[0] = 0;
  for (char *at = text; at && (at = strstr(at, "lane[")); at++) {
    char lane[32] = "";
    if (sscanf(at, "lane[%*d]: %*d:%31[^. \n]", lane) != 1 || strstr(c->of->lanes, lane)) continue;
    const size_t have = strlen(c->of->lanes);
    snprintf(c->of->lanes + have, sizeof c->of->lanes - have, "%s%s", have ? " " : "", lane);
  }
  free(text);
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

int ucx_connect(void *engine, unsigned, unsigned char handle[TRANSPORT_HANDLE], void **to) {
  struct ucx_engine *u = (struct ucx_engine *)engine;
  *to = 0;
  struct ucx_handle h;
  memcpy(&h, handle, sizeof h);
  if (h.length == 0 || h.length > sizeof h.address || h.tag == 0) {
    snprintf(u->why, sizeof u->why, "UCX: a handle that is none of UCX's: do all processes have the same MSCCLC_NET?");
    return 1;
  }
  struct ucx_connection *c = connection(u, draw());
  if (!c) return 1;
  struct ucx_ep_params params;
  memset(&params, 0, sizeof params);
  params.field_mask = UCX_EP_PARAM_ADDRESS | UCX_EP_PARAM_ERR_MODE | UCX_EP_PARAM_ERR_HANDLER;
  params.address = (const ucx_address *)h.address;
  params.err_mode = UCX_ERR_MODE_PEER, params.handler = ended, params.handler_arg = c;
  int8_t status = u->f.ep_create(u->worker, &params, &c->ep);
  if (status) {  // shared memory has no errors of peers: only heartbeats then tell of them
    params.field_mask = UCX_EP_PARAM_ADDRESS;
    status = u->f.ep_create(u->worker, &params, &c->ep);
  }
  if (status) {
    free(c);
    return ucx_fail(u, status, "connecting (the two ends may have no transport in common: UCX_TLS)");
  }
  learn(c);
  struct ucx_op plain;
  memset(&plain, 0, sizeof plain);
  c->hello = c->tag;
  c->saying = u->f.tag_send_nbx(c->ep, &c->hello, sizeof c->hello, h.tag, &plain);
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
  u->f.worker_progress(u->worker);
  struct ucx_request *r = &e->heard;
  if (!r->used && ucx_begin_recv(u, r, &e->hello, sizeof e->hello, e->tag)) return 1;
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
  ucx_cancel(e->of, &e->heard);
  free(e);
}

// ucx_close_connection has UCX flush what was sent, and drop what is still under way. UCX closes an endpoint while its
// worker goes on, so that the connection is kept till then.
void ucx_close_connection(void *connection) {
  struct ucx_connection *c = (struct ucx_connection *)connection;
  struct ucx_engine *u = c->of;
  int drop = c->ended != 0;
  for (int i = 0; i < TRANSPORT_REQUESTS; i++) {
    drop |= c->request[i].used && !c->request[i].receives && c->request[i].under_way != 0;
    if (c->request[i].receives) ucx_cancel(u, c->request + i);
  }
  if (!c->ep) {
    free(c);
    return;
  }
  struct ucx_op op;
  memset(&op, 0, sizeof op);
  op.mask = UCX_OP_FLAGS, op.flags = drop ? UCX_CLOSE_FORCE : 0;
  c->closes = u->f.ep_close_nbx(c->ep, &op);
  if (ucx_failed(c->closes)) c->closes = 0;
  c->next = u->closing, u->closing = c;
  ucx_closed(u, drop ? 100000000 : 0);
}

// over says whether a request is, or there is none, and frees it then.
static int over(struct ucx_engine *u, void **request) {
  if (!*request) return 1;
  if (u->f.request_check_status(*request) == UCX_INPROGRESS) return 0;
  u->f.request_free(*request);
  *request = 0;
  return 1;
}

void ucx_closed(struct ucx_engine *u, uint64_t limit_ns) {
  const uint64_t begin = now_ns();
  do {
    u->f.worker_progress(u->worker);
    for (struct ucx_connection **at = &u->closing; *at;) {
      struct ucx_connection *c = *at;
      int all = over(u, &c->closes) & over(u, &c->saying);
      for (int i = 0; i < TRANSPORT_REQUESTS; i++) all &= over(u, &c->request[i].under_way);
      if (!all) {
        at = &c->next;
        continue;
      }
      *at = c->next;
      free(c);
    }
  } while (u->closing && now_ns() - begin < limit_ns);
}

void ucx_give_up(struct ucx_engine *u) {
  for (struct ucx_connection *c = u->closing; c; c = c->next) {
    void *left[TRANSPORT_REQUESTS + 2] = {c->closes, c->saying};
    for (int i = 0; i < TRANSPORT_REQUESTS; i++) left[i + 2] = c->request[i].under_way;
    for (void *request : left)
      if (request) u->f.request_free(request);
  }
}
