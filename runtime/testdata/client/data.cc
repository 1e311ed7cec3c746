// The collectives of the test client, and their data. A call is: FUNCTION COMM COUNT TYPE OP ROOT STREAM FLAGS, with
// flags i (in place), m (in place on odd ranks), u (not aligned to more than an element), v (verified at "sync"), o (a
// sum of floats that must be added in the order of ranks), and those of a configuration (configured). An eighth and a
// ninth word have the buffers lie in a memory K, a number of bytes after its beginning.
#include "client.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum Function { F_ALLREDUCE, F_ALLGATHER, F_REDUCESCATTER, F_BROADCAST, F_BCAST, F_REDUCE, F_ALLTOALL, F_GATHER,
                F_SCATTER, F_SEND, F_RECV, F_NONE };
const char *const functions[] = {"allreduce", "allgather", "reducescatter", "broadcast", "bcast", "reduce", "alltoall",
                                 "gather", "scatter", "send", "recv", "no function"};

struct Pending {
  Function fn;  // each element asks for it, so it is no string
  size_t count;
  int type, op, root, rank, ranks, device;
  u64 send, recv, block, block_bytes;
  std::vector<u8> before;  // what the block had
  bool verified, lent, ordered;  // lent: the block is not its own
};

namespace {

enum { SUM, PROD, MAX, MIN, AVG };
const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1, 1};  // the last is of no type

Function fn_of(const std::string &name) {
  int i = 0;
  while (i < F_NONE && name != functions[i]) i++;
  return (Function)i;
}

bool reduces(Function f) { return f == F_ALLREDUCE || f == F_REDUCESCATTER || f == F_REDUCE; }

// value is small, so that all types have it, sums and products of 8 ranks too, and averages are whole.
int value(const Pending &p, int rank, size_t i) {
  if (p.op == PROD) return 1 + (int)((i + (size_t)rank) % 2);
  return (int)(i % 4) + p.ranks * (rank % 2);
}

int reduced(const Pending &p, size_t i) {
  int x = value(p, 0, i);
  for (int r = 1; r < p.ranks; r++) {
    const int y = value(p, r, i);
    x = p.op == PROD ? x * y : p.op == MAX ? (x > y ? x : y) : p.op == MIN ? (x < y ? x : y) : x + y;
  }
  return p.op == AVG ? x / p.ranks : x;
}

// mixed is what a rank has as element i of an ordered sum. All types have it. Large ones cancel, and f32 does not hold
// a small one beside a large one, so that sums in another order have other bits.
float mixed(int rank, size_t i) {
  const size_t k = i % 61, n = (size_t)rank;
  const float large = ldexpf(1 + (float)(k % 4) / 4, 13), small = ldexpf(1 + (float)((k + n) % 7) / 8, -12);
  return (n + k) % 3 == 0 ? large : (n + k) % 3 == 1 ? small : -large;
}

// rounded writes a sum as an f32, or rounded to an f16 or a bf16 that is no subnormal.
void rounded(int type, float sum, u8 *to) {
  unsigned bits;
  memcpy(&bits, &sum, 4);
  const unsigned cut = type == 6 ? 13 : 16;
  if (type == 7) return (void)memcpy(to, &sum, 4);
  bits += (1u << (cut - 1)) - 1 + (bits >> cut & 1);
  unsigned short h = (unsigned short)(bits >> 16);
  if (type == 6) h = (unsigned short)((bits >> 31) << 15 | (sum != 0 ? ((bits >> 13) & 0x3ffff) - (112u << 10) : 0));
  memcpy(to, &h, 2);
}

float in_order(const Pending &p, size_t i) {
  float sum = mixed(0, i);
  for (int r = 1; r < p.ranks; r++) sum += mixed(r, i);
  return sum;
}

void encode(int type, int v, u8 *to) {
  const float f = (float)v;
  const double d = v;
  const long long l = v;
  unsigned bits;
  memcpy(&bits, &f, 4);
  switch (type) {
    case 6: {
      const int e = v ? (int)((bits >> 23) & 255) - 127 : 0;
      const unsigned short h = v ? (unsigned short)((e + 15) << 10 | ((bits >> 13) & 1023)) : (unsigned short)0;
      memcpy(to, &h, 2);
      return;
    }
    case 7: memcpy(to, &f, 4); return;
    case 8: memcpy(to, &d, 8); return;
    case 9: to[0] = (u8)(bits >> 16), to[1] = (u8)(bits >> 24); return;
    default: memcpy(to, &l, sizes[type]);
  }
}

// element writes element i of what a rank sends.
void element(const Pending &p, int rank, size_t i, u8 *to) {
  if (p.ordered) return rounded(p.type, mixed(rank, i), to);
  if (reduces(p.fn)) return encode(p.type, value(p, rank, i), to);
  for (size_t b = 0; b < sizes[p.type]; b++) to[b] = (u8)(i * 7 + b * 31 + (size_t)rank * 101 + 3);
}

bool receives(const Pending &p) { return (p.fn != F_REDUCE && p.fn != F_GATHER) || p.rank == p.root; }
bool sends(const Pending &p) { return (p.fn != F_BROADCAST && p.fn != F_SCATTER) || p.rank == p.root; }
size_t send_count(const Pending &p) {
  return p.fn == F_REDUCESCATTER || p.fn == F_ALLTOALL || p.fn == F_SCATTER ? p.count * (size_t)p.ranks : p.count;
}
size_t recv_count(const Pending &p) {
  return p.fn == F_ALLGATHER || p.fn == F_ALLTOALL || p.fn == F_GATHER ? p.count * (size_t)p.ranks : p.count;
}

// wanted writes element i of what this rank must receive.
void wanted(const Pending &p, size_t i, u8 *to) {
  const size_t of = i / (p.count ? p.count : 1), at = i % (p.count ? p.count : 1), own = (size_t)p.rank * p.count;
  if (p.ordered) return rounded(p.type, in_order(p, p.fn == F_REDUCESCATTER ? own + i : i), to);
  if (p.fn == F_ALLREDUCE || p.fn == F_REDUCE) return encode(p.type, reduced(p, i), to);
  if (p.fn == F_REDUCESCATTER) return encode(p.type, reduced(p, own + i), to);
  if (p.fn == F_ALLGATHER || p.fn == F_GATHER) return element(p, (int)of, at, to);
  if (p.fn == F_ALLTOALL) return element(p, (int)of, own + at, to);
  if (p.fn == F_SCATTER) return element(p, p.root, own + i, to);
  element(p, p.root, i, to);
}

// place lays out the buffers in one block, with room around each.
void place(Pending *p, bool in_place, bool unaligned) {
  const size_t size = sizes[p->type], a = send_count(*p) * size, b = recv_count(*p) * size, gap = 256;
  const u64 first = p->block + gap + (unaligned ? size : 0);
  const u64 second = (first + a + gap + 255) / 256 * 256 + (unaligned ? 3 * size : 0);
  p->send = first, p->recv = second;
  if (!in_place) return;
  const u64 own = (u64)p->rank * p->count * size;
  if (p->fn == F_ALLGATHER) p->recv = first, p->send = first + own;
  else if (p->fn == F_REDUCESCATTER) p->recv = first + own;
  else if (p->fn == F_GATHER && p->rank == p->root) p->recv = first, p->send = first + own;
  else if (p->fn == F_SCATTER && p->rank == p->root) p->recv = first + own;
  else if (p->fn != F_ALLTOALL && p->fn != F_GATHER && p->fn != F_SCATTER) p->recv = first;
  (void)b;
}

Pending *prepare(Rank &r, const std::vector<std::string> &w, const std::string &flags) {
  Pending *p = new Pending();
  p->fn = fn_of(w[0]), p->count = strtoull(w[2].c_str(), nullptr, 10), p->type = atoi(w[3].c_str()),
      p->op = atoi(w[4].c_str());
  p->root = atoi(w[5].c_str());
  p->ordered = flags.find('o') != std::string::npos;
  ncclCommUserRank(r.comms[atoi(w[1].c_str())], &p->rank);
  ncclCommCount(r.comms[atoi(w[1].c_str())], &p->ranks);
  ncclCommCuDevice(r.comms[atoi(w[1].c_str())], &p->device);
  void *stream = side(r, p->device);
  const bool has = flags.find('i') != std::string::npos || (flags.find('m') != std::string::npos && p->rank % 2);
  p->block_bytes = (send_count(*p) + recv_count(*p)) * sizes[p->type] + 2048;
  p->lent = w.size() > 9;
  if (p->lent) p->block = r.memories[atoi(w[8].c_str())].at + strtoull(w[9].c_str(), nullptr, 10);
  else p->block = take(r, p->block_bytes);
  place(p, has, flags.find('u') != std::string::npos);
  p->before.assign(p->block_bytes, 0x5b);
  for (size_t i = 0; sends(*p) && i < send_count(*p); i++)
    element(*p, p->rank, i, &p->before[p->send - p->block + i * sizes[p->type]]);
  if (cu.put(p->block, p->before.data(), p->block_bytes, stream) || cu.sync(stream)) fail(r, "a copy");
  p->verified = flags.find('v') != std::string::npos;
  return p;
}

Result call(const Pending &p, Comm c, void *stream) {
  const void *s = (const void *)p.send;
  void *d = (void *)p.recv;
  if (p.fn == F_ALLREDUCE) return ncclAllReduce(s, d, p.count, p.type, p.op, c, stream);
  if (p.fn == F_ALLGATHER) return ncclAllGather(s, d, p.count, p.type, c, stream);
  if (p.fn == F_REDUCESCATTER) return ncclReduceScatter(s, d, p.count, p.type, p.op, c, stream);
  if (p.fn == F_BROADCAST) return ncclBroadcast(s, d, p.count, p.type, p.root, c, stream);
  if (p.fn == F_BCAST) return ncclBcast((void *)s, p.count, p.type, p.root, c, stream);
  if (p.fn == F_REDUCE) return ncclReduce(s, d, p.count, p.type, p.op, p.root, c, stream);
  if (p.fn == F_ALLTOALL) return ncclAlltoAll(s, d, p.count, p.type, c, stream);
  if (p.fn == F_GATHER) return ncclGather(s, d, p.count, p.type, p.root, c, stream);
  if (p.fn == F_SCATTER) return ncclScatter(s, d, p.count, p.type, p.root, c, stream);
  if (p.fn == F_SEND) return ncclSend(s, p.count, p.type, p.root, c, stream);
  if (p.fn == F_RECV) return ncclRecv(d, p.count, p.type, p.root, c, stream);
  return INVALID_USAGE;
}

// call_with calls a collective with a configuration, which the caller then overwrites.
Result call_with(const Pending &p, Comm c, void *stream, CollConfig *f) {
  const void *s = (const void *)p.send;
  void *d = (void *)p.recv;
  Result r = INVALID_USAGE;
  if (p.fn == F_ALLREDUCE) r = ncclAllReduceConfig(s, d, p.count, p.type, p.op, c, stream, f);
  if (p.fn == F_ALLGATHER) r = ncclAllGatherConfig(s, d, p.count, p.type, c, stream, f);
  if (p.fn == F_REDUCESCATTER) r = ncclReduceScatterConfig(s, d, p.count, p.type, p.op, c, stream, f);
  if (p.fn == F_BROADCAST) r = ncclBroadcastConfig(s, d, p.count, p.type, p.root, c, stream, f);
  if (p.fn == F_REDUCE) r = ncclReduceConfig(s, d, p.count, p.type, p.op, p.root, c, stream, f);
  if (p.fn == F_ALLTOALL) r = ncclAlltoAllConfig(s, d, p.count, p.type, c, stream, f);
  if (p.fn == F_GATHER) r = ncclGatherConfig(s, d, p.count, p.type, p.root, c, stream, f);
  if (p.fn == F_SCATTER) r = ncclScatterConfig(s, d, p.count, p.type, p.root, c, stream, f);
  if (f) memset((void *)f, 0x5b, sizeof *f);
  return r;
}

// configured calls by flags: c has a configuration, n null in its place, 1 one CTA at most, a an algorithm, e an event,
// and b a beginning that is none.
Result configured(const Pending &p, Comm c, void *stream, const std::string &flags) {
  const auto has = [&](char k) { return flags.find(k) != std::string::npos; };
  const int unset = NCCL_UNDEF;
  CollConfig f = {COLL_CONFIG_231, CONFIG_MAGIC, 23102, nullptr, unset, unset, unset, unset, nullptr, 1, unset, 7,
                  nullptr};
  if (has('1')) f.max_ctas = 1;
  if (has('a')) f.algorithms = "ring";
  if (has('e')) f.size = COLL_CONFIG_232, f.launched = &f;
  if (has('b')) f.magic = 5;
  return has('n') ? call_with(p, c, stream, nullptr) : call_with(p, c, stream, &f);
}

void compare(Rank &r, const Pending &p) {
  std::vector<u8> now(p.block_bytes), must = p.before;
  void *stream = side(r, p.device);
  if (cu.get(now.data(), p.block, p.block_bytes, stream) || cu.sync(stream)) fail(r, "a copy");
  for (size_t i = 0; receives(p) && i < recv_count(p); i++) wanted(p, i, &must[p.recv - p.block + i * sizes[p.type]]);
  for (size_t i = 0; i < must.size(); i++)
    if (now[i] != must[i])
      fail(r, "%s count=%zu type=%d op=%d root=%d: byte %lld of the output is %02x, not %02x", functions[p.fn], p.count,
           p.type, p.op, p.root, (long long)(p.block + i - p.recv), now[i], must[i]);
}

}  // namespace

void collective(Rank &r, const std::vector<std::string> &w) {
  if (w.size() < 7) fail(r, "unknown command %s", w[0].c_str());
  Pending *p = prepare(r, w, w.size() > 7 ? w[7] : "");
  const Comm c = r.comms[atoi(w[1].c_str())];
  void *stream = r.streams[atoi(w[6].c_str())];
  const bool with = w.size() > 7 && w[7].find_first_of("cn1aeb") != std::string::npos;
  expect(r, w[0].c_str(), with ? configured(*p, c, stream, w[7]) : call(*p, c, stream));
  r.pending.push_back(p);
}

void verify(Rank &r) {
  for (int i = 0; i < 4; i++) {
    if (r.spread) side(r, gpu_of(i));
    if (const int code = cu.sync(r.streams[i])) fail(r, "a stream ends with error %d", code);
  }
  for (Pending *p : r.pending) {
    if (p->verified) compare(r, *p);
    side(r, p->device);
    if (!p->lent) give(r, p->block);
    delete p;
  }
  r.pending.clear();
  r.taken = 0;
}
