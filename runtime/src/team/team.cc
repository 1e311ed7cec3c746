// This file begins teams, and judges whether ranks fit together.
#include "../sha256.h"
#include "team.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace {

const u64 NO_LIMIT = ~0ull;

// limit_of_waits is MSCCLC_TIMEOUT in ns: seconds, which may have a fraction.
u64 limit_of_waits() {
  const char *text = getenv("MSCCLC_TIMEOUT");
  char *end = nullptr;
  const double seconds = text && *text ? strtod(text, &end) : 0;
  if (!end || *end || !(seconds > 0) || seconds > 1e9) return NO_LIMIT;
  return (u64)(seconds * 1e9);
}

// host_of is the machine: when it started, and the namespace in which numbers of processes count. It fails where the
// process may open no file: the machine would seem to be another one.
bool host_of(u8 host[32], Why *why) {
  const int most = 100;  // of the file: it has 37
  char text[256] = {};
  const char path[] = "/proc/sys/kernel/random/boot_id";
  const int length = sys_text(path, text, most);
  if (length < 0 && sys_later(errno)) return say(why, "%s: %s", path, strerror(errno)), false;
  const size_t n = length > 0 && length <= most ? (size_t)length : 0;
  const ssize_t m = readlink("/proc/self/ns/pid", text + n, sizeof text - n - 1);
  return sha256(text, n + (m > 0 ? (size_t)m : 0), host), true;
}

// node_of is what ranks of one node have in common: MSCCLC_NODE, or the machine.
void node_of(Offer *mine) {
  const char *node = getenv("MSCCLC_NODE");
  if (node && *node) sha256(node, strlen(node), mine->node);
  else memcpy(mine->node, mine->host, sizeof mine->node);
  char host[24] = "?";
  gethostname(host, sizeof host - 1);
  snprintf(mine->node_name, sizeof mine->node_name, "%.23s", node && *node ? node : host);
}

// index_rules finds where the rules of each kind lie, and the program of each.
bool index_rules(Team *t) {
  const bundle_set &row = *t->set.row;
  t->of_rule = (u32 *)calloc(row.rules + 1, sizeof *t->of_rule);
  t->ctas_of = (u32 *)calloc(row.rules + 1, sizeof *t->ctas_of);
  if (!t->of_rule || !t->ctas_of) return false;
  for (u32 i = row.rules; i-- > 0;) {
    const bundle_rule &r = t->set.rules[i];
    t->of_rule[i] = r.program == BUNDLE_NCCL ? BUNDLE_NONE : set_find(&t->set, r.program);
    if (t->of_rule[i] != BUNDLE_NONE) t->ctas_of[i] = ctas_of(t->set.program[t->of_rule[i]], r.replicas);
    t->windows.wanted |= (r.when & RULE_WINDOWS) != 0;
    if (r.kind >= KIND_COUNT) continue;
    if (!t->end_rule[r.kind]) t->end_rule[r.kind] = i + 1;
    t->first_rule[r.kind] = i;
  }
  return true;
}

// begin fills in a team that was zeroed. beside is another one of the same communicator and rank, or null.
bool begin(Team *t, const Team *beside, Offer *mine, Why *why) {
  const char *few = getenv("MSCCLC_FEW");
  t->few = !few || strcmp(few, "0");
  const char *nccl = getenv("MSCCLC_NCCL");
  t->alone |= nccl && !strcmp(nccl, "none");
  t->limit_ns = limit_of_waits();
  pthread_mutex_init(&t->mu, nullptr);
  if (!t->gpu && !(t->gpu = gpu_of_thread(why))) return false;
  t->invariant = invariant_bits();
  if (!set_open(t->bundle, t->ranks, t->nodes > 1 ? t->node : nullptr, t->invariant,
                t->gpu->host ? nullptr : t->gpu->name, &t->set, why))
    return false;
  t->ready = (Ready *)calloc(READY, sizeof *t->ready);
  t->seat = (Seat *)calloc(t->set.row->programs + 1, sizeof *t->seat);
  t->statuses = (abi_status *)calloc(t->set.row->programs + 1, sizeof *t->statuses);
  if (!t->ready || !t->seat || !t->statuses || !index_rules(t) || !order_join(t, beside))
    return say(why, "no memory"), false;
  memcpy(mine->uuid, t->gpu->uuid, sizeof mine->uuid);
  links_see(t->gpu, mine);
  return mine->able = 1, true;
}

// make makes the memory of a team.
bool make(Team *t, const char *card, Offer *mine, Why *why) {
  Current current(t->gpu);
  if (current.code) return say(why, "the GPU: %s", driver_text(current.code)), false;
  Relaxed relaxed(t->gpu);
  if (!t->set.row->programs) return say(why, "no program of the bundle is for ranks that lie as these do"), false;
  if (t->hosted && t->nodes > 1)
    return say(why, "GPUs of one node do not reach each other's memory, and teams of several nodes need that"), false;
  if (!arena_make(t, why) || (t->nodes > 1 && !net_make(t, card, mine, why))) return false;
  int code = 0;
  if (t->hosted) mine->hosted = pinned_file(t->host_arena);
  else code = t->gpu->f->share(mine->handle, t->arena);
  if (code) return say(why, "the arena cannot be shared with other processes: %s", driver_text(code)), false;
  if ((code = admission_join(t))) return say(why, "an event: %s", driver_text(code)), false;
  mine->oversubscribed = oversubscribed(t);
  mine->address = t->arena, mine->ordinal = (u32)t->gpu->number;
  return true;
}

}  // namespace

u64 now_of_engine() {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (u64)at.tv_sec * 1000000000 + (u64)at.tv_nsec;
}

void nap_of_engine(u64 ns) { sys_nap(ns); }

static Team *open_team(Team *begun, const Team *beside, Bundle *b, u32 ranks, u32 rank, u32 ctas, u32 settings,
                       const u8 *node, Offer *mine) {
  Why why = {};
  *mine = Offer{};
  mine->pid = (u64)getpid(), mine->ctas = ctas, mine->settings = settings;
  memcpy(mine->bundle, bundle_hash(b), sizeof mine->bundle);
  const bool known = host_of(mine->host, &why);
  node_of(mine);
  alive_from_now();
  Team *t = known && alive() ? begun : nullptr;
  if (t) {
    t->host_arena.file = -1;
    for (Pinned &p : t->host_reached) p.file = -1;
    t->bundle = b, t->ranks = ranks, t->rank = rank, t->ctas = ctas;
    for (u32 r = 0; node && r < ranks; r++)
      if ((t->node[r] = node[r]) >= t->nodes) t->nodes = node[r] + 1u;
    if (rank < ranks && begin(t, beside, mine, &why)) return t;
  } else if (known) {
    say(&why, "%s", alive() ? "no memory" : driver_text(ENGINE_FORKED));
  }
  cut(mine->why, sizeof mine->why, why.text);
  if (t) team_free(t, false);
  else free(begun);
  return nullptr;
}

Team *team_open(Bundle *b, u32 ranks, u32 rank, u32 ctas, u32 settings, const u8 *node, Offer *mine) {
  return open_team((Team *)calloc(1, sizeof(Team)), nullptr, b, ranks, rank, ctas, settings, node, mine);
}

Team *team_open_alone(Gpu *gpu, const Team *beside, Bundle *b, u32 ranks, u32 rank, u32 ctas, Offer *mine) {
  Team *t = (Team *)calloc(1, sizeof *t);
  if (t) t->alone = true, t->gpu = gpu;
  return open_team(t, beside, b, ranks, rank, ctas, 0, nullptr, mine);
}

void team_meet(Team *t, const Offer *all) { t->hosted = links_apart(all, t->ranks, t->node); }

bool team_make(Team *t, const char *card, Offer *mine) {
  Why why = {};
  if (!alive()) say(&why, "%s", driver_text(ENGINE_FORKED));
  else if (make(t, card, mine, &why)) return true;
  mine->able = 0;
  cut(mine->why, sizeof mine->why, why.text);
  return false;
}

bool team_fits(const Offer *all, u32 ranks, Why *why) {
  static const u8 unknown[16] = {};
  for (u32 r = 0; r < ranks; r++)
    if (!all[r].able) return say(why, "rank %u: %s", r, all[r].why), false;
  for (u32 r = 1; r < ranks; r++) {
    if (memcmp(all[r].bundle, all[0].bundle, sizeof all->bundle))
      return say(why, "ranks 0 and %u have different bundles", r), false;
    if (all[r].settings != all[0].settings)
      return say(why, "ranks 0 and %u have different values of MSCCLC_ variables", r), false;
  }
  for (u32 r = 0; r < ranks; r++)
    for (u32 k = 0; k < r; k++)
      if (!memcmp(all[r].node, all[k].node, sizeof all->node) && memcmp(all[r].host, all[k].host, sizeof all->host))
        return say(why, "ranks %u and %u have one MSCCLC_NODE, and are on different machines, or in containers", k, r),
               false;
  for (u32 r = 0; r < ranks && !gpu_shared(); r++)
    for (u32 k = 0; k < r; k++)
      if (!memcmp(all[r].uuid, all[k].uuid, sizeof unknown) && memcmp(all[r].uuid, unknown, sizeof unknown))
        return say(why, "ranks %u and %u have the same GPU", k, r), false;
  return true;
}
