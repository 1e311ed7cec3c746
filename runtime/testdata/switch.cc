// A program that drives ranks from NCCL to their programs through all orders of events: it has the very code of the
// library, without sockets. A world is the hub of the later meeting, and of each rank its gate, its calls, and the
// thread that makes its memory. Calls are made at any time. It ends with an error where two ranks run a call
// differently, where a call waits and nothing is on its way, or where the outcome is not what the events call for.
#include "../src/consensus/switch.h"
#include "explore.h"

#include <stdio.h>

// What comes from the hub: a word with what all have said, or the end of the connection.
struct FromHub {
  bool lost;
  u32 word;
  std::vector<u64> promises;
};

// What the thread of a rank does next, or waits for.
enum At { IDLE, WAITS_ALL, MAKES, WAITS_MADE, PROMISES, WAITS_WORD, FAILS, OVER };
struct Member {
  Gate gate = {};
  At at = IDLE;
  int step = 0;             // what the last round came to
  bool failed = false, killed = false, ended = false, open = false;
  u64 call = 0;             // that was counted, and of which it is not known yet who runs it
  std::vector<int> runs;    // by call: a Turn
  Queue<FromHub> from;
};

enum Fault { NOTHING, KILLED, CUT, ENDS, CANNOT_MAKE, CANNOT_PROMISE };
const char *const faults[] = {"nothing", "killed", "cut", "ends", "cannot make its memory", "cannot connect"};
struct Plan {
  u32 ranks;
  Fault fault;
  u32 victim;
  u64 slack, calls;  // calls: how many each rank makes at most
};
struct World {
  Meeting m = {};
  std::vector<Member> member;
  bool happened = false;
};

static Plan plan;
static World *telling;

static void fault_found(const World &w, const char *what) {
  fprintf(stderr, "%u ranks, %s happens to rank %u: %s\n", plan.ranks, faults[plan.fault], plan.victim, what);
  for (const Member &e : w.member) {
    fprintf(stderr, "  at %d, step %d, phase %llu, limit %llu, from %llu%s%s%s; calls", e.at, e.step, e.gate.word % 4,
            e.gate.limit, e.gate.from, e.failed ? ", failed" : "", e.killed ? ", killed" : "",
            e.ended ? ", ended" : "");
    for (int t : e.runs) fprintf(stderr, " %d", t);
    if (e.call) fprintf(stderr, ", %llu waits", e.call);
    fprintf(stderr, "\n");
  }
  _Exit(1);
}

static std::string key(const World &w) {
  Key k;
  auto add = [&](u64 x) { k.add((unsigned)x); };
  add(w.m.word), add(w.m.gone), add(w.happened);
  for (u32 i = 0; i < w.m.ranks; i++) add(w.m.is[i]);
  for (const Round *r = w.m.rounds; r; r = r->next) {
    add(r->name.number), add(r->word), add(r->gone);
    for (u32 i = 0; i < w.m.ranks; i++) add(r->said[i] * 2u + r->answered[i]);
  }
  add(99);  // the end of the rounds
  for (const Member &e : w.member) {
    add(e.gate.word), add(e.gate.limit), add(e.gate.from), add(e.at), add((u64)(e.step + 1)), add(e.call);
    add(e.failed * 8u + e.killed * 4u + e.ended * 2u + e.open);
    add(e.runs.size() * 100 + e.from.size());
    for (int t : e.runs) add((u64)t);
    for (const FromHub &h : e.from) {
      add(h.lost * 1000u + h.word * 100 + h.promises.size());
      for (u64 p : h.promises) add(p);
    }
  }
  return k.bytes;
}

static void hub_tells(void *, u32 rank, const Word &word, const void *bytes, u32 count) {
  if (rank == NOBODY || !telling->member[rank].open) return;
  FromHub h = {false, word.word, {}};
  if (word.word == WORD_GO && count == plan.ranks * sizeof(u64)) {
    h.promises.resize(plan.ranks);
    memcpy(h.promises.data(), bytes, count);
  }
  telling->member[rank].from.push_back(h);
}
static const Teller teller = {nullptr, hub_tells};

// says has the hub hear what a rank says in a round: a promise, or nothing.
static void says(World &w, u32 rank, u32 number, bool ok, u64 promise) {
  struct {
    Part name;
    u64 promise;
  } part = {{ROUND_DATA, number, 0, ok, 0, 0}, promise};
  telling = &w;
  const u32 bytes = number == 2 && ok ? sizeof part : sizeof part.name;
  if (w.member[rank].open) meeting_part(&w.m, rank, (const u8 *)&part, bytes, teller);
}

// begins is what the first call of a rank does: its thread goes to the later meeting.
static void begins(World &w, u32 rank) {
  Member &e = w.member[rank];
  e.at = WAITS_ALL, e.open = true, telling = &w;
  meeting_here(&w.m, rank, plan.ranks, MEETING_VERSION, 1, teller);
}

static void works(World &w, u32 rank) {
  Member &e = w.member[rank];
  const bool victim = rank == plan.victim;
  if (e.at == FAILS) return (void)(e.at = OVER, e.failed = true, e.call = 0);  // the call that waits has the error
  if (e.at == MAKES) {
    e.at = WAITS_MADE;
    return says(w, rank, 1, !(victim && plan.fault == CANNOT_MAKE), 0);
  }
  const bool good = !(victim && plan.fault == CANNOT_PROMISE);
  const u64 promise = good ? gate_promise(&e.gate, plan.slack) : 0;
  e.at = WAITS_WORD;
  says(w, rank, 2, good, promise);
}

// over ends the thread of a rank, as finish and settle of comms/ready.cc do.
static void over(Member &e, int step, const std::vector<u64> &promises) {
  e.at = OVER, e.step = step;
  gate_outcome(&e.gate, e.ended && step > 0 ? 0 : step, promises.data(), plan.ranks);
  if (step < 0) e.at = FAILS;
}

static void hears(World &w, u32 rank) {
  Member &e = w.member[rank];
  const FromHub h = e.from.front();
  e.from.pop_front();
  if (!h.lost && h.word == WORD_GONE) return;  // it is no answer
  if (e.at >= FAILS) return;  // its thread has ended, or does so
  const bool last = e.at == WAITS_WORD;
  const Event event = h.lost ? EVENT_LOST : h.word == WORD_GO ? EVENT_GO : h.word == WORD_NO ? EVENT_NO : EVENT_FAILED;
  const int step = later_step(last, event);
  if (last || step <= 0) return over(e, step, h.promises);
  e.at = e.at == WAITS_ALL ? MAKES : PROMISES;
}

static void gone(World &w, u32 rank, bool properly) {
  telling = &w;
  if (w.member[rank].open) w.member[rank].open = false, meeting_gone(&w.m, rank, properly, teller);
}

// strike has the fault happen. lost says that the words on the way are lost with it.
static void strike(World &w, bool lost) {
  Member &e = w.member[plan.victim];
  w.happened = true;
  if (lost) e.from.clear();
  gone(w, plan.victim, plan.fault == ENDS);
  if (plan.fault == CUT && e.at != IDLE && e.at < FAILS) e.from.push_back({true, 0, {}});
  if (plan.fault == KILLED) e.killed = true, e.from.clear();
  if (plan.fault != ENDS) return;
  e.ended = true, e.call = 0;
  if (e.at != IDLE && e.at < FAILS) over(e, later_step(e.at == WAITS_WORD, EVENT_ENDED), {});
}

static bool alive(const Member &e) { return !e.killed && !e.ended && !e.failed; }

// agree checks that all run a call alike, in each state.
static void agree(const World &w) {
  for (u64 call = 1; call <= plan.calls; call++) {
    bool ours = false, nccl = false;
    for (const Member &e : w.member)
      if (e.runs.size() >= call) (e.runs[call - 1] == TURN_PROGRAM ? ours : nccl) = true;
    if (ours && nccl) fault_found(w, "ranks run a call differently");
  }
  for (const Member &e : w.member)
    for (size_t i = 1; i < e.runs.size(); i++)
      if (e.runs[i] == TURN_PROGRAM && e.runs[i - 1] == TURN_NCCL)
        fault_found(w, "the first call of a program is not ordered after NCCL's");
}

// check is what must hold where nothing is on its way, and no thread can go on.
static void check(const World &w) {
  bool ours = false, nccl = false, all = true, failed = false;
  for (const Member &e : w.member) {
    all &= e.at != IDLE;
    failed |= e.failed;
    if (!alive(e)) continue;
    if (e.call) fault_found(w, "a call waits, and nothing is on its way");
    if (e.at == OVER) (e.gate.word % 4 == PHASE_WORD ? ours : nccl) = true;
  }
  if (ours && nccl) fault_found(w, "ranks differ about who runs the calls to come");
  if (failed && plan.fault != CUT) fault_found(w, "a rank fails without a cause");
  const bool fine = plan.fault == NOTHING || (plan.fault <= ENDS && !w.happened);
  if (fine && all && (nccl || !ours)) fault_found(w, "nothing happened, and NCCL runs the calls");
  if (plan.fault >= CANNOT_MAKE && ours) fault_found(w, "a rank that cannot is used");
}

static void visit(const World &w) {
  bool moves = false;
  agree(w);
  for (u32 i = 0; i < plan.ranks; i++) {
    const Member &e = w.member[i];
    if (!alive(e)) continue;
    if (!e.from.empty()) moves = true, branch(w, [&](World &n) { hears(n, i); });
    if (e.at == MAKES || e.at == PROMISES || e.at == FAILS) moves = true, branch(w, [&](World &n) { works(n, i); });
    const int turn = e.call ? gate_turn(&e.gate, e.call) : TURN_WAIT;
    if (turn != TURN_WAIT)
      moves = true, branch(w, [&](World &n) { n.member[i].runs.push_back(turn), n.member[i].call = 0; });
    if (e.call || e.runs.size() >= plan.calls) continue;
    branch(w, [&](World &n) {  // a call: nothing waits for it
      n.member[i].call = gate_call(&n.member[i].gate);
      if (e.at == IDLE) begins(n, i);
    });
  }
  if (!w.happened && plan.fault >= KILLED && plan.fault <= ENDS && w.member[plan.victim].at != IDLE) {
    branch(w, [&](World &n) { strike(n, false); });
    branch(w, [&](World &n) { strike(n, true); });
  }
  if (!moves) check(w);
}

int main(int argc, char **argv) {
  const u32 most = argc > 1 ? (u32)atoi(argv[1]) : 3;
  for (u32 ranks = 2; ranks <= most; ranks++)
    for (int fault = NOTHING; fault <= CANNOT_PROMISE; fault++)
      for (u32 victim = 0; victim < (fault == NOTHING ? 1u : ranks); victim += ranks - 1) {
        plan = Plan{ranks, (Fault)fault, victim, ranks < 3 ? 2u : 0u, ranks < 3 ? 6u : 3u};
        World w;
        w.member.resize(ranks);
        explore(w);
      }
  printf("%ld states\n", states);
  return 0;
}
