// A program that drives the meeting of ranks through all orders of events: it has the very code of the library, without
// sockets. A world is the hub, the ranks, and what is on the way between them. It ends with an error where ranks differ
// about who runs a call, where some rank waits for ever, or where the outcome is not what the events call for.
#include "explore.h"

#include <stdio.h>

// What goes to the hub: a message, or the end of the connection.
enum { SAYS_HERE, SAYS_PART, SAYS_SPLIT, SAYS_LAST, SAYS_BYE, SAYS_END };
struct Said {
  int what;
  bool ok;
};

// What comes from the hub: a word, or the end of the connection.
enum { HEARS_WORD, HEARS_END };
struct FromHub {
  int what;
  u32 word;
};

struct Peer {
  Stage stage = STAGE_CONNECT;
  bool started = false, killed = false, ended = false, open = false, cut = false, late = false;
  int rounds = 0;           // of work that are done
  int after = 0;            // rounds after the meeting: 0 none yet, 1 said, 2 received; -1: it comes to nothing
  bool bad = false;         // it was counted on in a later round, and did not receive the word
  Queue<Said> to;
  Queue<FromHub> from;
};

// A Plan is what may happen in a world. fault happens to rank `victim` at any time, once.
// UNREACHED is a rank of the hub's process that has no descriptor to reach it.
enum Fault { NOTHING, MISSING, LATE, KILLED, CUT, ENDS, VERSION, CANNOT, UNREACHED, LIMIT_PASSES };
const char *const faults[] = {"nothing", "missing", "late", "killed", "cut", "ends", "version", "cannot", "unreached",
                              "limit"};
struct Plan {
  int ranks;
  Fault fault;
  int victim;
  bool last;  // the round after the meeting decides, as that of a window; else it is a split
};

struct World {
  Meeting m = {};
  std::vector<Peer> peer;
  bool happened = false, passed = false;
};

static Plan plan;
static World *telling;
static u32 greeting;

static void fault_found(const World &w, const char *what) {
  fprintf(stderr, "%d ranks, %s happens to rank %d, round after it %s: %s\n", plan.ranks, faults[plan.fault],
          plan.victim, plan.last ? "decides" : "is a split", what);
  for (size_t i = 0; i < w.peer.size(); i++) {
    const Peer &p = w.peer[i];
    fprintf(stderr, "  rank %zu: stage %d, after %d%s%s%s%s\n", i, p.stage, p.after, p.bad ? " (error)" : "",
            p.killed ? " killed" : "", p.ended ? " ended" : "", p.started ? "" : " not started");
  }
  _Exit(1);
}

static std::string key(const World &w) {
  Key k;
  auto add = [&](long x) { k.add((short)x); };
  add(w.m.ranks), add(w.m.gone), add(w.m.word), add(w.m.here), add(w.happened), add(w.passed);
  for (u32 i = 0; i < w.m.ranks; i++) add(w.m.is[i]);
  for (const Round *r = w.m.rounds; r; r = r->next) {
    add(r->name.sort * 100 + r->name.number), add(r->word), add(r->waits), add(r->gone);
    for (u32 i = 0; i < w.m.ranks; i++) add(r->said[i] * 2 + r->answered[i]);
  }
  add(99);  // the end of the rounds
  for (const Peer &p : w.peer) {
    add(p.stage), add(p.started), add(p.killed), add(p.ended), add(p.open), add(p.cut), add(p.rounds), add(p.after);
    add(p.bad), add(p.late);
    add((long)p.to.size() * 100 + (long)p.from.size());
    for (const Said &s : p.to) add(s.what * 2 + s.ok);
    for (const FromHub &h : p.from) add(h.what * 10 + (long)h.word);
  }
  return k.bytes;
}

static void hub_tells(void *, u32 rank, const Word &word, const void *, u32) {
  Peer &p = telling->peer[rank == NOBODY ? greeting : rank];
  if (p.open && !p.cut) p.from.push_back({HEARS_WORD, word.word});
  if (rank == NOBODY && p.open && !p.cut) p.from.push_back({HEARS_END, 0});
}
static const Teller teller = {nullptr, hub_tells};

static void close_rank(Peer &p) {
  if (p.open) p.to.push_back({SAYS_END, false});
  p.open = false;
}

static void act(Peer &p, Act what, bool ok, int sort) {
  if (what == ACT_HERE) p.open = true, p.to.push_back({SAYS_HERE, true});
  if (what == ACT_PART) p.to.push_back({sort, ok});
  if (what == ACT_LEAVE) p.to.push_back({SAYS_BYE, true});
  if (what == ACT_LEAVE || what == ACT_CLOSE) close_rank(p);
}

static void step(Peer &p, Event e, bool ok = true) { act(p, rank_step(&p.stage, e), ok, SAYS_PART); }

// take has the hub take the next of what a rank has said.
static void take(World &w, u32 rank) {
  Peer &p = w.peer[rank];
  const Said s = p.to.front();
  p.to.pop_front();
  telling = &w, greeting = rank;
  const u32 version = MEETING_VERSION + (plan.fault == VERSION && (int)rank == plan.victim);
  struct {
    Part name;
    Ask ask;
  } part = {};
  part.name.sort = s.what == SAYS_SPLIT ? ROUND_SPLIT : ROUND_DATA, part.name.ok = s.ok;
  part.name.number = s.what == SAYS_PART ? (u32)++p.rounds : s.what == SAYS_SPLIT ? 1 : 3;
  part.ask.color = 0;
  const u32 bytes = s.what == SAYS_SPLIT ? sizeof part : sizeof part.name;
  switch (s.what) {
    case SAYS_HERE:
      if (!meeting_here(&w.m, rank, (u32)plan.ranks, version, 1, teller)) p.late = true;
      break;
    case SAYS_BYE: if (!p.late) meeting_gone(&w.m, rank, true, teller); break;
    case SAYS_END: if (!p.late) meeting_gone(&w.m, rank, false, teller); break;
    default: if (!p.late) meeting_part(&w.m, rank, (const u8 *)&part, bytes, teller);
  }
}

// start has a rank begin, whether it reaches the hub or not.
static void start(World &w, u32 rank, bool reaches) {
  w.peer[rank].started = true, telling = &w;
  step(w.peer[rank], reaches ? EVENT_CONNECTED : EVENT_UNREACHED);
  if (!reaches) meeting_cannot(&w.m, rank, (u32)plan.ranks, "it has no descriptor", 1, teller);
}

// hear has a rank take the next of what it hears.
static void hear(World &w, u32 rank) {
  Peer &p = w.peer[rank];
  const FromHub h = p.from.front();
  p.from.pop_front();
  if (h.what == HEARS_WORD && h.word == WORD_GONE) return;  // it is no answer
  const bool other = plan.fault == VERSION && (int)rank == plan.victim;
  const Event e = h.what == HEARS_END ? EVENT_LOST : other ? EVENT_OTHER : h.word == WORD_GO ? EVENT_GO
                  : h.word == WORD_NO ? EVENT_NO : EVENT_FAILED;
  if (p.after == 1) {
    const int r = later_step(plan.last, e);
    p.after = r > 0 ? 2 : -1, p.bad = r < 0;
    if (e == EVENT_LOST) close_rank(p);
  } else if (p.stage <= STAGE_LAST) step(p, e);
}

// work is what a rank does between two answers: it has two rounds, and may be one that cannot.
static void work(World &w, u32 rank) {
  Peer &p = w.peer[rank];
  const bool cannot = plan.fault == CANNOT && (int)rank == plan.victim;
  if (p.stage == STAGE_WORK && cannot && (w.happened || plan.last)) step(p, EVENT_CANNOT, false);
  else if (p.stage == STAGE_WORK) step(p, p.rounds ? EVENT_DONE : EVENT_MORE), w.happened |= cannot;
  else p.after = 1, p.to.push_back({plan.last ? SAYS_LAST : SAYS_SPLIT, true});
}
static bool works(const Peer &p) {
  const bool again = p.open && !p.after && (p.stage == STAGE_TEAM || (p.stage == STAGE_MET && !plan.last));
  return !p.killed && !p.ended && (p.stage == STAGE_WORK || again);
}

static bool waits(const Peer &p) {
  const bool stage = p.stage == STAGE_HERE || p.stage == STAGE_SAID || p.stage == STAGE_LAST;
  return p.started && !p.killed && (stage || p.after == 1);
}

// strike has the fault happen. lost says that what was on the way is lost with it.
static void strike(World &w, bool lost) {
  Peer &p = w.peer[(size_t)plan.victim];
  w.happened = true;
  if (plan.fault == KILLED || plan.fault == CUT) {
    if (lost) p.to.clear(), p.from.clear();
    if (p.open) p.to.push_back({SAYS_END, false});
    if (plan.fault == CUT) p.from.push_back({HEARS_END, 0}), p.cut = true;
    else p.killed = true, p.from.clear();
    p.open = false;
  }
  if (plan.fault == ENDS) {
    if (p.stage <= STAGE_LAST) step(p, EVENT_ENDED);
    else if (p.open) p.to.push_back({SAYS_BYE, true}), close_rank(p);
    p.ended = true;
  }
  if (plan.fault == LIMIT_PASSES) {
    if (p.after == 1) p.bad = later_step(plan.last, EVENT_LIMIT) < 0, p.after = -1, close_rank(p);
    else step(p, EVENT_LIMIT);
    p.from.clear();
  }
}
static bool may_strike(const World &w) {
  if (w.happened || plan.fault == NOTHING || plan.fault == MISSING || plan.fault == LATE || plan.fault == VERSION ||
      plan.fault == CANNOT || plan.fault == UNREACHED) return false;
  const Peer &p = w.peer[(size_t)plan.victim];
  return plan.fault == LIMIT_PASSES ? waits(p) : p.started && (plan.fault != CUT || p.open);
}

// check is what must hold where nothing more can happen by itself.
static void check(const World &w) {
  int team = 0, nccl = 0, failed = 0, differ = 0, of_team = 0;
  for (const Peer &p : w.peer) {
    if (!p.started || p.killed || p.ended) continue;
    if (waits(p) || p.stage <= STAGE_LAST) fault_found(w, "a rank waits for ever");
    team += p.stage == STAGE_TEAM, failed += p.stage == STAGE_FAILED || p.bad;
    nccl += p.stage == STAGE_MET || p.stage == STAGE_NCCL;
    differ += plan.last && p.stage == STAGE_TEAM && p.after == 2;
    of_team += p.stage == STAGE_TEAM && p.after == -1 && !p.bad;
  }
  if (team && nccl) fault_found(w, "ranks differ about who runs the calls");
  if (differ && of_team) fault_found(w, "ranks differ about a window");
  const bool may_fail = plan.fault == KILLED || plan.fault == CUT || plan.fault == LIMIT_PASSES;
  if (failed && !may_fail) fault_found(w, "a rank fails without a cause");
  const bool good = plan.fault == NOTHING || (may_fail && !w.happened) || (plan.fault == ENDS && !w.happened);
  if (good && !w.passed && team != plan.ranks) fault_found(w, "nothing happened, and not all ranks are a team");
  if (plan.fault == MISSING && team) fault_found(w, "ranks are a team without one that is missing");
  if (plan.fault == UNREACHED && nccl != plan.ranks) fault_found(w, "a rank that reaches no hub is used");
  if (plan.fault == VERSION && team) fault_found(w, "ranks are a team with one of another version");
  if (plan.fault == CANNOT && (team || (!w.passed && nccl != plan.ranks))) fault_found(w, "a rank that cannot is used");
  if (w.passed && team) fault_found(w, "ranks are a team after the limit");
}

// forks checks that a forked child, which has a copy of a rank, says nothing and has all calls fail.
static void forks(const World &w) {
  for (const Peer &p : w.peer) {
    Stage s = p.stage;
    if (rank_step(&s, EVENT_FORKED) != ACT_CLOSE || s != STAGE_FAILED) fault_found(w, "a forked child goes on");
  }
}

static void visit(const World &w) {
  bool moves = false;
  forks(w);
  for (u32 i = 0; i < w.peer.size(); i++) {
    const Peer &p = w.peer[i];
    const bool victim = (int)i == plan.victim;
    const bool starts = !p.started && !(victim && (plan.fault == MISSING || (plan.fault == LATE && !w.passed)));
    const bool reaches = !(victim && plan.fault == UNREACHED);
    if (starts) moves = true, branch(w, [&](World &n) { start(n, i, reaches); });
    if (!p.to.empty()) moves = true, branch(w, [&](World &n) { take(n, i); });
    if (!p.from.empty() && !p.killed) moves = true, branch(w, [&](World &n) { hear(n, i); });
    if (works(p)) moves = true, branch(w, [&](World &n) { work(n, i); });
  }
  if (w.m.ranks && w.m.word == WORD_NONE && !w.passed) {  // time passes by itself
    moves = true;
    for (u32 i = 0; i < w.m.ranks; i++)
      if (w.m.is[i] != RANK_HERE && w.m.is[i] != RANK_ABSENT)
        fault_found(w, "the others wait for a rank that has gone");
    branch(w, [&](World &n) { n.passed = true, telling = &n, meeting_time(&n.m, 1 + n.m.limit, teller); });
  }
  if (may_strike(w)) {
    branch(w, [&](World &n) { strike(n, false); });
    branch(w, [&](World &n) { strike(n, true); });
  }
  if (!moves) check(w);
}

// reused checks that who comes to a meeting that is over hears that NCCL runs its calls.
static void reused() {
  World w;
  w.peer.resize(3), w.m.limit = 10, w.m.most = 16, w.m.room = 100;
  plan = Plan{2, NOTHING, 0, false};
  for (u32 i : {0u, 1u, 0u}) {
    telling = &w, greeting = 2, w.peer[i].open = w.peer[2].open = true;
    if (meeting_here(&w.m, i, 2, MEETING_VERSION, 1, teller) != (w.peer[0].from.empty() || i == 1))
      fault_found(w, "an identity is used twice");
  }
  if (w.peer[2].from.empty() || w.peer[2].from[0].word != WORD_NO) fault_found(w, "who comes too late hears nothing");
  meeting_free(&w.m);
}

int main(int argc, char **argv) {
  const int most = argc > 1 ? atoi(argv[1]) : 3;
  reused();
  for (int ranks = 2; ranks <= most; ranks++)
    for (int fault = NOTHING; fault <= LIMIT_PASSES; fault++)
      for (int victim = 0; victim < (fault == NOTHING ? 1 : ranks); victim += ranks - 1)
        for (int last = 0; last < 2; last++) {
          plan = Plan{ranks, (Fault)fault, victim, last != 0};
          World w;
          w.peer.resize((size_t)ranks);
          explore(w);
        }
  printf("%ld states\n", states);
  return 0;
}
