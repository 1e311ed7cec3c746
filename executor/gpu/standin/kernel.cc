// Launches of the kernel.
#include "fibers.h"
#include "lanes.h"

#include "../../../kernels/abi/rows_net.h"
#include "../../../kernels/rows/abi.h"

#include <cstdlib>
#include <cstring>

void run_two_sided(const abi_launch &a, u32 block, const abi_trace *trace);  // of two_sided.cc
void run_rows(Entry entry, u32 dtype, const char *params, u32 block, u32 replica);  // of rows.cc

namespace {

// warps is how many of a block's bundles there are at most: three differ from two as a hundred do.
u32 warps() {
  static const char *text = getenv("MSCCLC_STANDIN_WARPS");
  static const u32 most = text ? (u32)atoi(text) : 3;
  return most;
}

u64 numbers_of(const char *params) {
  u64 numbers;
  memcpy(&numbers, params + sizeof(abi_launch), sizeof numbers);
  return numbers;
}

// trace_of is after that, where there is one.
const abi_trace *trace_of(const Function *f, const char *params) {
  return f->traced ? (const abi_trace *)(params + sizeof(abi_launch) + sizeof(u64)) : nullptr;
}

bool is_two(const Function *f) { return f->entry <= TWO_LINES; }
bool is_few(const Function *f) { return f->entry >= FEW_SUM && f->entry <= FEW_LINES_ROWS; }
bool is_few_rows(const Function *f) { return f->entry == FEW_ROWS || f->entry == FEW_LINES_ROWS; }
bool is_rows(const Function *f) { return f->entry >= FEW_ROWS; }

// one_of is the launch of a one-sided program, which follows what is prepared of a launch of few packets. Of rows it
// has no code.
const abi_one_launch *one_of(const Function *f, const char *params) {
  if (is_few(f)) return &((const abi_few_launch *)params)->one;
  return (const abi_one_launch *)params;
}

// run_typed chooses the type, for which the image was.
void run_typed(const Function *f, const char *params, u32 block, u32 replica) {
  if (is_rows(f)) return run_rows(f->entry, one_of(f, params)->dtype, params, block, replica);
  switch (is_two(f) ? ((const abi_launch *)params)->dtype : one_of(f, params)->dtype) {
    case DT_F16: return run_lanes<f16>(f->entry, params, block, replica);
    case DT_BF16: return run_lanes<bf16>(f->entry, params, block, replica);
    case DT_F32: return run_lanes<float>(f->entry, params, block, replica);
    case DT_F64: return run_lanes<double>(f->entry, params, block, replica);
    case DT_I8: return run_lanes<i8>(f->entry, params, block, replica);
    case DT_U8: return run_lanes<u8>(f->entry, params, block, replica);
    case DT_I32: return run_lanes<i32>(f->entry, params, block, replica);
    case DT_U32: return run_lanes<u32>(f->entry, params, block, replica);
    case DT_I64: return run_lanes<i64>(f->entry, params, block, replica);
    case DT_U64: return run_lanes<u64>(f->entry, params, block, replica);
    case DT_E4M3: return run_lanes<e4m3>(f->entry, params, block, replica);
    case DT_E5M2: return run_lanes<e5m2>(f->entry, params, block, replica);
  }
}

// bundles_of_rows is how many have room for a row, of which a thread holds at least four units of 16 bytes.
u32 bundles_of_rows(u32 bytes) {
  const u32 threads = (bytes / 64 + 2 + LANES - 1) / LANES;
  return std::min<u32>(threads, MOST_BUNDLES);
}

// grid_of is a launch as threads.
Grid grid_of(const Function *f, u32 x, u32 y, u32 threads, const char *params) {
  u32 bundles = std::max(1u, std::min(threads / 32, warps()));
  if (is_rows(f)) bundles = std::max(bundles, bundles_of_rows(one_of(f, params)->elem_size));
  const auto number = [=](u32 b) { return ((const u32 *)numbers_of(params))[b]; };
  const abi_trace *trace = trace_of(f, params);
  if (f->entry == TWO_LINES)
    return Grid{x * y, 1, sizeof(block_shared),
                [=](u32 b) { run_two_sided(*(const abi_launch *)params, number(b), trace); }};
  const auto two = [=](u32 b) {
    if (trace) trace_block(*trace, number(b));
    run_typed(f, params, number(b), 0);
  };
  if (is_two(f)) return Grid{x * y, bundles * LANES, sizeof(block_shared), two};
  return Grid{x * y, bundles * LANES, sizeof(lanes_shared), [=](u32 b) { run_typed(f, params, b / x, b % x); }};
}

// net_reachable is whether a launch reaches its lanes and inboxes, if it knows of other nodes. Only images that are
// made for that do.
bool net_reachable(const Function *f, const abi_one_launch *a) {
  Device *d = f->device;
  const abi_net *net = (const abi_net *)(const void *)a->code;
  if (is_few_rows(f) || a->inlined || !net->lanes) return true;
  if (!f->net || !host_reaches(net->lanes) || !in_reach(d, net->sent) || !in_reach(d, net->inboxes)) return false;
  const abi_inbox *inbox = (const abi_inbox *)net->inboxes;
  for (u32 r = 0; r < a->rank_count; r++)
    for (u64 p : {inbox[r].scratch, inbox[r].flags})
      if (p && !host_reaches(p)) return false;
  return true;
}

// shared_reachable is whether a GPU may access memory that ranks share: of GPUs, or of the host.
bool shared_reachable(Device *d, u64 address) { return in_reach(d, address) || host_reaches(address); }

// reachable is whether a launch names memory only that its GPU may access.
bool one_reachable(Device *d, const abi_one_launch *a) {
  const abi_one_memory *ranks = a->rank_count > ONE_RANKS ? (const abi_one_memory *)a->ranks : a->rank;
  if (!in_reach(d, (u64)a->status) && !host_reaches((u64)a->status)) return false;
  if (!in_reach(d, a->states)) return false;
  if (a->rank_count > ONE_RANKS && !in_reach(d, a->ranks)) return false;
  if (a->port && !(host_reaches(a->port) && in_reach(d, a->port_ends))) return false;
  for (u32 r = 0; r < a->rank_count; r++) {
    for (u64 p : {ranks[r].input, ranks[r].output})
      if (p && !in_reach(d, p)) return false;
    for (u64 p : {ranks[r].scratch, ranks[r].packets, ranks[r].flags})
      if (p && !shared_reachable(d, p)) return false;
  }
  return true;
}

bool two_reachable(Device *d, u32 blocks, const std::string &params, const abi_trace *trace) {
  const abi_launch *a = (const abi_launch *)params.data();
  const u64 numbers = numbers_of(params.data());
  for (u64 p : {a->steps, a->blocks, a->ranks, a->states, a->status, numbers})
    if (!in_reach(d, p)) return false;
  if (trace && !(in_reach(d, trace->rows) && in_reach(d, trace->first))) return false;
  const abi_conn *conns = (const abi_conn *)a->conns;
  for (u32 i = 0; i < blocks; i++) {
    const abi_block *b = (const abi_block *)a->blocks + ((const u32 *)numbers)[i];
    const abi_rank *r = (const abi_rank *)a->ranks + b->rank;
    for (u64 p : {r->input, r->output, r->scratch})
      if (p && !in_reach(d, p)) return false;
    for (i32 c : {b->send, b->recv})
      for (u64 p : {c < 0 ? 0 : conns[c].slots, c < 0 ? 0 : conns[c].head, c < 0 ? 0 : conns[c].tail})
        if (p && !shared_reachable(d, p)) return false;
  }
  return true;
}

// late says whether results of this process are wrong from now on: MSCCLC_STANDIN_WRONG=N spoils those of all but the
// first N kernels.
bool late() {
  static const char *text = getenv("MSCCLC_STANDIN_WRONG");
  static std::atomic<u64> ran{0};
  return text && *text && ++ran > strtoull(text, nullptr, 10);
}

// spoil changes the first byte of rank 0's result. Several kernels may do it after the launch that wrote it, and it is
// still wrong.
void spoil(const Function *f, const char *params) {
  u64 input, output;
  if (is_two(f)) {
    const abi_rank *r = (const abi_rank *)((const abi_launch *)params)->ranks;
    input = r->input, output = r->output;
  } else {
    const abi_one_launch *a = one_of(f, params);
    const abi_one_memory *r = a->rank_count > ONE_RANKS ? (const abi_one_memory *)a->ranks : a->rank;
    input = r->input, output = r->output;
  }
  if (u8 *at = (u8 *)(output ? output : input)) __atomic_add_fetch(at, 1, __ATOMIC_RELAXED);
}

// rows_reachable is whether a launch reaches what its stages read and write.
bool rows_reachable(const Function *f, const char *params) {
  if (!is_rows(f)) return true;
  const abi_rows &rows = is_few_rows(f) ? ((const abi_few_rows_launch *)params)->rows
                                              : ((const abi_rows_launch *)params)->rows;
  if (rows.ranks && !in_reach(f->device, rows.ranks)) return false;
  const abi_row_memory *m = rows.ranks ? (const abi_row_memory *)rows.ranks : &rows.rank;
  for (u32 r = 0; r < (rows.ranks ? one_of(f, params)->rank_count : 1); r++)
    for (const u64 *list : {m[r].first, m[r].second})
      for (u32 j = 0; j < ROW_STAGES; j++)
        if (list[j] && !in_reach(f->device, list[j])) return false;
  return true;
}

bool reachable(const Function *f, u32 blocks, const std::string &params) {
  if (!rows_reachable(f, params.data())) return false;
  return is_two(f) ? two_reachable(f->device, blocks, params, trace_of(f, params.data()))
                   : one_reachable(f->device, one_of(f, params.data())) && net_reachable(f, one_of(f, params.data()));
}

}  // namespace

u32 blocks_per_sm(u32 threads) {
  if (threads == 0 || threads > SM_THREADS) return 0;
  return std::min<u32>(SM_THREADS / threads, SM_BLOCKS);
}

int check_launch(const Function *f, u32 blocks, u32 threads, const std::string &params) {
  u64 want = sizeof(abi_one_launch);
  if (is_two(f)) want = sizeof(abi_launch) + sizeof(u64) + (f->traced ? sizeof(abi_trace) : 0);
  else if (is_few_rows(f)) want = sizeof(abi_few_rows_launch);
  else if (is_few(f)) want = sizeof(abi_few_launch);
  else if (is_rows(f)) want = sizeof(abi_rows_launch);
  if (params.size() != want || !blocks) return INVALID_VALUE;
  return blocks > SMS * blocks_per_sm(threads) ? NO_RESOURCES : OK;
}

void run_kernel(const Function *f, u32 x, u32 y, u32 threads, const std::string &params) {
  Device *d = f->device;
  if (injected("kernel") || (is_few(f) && injected("few")) || !reachable(f, x * y, params)) {
    d->fault = ILLEGAL_ADDRESS;
    return;
  }
  const u32 room = x * y * (SM_THREADS / blocks_per_sm(threads));
  {
    Lock l(d->mu);
    d->changed.wait(l, [&] { return d->running + room <= SMS * SM_THREADS; });
    d->running += room;
  }
  run_grid(grid_of(f, x, y, threads, params.data()));
  if (late()) spoil(f, params.data());
  Lock l(d->mu);
  d->running -= room;
  d->changed.notify_all();
}
