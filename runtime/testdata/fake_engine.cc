// A mock of the engine, for tests of the front alone: teams that launch nothing, and note each call in MSCCLC_FAKE_LOG.
// MSCCLC_FAKE_UNABLE is a rank that cannot, MSCCLC_FAKE_NCCL the fewest elements of calls that are NCCL's,
// MSCCLC_FAKE_CAPTURED the error of who asks whether a stream is captured, and MSCCLC_FAKE_WINDOWS is set where rules
// are for windows.
#include "../src/team/engine.h"
#include "../src/why.cc"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Bundle {
  u8 hash[32];
};
struct Team {
  u32 rank, ranks;
  int aborted;
};

static void note(const Team *t, const char *format, ...) {
  const char *path = getenv("MSCCLC_FAKE_LOG");
  if (!path) return;
  char line[512];
  int n = snprintf(line, sizeof line, "%u engine ", t->rank);
  va_list args;
  va_start(args, format);
  n += vsnprintf(line + n, sizeof line - 2 - (size_t)n, format, args);
  va_end(args);
  line[n++] = '\n';
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0 || write(fd, line, (size_t)n) != n) abort();
  close(fd);
}
static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text ? atol(text) : otherwise;
}

Bundle *bundle_open(const char *path, Why *why) {
  static Bundle b;
  if (!access(path, R_OK)) return &b;
  return say(why, "%s cannot be read", path), nullptr;
}
const u8 *bundle_hash(const Bundle *b) { return b->hash; }
bool bundle_serves(Bundle *, u32, const char *, Why *) { return true; }

u32 team_nodes(const Offer *, u32, u8 *) { return 1; }
u32 team_links(const Team *) { return 0; }
bool team_link(Team *, u32, u32, TeamHandle *, Why *) { return false; }
bool team_connect(Team *, u32, const TeamHandle *, u64, int (*)(void *), void *, Why *) { return false; }
bool team_lost(Team *) { return false; }
void team_stop(Team *, const char *) {}
void team_leave(Team *) {}
u32 team_marks(const Team *) { return 0; }
int team_finished(Team *, u64 *, u64) { return 0; }
u64 team_launches(const Team *, const u64 *) { return 0; }
void team_exit(Team *, const u64 *) {}
bool team_exits(Team *, u32, u64, const u64 *) { return true; }
Outrun team_exited(const Team *) { return Outrun{}; }
bool team_outrun(Team *, Outrun *) { return false; }
bool team_oversubscribed(const Team *) { return false; }
u64 team_turn(const Team *) { return 0; }
bool team_progress(Team *, u64 *) { return false; }
bool gpu_shared() { return false; }
bool team_over(const Team *) { return false; }
bool team_outlived(const Team *) { return false; }

bool bytes_read(const char *, u64 *) { return true; }
Team *team_open(Bundle *, u32 ranks, u32 rank, u32 ctas, u32 settings, const u8 *, Offer *mine) {
  if (number("MSCCLC_FAKE_UNABLE", -1) == (long)rank) {
    snprintf(mine->why, sizeof mine->why, "a test asked for it");
    return nullptr;
  }
  Team *t = (Team *)calloc(1, sizeof *t);
  t->rank = rank, t->ranks = ranks;
  mine->able = 1, mine->pid = (u64)getpid(), mine->ctas = ctas, mine->settings = settings;
  return t;
}
void team_meet(Team *, const Offer *) {}
bool team_make(Team *, const char *, Offer *) { return true; }
bool team_fits(const Offer *all, u32 ranks, Why *why) {
  for (u32 i = 1; i < ranks; i++)
    if (all[i].settings != all[0].settings) return say(why, "rank %u has other settings", i), false;
  return true;
}
bool team_join(Team *t, const Offer *all, Why *) { return note(t, "join ctas=%u", all[t->rank].ctas), true; }

static const bundle_rule any = {};
Choice team_choose(const Team *, const Call *call, bool) {
  if (number("MSCCLC_FAKE_CANDIDATES", 0)) return Choice{nullptr, "no rule is measured", true};
  const bool nccl = call->count >= (u64)number("MSCCLC_FAKE_NCCL", 1 << 20);
  return Choice{nccl ? nullptr : &any, nccl ? "the rule says NCCL" : nullptr};
}
bool team_serves(const Team *, u32, u32) { return true; }
bool team_has_candidates(const Team *) { return number("MSCCLC_FAKE_CANDIDATES", 0) != 0; }
u32 team_candidates(const Team *t, const Call *, u32 *rules, u32) { return *rules = 0, team_has_candidates(t); }
Choice team_take(const Team *, u32, const Call *) { return Choice{&any, nullptr}; }
const char *team_device(const Team *) { return "a GPU"; }
const char *team_title(const Team *, u32) { return "a candidate"; }
int team_launch(Team *t, const Choice *, const Call *c, void *) {
  static const char *const kinds[] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll",
                                      "Broadcast", "Reduce",    "Gather",        "Scatter"};
  note(t, "%s count=%llu type=%u op=%u root=%u group=%u", kinds[c->kind], c->count, c->dtype, c->redop, c->root,
      c->group);
  return 0;
}
bool invariant_bits() { return false; }
bool order_matters(u32 kind, u32 dtype, u32, u32 ranks) {
  return kind == KIND_ALLREDUCE && dtype <= DT_F64 && ranks > 2;
}
bool team_wants_windows(const Team *) { return number("MSCCLC_FAKE_WINDOWS", 0) != 0; }
Window *window_begin(Team *t, const void *memory, u64 bytes, WindowOffer *mine, Files *) {
  mine->reach = REACH_HANDLE, mine->pid = (u64)getpid();
  return note(t, "window bytes=%llu", bytes), (Window *)memory;
}
bool window_fits(const WindowOffer *, u32, Why *) { return true; }
bool window_reach(Team *, Window *, u32, const WindowOffer &, const Files *, Why *) { return true; }
void window_use(Team *t, Window *, const void *) { note(t, "use"); }
void window_end(Team *t, Window *) { note(t, "forget"); }
u32 window_drop(Team *t, const void *) { return note(t, "drop"), 1; }
bool team_windows(const Team *, const Call *) { return false; }
int team_before(Team *t, void *, bool *captured) {
  if (captured) *captured = false;
  return note(t, "before"), 0;
}
int team_after(Team *t, void *) { return note(t, "after"), 0; }
int team_captured(Team *, void *, bool *captured) { return *captured = false, (int)number("MSCCLC_FAKE_CAPTURED", 0); }
u64 team_last(const Team *, u32 *program) { return *program = 0, 0; }
bool team_reached(Team *, u32, u64 *) { return false; }
u64 team_arena(const Team *) { return 0; }
bool team_orders_graphs(const Team *) { return true; }
bool team_busy(Team *) { return false; }
bool team_failed(Team *t, Why *why) {
  if (t->aborted) say(why, "rank %u was aborted", t->rank);
  return t->aborted;
}
void team_abort(Team *t) { note(t, "abort"), t->aborted = 1; }
void team_end(Team *t, bool peers_may_run) { note(t, "end peers=%d", peers_may_run), free(t); }
const char *driver_text(int) { return "mock engine's error"; }
