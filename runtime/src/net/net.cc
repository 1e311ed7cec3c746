// This file has a team of several nodes reach the other ones: inboxes, mirrors and lanes, and a job of this process's
// proxy for each program (transport/proxy.h). Each rank counts as a process of its own there.
#include "../sha256.h"
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

enum { ROW = 256 };

u64 up(u64 n, u64 to) { return (n + to - 1) / to * to; }

// A Carrier is a proxy of this process, which is there until the process ends: one for each card by which ranks met. It
// may have failed to open.
struct Carrier {
  char engine[512];
  net_proxy *proxy;
  char why[512];
  Carrier *next;
};
Carrier *carriers;
pthread_mutex_t carriers_mu = PTHREAD_MUTEX_INITIALIZER;

Carrier *open_carrier(const char *engine, const Gpu *g) {
  Carrier *c = (Carrier *)calloc(1, sizeof *c);
  net_failure f = {};
  if (!c) return nullptr;
  snprintf(c->engine, sizeof c->engine, "%s", engine);
  char name[sizeof c->engine + 40], gpu[32];
  snprintf(name, sizeof name, "%s", engine);
  mscclc_gpu_pci(g->driver, g->number, gpu, sizeof gpu);
  if (!strncmp(engine, "ncclnet:", 8) && *gpu) snprintf(name, sizeof name, "%s\n%s", engine, gpu);
  if (mscclc_net_proxy(name, &c->proxy, &f)) {
    c->proxy = nullptr;
    snprintf(c->why, sizeof c->why, "the network between nodes, %.60s: %.400s", engine, f.text);
  }
  c->next = carriers;
  return carriers = c;
}

// carrier_of gives the proxy with the engine that MSCCLC_NET names. UCX's TCP takes only the card by which the ranks
// met: others may lead to none of their hosts. A plugin is opened once in a process: its device is the nearest to the
// GPU of the first rank.
net_proxy *carrier_of(const Gpu *g, const char *card, Why *why) {
  const char *wanted = getenv("MSCCLC_NET");
  char engine[sizeof carriers->engine];
  if (!wanted || !*wanted) wanted = "ucx";
  const bool limits = !strcmp(wanted, "ucx") && *card;
  snprintf(engine, sizeof engine, "%s%s%s", wanted, limits ? ":" : "", limits ? card : "");
  pthread_mutex_lock(&carriers_mu);
  Carrier *c = carriers;
  while (c && strcmp(c->engine, engine)) c = c->next;
  if (!c) c = open_carrier(engine, g);
  pthread_mutex_unlock(&carriers_mu);
  if (!c || !c->proxy) say(why, "%s", c ? c->why : "no memory");
  return c ? c->proxy : nullptr;
}

bool node_is_mine(const Team *t, u32 rank) { return t->node[rank] == t->node[t->rank]; }
bool signalled(const Program &p, u32 rank) {
  for (u32 i = 0; i < p.net->messages; i++)
    if (p.message[i].rank == rank) return true;
  return false;
}

// writes says whether the team's rank moves data into the inbox of a rank of another node.
bool writes(const Team *t, const Program &p, u32 rank) {
  const bundle_part &part = p.part[t->rank];
  const abi_one_block *blocks = blocks_of(p, t->rank);
  for (u32 i = 0; i < part.blocks; i++)
    for (u32 k = 0; k < blocks[i].steps; k++) {
      const abi_one_step &s = steps_of(p, t->rank)[blocks[i].first_step + k];
      const abi_one_operand *o = operands_of(p, t->rank) + blocks[i].first_operand + s.first;
      for (u32 d = 0; OP_MOVES(s.op) && d < (u32)s.srcs + s.dsts; d++)
        if (o[d].buf == BUF_INBOX && (u32)o[d].rank == rank) return true;
    }
  return false;
}

u64 lane_bytes(const Program &p, u32 rank) {
  return (u64)p.part[rank].blocks * p.row->replicas * sizeof(abi_net_lane);
}
u64 sent_bytes(const Program &p, u32 rank) { return up((u64)p.part[rank].blocks * p.row->replicas * 8 + 8, ROW); }

// inboxes_lie lays out the inboxes of a rank, which lie alike on all ranks, and returns their bytes.
u64 inboxes_lie(Team *t) {
  u64 at = 0;
  for (u32 i = 0; i < t->set.row->programs; i++) {
    const Program &p = t->set.program[i];
    NetSeat &s = t->net->seat[i];
    Layout l;
    layout_of(p.row, &l);
    s.copy = p.net->inbox * p.row->replicas * l.scratch_stride, s.scratch = s.copy * p.row->depth;
    s.inbox_at = at, s.flags_at = up(s.scratch, ROW), s.flag_bytes = l.flag_mem;
    at += up(s.flags_at + s.flag_bytes, ROW);
  }
  return at;
}

// rest_lies lays out mirrors and lanes from an address on, and returns their end.
u64 rest_lies(Team *t, u64 at) {
  for (u32 i = 0; i < t->set.row->programs; i++) {
    const Program &p = t->set.program[i];
    NetSeat &s = t->net->seat[i];
    s.lanes = at, at += up(lane_bytes(p, t->rank), ROW);
    for (u32 r = 0; r < t->ranks; r++) {
      s.mirror[r] = 0;
      if (node_is_mine(t, r) || !writes(t, p, r)) continue;
      s.mirror[r] = at, at += up(s.scratch, ROW);
    }
  }
  return at;
}

// tell_kernels has kernels find the inboxes, and count the rows of lanes from 0.
int tell_kernels(Team *t, Why *why) {
  const gpu_symbols *f = t->gpu->f;
  u64 bytes = 0;
  for (u32 i = 0; i < t->set.row->programs; i++) bytes += sent_bytes(t->set.program[i], t->rank) + ROW;
  u8 *from = (u8 *)calloc(1, bytes + 1);
  if (!from) return say(why, "no memory"), 1;
  int code = f->alloc(&t->net->words, bytes + 1);
  u64 at = 0;
  for (u32 i = 0; i < t->set.row->programs; i++) {
    NetSeat &s = t->net->seat[i];
    abi_inbox *inbox = (abi_inbox *)(from + at);
    for (u32 r = 0; r < t->ranks; r++) {
      inbox[r].scratch = s.mirror[r];
      if (node_is_mine(t, r)) inbox[r].scratch = t->net->inboxes[r] + s.inbox_at;
      if (node_is_mine(t, r)) inbox[r].flags = inbox[r].scratch + s.flags_at;
    }
    s.inboxes = t->net->words + at, s.sent = s.inboxes + ROW;
    at += ROW + sent_bytes(t->set.program[i], t->rank);
  }
  static_assert(sizeof(abi_inbox) * BUNDLE_RANKS <= ROW, "the inboxes of all ranks");
  if (!code) code = f->put(t->net->words, from, bytes, t->side);
  if (!code) code = f->sync(t->side);
  free(from);
  if (code) say(why, "%llu bytes for the network: %s", bytes, driver_text(code));
  return code;
}

// make_job makes the job of a program.
bool make_job(Team *t, u32 program, Why *why) {
  const Program &p = t->set.program[program];
  NetSeat &s = t->net->seat[program];
  Layout l;
  layout_of(p.row, &l);
  const u32 own = p.part[t->rank].blocks, lanes = own * p.row->replicas;
  u32 process[BUNDLE_RANKS], node[BUNDLE_RANKS];
  net_memory memory[BUNDLE_RANKS] = {};
  u32 *rank_of = (u32 *)calloc(p.row->blocks + 1, sizeof *rank_of);
  net_lane *lane = (net_lane *)calloc(lanes + 1, sizeof *lane);
  if (!rank_of || !lane) return free(rank_of), free(lane), say(why, "no memory"), false;
  for (u32 r = 0; r < t->ranks; r++) {
    process[r] = r, node[r] = t->node[r];
    if (s.mirror[r]) memory[r] = net_memory{s.mirror[r], s.scratch, 0, 0};
    for (u32 i = 0; i < p.part[r].blocks; i++) rank_of[blocks_of(p, r)[i].number] = r;
  }
  if (signalled(p, t->rank)) {
    const u64 at = t->net->inboxes[t->rank] + s.inbox_at;
    memory[t->rank] = net_memory{at, s.scratch, at + s.flags_at, s.flag_bytes};
  }
  for (u32 i = 0; i < lanes; i++)
    lane[i] = net_lane{s.lanes + i * sizeof(abi_net_lane), blocks_of(p, t->rank)[i / p.row->replicas].number,
                       i % p.row->replicas};
  net_program job = {p.message, p.segment, process, node, rank_of, p.net->messages, p.net->segments, t->ranks,
                     p.row->blocks, p.row->replicas, p.row->depth, p.row->chunks, (u32)l.flags, l.scratch_stride,
                     s.copy, {}};
  u8 name[36];
  memcpy(name, bundle_hash(t->bundle), 32), memcpy(name + 32, &p.number, 4);
  sha256(name, sizeof name, job.hash);
  net_failure f = {};
  const int code = mscclc_net_job(t->net->proxy, t->rank, &job, memory, lane, lanes, &s.job, &f);
  free(rank_of), free(lane);
  return code == 0 || (say(why, "%.400s", f.text), false);
}

}  // namespace

u32 team_nodes(const Offer *all, u32 ranks, u8 *node) {
  u32 nodes = 0;
  for (u32 r = 0; r < ranks; r++) {
    u32 k = 0;
    while (k < r && memcmp(all[k].node, all[r].node, sizeof all->node)) k++;
    node[r] = k < r ? node[k] : (u8)nodes++;
  }
  return nodes;
}

// net_make makes what a rank offers others.
bool net_make(Team *t, const char *card, Offer *mine, Why *why) {
  net_proxy *proxy = carrier_of(t->gpu, card, why);
  if (!proxy) return false;
  if (!(t->net = (Net *)calloc(1, sizeof *t->net))) return say(why, "no memory"), false;
  t->net->proxy = proxy;
  t->net->own.file = t->net->rest.file = -1;
  for (Pinned &p : t->net->reached) p.file = -1;
  t->net->seat = (NetSeat *)calloc(t->set.row->programs + 1, sizeof *t->net->seat);
  if (!t->net->seat) return free(t->net), t->net = nullptr, say(why, "no memory"), false;
  if (!pinned_make(t->gpu, inboxes_lie(t), true, &t->net->own, why)) return false;
  mine->inbox = pinned_file(t->net->own);
  return true;
}

// net_join reaches inboxes of the node, and makes mirrors, lanes and jobs.
bool net_join(Team *t, const Offer *all, Why *why) {
  Net *n = t->net;
  for (u32 r = 0; r < t->ranks; r++) {
    snprintf(n->name[r], sizeof n->name[r], "%.23s", all[r].node_name);
    if (!node_is_mine(t, r)) continue;
    n->inboxes[r] = all[r].inbox.address;
    if (all[r].pid == all[t->rank].pid) continue;
    if (all[r].inbox.bytes != n->own.bytes) return say(why, "rank %u has other inboxes", r), false;
    if (!pinned_reach(t->gpu, all[r].pid, all[r].inbox, n->reached + r, why)) return false;
    n->inboxes[r] = n->reached[r].at;
  }
  if (!pinned_make(t->gpu, rest_lies(t, 0), false, &n->rest, why)) return false;
  rest_lies(t, n->rest.at);
  if (tell_kernels(t, why)) return false;
  for (u32 i = 0; i < t->set.row->programs; i++)
    if (!make_job(t, i, why)) return false;
  return true;
}

// net_skip has the flags that blocks of other nodes would signal in a meeting count as signalled: packets do not leave
// their node, so only ranks of one node meet.
int net_skip(Team *t) {
  const gpu_symbols *f = t->gpu->f;
  for (u32 i = 0; i < t->set.row->programs; i++) {
    const Program &p = t->set.program[i];
    Layout l;
    layout_of(p.row, &l);
    u64 *row = (u64 *)calloc(p.row->blocks + 1, sizeof *row);
    if (!row) return ENGINE_ARGUMENT;
    for (u32 r = 0; r < t->ranks; r++)
      for (u32 b = 0; b < p.part[r].blocks; b++)
        if (!node_is_mine(t, r)) row[blocks_of(p, r)[b].number] = ~0ull;
    int code = 0;
    for (u32 c = 0; c < p.row->replicas && !code; c++)
      code = f->put(t->arena + p.row->flags_at + ((c + 1) * l.flags - p.row->blocks) * 8, row, p.row->blocks * 8,
                    t->side);
    if (!code) code = f->sync(t->side);
    free(row);
    TRY(code);
  }
  return 0;
}

void net_offer(const Team *t, u32 program, abi_one_launch *l) {
  const NetSeat &s = t->net->seat[program];
  abi_net net = {s.lanes, s.sent, s.inboxes, s.copy, 1, 0, {}};
  const Program &p = t->set.program[program];
  for (u32 i = 0; i < p.part[t->rank].blocks && i < 32 * NET_NARROW; i++) {
    const u32 together = blocks_of(p, t->rank)[i].together;
    if (together) net.together = together, net.narrow[i / 32] |= 1u << i % 32;
  }
  memcpy((void *)l->code, &net, sizeof net);
}

void net_free(Team *t, bool keep) {
  Net *n = t->net;
  if (!n) return;
  team_leave(t);
  for (Pinned &p : n->reached) pinned_end(t->gpu, &p);
  pinned_end(t->gpu, &n->rest);
  if (!keep) pinned_end(t->gpu, &n->own);
  if (n->words) t->gpu->f->release(n->words);
  free(n->seat);
  free(n);
  t->net = nullptr;
}
