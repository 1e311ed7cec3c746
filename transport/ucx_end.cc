// This file opens and closes endpoints of UCX, which the connections of a job to one worker share.
#include "rest.h"
#include "ucx.h"

#include <stdlib.h>
#include <string.h>

// failed is called by UCX when an endpoint fails.
static void failed(void *end, ucx_ep *, int8_t status) { ((struct ucx_end *)end)->failed = status; }

// learn notes which transports an endpoint has: the words after the number of a lane, such as 2:tcp/eth0.0.
static void learn(const struct ucx_end *e) {
  struct ucx_engine *u = e->of;
  char *text = 0;
  size_t size = 0;
  FILE *to = open_memstream(&text, &size);
  if (!to) return;
  u->f.ep_print_info(e->ep, to);
  fclose(to);
  u->lanes[0] = 0;
  for (char *at = text; at && (at = strstr(at, "lane[")); at++) {
    char lane[32] = "";
    if (sscanf(at, "lane[%*d]: %*d:%31[^ \n]", lane) != 1) continue;
    if (char *number = strrchr(lane, '.')) *number = 0;  // of UCX's; a card's own name may have dots, too
    if (strstr(u->lanes, lane)) continue;
    const size_t have = strlen(u->lanes);
    snprintf(u->lanes + have, sizeof u->lanes - have, "%s%s", have ? " " : "", lane);
  }
  free(text);
}

static int8_t create(struct ucx_end *e) {
  struct ucx_engine *u = e->of;
  struct ucx_ep_params params;
  memset(&params, 0, sizeof params);
  params.field_mask = UCX_EP_PARAM_ADDRESS | UCX_EP_PARAM_ERR_MODE | UCX_EP_PARAM_ERR_HANDLER;
  params.address = (const ucx_address *)e->address;
  params.err_mode = UCX_ERR_MODE_PEER, params.handler = failed, params.handler_arg = e;
  const int8_t status = u->f.ep_create(u->worker, &params, &e->ep);
  if (!status) return status;
  params.field_mask = UCX_EP_PARAM_ADDRESS;  // shared memory reports no dead peers: only heartbeats do
  return u->f.ep_create(u->worker, &params, &e->ep);
}

struct ucx_end *ucx_join(struct ucx_engine *u, struct ucx_end *beside, const void *address, size_t length) {
  if (beside && beside->state == ucx_end::OPEN && !beside->failed && beside->length == length &&
      !memcmp(beside->address, address, length)) {
    beside->users++;
    return beside;
  }
  struct ucx_end *e = (struct ucx_end *)calloc(1, sizeof *e + length);
  if (!e) {
    ucx_fail(u, UCX_ERR_NO_MEMORY, "connecting");
    return 0;
  }
  e->of = u, e->users = 1, e->length = length;
  memcpy(e->address, address, length);
  if (const int8_t status = create(e)) {
    free(e);
    char doing[sizeof u->cards + 80];
    snprintf(doing, sizeof doing, "connecting (the two ends may have no transport in common: UCX_TLS)%s%s",
             *u->cards ? " by " : "", u->cards);
    ucx_fail(u, status, doing);
    return 0;
  }
  learn(e);
  u->open_ends++;
  return e;
}

// close has UCX close an endpoint, which takes some rounds of its worker.
static void close(struct ucx_end *e, int drop) {
  struct ucx_engine *u = e->of;
  struct ucx_op op;
  memset(&op, 0, sizeof op);
  op.mask = UCX_OP_FLAGS, op.flags = drop ? UCX_CLOSE_FORCE : 0;
  e->closing = u->f.ep_close_nbx(e->ep, &op);
  if (ucx_failed(e->closing)) e->closing = 0;
  e->state = ucx_end::CLOSING, u->open_ends--;
  if (!e->failed) e->failed = UCX_ERR_CANCELED;
  e->next = u->leaving, u->leaving = e;
}

int ucx_leave(struct ucx_end *e, int drop) {
  drop |= e->failed && e->state == ucx_end::OPEN;
  e->users--;
  if (e->state == ucx_end::OPEN && (drop || !e->users)) close(e, drop);
  else if (e->state == ucx_end::CLOSED && !e->users) free(e);
  return drop;
}

// over returns whether a request is done, or there is none, and frees it then.
static int over(struct ucx_engine *u, void **request) {
  if (!*request) return 1;
  if (u->f.request_check_status(*request) == UCX_INPROGRESS) return 0;
  u->f.request_free(*request);
  *request = 0;
  return 1;
}

// sweep frees what has closed.
static void sweep(struct ucx_engine *u) {
  for (struct ucx_connection **at = &u->closing; *at;) {
    struct ucx_connection *c = *at;
    int all = over(u, &c->saying);
    for (struct ucx_request &r : c->request)
      if (over(u, &r.under_way)) ucx_release(u, &r);
      else all = 0;
    if (!all) {
      at = &c->next;
      continue;
    }
    *at = c->next;
    free(c);
  }
  for (struct ucx_end **at = &u->leaving; *at;) {
    struct ucx_end *e = *at;
    if (!over(u, &e->closing)) {
      at = &e->next;
      continue;
    }
    *at = e->next;
    e->state = ucx_end::CLOSED;
    if (!e->users) free(e);
  }
}

void ucx_closed(struct ucx_engine *u, uint64_t limit_ns) {
  const uint64_t begin = now_ns();
  do {
    u->f.worker_progress(u->worker);
    sweep(u);
  } while ((u->closing || u->leaving) && now_ns() - begin < limit_ns);
}

void ucx_give_up(struct ucx_engine *u) {
  for (struct ucx_connection *c = u->closing; c; c = c->next) {
    if (c->saying) u->f.request_free(c->saying);
    for (const struct ucx_request &r : c->request)
      if (r.under_way) u->f.request_free(r.under_way);
  }
  for (struct ucx_end *e = u->leaving; e; e = e->next)
    if (e->closing) u->f.request_free(e->closing);
}

void ucx_forget(struct ucx_engine *u) {
  while (struct ucx_connection *c = u->closing) u->closing = c->next, free(c);
  while (struct ucx_end *e = u->leaving) u->leaving = e->next, free(e);
}
