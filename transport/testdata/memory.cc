// This program counts which memory an engine of UCX has UCX map: each region once, for all connections and jobs, until
// nobody has it registered and no request names it. It prints "fine", or what is wrong.
#include "ucx_jobs.h"

static int mapped, unmapped, named, closed;
static bool fails;
static int8_t (*own_map)(ucx_context *, const ucx_map_params *, ucx_mapped **);
static int8_t (*own_unmap)(ucx_context *, ucx_mapped *);
static void *(*own_send)(ucx_ep *, const void *, size_t, uint64_t, const ucx_op *);
static void *(*own_recv)(ucx_worker *, void *, size_t, uint64_t, uint64_t, const ucx_op *);

static int8_t count_map(ucx_context *c, const ucx_map_params *p, ucx_mapped **m) {
  if (fails) return UCX_ERR_NO_MEMORY;
  mapped++;
  return own_map(c, p, m);
}
static int8_t count_unmap(ucx_context *c, ucx_mapped *m) {
  unmapped++;
  return own_unmap(c, m);
}
static bool names(const ucx_op *op) { return op->mask & UCX_OP_MEMORY && op->memory; }
static void *count_send(ucx_ep *e, const void *data, size_t n, uint64_t tag, const ucx_op *op) {
  named += names(op);
  return own_send(e, data, n, tag, op);
}
static void *count_recv(ucx_worker *w, void *data, size_t n, uint64_t tag, uint64_t mask, const ucx_op *op) {
  named += names(op);
  return own_recv(w, data, n, tag, mask, op);
}
const Count counts[COUNTS] = {{"mapped", &mapped}, {"unmapped", &unmapped}, {"named", &named}, {"closed", &closed}};

static void count(void *engine) {
  ucx_functions *f = &((ucx_engine *)engine)->f;
  own_map = f->mem_map, own_unmap = f->mem_unmap, own_send = f->tag_send_nbx, own_recv = f->tag_recv_nbx;
  f->mem_map = count_map, f->mem_unmap = count_unmap, f->tag_send_nbx = count_send, f->tag_recv_nbx = count_recv;
}

static void *reg(void *connection, size_t bytes) {
  void *region = nullptr;
  check(!t->reg(connection, text, bytes, TRANSPORT_HOST, &region) && region, "reg");
  return region;
}

// carry sends and receives a long message by name, or without where that is null.
static void carry(const Job &j, void *to_region) {
  static unsigned char got[sizeof text];
  void *in, *out, *from_region = nullptr;
  int sent = 0, received = 0;
  size_t length;
  check(!t->reg(j.from[BULK], got, sizeof got, TRANSPORT_HOST, &from_region), "reg");
  check(!t->recv(j.from[BULK], got, sizeof got, to_region ? from_region : nullptr, &in) && in, "recv");
  begin(j.to[BULK], text, sizeof text, &out, to_region);
  for (const double start = seconds(); !sent || !received; check(seconds() - start < 30, "nothing arrives")) {
    if (!sent) check(!t->test(near, out, &sent, &length), "a send");
    if (!received) check(!t->test(far, in, &received, &length), "a message");
  }
  t->dereg(j.from[BULK], from_region);
  check(!memcmp(got, text, sizeof text), "a message has other data");
}

// share registers memory for three connections of two jobs.
static void share(const Job &a, const Job &b) {
  void *const to[] = {a.to[CONTROL], a.to[BULK], b.to[BULK]};
  void *region[3];
  for (int i = 0; i < 3; i++) region[i] = reg(to[i], sizeof text);
  check(mapped == 1, "a region is not mapped once");
  void *part = reg(a.to[BULK], 4096);
  check(mapped == 2, "another region is not mapped");
  t->dereg(a.to[BULK], part);
  check(unmapped == 1, "a region stays mapped");
  const int before = named;
  carry(a, region[1]), carry(b, region[2]);
  check(named - before == 4 * ((ucx_engine *)near)->names_memory, "messages do not name their region");
  carry(a, nullptr);
  check(named - before == 4 * ((ucx_engine *)near)->names_memory, "a message names what it was not given");
  for (int i = 0; i < 2; i++) t->dereg(to[i], region[i]);
  carry(b, region[2]);
  check(unmapped == mapped - 1, "a region is unmapped that a job has");
  t->dereg(to[2], region[2]);
  check(unmapped == mapped, "a region stays mapped that nobody has");
}

// late deregisters memory of a send that is under way, which ends with the connection.
static void late(const Job &a, const Job &b) {
  void *request, *region = reg(a.to[BULK], sizeof text);
  begin(a.to[BULK], text, sizeof text, &request, region);
  t->dereg(a.to[BULK], region);
  check(unmapped == mapped - 1, "a region is unmapped that a send names");
  const int before = mapped;
  t->dereg(b.to[BULK], reg(b.to[BULK], sizeof text));
  check(mapped == before + 1 && unmapped == mapped - 1, "memory is taken for what it was before");
  for (void *to : a.to) t->close_to(to), closed++;
  check(unmapped == mapped, "a region stays mapped whose connections are closed");
}

int main() {
  open_both();
  count(far), count(near);  // of the same library
  Job a = {}, b = {};
  join(&a), join(&b);
  share(a, b);
  late(a, b);
  fails = true;
  void *region = reg(b.to[BULK], sizeof text);
  const int before = named;
  carry(b, region);
  check(named == before, "a message names memory that is not mapped");
  t->dereg(b.to[BULK], region);
  fails = false;
  reg(b.to[BULK], sizeof text);
  begin(b.to[CONTROL], text, 9, &region);
  arrives(b.from[CONTROL], text, 9);
  for (void *to : b.to) t->close_to(to), closed++;
  leave(&a), leave(&b);
  close_both();
  check(mapped == unmapped, "an engine that closes leaves memory mapped");
  printf("fine\n");
}
