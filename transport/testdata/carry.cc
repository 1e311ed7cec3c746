// This program has several proxies in one process carry random messages over the engine of tests, with a thread for
// each process that plays its kernels. It checks every byte, every count, and the order of a lane's rows.
//
// carry SEED PROCESSES ROUNDS RESETS SPEC [PROCESS SPEC]: each proxy's engine has SPEC; one process may have its own.
// It prints the failure of each process, and fails where something arrived that is wrong, or a process waits for longer
// than CARRY_SECONDS.
#include "../enginetest/engine.h"
#include "../wire.h"

#include <atomic>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef WIDE  // more replicas than go together
enum { REPLICAS = NET_REPLICAS + 3, STRIDE = 1 << 14 };
#else
enum { REPLICAS = 3, STRIDE = 1 << 20 };
#endif
enum { MOST = 6, PAIRS = 5, KINDS = 3, DEPTH = 2, CHUNKS = 3, SPAN = 4, FLOOD = 400 };

static u64 mixed(u64 x) {
  x ^= x >> 33, x *= 0xff51afd7ed558ccdu, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53u;
  return x ^ x >> 33;
}
static u64 seed;
static u64 dice(u64 n) { return (seed = mixed(seed + 0x9e3779b97f4a7c15u)) % n; }

static u64 clock_ns() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}
static void nap() {
  const timespec ts = {0, 30000};
  nanosleep(&ts, nullptr);
}

// A Pair is a block of one rank that sends data to another rank's, a second count after them, and before each a flood
// of counts; and the other's block, which sends credits back. Each process has one rank. Pair i has blocks 2i and 2i +
// 1, segment i, and flags 4i (data), 4i + 1 (after), 4i + 2 (flood) and 4i + 3 (credit). All replicas do the same
// rounds, each at its pace, but for some rounds that the last replicas have no part in.
struct Pair {
  u32 from, to;
};
static Pair pairs[PAIRS];
static u32 processes, rounds, flood;  // flood: before each round
static net_message messages[PAIRS * 4];
static net_segment segments[PAIRS];
static u32 process_of[MOST], rank_of[2 * PAIRS];
static net_program program;
enum { FLAGS = PAIRS * 4 };

struct Process {
  u32 number;
  net_proxy *proxy;
  net_job *job;
  u8 *scratch[MOST];
  u64 *flags;
  abi_net_lane *lanes;
  u64 wrote[2 * PAIRS * REPLICAS];
  // The player's: rounds that were sent and received, of a pair and replica, and its flood.
  u64 sent[PAIRS][REPLICAS], got[PAIRS][REPLICAS], flooded[PAIRS][REPLICAS];
  net_failure failure;
};
static Process process[MOST];
static std::atomic<int> wrong;
static pthread_barrier_t meeting;

#define CHECK(what, ...)                       \
  do {                                         \
    if (!(what)) {                             \
      printf(__VA_ARGS__), printf("\n");       \
      wrong = 1;                               \
      return false;                            \
    }                                          \
  } while (0)

// width is how many replicas have part in round n of a pair: all in the last ones.
static u32 width(u32 pair, u64 n) {
  const u64 x = mixed(pair * 7001 + n * 13);
  return x % 3 || n + DEPTH >= rounds ? (u32)REPLICAS : (u32)(1 + x / 3 % REPLICAS);
}

// counted is the count of the last of a replica's first n rounds that it has part in.
static u64 counted(u32 pair, u32 replica, u64 n) {
  while (n && width(pair, n - 1) <= replica) n--;
  return n;
}

// shape is what round n of a pair's replica moves. Of some pairs, the replicas are at different copies.
static void shape(u32 pair, u32 replica, u64 n, abi_net_row *row) {
  static const u64 sizes[] = {0, 1, 7, 4096, 2730, 2731, 8191, 8192, 8193, 65536, 99991, STRIDE, STRIDE, STRIDE};
  const u64 all = mixed(pair * 1000003 + n * 7919 + 5), x = mixed(all + replica * 101), size = sizes[all % 14];
  row->chunk = size < STRIDE ? size : (u64)STRIDE;
  row->elems = row->chunk * CHUNKS - (row->chunk && (all >> 8) % 2 ? (all >> 9) % (2 * row->chunk) : 0);
  const bool cut = (all >> 32) % 2;
  row->first = !cut || (x >> 40) % 3 ? 0 : row->chunk / 3;
  row->end = !cut || (x >> 44) % 3 ? row->chunk : row->chunk * 2 / 3;
  if (row->end < row->first) row->end = row->first;
  row->copy = (u16)((n + pair % 2 * replica) % DEPTH), row->replicas = (u16)width(pair, n);
}

// bytes_of is written again here on purpose: it judges the proxy's.
static u64 bytes_of(const abi_net_row &row, u32 k) {
  const u64 first = k * row.chunk, rest = row.elems > first ? row.elems - first : 0;
  const u64 length = rest < row.chunk ? rest : row.chunk;
  const u64 end = length < row.end ? length : row.end, begin = length < row.first ? length : row.first;
  return end - begin;
}
static u8 byte_of(u32 pair, u32 replica, u64 n, u32 chunk, u64 i) {
  return (u8)(mixed(pair + 31 * replica + 977 * n + 65537 * chunk) + i * 131 + (i >> 8) * 17);
}
static u8 *chunk_at(u8 *scratch, const net_segment &s, u32 replica, u32 copy, u32 i) {
  return scratch + copy * program.scratch_copy + ((u64)(s.index + i) * REPLICAS + replica) * STRIDE;
}

static bool may_write(Process *p, u32 block, u32 replica, u32 rows = 1) {
  abi_net_lane *l = p->lanes + block * REPLICAS + replica;
  return p->wrote[block * REPLICAS + replica] - __atomic_load_n(&l->taken, __ATOMIC_ACQUIRE) <= NET_DEPTH - rows;
}
static void write(Process *p, u32 block, u32 replica, u32 operand, u32 rank, u32 flag, u64 count, abi_net_row row) {
  abi_net_lane *l = p->lanes + block * REPLICAS + replica;
  const u64 n = p->wrote[block * REPLICAS + replica]++;
  abi_net_row *to = l->row + n % NET_DEPTH;
  row.operand = operand, row.rank = rank, row.flag = flag, row.count = count;
  const size_t head = sizeof row.seq;
  memcpy((u8 *)to + head, (u8 *)&row + head, sizeof row - head);
  __atomic_store_n(&to->seq, n + 1, __ATOMIC_RELEASE);
}
static u64 flag(const Process *p, u32 replica, u32 number) {
  return __atomic_load_n(p->flags + replica * FLAGS + number, __ATOMIC_ACQUIRE);
}

// bare is a row without data, of all replicas or of those of a round.
static abi_net_row bare(u32 replicas) {
  abi_net_row row = {};
  row.replicas = (u16)replicas;
  return row;
}

static void send_data(Process *p, u32 i, u32 c, bool *busy) {
  u64 &n = p->sent[i][c];
  const u32 to = pairs[i].to;
  abi_net_row row = {};
  shape(i, c, n, &row);
  for (u32 k = 0; k < SPAN; k++) {
    u8 *at = chunk_at(p->scratch[to], segments[i], c, row.copy, k);
    const u64 bytes = bytes_of(row, (segments[i].first_class + k) % CHUNKS);
    for (u64 b = 0; b < bytes; b++) at[b] = byte_of(i, c, n, k, b);
  }
  write(p, 2 * i, c, 0, to, 4 * i, n + 1, row);
  write(p, 2 * i, c, 1, to, 4 * i + 1, n + 1, bare(row.replicas));
  n++, *busy = true;
}

static void play_sender(Process *p, u32 i, u32 c, bool *busy) {
  u64 &n = p->sent[i][c], &flooded = p->flooded[i][c];
  if (n < rounds && flooded < (n + 1) * flood) {
    if (!may_write(p, 2 * i, c)) return;
    write(p, 2 * i, c, 2, pairs[i].to, 4 * i + 2, ++flooded, bare(REPLICAS));
    *busy = true;
  } else if (n < rounds && width(i, n) <= c) {
    n++, *busy = true;
  } else if (n < rounds && may_write(p, 2 * i, c, 2) &&
             (n < DEPTH || flag(p, c, 4 * i + 3) >= counted(i, c, n - DEPTH + 1))) {
    send_data(p, i, c, busy);
  }
}
static bool play_receiver(Process *p, u32 i, u32 c, bool *busy) {
  u64 &n = p->got[i][c];
  const u64 after = flag(p, c, 4 * i + 1), data = flag(p, c, 4 * i);
  CHECK(data >= after, "pair %u: a count has overtaken the one before it: %llu, %llu", i, after, data);
  if (n < rounds && width(i, n) <= c) {
    n++, *busy = true;
    return true;
  }
  const u64 most = counted(i, c, n + DEPTH < rounds ? n + DEPTH : rounds);
  CHECK(data <= most, "pair %u: a count of %llu in round %llu", i, data, n);
  if (n >= rounds || data <= n || !may_write(p, 2 * i + 1, c)) return true;
  abi_net_row row = {};
  shape(i, c, n, &row);
  for (u32 k = 0; k < SPAN; k++) {
    const u8 *at = chunk_at(p->scratch[p->number], segments[i], c, row.copy, k);
    const u64 bytes = bytes_of(row, (segments[i].first_class + k) % CHUNKS);
    for (u64 b = 0; b < bytes; b++)
      CHECK(at[b] == byte_of(i, c, n, k, b), "pair %u round %llu: byte %llu of chunk %u is wrong", i, n, b, k);
  }
  write(p, 2 * i + 1, c, 0, pairs[i].from, 4 * i + 3, n + 1, bare(row.replicas));
  n++, *busy = true;
  return true;
}

// over says whether all that a process awaits has come.
static bool over(const Process *p) {
  for (u32 i = 0; i < PAIRS; i++)
    for (u32 c = 0; c < REPLICAS; c++) {
      if (pairs[i].from == p->number &&
          (p->sent[i][c] < rounds || p->flooded[i][c] < rounds * flood || flag(p, c, 4 * i + 3) < rounds))
        return false;
      if (pairs[i].to == p->number && (flag(p, c, 4 * i + 1) < rounds || p->got[i][c] < rounds ||
                                       flag(p, c, 4 * i + 2) < rounds * flood))
        return false;
    }
  return true;
}

// Every second process helps its proxy, as a kernel's threads on the host do.
static bool play(Process *p) {
  const char *seconds = getenv("CARRY_SECONDS");
  const u64 begin = clock_ns(), limit = (seconds ? strtoull(seconds, nullptr, 10) : 120) * 1000000000;
  while (!over(p) && !mscclc_net_state(p->job, &p->failure) && !wrong) {
    CHECK(clock_ns() - begin < limit, "process %u: nothing ends", p->number);
    bool busy = false;
    for (u32 i = 0; i < PAIRS; i++)
      for (u32 c = 0; c < REPLICAS; c++) {
        if (pairs[i].from == p->number) play_sender(p, i, c, &busy);
        if (pairs[i].to == p->number && !play_receiver(p, i, c, &busy)) return false;
      }
    const bool helps = p->number % 2 == 0;
    if (!busy && !(helps && mscclc_net_help(p->proxy))) nap();
  }
  return !p->failure.code;
}

static void forget(Process *p) {
  memset(p->flags, 0, REPLICAS * FLAGS * sizeof(u64));
  memset(p->lanes, 0, 2 * PAIRS * REPLICAS * sizeof *p->lanes);
  memset(p->wrote, 0, sizeof p->wrote), memset(p->sent, 0, sizeof p->sent);
  memset(p->got, 0, sizeof p->got), memset(p->flooded, 0, sizeof p->flooded);
}

static u32 resets;
static net_handle handles[MOST][MOST];  // of a process, for another
static u8 handle_bytes[MOST][MOST][256];

// Where the seed is odd, process 0 ends by exit(). notified waits until its peers know that.
enum { LAUNCHES = 123 };
static const u64 marks[REPLICAS] = {~0ull, 5};
static bool notified(Process *p, const u32 *peers, u32 count) {
  bool has = false;
  for (u32 i = 0; i < count; i++) has |= peers[i] == 0;
  while (has && !mscclc_net_exits(p->job) && !mscclc_net_state(p->job, &p->failure)) nap();
  if (!has || !mscclc_net_exits(p->job)) return true;
  u32 number = ~0u;
  u64 got[REPLICAS];
  const u64 launches = mscclc_net_exited(p->job, 0, &number, got, REPLICAS);
  CHECK(number == 0 && launches == LAUNCHES && !memcmp(got, marks, sizeof got), "process %u exits with others", number);
  return true;
}

static void *live(void *of) {
  Process *p = (Process *)of;
  u32 peers[MOST];
  const u32 count = mscclc_net_peers(p->job, peers, MOST);
  for (u32 i = 0; i < count; i++) {
    net_handle &h = handles[p->number][peers[i]];
    u8 *copy = handle_bytes[p->number][peers[i]];
    if (mscclc_net_handle(p->job, peers[i], &h, &p->failure) || h.bytes > sizeof handle_bytes[0][0]) abort();
    memcpy(copy, h.at, h.bytes), h.at = copy;
  }
  pthread_barrier_wait(&meeting);
  net_handle mine[MOST];
  for (u32 i = 0; i < count; i++) mine[i] = handles[peers[i]][p->number];
  bool good = !mscclc_net_connect(p->job, mine, 20000000000u, nullptr, nullptr, &p->failure) && play(p);
  for (u32 r = 0; r < resets; r++) {
    pthread_barrier_wait(&meeting);
    good = good && !mscclc_net_reset(p->job, &p->failure);
    if (good) forget(p);
    pthread_barrier_wait(&meeting);
    good = good && !mscclc_net_again(p->job, &p->failure) && play(p);
  }
  if (seed % 2) good = good && p->number && notified(p, peers, count);
  if (seed % 2 && !p->number) mscclc_net_exit(p->job, LAUNCHES, marks, REPLICAS, 3000000000u);
  else mscclc_net_close(p->job, 3000000000u);
  mscclc_net_proxy_end(p->proxy);
  return nullptr;
}

static void make_program() {
  for (u32 i = 0; i < PAIRS; i++) {
    pairs[i].from = (u32)dice(processes), pairs[i].to = (u32)((pairs[i].from + 1 + dice(processes - 1)) % processes);
    rank_of[2 * i] = pairs[i].from, rank_of[2 * i + 1] = pairs[i].to;
    segments[i] = net_segment{i * SPAN, SPAN, (u32)dice(CHUNKS)};
    messages[4 * i] = net_message{2 * i, 0, pairs[i].to, i, 1};
    messages[4 * i + 1] = net_message{2 * i, 1, pairs[i].to, 0, 0};
    messages[4 * i + 2] = net_message{2 * i, 2, pairs[i].to, 0, 0};
    messages[4 * i + 3] = net_message{2 * i + 1, 0, pairs[i].from, 0, 0};
  }
  for (u32 r = 0; r < processes; r++) process_of[r] = r;
  program = net_program{messages, segments, process_of, process_of, rank_of, PAIRS * 4, PAIRS, processes, 2 * PAIRS,
                        REPLICAS, DEPTH, CHUNKS, FLAGS, STRIDE, (u64)PAIRS * SPAN * REPLICAS * STRIDE, {}};
}

static bool make_process(u32 number, const char *spec) {
  Process *p = process + number;
  p->number = number;
  const u64 scratch = program.scratch_copy * DEPTH;
  p->flags = (u64 *)calloc(REPLICAS * FLAGS, sizeof(u64));
  p->lanes = (abi_net_lane *)calloc(2 * PAIRS * REPLICAS, sizeof *p->lanes);
  net_memory memory[MOST] = {};
  for (u32 r = 0; r < processes; r++) {
    p->scratch[r] = (u8 *)calloc(scratch, 1);
    memory[r] = net_memory{(u64)p->scratch[r], scratch, 0, 0};
  }
  memory[number].flags = (u64)p->flags, memory[number].flag_bytes = REPLICAS * FLAGS * sizeof(u64);
  net_lane lanes[2 * PAIRS * REPLICAS];
  u32 count = 0;
  for (u32 b = 0; b < 2 * PAIRS; b++)
    for (u32 c = 0; rank_of[b] == number && c < REPLICAS; c++)
      lanes[count++] = net_lane{(u64)(p->lanes + b * REPLICAS + c), b, c};
  net_failure f = {};
  CHECK(!mscclc_net_proxy_of(&transport_test, spec, &p->proxy, &f), "no proxy: %s", f.text);
  CHECK(!mscclc_net_job(p->proxy, number, &program, memory, lanes, count, &p->job, &f), "no job: %s", f.text);
  return true;
}

int main(int count, char **argument) {
  if (count < 6) return 2;
  seed = strtoull(argument[1], nullptr, 10), processes = (u32)atoi(argument[2]);
  rounds = (u32)atoi(argument[3]), resets = (u32)atoi(argument[4]);
  flood = (FLOOD + rounds - 1) / rounds;
  make_program();
  pthread_barrier_init(&meeting, nullptr, processes);
  pthread_t thread[MOST];
  for (u32 i = 0; i < processes; i++) {
    char spec[200];
    const bool own = count > 7 && atoi(argument[6]) == (int)i;
    snprintf(spec, sizeof spec, "carry,seed=%llu,%s", mixed(seed + i) >> 1, argument[own ? 7 : 5]);
    if (!make_process(i, spec)) return 1;
  }
  for (u32 i = 0; i < processes; i++) pthread_create(thread + i, nullptr, live, process + i);
  for (u32 i = 0; i < processes; i++) pthread_join(thread[i], nullptr);
  for (u32 i = 0; i < processes; i++) {
    const net_failure &f = process[i].failure;
    printf("process %u: %d of %d: %s\n", i, f.code, (int)f.process, f.text);
    for (u32 r = 0; r < processes; r++) free(process[i].scratch[r]);
    free(process[i].flags), free(process[i].lanes);
  }
  return wrong;
}
