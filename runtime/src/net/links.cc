// This file has a team of several nodes connect with ranks of other nodes, and leave them.
#include "net.h"

#include <string.h>

namespace {

const u64 GOODBYE_NS = 2000000000, EXIT_NS = 500000000;

// names_peer names the other rank of a failure.
void names_peer(const Team *t, const net_failure &f, Why *why) {
  if (f.process >= t->ranks) return say(why, "rank %u: the network: %.440s", t->rank, f.text);
  say(why, "rank %u: the network to rank %u on node %s: %.440s", t->rank, f.process, t->net->name[f.process], f.text);
}

// peers_of has the ranks that a program's job talks to, in the job's order.
u32 peers_of(const Team *t, u32 program, u32 *peers) {
  return mscclc_net_peers(t->net->seat[program].job, peers, BUNDLE_RANKS);
}

}  // namespace

bool net_lost(const Team *t, Why *why) {
  net_failure f = {};
  for (u32 i = 0; t->net && !t->net->left && i < t->set.row->programs; i++)
    if (t->net->seat[i].job && mscclc_net_state(t->net->seat[i].job, &f)) return names_peer(t, f, why), true;
  return false;
}

u32 team_links(const Team *t) { return t->net ? t->set.row->programs : 0; }

bool team_link(Team *t, u32 link, u32 rank, TeamHandle *handle, Why *why) {
  u32 peers[BUNDLE_RANKS];
  const u32 count = peers_of(t, link, peers);
  *handle = TeamHandle{};
  for (u32 i = 0; i < count; i++) {
    net_failure f = {};
    net_handle own;
    if (peers[i] != rank) continue;
    if (mscclc_net_handle(t->net->seat[link].job, rank, &own, &f)) return names_peer(t, f, why), false;
    *handle = TeamHandle{own.at, own.bytes};
  }
  return true;
}

bool team_connect(Team *t, u32 link, const TeamHandle *of_rank, u64 limit_ns, int (*in_vain)(void *), void *with,
                  Why *why) {
  u32 peers[BUNDLE_RANKS];
  const u32 count = peers_of(t, link, peers);
  net_handle all[BUNDLE_RANKS];
  for (u32 i = 0; i < count; i++) all[i] = net_handle{of_rank[peers[i]].at, of_rank[peers[i]].bytes};
  net_failure f = {};
  const int code = mscclc_net_connect(t->net->seat[link].job, all, limit_ns, in_vain, with, &f);
  return code == 0 || (names_peer(t, f, why), false);
}

bool team_lost(Team *t) {
  Why why;
  if (!alive() || !t->net || pthread_mutex_trylock(&t->mu)) return false;
  const bool lost = net_lost(t, &why);
  pthread_mutex_unlock(&t->mu);
  return lost;
}

void team_stop(Team *t, const char *cause) {
  if (!alive() || !t->net) return;
  pthread_mutex_lock(&t->mu);
  for (u32 i = 0; !t->net->left && i < t->set.row->programs; i++)
    if (t->net->seat[i].job) mscclc_net_stop(t->net->seat[i].job, cause);
  pthread_mutex_unlock(&t->mu);
}

void net_leave(Team *t, const u64 *marks) {
  if (!alive() || !t->net || t->net->left) return;
  const u64 end = now_of_engine() + (marks ? EXIT_NS : GOODBYE_NS), launches = marks ? team_launches(t, marks) : 0;
  pthread_mutex_lock(&t->mu);
  t->net->left = true;
  for (u32 i = 0; i < t->set.row->programs; i++) {
    net_job *job = t->net->seat[i].job;
    const u64 now = now_of_engine(), limit = now < end ? end - now : 1;
    const u32 replicas = t->set.program[i].row->replicas;
    t->net->seat[i].job = nullptr;
    if (job && marks) mscclc_net_exit(job, launches, marks, replicas, limit);
    else if (job) mscclc_net_close(job, limit);
    if (marks) marks += replicas;
  }
  pthread_mutex_unlock(&t->mu);
}
void team_leave(Team *t) { net_leave(t, nullptr); }
static_assert((u32)TEAM_HANDLE_MOST >= (u32)NET_HANDLE_MOST, "any handle of a job");
