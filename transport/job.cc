// This file makes jobs and frees them: their tables, and who their peers are.
#include "job.h"

#include <stdlib.h>
#include <string.h>

// copied gives memory of its own with n things in it, or null; also of none.
template <class T> static const T *copied(const T *from, u64 n) {
  T *to = (T *)malloc(n * sizeof(T) + 1);
  if (to && n) memcpy(to, from, n * sizeof(T));
  return to;
}
template <class T> static T *zeroed(u64 n) { return (T *)calloc(n + 1, sizeof(T)); }

static void free_job(net_job *j) {
  for (u32 i = 0; j->peer && i < j->peers; i++) {
    free(j->peer[i].out.room), free(j->peer[i].in.room);
    free(j->peer[i].out.scratch), free(j->peer[i].in.scratch);
    free(j->peer[i].marks), free(j->peer[i].own.at), free(j->peer[i].other.at);
  }
  const net_program &p = j->program;
  const void *all[] = {p.messages, p.segments, p.process, p.node,     p.rank_of,    j->memory,
                       j->lane,    j->group,   j->peer,   j->peer_of, j->notes.note, j->exit_order, j};
  for (const void *one : all) free((void *)one);
}

// copy_tables copies all that the job was given into its own memory.
static bool copy_tables(net_job *j, const net_program &from, const net_memory *memory, const net_lane *lanes) {
  net_program &p = j->program = from;
  p.messages = copied(from.messages, p.message_count), p.segments = copied(from.segments, p.segment_count);
  p.process = copied(from.process, p.ranks), p.node = copied(from.node, p.ranks);
  p.rank_of = copied(from.rank_of, p.blocks);
  j->memory = (net_memory *)copied(memory, p.ranks);
  j->lane = zeroed<Lane>(j->lanes), j->group = zeroed<Group>(j->lanes), j->peer_of = zeroed<u32>(p.ranks);
  for (u32 i = 0; j->lane && i < j->lanes; i++)
    j->lane[i] = Lane{(abi_net_lane *)lanes[i].at, lanes[i].block, lanes[i].replica, 0};
  return p.messages && p.segments && p.process && p.node && p.rank_of && j->memory && j->lane && j->group &&
         j->peer_of;
}

static const char *check_lanes(const net_job *j) {
  const net_program &p = j->program;
  for (u32 i = 0; i < j->lanes; i++) {
    const Lane &l = j->lane[i];
    if (l.block >= p.blocks || l.replica >= p.replicas) return "a lane has a block or replica that does not exist";
    if (p.process[p.rank_of[l.block]] != j->process) return "a lane is of a block of another process";
    if (!l.at) return "a lane has no memory";
    const Lane *before = i && l.replica ? &l - 1 : nullptr;
    const bool last = i + 1 == j->lanes || !j->lane[i + 1].replica;
    if (l.replica != (before ? before->replica + 1 : 0) || (before && before->block != l.block) ||
        (last && l.replica + 1 != p.replicas))
      return "a block has not a lane of each replica, in their order";
  }
  return nullptr;
}

// make_groups has the lanes of neighbouring replicas go together, as many as a message has room for.
static void make_groups(net_job *j) {
  for (u32 i = 0; i < j->lanes; i++) {
    if (j->lane[i].replica % NET_REPLICAS == 0) j->group[j->groups++] = Group{i, 0, 0};
    j->group[j->groups - 1].lanes++;
  }
}

// check_room says whether the job's own ranks have memory for all that their peers can send.
static const char *check_room(const net_job *j) {
  const net_program &p = j->program;
  const u64 scratch = p.scratch_copy * p.depth, flags = (u64)p.replicas * p.flags * 8;
  for (u32 i = 0; i < p.message_count; i++) {
    const net_message &m = p.messages[i];
    const bool mine = p.process[m.rank] == j->process, sends = p.process[p.rank_of[m.block]] == j->process;
    const net_memory &memory = j->memory[m.rank];
    if (mine && (!memory.flags || memory.flag_bytes < flags)) return "a rank has too little memory for its flags";
    if ((mine || sends) && m.segments && (!memory.scratch || memory.scratch_bytes < scratch))
      return "a rank has too little scratch, or no mirror";
  }
  return nullptr;
}

// other_of is the process at the other end of a message from or to this one, or ~0.
static u32 other_of(const net_job *j, const net_message &m) {
  const u32 from = j->program.process[j->program.rank_of[m.block]], to = j->program.process[m.rank];
  if (from == to) return ~0u;
  return from == j->process ? to : to == j->process ? from : ~0u;
}
static Peer *peer_by(const net_job *j, u32 process) {
  for (u32 i = 0; i < j->peers; i++)
    if (j->peer[i].process == process) return j->peer + i;
  return nullptr;
}
static int by_process(const void *a, const void *b) {
  const u32 x = ((const Peer *)a)->process, y = ((const Peer *)b)->process;
  return x < y ? -1 : x > y;
}

static bool make_line(const net_job *j, Line *l) {
  l->room = zeroed<u8>((TRANSPORT_REQUESTS + 1) * WIRE_MOST);
  l->scratch = zeroed<void *>(j->program.ranks);
  return l->room && l->scratch;
}

static bool make_peers(net_job *j) {
  const net_program &p = j->program;
  j->peer = zeroed<Peer>(p.ranks);  // no process is without a rank
  j->exit_order = zeroed<u32>(p.ranks);
  if (!j->peer || !j->exit_order) return false;
  for (u32 i = 0; i < p.message_count; i++) {
    const u32 other = other_of(j, p.messages[i]);
    if (other != ~0u && !peer_by(j, other)) j->peer[j->peers++].process = other;
  }
  qsort(j->peer, j->peers, sizeof *j->peer, by_process);
  for (u32 r = 0; r < p.ranks; r++) {
    const Peer *q = peer_by(j, p.process[r]);
    j->peer_of[r] = q ? (u32)(q - j->peer) : ~0u;
  }
  for (u32 i = 0; i < j->peers; i++) {
    j->peer[i].marks = zeroed<u64>(WIRE_MARKS);
    if (!j->peer[i].marks || !make_line(j, &j->peer[i].out) || !make_line(j, &j->peer[i].in)) return false;
  }
  return true;
}

static int add_job(net_proxy *p, void *with) {
  net_job *j = (net_job *)with;
  j->next = p->jobs, p->jobs = j;
  return 0;
}

int mscclc_net_job(net_proxy *proxy, u32 process, const net_program *program, const net_memory *of_rank,
                   const net_lane *lanes, u32 lane_count, net_job **job, net_failure *f) {
  *job = nullptr;
  net_job *j = zeroed<net_job>(1);
  if (!j) return net_say(f, NET_STATE, ~0u, "no memory for a job");
  j->proxy = proxy, j->process = process, j->lanes = lane_count;
  const char *wrong = copy_tables(j, *program, of_rank, lanes) ? nullptr : "no memory for its tables";
  if (!wrong) wrong = check_program(j->program);
  if (!wrong) wrong = check_lanes(j);
  if (!wrong) wrong = check_room(j);
  if (!wrong) make_groups(j);
  if (!wrong && !make_peers(j)) wrong = "no memory for its connections";
  if (wrong) {
    free_job(j);
    return net_say(f, NET_STATE, ~0u, "a program of several nodes cannot be: %s", wrong);
  }
  on_thread(proxy, add_job, j);
  *job = j;
  return 0;
}

u32 mscclc_net_peers(const net_job *j, u32 *processes, u32 most) {
  for (u32 i = 0; i < j->peers && i < most; i++) processes[i] = j->peer[i].process;
  return j->peers;
}

int mscclc_net_state(net_job *j, net_failure *f) {
  if (!net_word(&j->failed)) return 0;
  if (f) *f = j->failure;
  return 1;
}

void mscclc_net_counted(net_job *j, net_counts *c) {
  const uint64_t *from = (const uint64_t *)&j->counts;
  for (u32 i = 0; i < sizeof *c / sizeof *from; i++) ((uint64_t *)c)[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
}

// What stopping asks the thread for.
struct Stop {
  net_job *job;
  const char *cause;
};
static int stop(net_proxy *, void *with) {
  const Stop *s = (const Stop *)with;
  fail(s->job, NET_STATE, ~0u, "%s", s->cause);
  return 0;
}

void mscclc_net_stop(net_job *j, const char *cause) {
  Stop s = {j, cause};
  on_thread(j->proxy, stop, &s);
}

// A Doubt is who says that a wait is in vain; it may be null.
struct Doubt {
  int (*in_vain)(void *);
  void *with;
};

// await_settled waits until the thread says that the job has come to where a call waits for it, or to a failure if that
// counts. What takes long is looked at seldom: many processes on few processors set up together.
static void await_settled(net_job *j, bool failure, Doubt doubt) {
  const u64 longest = 2000000;
  for (u64 nap = 20000; !net_word(&j->settled) && !(failure && net_word(&j->failed));) {
    net_nap(nap);
    if (nap < longest) nap *= 2;
    else if (doubt.in_vain && doubt.in_vain(doubt.with)) {
      doubt.in_vain = nullptr;
      mscclc_net_stop(j, "another process has gone meanwhile");
    }
  }
}
static int settle(net_job *j, net_failure *f, Doubt doubt = {}) {
  await_settled(j, true, doubt);
  return mscclc_net_state(j, f);
}

// A Change is what a call makes of a job: it is to be in one phase, and then in another with a limit.
struct Change {
  net_job *job;
  Phase from, to;
  u64 limit_ns;
};
static int change(net_proxy *p, void *with) {
  const Change *c = (const Change *)with;
  net_job *j = c->job;
  if (j->phase != c->from || net_word(&j->failed)) return 1;
  j->phase = c->to, j->limit = c->limit_ns, j->deadline = p->now + c->limit_ns, j->settled = 0;
  if (c->to == RESETTING) {
    j->epoch++;
    for (u32 i = 0; i < j->lanes; i++) j->lane[i].taken = 0;
    for (u32 i = 0; i < j->groups; i++) j->group[i].come = 0;
  }
  return 0;
}
static int change_to(net_job *j, Phase from, Phase to, u64 limit_ns, net_failure *f) {
  Change c = {j, from, to, limit_ns};
  if (!on_thread(j->proxy, change, &c)) return 0;
  return mscclc_net_state(j, f) ? 1 : net_say(f, NET_STATE, ~0u, "the job is not where this can be asked of it");
}

int mscclc_net_connect(net_job *j, const net_handle *handles, uint64_t limit_ns, int (*in_vain)(void *), void *with,
                       net_failure *f) {
  for (u32 i = 0; i < j->peers && j->phase == MADE; i++)
    if (!read_handle(j->peer + i, handles[i]))
      return net_say(f, NET_FOREIGN, j->peer[i].process, "%u bytes from it are no handle", handles[i].bytes);
  return change_to(j, MADE, CONNECTING, limit_ns, f) || settle(j, f, Doubt{in_vain, with});
}

int mscclc_net_reset(net_job *j, net_failure *f) { return change_to(j, RUNNING, RESETTING, 0, f); }

int mscclc_net_again(net_job *j, net_failure *f) {
  return change_to(j, RESETTING, RETURNING, j->proxy->silence, f) || settle(j, f);
}

// What closing asks the thread for.
static int begin_close(net_proxy *p, void *with) {
  const Change *c = (const Change *)with;
  const bool brief = net_word(&c->job->failed) && c->limit_ns > TELL_NS;
  c->job->settled = 0;
  c->job->phase = CLOSING, c->job->deadline = p->now + (brief ? TELL_NS : c->limit_ns);
  return 0;
}
static int end_close(net_proxy *p, void *with) {
  net_job *j = (net_job *)with;
  net_job **at = &p->jobs;
  while (*at != j) at = &(*at)->next;
  *at = j->next;
  job_end(j);
  return 0;
}

void mscclc_net_close(net_job *j, uint64_t limit_ns) {
  Change c = {j, RUNNING, CLOSING, limit_ns};
  on_thread(j->proxy, begin_close, &c);
  await_settled(j, false, {});
  on_thread(j->proxy, end_close, j);
  free_job(j);
}
