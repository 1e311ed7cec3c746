// This program has two engines of UCX in one process carry three jobs of two connections each, and counts what they ask
// of UCX. All jobs have one endpoint each. A job that ends with a send under way ends no connection of the other, and
// no memory is used after its connection was closed. The program prints "fine", or what is wrong.
#include "ucx_jobs.h"

static int created, closed, forced, progressed;
static int8_t (*own_create)(ucx_worker *, const ucx_ep_params *, ucx_ep **);
static void *(*own_close)(ucx_ep *, const ucx_op *);
static unsigned (*own_progress)(ucx_worker *);
static int8_t (*own_address)(ucx_worker *, ucx_address **, size_t *);
static void (*own_release)(ucx_worker *, ucx_address *);

static int8_t count_create(ucx_worker *w, const ucx_ep_params *p, ucx_ep **e) {
  const int8_t status = own_create(w, p, e);
  created += status == UCX_OK;
  return status;
}
static void *count_close(ucx_ep *e, const ucx_op *op) {
  closed++, forced += op->flags == UCX_CLOSE_FORCE;
  return own_close(e, op);
}
// long_address makes an address as long as one of many cards, of which UCX reads the beginning.
static int8_t long_address(ucx_worker *w, ucx_address **address, size_t *length) {
  const int8_t status = own_address(w, address, length);
  if (status) return status;
  const size_t longer = 5000;
  void *more = calloc(1, longer);
  memcpy(more, *address, *length);
  own_release(w, *address);
  *address = (ucx_address *)more, *length = longer;
  return status;
}
static void free_address(ucx_worker *, ucx_address *address) { free(address); }
static unsigned count_progress(ucx_worker *w) {
  progressed++;
  return own_progress(w);
}
const Count counts[COUNTS] = {{"endpoints", &created}, {"closed", &closed}, {"by force", &forced},
                             {"rounds of UCX", &progressed}};

// talk has both connections of a job carry a short and a long message.
static void talk(const Job &j) {
  for (int i = 0; i < BOTH; i++)
    for (size_t bytes = 9; bytes <= sizeof text; bytes += sizeof text - 9) {
      void *request;
      size_t length;
      begin(j.to[i], text, bytes, &request);
      arrives(j.from[i], text, bytes);
      for (int done = 0; !done; t->progress(far)) check(!t->test(near, request, &done, &length), "a send");
    }
}

// look tests many requests, and an ear, for some rounds. The far engine has UCX go on once a round.
static void look(const Job &j) {
  enum { REQUESTS = 30, ROUNDS = 20 };
  static unsigned char got[REQUESTS][64];
  void *request[REQUESTS], *nobody;
  int done, arrived = 0;
  size_t length;
  for (int i = 0; i < REQUESTS; i++)
    check(!t->recv(j.from[CONTROL], got[i], sizeof got[i], nullptr, &request[i]) && request[i], "recv");
  progressed = 0;
  for (int n = 0; n < ROUNDS; n++, t->progress(far)) {
    check(!t->accept(j.ear[CONTROL], &nobody) && !nobody, "accept");
    for (void *r : request) check(!t->test(far, r, &done, &length) && !done, "a recv that nobody sends for");
  }
  check(progressed <= ROUNDS + 2 && progressed >= ROUNDS - 2, "UCX does not go on once a round");
  for (int i = 0; i < REQUESTS; i++) {
    void *sent;
    begin(j.to[CONTROL], text, 64, &sent);
    for (done = 0; !done;) check(!t->test(near, sent, &done, &length), "a send");
  }
  for (const double start = seconds(); arrived < REQUESTS; check(seconds() - start < 30, "nothing arrives"))
    for (; arrived < REQUESTS; arrived++) {
      check(!t->test(far, request[arrived], &done, &length), "a message");
      if (!done) break;
    }
}

// drop closes a job with long sends under way on bulk, whose memory then cannot be read. The far end receives later.
// There are two sends at most, since control goes by the same endpoint.
static void drop(Job *j, bool bulk_first) {
  const size_t bytes = 4 << 20;
  void *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static unsigned char got[bytes];
  void *request, *late = nullptr;
  for (int i = 0; i < 2; i++) begin(j->to[BULK], data, bytes, &request);
  check(!t->send(j->to[BULK], data, bytes, nullptr, &late) && !late, "a third long message goes before control's");
  begin(j->to[CONTROL], text, 9, &late);
  for (int i = 0; i < 100; i++) t->progress(near), t->progress(far);
  if (!bulk_first) t->close_to(j->to[CONTROL]);
  t->close_to(j->to[BULK]);
  check(!mprotect(data, bytes, PROT_NONE), "mprotect");
  check(!t->recv(j->from[BULK], got, bytes, nullptr, &request), "recv");
  if (bulk_first) {
    check(t->send(j->to[CONTROL], text, 8, nullptr, &late) && !late, "an endpoint that was closed takes a message");
    t->close_to(j->to[CONTROL]);
  }
  for (int i = 0; i < 1000; i++) t->progress(near), t->progress(far);
}

int main() {
  open_both();
  ucx_functions *f = &((ucx_engine *)near)->f;
  own_create = f->ep_create, own_close = f->ep_close_nbx;
  ucx_functions *g = &((ucx_engine *)far)->f;
  own_progress = g->worker_progress, g->worker_progress = count_progress;
  own_address = g->worker_get_address, own_release = g->worker_release_address;
  g->worker_get_address = long_address, g->worker_release_address = free_address;
  f->ep_create = count_create, f->ep_close_nbx = count_close;
  Job first = {}, second = {}, third = {};
  join(&first), join(&second), join(&third);
  check(created == 3, "a job has not one endpoint");
  talk(first), talk(second), talk(third);
  look(first);
  drop(&first, false);
  talk(second), talk(third);
  drop(&second, true);
  check(closed == 2 && forced == 2, "jobs that end with sends under way have not closed an endpoint each");
  talk(third);
  // What was sent before both are closed arrives, on each.
  void *request;
  for (void *to : third.to) begin(to, text, 9, &request), t->close_to(to);
  check(closed == 3, "the last connection has not closed the endpoint");
  for (void *from : third.from) arrives(from, text, 9);
  leave(&first), leave(&second), leave(&third);
  close_both();
  check(forced == 2, "an endpoint was closed by force");
  printf("fine\n");
}
