// This program has two processes of one machine send messages by their proxies: hop ENGINE MODE BYTES COUNT. Modes:
//   lat     messages of BYTES back and forth; prints the median of half a round trip
//   bw      messages of BYTES one way, at most DEPTH ahead of their credits; prints GB/s
//   both    as bw, both ways at once; prints GB/s of one of them
//   kernel  as lat, with a thread that plays the kernel; in lat, bw and both the proxy's own thread plays it
//   kill    the other process is killed while messages go back and forth; prints the failure and when it was seen
//   stop    the same of one that is stopped for COUNT ms, or until the failure
#include "../job.h"

#include <algorithm>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 4, FLAGS = 2 };
static u64 bytes, count;
static u32 me;
static net_proxy *proxy;
static net_job *job;
static bool in_thread;
static u64 *flags;
static u8 *scratch[2];
static abi_net_lane *lane;
static u64 wrote;

static u64 clock_ns() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}
static void nap(u64 ms) {
  const timespec ts = {(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)};
  nanosleep(&ts, nullptr);
}
static void die(const char *what, const net_failure &f) {
  fprintf(stderr, "process %u: %s: code %d of %d: %s\n", me, what, f.code, (int)f.process, f.text);
  exit(1);
}

// post writes a row: operand 0 has data, and flag 0; operand 1 has none, and flag 1.
static void post(u32 operand, u64 n) {
  while (wrote - __atomic_load_n(&lane->taken, __ATOMIC_ACQUIRE) >= NET_DEPTH)
    if (in_thread) job_round(job);
    else sched_yield();
  abi_net_row *r = lane->row + wrote % NET_DEPTH;
  r->count = n + 1, r->operand = operand, r->copy = (u16)(n % DEPTH), r->replicas = 1;
  r->rank = 1 - me, r->flag = operand;
  r->first = 0, r->end = r->elems = r->chunk = operand ? 0 : bytes;
  __atomic_store_n(&r->seq, ++wrote, __ATOMIC_RELEASE);
}

// await is false after a failure.
static bool await(u32 flag, u64 want) {
  for (u32 n = 0; __atomic_load_n(flags + flag, __ATOMIC_ACQUIRE) < want; n++) {
    if (n % 64 == 63 && mscclc_net_state(job, nullptr)) return false;
    if (in_thread) proxy->now = net_now(), job_round(job);
    if (n % 16 == 15 || !in_thread) sched_yield();
  }
  return true;
}

static bool ping(u64 n) {
  if (me == 0) post(0, n);
  if (!await(0, n + 1)) return false;
  if (me == 1) post(0, n);
  return true;
}

static void begin(const char *engine, int wire) {
  const u64 room = bytes * DEPTH;
  for (u8 *&s : scratch) s = (u8 *)calloc(room, 1), memset(s, (int)me, room);
  flags = (u64 *)calloc(FLAGS, sizeof(u64)), lane = (abi_net_lane *)calloc(1, sizeof *lane);
  static const net_segment segment = {0, 1, 0};
  static const net_message messages[] = {{0, 0, 1, 0, 1}, {0, 1, 1, 0, 0}, {1, 0, 0, 0, 1}, {1, 1, 0, 0, 0}};
  static const u32 own[] = {0, 1};
  const net_program program = {messages, &segment, own, own, own, 4, 1, 2, 2, 1, DEPTH, 1, FLAGS, bytes, bytes, {}};
  net_memory memory[2] = {{(u64)scratch[0], room, 0, 0}, {(u64)scratch[1], room, 0, 0}};
  memory[me].flags = (u64)flags, memory[me].flag_bytes = FLAGS * sizeof(u64);
  const net_lane lanes = {(u64)lane, me, 0};
  net_failure f = {};
  static u8 got[NET_HANDLE_MOST];
  net_handle mine, other = {got, 0};
  if (mscclc_net_proxy(engine, &proxy, &f)) die("no proxy", f);
  if (mscclc_net_job(proxy, me, &program, memory, &lanes, 1, &job, &f)) die("no job", f);
  if (mscclc_net_handle(job, 1 - me, &mine, &f)) die("no handle", f);
  if (send(wire, &mine.bytes, 4, 0) != 4 || send(wire, mine.at, mine.bytes, 0) != (ssize_t)mine.bytes ||
      recv(wire, &other.bytes, 4, MSG_WAITALL) != 4 ||
      recv(wire, got, other.bytes, MSG_WAITALL) != (ssize_t)other.bytes)
    die("no other process", f);
  if (mscclc_net_connect(job, &other, 10000000000u, nullptr, nullptr, &f)) die("no connection", f);
  transport_properties p;
  if (me == 0 && !mscclc_net_properties(proxy, &p)) printf("engine: %s\n", p.name);
}

static int latency(net_proxy *, void *) {
  u64 *took = (u64 *)calloc(count, sizeof(u64)), last = clock_ns();
  for (u64 n = 0; n < count; n++) {
    if (!ping(n)) return 1;
    const u64 now = clock_ns();
    took[n] = now - last, last = now;
  }
  std::sort(took, took + count);
  if (me == 0)
    printf("%llu bytes: %.2f us, best %.2f, 90%% %.2f\n", bytes, took[count / 2] / 2e3, took[0] / 2e3,
           took[count * 9 / 10] / 2e3);
  free(took);
  return 0;
}

static int bandwidth(net_proxy *, void *) {
  u64 begun = clock_ns();
  const u64 warm = DEPTH;
  for (u64 n = 0; n < count + warm; n++) {
    if (n == warm) begun = clock_ns();
    if (me == 0) {
      if (n >= DEPTH && !await(1, n - DEPTH + 1)) return 1;
      post(0, n);
    } else {
      if (!await(0, n + 1)) return 1;
      post(1, n);
    }
  }
  if (me == 0 && !await(1, count + warm)) return 1;
  if (me == 0) printf("%llu bytes: %.2f GB/s\n", bytes, (double)(bytes * count) / (double)(clock_ns() - begun));
  return 0;
}

// both has each process send as process 0 does in bandwidth, and answer as process 1 does.
static int both(net_proxy *, void *) {
  u64 sent = 0, seen = 0;
  const u64 begun = clock_ns();
  while (sent < count || seen < count || flags[1] < count) {
    if (mscclc_net_state(job, nullptr)) return 1;
    if (sent < count && sent < flags[1] + DEPTH) post(0, sent++);
    if (flags[0] > seen) post(1, seen++);
    proxy->now = net_now(), job_round(job);
  }
  if (me == 0) printf("%llu bytes: %.2f GB/s\n", bytes, (double)(bytes * count) / (double)(clock_ns() - begun));
  return 0;
}

// suffer sends back and forth until a failure, or for some time after what befalls the other process.
static int suffer(pid_t other, bool killed) {
  u64 n = 0, at = 0, back = 0;
  const u64 begun = clock_ns();
  for (;; n++) {
    if (other && !at && clock_ns() - begun > 500000000) kill(other, killed ? SIGKILL : SIGSTOP), at = clock_ns();
    if (other && at && !back) {
      for (net_failure f; !mscclc_net_state(job, &f); nap(1))
        if (clock_ns() - at > count * 1000000) break;
      if (!killed) kill(other, SIGCONT);
      back = clock_ns();
    }
    net_failure f = {};
    if (mscclc_net_state(job, &f) || !ping(n)) {
      mscclc_net_state(job, &f);
      if (other) printf("code %d after %llu ms: %s\n", f.code, (back - at) / 1000000, f.text);
      return 0;
    }
    if (other && back && clock_ns() - back > 1000000000) break;
    if (!other && clock_ns() - begun > 60000000000u) return 1;
  }
  printf("code 0: it goes on\n");
  return 0;
}

int main(int arguments, char **argument) {
  if (arguments != 5) return 2;
  setvbuf(stdout, nullptr, _IOLBF, 0);
  bytes = strtoull(argument[3], nullptr, 10), count = strtoull(argument[4], nullptr, 10);
  const char *mode = argument[2];
  int wire[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, wire)) return 2;
  const pid_t other = fork();
  me = other == 0;
  begin(argument[1], wire[me]);
  int (*const played)(net_proxy *, void *) = !strcmp(mode, "lat")    ? latency
                                             : !strcmp(mode, "bw")   ? bandwidth
                                             : !strcmp(mode, "both") ? both
                                                                     : nullptr;
  in_thread = played;
  int code = 0;
  if (in_thread) code = on_thread(proxy, played, nullptr);
  else if (!strcmp(mode, "kernel")) code = latency(proxy, nullptr);
  else code = suffer(other, !strcmp(mode, "kill"));
  mscclc_net_close(job, 2000000000);
  const bool suffered = !strcmp(mode, "kill") || !strcmp(mode, "stop");
  if (!me) kill(other, suffered ? SIGKILL : 0), waitpid(other, nullptr, 0);
  free(flags), free(lane), free(scratch[0]), free(scratch[1]);
  return code;
}
