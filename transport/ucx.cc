// This file is the engine of UCX: tagged messages of one worker.
#include "ucx.h"

#include <stdlib.h>
#include <string.h>

static void ucx_close(void *engine) {
  struct ucx_engine *u = (struct ucx_engine *)engine;
  if (u->worker) {
    ucx_closed(u, 1000000000);
    ucx_give_up(u);
  }
  ucx_close_library(u);
  ucx_forget(u);
  free(u);
}

static int ucx_open(const char *spec, int one_way, void **engine, char *why, size_t size) {
  *engine = 0;
  struct ucx_engine *u = (struct ucx_engine *)calloc(1, sizeof *u);
  if (!u || ucx_open_library(u, spec, one_way)) {
    snprintf(why, size, "%s", u ? u->why : "no memory");
    if (u) ucx_close(u);
    return 1;
  }
  *engine = u;
  return 0;
}

static const char *ucx_why(void *engine) { return ((struct ucx_engine *)engine)->why; }

static int ucx_properties(void *engine, struct transport_properties *p) {
  struct ucx_engine *u = (struct ucx_engine *)engine;
  unsigned major, minor, release;
  u->f.get_version(&major, &minor, &release);
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "UCX %u.%u.%u%s%s", major, minor, release, *u->lanes ? ": " : "", u->lanes);
  snprintf(p->cards, sizeof p->cards, "%s", u->cards);
  return 0;
}

static int ucx_flush(void *, void *, size_t, void *, void **request) {
  *request = 0;
  return 0;
}

static struct ucx_request *free_request(struct ucx_connection *c) {
  for (int i = 0; i < TRANSPORT_REQUESTS; i++)
    if (!c->request[i].used) return c->request + i;
  return 0;
}

// began notes what UCX has answered.
static int began(struct ucx_engine *u, struct ucx_request *r, void *answer, const char *doing) {
  if (ucx_failed(answer)) return ucx_fail(u, (int8_t)ucx_status(answer), doing);
  r->used = 1, r->under_way = answer, r->status = UCX_OK, r->seen = 0;
  return 0;
}

// held_back says whether a message must wait because a message of another connection would wait for it: UCX sends what
// goes by an endpoint in turn. Two messages suffice for UCX to agree on one while it sends the other.
enum { AHEAD = 4 << 20, AHEAD_LEAST = 2 };
static int held_back(const struct ucx_connection *c) {
  if (c->end->users < 2) return 0;
  size_t bytes = 0;
  int count = 0;
  for (const struct ucx_request &r : c->request)
    if (r.used && r.under_way) bytes += r.got.length, count++;
  return count >= AHEAD_LEAST && bytes >= AHEAD;
}

static int ucx_send(void *to, const void *data, size_t bytes, void *region, void **request) {
  struct ucx_connection *c = (struct ucx_connection *)to;
  *request = 0;
  if (c->end->failed) return ucx_fail(c->of, c->end->failed, "the connection has ended");
  struct ucx_request *r = free_request(c);
  if (!r || held_back(c)) return 0;
  struct ucx_op op;
  memset(&op, 0, sizeof op);
  ucx_name_region(c->of, &op, region);
  r->receives = 0, r->got.length = bytes;
  if (began(c->of, r, c->of->f.tag_send_nbx(c->end->ep, data, bytes, c->tag, &op), "sending")) return 1;
  ucx_hold(r, region);
  *request = r;
  return 0;
}

int ucx_begin_recv(struct ucx_engine *u, struct ucx_request *r, void *data, size_t bytes, void *region, uint64_t tag) {
  struct ucx_op op;
  memset(&op, 0, sizeof op);
  op.mask = UCX_OP_NOT_AT_ONCE;  // UCX 1.13 tells no length of a message that is received at once
  ucx_name_region(u, &op, region);
  r->receives = 1;
  if (began(u, r, u->f.tag_recv_nbx(u->worker, data, bytes, tag, ~(uint64_t)0, &op), "receiving")) return 1;
  ucx_hold(r, region);
  return 0;
}

static int ucx_recv(void *from, void *data, size_t bytes, void *region, void **request) {
  struct ucx_connection *c = (struct ucx_connection *)from;
  *request = 0;
  struct ucx_request *r = free_request(c);
  if (!r) return 0;
  if (ucx_begin_recv(c->of, r, data, bytes, region, c->tag)) return 1;
  *request = r;
  return 0;
}

// ucx_cancel ends a recv, which takes UCX no time unless its data is on its way.
void ucx_cancel(struct ucx_engine *u, struct ucx_request *r) {
  if (!r->used || !r->under_way) return;
  u->f.request_cancel(u->worker, r->under_way);
  for (int i = 0; i < 10000 && u->f.request_check_status(r->under_way) == UCX_INPROGRESS; i++)
    u->f.worker_progress(u->worker);
  u->f.request_free(r->under_way);
  r->used = 0, r->under_way = 0;
  ucx_release(u, r);
}

// go_on has UCX look at all sockets that have news: at one time it takes up to 16 of them (UCX_TCP_MAX_POLL).
enum { AT_ONCE = 16 };
static void go_on(struct ucx_engine *u) {
  u->went = 1, u->turn++;
  for (unsigned times = 1 + u->open_ends / AT_ONCE; times && u->f.worker_progress(u->worker); times--) u->moved = 1;
}

void ucx_look(struct ucx_engine *u, uint64_t *seen) {
  if (*seen == u->turn) go_on(u);
  *seen = u->turn;
}

static int ucx_progress(void *engine) {
  struct ucx_engine *u = (struct ucx_engine *)engine;
  if (!u->went) go_on(u);
  const int moved = u->moved;
  u->went = u->moved = 0;
  return moved;
}

static int ucx_test(void *engine, void *request, int *done, size_t *bytes) {
  struct ucx_engine *u = (struct ucx_engine *)engine;
  struct ucx_request *r = (struct ucx_request *)request;
  *done = 0;
  if (r->under_way) {
    ucx_look(u, &r->seen);
    r->status = r->receives ? u->f.tag_recv_request_test(r->under_way, &r->got)
                            : u->f.request_check_status(r->under_way);
    if (r->status == UCX_INPROGRESS) return 0;
    u->f.request_free(r->under_way);
    r->under_way = 0;
    ucx_release(u, r);
  }
  r->used = 0;
  if (r->status) return ucx_fail(u, r->status, r->receives ? "receiving" : "sending");
  *done = 1, *bytes = r->got.length;
  return 0;
}

extern "C" const struct transport_table transport_ucx = {
    ucx_open,     ucx_close,   ucx_why,       ucx_properties,       ucx_listen,
    ucx_connect, ucx_accept,   ucx_close_ear, ucx_close_connection, ucx_close_connection, ucx_reg,
    ucx_dereg,   ucx_send,     ucx_recv,    ucx_flush,     ucx_test,
    ucx_progress};
