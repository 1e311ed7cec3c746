// A program that drives ranks through all orders of what they say to each other to learn the fastest program of a class
// of calls: it has the very code of the library, without sockets. A world is the judge, and of each rank its learner
// and its calls, which are made at any time. A rank leaves, aborts or is killed at any time. The program ends with an
// error where two ranks run a call differently, or where a call waits and nothing is on its way.
#include "../src/consensus/learner.h"
#include "explore.h"

#include <stdio.h>

// What is on the way from a rank to another: a message, or the end of the socket.
struct Sent {
  bool end;
  LearnMessage m;
};

enum { ERROR = -1 };  // a call of a communicator that has an error
struct Member {
  Learner l = {};
  u64 call = 0;           // that was counted, and of which it is not known yet who runs it
  std::vector<int> runs;  // by call: a Turn
  bool gone = false;      // it has left, aborted, or was killed
  bool dead = false;      // it knows that a rank was killed
  Queue<Sent> from, to;   // rank 0
};

enum Fault { NOTHING, LEAVES, ABORTS, KILLED };
const char *const faults[] = {"nothing", "leaving", "an abort", "a kill"};
struct Plan {
  u32 ranks;
  Fault fault;
  u32 victim;
  u64 slack, calls;  // calls: how many each rank makes at most
  bool faster;       // the candidate
};
struct World {
  Meeting m = {};  // unused
  Judge j = {};
  std::vector<Member> member;
  bool happened = false;
};

static Plan plan;

static void fault_found(const World &w, const char *what) {
  fprintf(stderr, "%u ranks, %s of rank %u: %s\n", plan.ranks, faults[plan.fault], plan.victim, what);
  fprintf(stderr, "  judge: stage %u, timed %x, promised %x, notified %x, gone %x\n", w.j.stage, w.j.timed,
          w.j.promised, w.j.notified, w.j.gone);
  for (const Member &e : w.member) {
    fprintf(stderr, "  phase %llu, limit %llu, from %llu%s%s; calls", e.l.gate.word % 4, e.l.gate.limit, e.l.gate.from,
            e.gone ? ", gone" : "", e.dead ? ", dead" : "");
    for (int t : e.runs) fprintf(stderr, " %d", t);
    if (e.call) fprintf(stderr, ", %llu waits", e.call);
    fprintf(stderr, "\n");
  }
  _Exit(1);
}

static std::string key(const World &w) {
  Key k;
  auto add = [&](u64 x) { k.add((u8)x); };
  add(w.j.stage), add(w.j.timed), add(w.j.promised), add(w.j.notified), add(w.j.gone), add(w.j.most), add(w.happened);
  for (const Member &e : w.member) {
    const Learner &l = e.l;
    add(l.gate.word), add(l.gate.limit), add(l.gate.from), add(e.call), add(l.choice);
    add(l.timed * 16u + l.promised * 8u + l.said_times * 4u + l.said_promise * 2u + l.over);
    add(e.gone * 2u + e.dead), add(e.runs.size());
    for (int t : e.runs) add((u64)t);
    for (const Queue<Sent> *q : {&e.from, &e.to}) {
      add(q->size());
      for (const Sent &s : *q) add(s.end ? 0 : (u64)s.m.what), add(s.m.number);
    }
  }
  return k.bytes;
}

// says sends what a rank has to say to rank 0, which may have gone.
static bool says(World &w, u32 rank) {
  static u32 ns[LEARN_TRIALS];
  for (u32 i = 0; i < 2 * LEARN_ROUNDS; i++) ns[i] = option_of(i, 2) == (plan.faster ? 0u : 1u) ? 2000 : 1000;
  Member &e = w.member[rank];
  LearnMessage m;
  if (!learner_next(&e.l, ns, &m)) return false;
  m.options = 2;
  learner_said(&e.l, m.what);
  e.to.push_back({false, m});
  return true;
}

static bool judges(World &w) {
  u32 to;
  LearnMessage m;
  if (!judge_next(&w.j, plan.ranks, &to, &m)) return false;
  judge_said(&w.j, plan.ranks, to);
  if (!w.member[to].gone) w.member[to].from.push_back({false, m});
  return true;
}

static void hears(World &w, u32 rank) {
  Member &e = w.member[rank];
  const Sent s = e.from.front();
  e.from.pop_front();
  if (s.end) learner_alone(&e.l), e.dead = plan.fault == KILLED;
  else learner_hears(&e.l, s.m, plan.slack);
}

static void judge_takes(World &w, u32 rank) {
  const Sent s = w.member[rank].to.front();
  w.member[rank].to.pop_front();
  if (s.end) judge_gone(&w.j, plan.ranks, rank);
  else judge_hears(&w.j, plan.ranks, rank, s.m);
}

static int turn_of(const Member &e) { return e.dead ? (int)ERROR : (int)gate_turn(&e.l.gate, e.call); }

// calls makes a call. Of two ranks, all may happen between its number and the question who runs it.
static void calls(Member &e) {
  e.call = gate_call(&e.l.gate);
  if (plan.ranks > 2 && turn_of(e) != TURN_WAIT) e.runs.push_back(turn_of(e)), e.call = 0;
}

// strike has the fault happen. What the victim has sent arrives.
static void strike(World &w) {
  Member &e = w.member[plan.victim];
  w.happened = true;
  e.gone = true, e.from.clear();
  if (plan.victim) e.to.push_back({true, {}});
  else
    for (u32 i = 1; i < plan.ranks; i++) w.member[i].from.push_back({true, {}}), w.member[i].to.clear();
}

// agree checks in each state that all run a call alike, if it can end. A call that a rank never makes, since it was
// killed or has aborted, does not end.
static void agree(const World &w) {
  for (u64 call = 1; call <= plan.calls; call++) {
    bool ours = false, nccl = false, all = true;
    for (const Member &e : w.member)
      if (e.runs.size() < call) all = false;
      else if (e.runs[call - 1] != ERROR) (e.runs[call - 1] == TURN_PROGRAM ? ours : nccl) = true;
    if (ours && nccl && (all || plan.fault < ABORTS || !w.happened)) fault_found(w, "ranks run a call differently");
  }
}

// check is what must hold where nothing is on its way.
static void check(const World &w) {
  bool ours = false, nccl = false, all = true;
  for (const Member &e : w.member) {
    all &= e.l.timed;
    if (e.gone) continue;
    if (e.call) fault_found(w, "a call waits, and nothing is on its way");
    (e.l.gate.word % 4 == PHASE_WORD ? ours : nccl) = true;
  }
  if (ours && nccl && plan.fault < ABORTS && (plan.fault == NOTHING || !w.happened))
    fault_found(w, "ranks differ about who runs the calls to come");
  if (ours && !plan.faster) fault_found(w, "the slower one is chosen");
  if (!w.happened && all && plan.faster && nccl) fault_found(w, "nothing happened, and NCCL runs the calls");
}

static void visit(const World &w) {
  bool moves = false;
  agree(w);
  const bool judge = !w.member[0].gone;
  u32 to;
  LearnMessage m;
  if (judge && judge_next(&w.j, plan.ranks, &to, &m)) moves = true, branch(w, [&](World &n) { judges(n); });
  for (u32 i = 0; i < plan.ranks; i++) {
    const Member &e = w.member[i];
    if (judge && !e.to.empty()) moves = true, branch(w, [&](World &n) { judge_takes(n, i); });
    if (e.gone) continue;
    if (!e.from.empty()) moves = true, branch(w, [&](World &n) { hears(n, i); });
    if (learner_next(&e.l, m.ns, &m)) moves = true, branch(w, [&](World &n) { says(n, i); });
    if (!e.l.timed && !e.runs.empty())
      moves = true, branch(w, [&](World &n) { learner_timed(&n.member[i].l), says(n, i); });
    if (plan.fault == KILLED && w.happened && !e.dead && plan.victim)  // by the socket to the victim
      moves = true, branch(w, [&](World &n) { n.member[i].dead = true; });
    const int turn = e.call ? turn_of(e) : TURN_WAIT;
    if (turn != TURN_WAIT)
      moves = true, branch(w, [&](World &n) { n.member[i].runs.push_back(turn), n.member[i].call = 0; });
    if (!e.call && e.runs.size() < plan.calls)  // a call: nothing waits for it
      branch(w, [&](World &n) { calls(n.member[i]); });
  }
  const Member &v = w.member[plan.victim];
  const bool can = plan.fault != LEAVES || (!v.call && v.runs.size() == plan.calls);
  if (plan.fault && !w.happened && can) branch(w, [&](World &n) { strike(n); });
  if (!moves) check(w);
}

int main(int argc, char **argv) {
  const u32 most = argc > 1 ? (u32)atoi(argv[1]) : 3;
  for (u32 ranks = 2; ranks <= most; ranks++)
    for (int fault = NOTHING; fault <= KILLED; fault++)
      for (u32 victim = 0; victim < (fault == NOTHING ? 1u : ranks); victim += ranks - 1)
        for (const bool faster : {true, false}) {
          if (!faster && fault) continue;
          plan = Plan{ranks, (Fault)fault, victim, ranks < 3 ? 2u : 0u, ranks < 3 ? 6u : 3u, faster};
          World w;
          w.member.resize(ranks);
          explore(w);
        }
  printf("%ld states\n", states);
  return 0;
}
