// A program that uses NCCL as others do, for tests. Its arguments are commands, which all ranks do: client.cc has
// communicators and groups, windows.cc windows, data.cc the collectives and their data. Ranks are
// processes (RANK, WORLD), or the threads of one or several (THREADS, each).
#include "client.h"

#include <chrono>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern "C" Result ncclCommGetUniqueId(Comm, UniqueId *);
extern "C" Result ncclCommRegister(Comm, void *, size_t, void **);

Driver cu;

// accept4 takes the library's calls: with CLIENT_ACCEPT_MS it is as slow as on a machine with much to do.
extern "C" int accept4(int fd, struct sockaddr *of, socklen_t *size, int flags) {
  if (const char *ms = getenv("CLIENT_ACCEPT_MS")) usleep((useconds_t)atoi(ms) * 1000);
  return (int)syscall(SYS_accept4, fd, of, size, flags);
}

// rename takes the library's calls, too: with CLIENT_RENAME_MS the folder is as slow as on a busy file server.
extern "C" int rename(const char *from, const char *to) {
  if (const char *ms = getenv("CLIENT_RENAME_MS")) usleep((useconds_t)atoi(ms) * 1000);
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

void fail(const Rank &r, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "client: rank %d: ", r.rank);
  vfprintf(stderr, format, args);
  fprintf(stderr, "\n");
  _exit(1);
}

void expect(Rank &r, const char *what, Result got) {
  if (r.expect >= 0 && got != r.expect && !(got == IN_PROGRESS && r.expect == SUCCESS))
    fail(r, "%s gives %d, not %d: %s", what, got, r.expect, ncclGetLastError(nullptr));
  r.expect = 0;
}

u64 take(Rank &r, size_t bytes) {
  const size_t most = getenv("CLIENT_POOL") ? strtoull(getenv("CLIENT_POOL"), nullptr, 10) : 0;
  u64 buffer = r.pool + r.taken;
  if (!r.pool && cu.alloc(&buffer, bytes)) fail(r, "no memory");
  if (r.pool && (r.taken += (bytes + 511) / 512 * 512) > most) fail(r, "the pool is too small");
  return buffer;
}
void give(Rank &r, u64 buffer) {
  if (!r.pool) cu.release(buffer);
}

void *side(Rank &r, int device) {
  void *context = nullptr;
  if (cu.retain(&context, device) || cu.use(context)) fail(r, "no GPU %d", device);
  if (!r.sides[device] && cu.stream(&r.sides[device], 1)) fail(r, "no stream");
  return r.sides[device];
}

namespace {

void open_driver() {
  const char *given = getenv("MSCCLC_LIBCUDA");
  void *h = dlopen(given ? given : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!h) fprintf(stderr, "client: %s\n", dlerror()), _exit(1);
  const struct {
    void *at;
    const char *name;
  } all[] = {{&cu.init, "cuInit"}, {&cu.count, "cuDeviceGetCount"}, {&cu.retain, "cuDevicePrimaryCtxRetain"},
             {&cu.use, "cuCtxSetCurrent"}, {&cu.stream, "cuStreamCreate"}, {&cu.sync, "cuStreamSynchronize"},
             {&cu.alloc, "cuMemAlloc_v2"},
             {&cu.release, "cuMemFree_v2"}, {&cu.put, "cuMemcpyHtoDAsync_v2"},
             {&cu.get, "cuMemcpyDtoHAsync_v2"}, {&cu.room, "cuMemGetInfo_v2"},
             {&cu.capture, "cuStreamBeginCapture_v2"}, {&cu.capture_end, "cuStreamEndCapture"},
             {&cu.instantiate, "cuGraphInstantiateWithFlags"}, {&cu.replay, "cuGraphLaunch"}};
  for (const auto &f : all) *(void **)f.at = dlsym(h, f.name);
  if (cu.init(0) || cu.count(&cu.gpus)) fprintf(stderr, "client: no driver\n"), _exit(1);
}

UniqueId read_id(const std::string &name) {
  UniqueId id;
  const std::string path = std::string(getenv("MSCCLC_FAKE_DIR")) + "/id-" + name;
  for (;;) {
    const int fd = open(path.c_str(), O_RDONLY);
    if (fd >= 0 && read(fd, &id, sizeof id) == sizeof id) return close(fd), id;
    usleep(1000);
  }
}

// the_id is the identity that rank 0 makes, of a communicator or anew, and others read from a file. It is made once.
UniqueId the_id(Rank &r, const std::string &name, Comm of = nullptr) {
  const bool known = r.ids.count(name);
  UniqueId &id = r.ids[name];
  if (known) return id;
  const std::string path = std::string(getenv("MSCCLC_FAKE_DIR")) + "/id-" + name, early = path + ".new";
  if (r.rank == 0) {
    expect(r, "ncclGetUniqueId", of ? ncclCommGetUniqueId(of, &id) : ncclGetUniqueId(&id));
    const int fd = open(early.c_str(), O_WRONLY | O_CREAT, 0600);
    if (write(fd, &id, sizeof id) != sizeof id || rename(early.c_str(), path.c_str())) fail(r, "%s", path.c_str());
    close(fd);
    return id;
  }
  return id = read_id(name);
}

int number(const std::string &s) { return atoi(s.c_str()); }
Comm &comm_of(Rank &r, const std::string &s) { return r.comms[number(s)]; }

void in_child(Rank &r) {
  fflush(stdout);
  const pid_t child = fork();
  if (!child) {
    Comm fresh = nullptr;
    UniqueId id = {};
    Result state = 0;
    alarm(20);
    const Result a = ncclAllReduce(nullptr, nullptr, 8, 7, 0, r.comms[0], nullptr);
    const Result b = ncclCommInitRank(&fresh, r.ranks, id, r.rank);
    const Result c = ncclCommGetAsyncError(r.comms[0], &state), d = ncclGroupStart();
    _exit(a && b && c && d ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status) fail(r, "the forked child ends with %d", status);
}

void unknown(Rank &r) {
  typedef double (*Tomorrow)(double, int, float);
  const Tomorrow f = (Tomorrow)dlsym(RTLD_DEFAULT, "ncclOfTomorrow");
  if (!f || f(1, 2, 4) != 7) fail(r, "a later function does not pass through");
}

void put_signal(Rank &r) {
  typedef Result (*Put)(const void *, size_t, int, int, void *, size_t, int, int, unsigned, Comm, void *);
  const Put f = (Put)dlsym(RTLD_DEFAULT, "ncclPutSignal");
  if (!f || f((void *)1, 2, 3, 4, (void *)5, 6, 7, 8, 9, (Comm)10, (void *)11)) fail(r, "ncclPutSignal");
}

void run(Rank &r, const std::vector<std::string> &w);
#include "wrong.h"
#include "make.h"
#include "files.h"

// until_error polls as a watchdog does.
void until_error(Rank &r, Comm c) {
  Result state = SUCCESS;
  while (state == SUCCESS || state == IN_PROGRESS) {
    if (ncclCommGetAsyncError(c, &state)) fail(r, "ncclCommGetAsyncError");
    usleep(1000);
  }
  printf("rank %d: error %d: %s\n", r.rank, state, ncclGetLastError(c));
}

void registered(Rank &r, Comm c) {
  void *handle = nullptr;
  expect(r, "ncclCommRegister", ncclCommRegister(c, &handle, sizeof handle, &handle));
}

// until_fails calls until a call gives an error.
void until_fails(Rank &r, Comm c) {
  void *in = (void *)take(r, 4096), *out = (void *)take(r, 4096);
  while (!ncclAllReduce(in, out, 10, 7, 0, c, r.streams[0])) usleep(20000);
}

// come says that a rank has come, and meet waits until all have.
std::string come(Rank &r, const std::string &name) {
  const std::string path = std::string(getenv("MSCCLC_FAKE_DIR")) + "/meet-" + name + "-";
  close(open((path + std::to_string(r.rank)).c_str(), O_WRONLY | O_CREAT, 0600));
  return path;
}
void meet(Rank &r, const std::string &name) {
  const std::string path = come(r, name);
  for (int i = 0; i < r.ranks; i++)
    while (access((path + std::to_string(i)).c_str(), F_OK)) usleep(1000);
}

// stopped stops this process for a number of milliseconds.
void stopped(int ms) {
  const pid_t self = getpid();
  if (!fork()) {
    usleep((useconds_t)ms * 1000);
    kill(self, SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
}

// kill_after has this process be killed after a number of milliseconds.
void kill_after(int ms) {
  const pid_t self = getpid();
  if (fork()) return;
  usleep((useconds_t)ms * 1000);
  kill(self, SIGKILL);
  _exit(0);
}

// rest sleeps for a number of milliseconds, whatever signals come.
void rest(int ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (std::chrono::steady_clock::now() < end) usleep(1000);
}

// signals has the process get one at an interval in microseconds. As Python's, the handler has no SA_RESTART.
void signals(long us) {
  struct sigaction act = {};
  act.sa_handler = [](int) {};
  sigaction(SIGUSR1, &act, nullptr);
  struct sigevent how = {};
  how.sigev_notify = SIGEV_SIGNAL, how.sigev_signo = SIGUSR1;
  timer_t timer;
  const struct itimerspec each = {{0, us * 1000}, {0, us * 1000}};
  if (timer_create(CLOCK_MONOTONIC, &how, &timer) || timer_settime(timer, 0, &each, nullptr)) abort();
}

void well(Rank &r, Comm c) {
  Result state = SUCCESS;
  if (ncclCommGetAsyncError(c, &state) || state) fail(r, "the communicator has error %d: %s", state,
      ncclGetLastError(c));
}

// begin_capture begins one that is relaxed, or has another mode: 0 is global, 1 is of the thread.
void begin_capture(Rank &r, const std::vector<std::string> &w) {
  if (r.spread) side(r, gpu_of(number(w[1])));
  if (cu.capture(r.streams[number(w[1])], w.size() > 2 ? number(w[2]) : 2)) fail(r, "capture");
}

void end_capture(Rank &r, const std::vector<std::string> &w) {
  void *stream = r.streams[number(w[1])], *graph = nullptr;
  if (r.spread) side(r, gpu_of(number(w[1])));
  if (cu.capture_end(stream, &graph) || cu.instantiate(&r.graph, graph, 0)) fail(r, "the capture");
  if (r.pool) meet(r, "graph" + std::to_string((u64)r.graphs++));
  for (int i = 0; i < number(w[2]); i++)
    if (cu.replay(r.graph, stream)) fail(r, "the replay");
}

void wait_for(Rank &r, Comm c) {
  Result state = IN_PROGRESS;
  while (state == IN_PROGRESS) expect(r, "ncclCommGetAsyncError", ncclCommGetAsyncError(c, &state));
}

// warm calls until a program runs a call, which NCCL does not see. All ranks must make equally many calls.
void warm(Rank &r, const std::vector<std::string> &w) {
  const bool group = w.size() > 2 && w[2] == "group", window = w.size() > 2 && w[2] == "window";
  void *nccl = getenv("MSCCLC_NCCL") ? dlopen(getenv("MSCCLC_NCCL"), RTLD_NOW | RTLD_NOLOAD) : RTLD_DEFAULT;
  const auto reduces = (u64 (*)())dlsym(nccl, "standin_reduces");
  std::vector<std::string> call = {"allreduce", w[1], "10", "7", "0", "0", "0"};
  if (window) call.insert(call.end(), {"-", "0", "0"});
  if (!reduces) fail(r, "the mock NCCL does not count");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);  // ranks get memory in their own time
  for (int n = 1; n % 64 || std::chrono::steady_clock::now() < end; n++) {
    const u64 before = reduces();
    if (group) expect(r, "ncclGroupStart", ncclGroupStart());
    collective(r, call);
    if (group) expect(r, "ncclGroupEnd", ncclGroupEnd());
    if (reduces() == before)
      return (void)printf("rank %d: communicator %s runs programs from call %d\n", r.rank, w[1].c_str(), n);
    if (n % 64 == 0) verify(r), usleep(1000);
  }
  fail(r, "no program runs calls of communicator %s", w[1].c_str());
}

// timed prints how long a command takes.
void timed(Rank &r, const std::vector<std::string> &w) {
  const auto begin = std::chrono::steady_clock::now();
  run(r, {w.begin() + 1, w.end()});
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  printf("rank %d: %s took %.3f ms\n", r.rank, w[1].c_str(), took.count());
}

// repeat does a command a number of times, and verifies now and then.
void repeat(Rank &r, const std::vector<std::string> &w) {
  for (int i = 1; i <= number(w[1]); i++) {
    run(r, {w.begin() + 2, w.end()});
    if (i % 16 == 0) verify(r);
  }
}

void free_memory(Rank &r) {
  size_t left = 0, all = 0;
  if (cu.room(&left, &all)) fail(r, "no free memory");
  printf("rank %d: %zu KiB are free\n", r.rank, left >> 10);
}

void run(Rank &r, const std::vector<std::string> &w) {
  const std::string &what = w[0];
  if (what == "timed") return timed(r, w);
  if (what == "repeat") return repeat(r, w);
  if (what == "room") return free_memory(r);
  if (what == "bench") return measure(r, number(w[1]), number(w[2]));
  if (what == "green") return alone_on_green(r);
  if (what == "init") return init(r, w);
  if (what == "warm") return warm(r, w);
  if (what == "initall" || what == "initgroup") return init_all(r, number(w[1]), what == "initgroup");
  if (what == "stop") return stopped(number(w[1]));
  if (what == "well") return well(r, comm_of(r, w[1]));
  if (what == "start") return expect(r, "ncclGroupStart", ncclGroupStart());
  if (what == "end") return expect(r, "ncclGroupEnd", ncclGroupEnd());
  if (what == "split")
    return expect(r, "ncclCommSplit", ncclCommSplit(comm_of(r, w[1]), r.rank % number(w[3]), r.rank, &comm_of(r, w[2]),
        nullptr));
  if (what == "makeid") return (void)the_id(r, w[1]);
  if (what == "try") return try_init(r, w[1]);
  if (what == "leave") return leave(r, (size_t)number(w[1]));
  if (what == "nocolor") return no_color(r, comm_of(r, w[1]));
  if (what == "shrink") return shrink(r, w);
  if (what == "grow") return grow(r, w);
  if (what == "register") return registered(r, comm_of(r, w[1]));
  if (what == "meet") return meet(r, w[1]);
  if (what == "come") return (void)come(r, w[1]);
  if (what == "wait") return wait_for(r, comm_of(r, w[1]));
  if (what == "destroy") return expect(r, "ncclCommDestroy", ncclCommDestroy(comm_of(r, w[1])));
  if (what == "abort") return expect(r, "ncclCommAbort", ncclCommAbort(comm_of(r, w[1])));
  if (what == "finalize") return expect(r, "ncclCommFinalize", ncclCommFinalize(comm_of(r, w[1])));
  if (what == "revoke") return expect(r, "ncclCommRevoke", ncclCommRevoke(comm_of(r, w[1]), 0));
  if (what == "suspend") return expect(r, "ncclCommSuspend", ncclCommSuspend(comm_of(r, w[1]), 1));
  if (what == "resume") return expect(r, "ncclCommResume", ncclCommResume(comm_of(r, w[1])));
  if (what == "fork") return in_child(r);
  if (what == "unknown") return unknown(r);
  if (what == "putsignal") return put_signal(r);
  if (what == "nulls") return nulls(r, comm_of(r, w[1]));
  if (what == "as") return as(r, number(w[1]), number(w[2]));
  if (what == "missing") return missing(r);
  if (what == "codes") return codes(r, comm_of(r, w[1]));
  if (what == "again") return again(r, w);
  if (what == "many") return many(r, number(w[1]), number(w[2]));
  if (what == "counts") return counts(r);
  if (what == "childmakes") return child_makes(r);
  if (what == "untilerror") return until_error(r, comm_of(r, w[1]));
  if (what == "untilfails") return until_fails(r, comm_of(r, w[1]));
  if (what == "quit") _exit(0);
  if (what == "exit") return r.rank == number(w[1]) ? exit(0) : (void)0;
  if (what == "kill") return (void)(r.rank == number(w[1]) && kill(getpid(), SIGKILL));
  if (what == "killafter") return kill_after(number(w[1]));
  if (what == "environment") return (void)setenv(w[1].c_str(), w[2].c_str(), 1);
  if (what == "sleep") return rest(number(w[1]));
  if (what == "touch") return (void)close(open(w[1].c_str(), O_WRONLY | O_CREAT, 0600));
  if (what == "remove") return (void)!system(("rm -r " + w[1]).c_str());
  if (what == "sync") return verify(r);
  if (what == "full") return full(r, number(w[1]));
  if (what == "spare") return spare();
  if (what == "busy") return busy(r, number(w[1]));
  if (what == "signals") return signals(number(w[1]));
  if (what == "expect") return (void)(r.expect = number(w[1]));
  if (what == "capture") return begin_capture(r, w);
  if (what == "endcapture") return end_capture(r, w);
  if (what == "replay") return (void)(cu.replay(r.graph, r.streams[number(w[1])]) ? fail(r, "the replay") : (void)0);
  if (!windows(r, w)) collective(r, w);
}

void all(Rank r, int argc, char **argv) {
  void *context = nullptr;
  if (cu.retain(&context, gpu_of(r.rank)) || cu.use(context)) fail(r, "no GPU");
  for (void *&s : r.streams) cu.stream(&s, 1);
  if (const char *pool = getenv("CLIENT_POOL")) {
    if (cu.alloc(&r.pool, strtoull(pool, nullptr, 10))) fail(r, "no memory");
    meet(r, "pool");
  }
  for (int i = 1; i < argc; i++) {
    std::vector<std::string> words;
    char *text = strdup(argv[i]);
    for (char *save, *at = strtok_r(text, " ", &save); at; at = strtok_r(nullptr, " ", &save)) words.push_back(at);
    free(text);
    if (getenv("CLIENT_TRACE")) fprintf(stderr, "rank %d: %s\n", r.rank, argv[i]);
    if (words[0][0] == '@') {  // of one rank
      if (number(words[0].substr(1)) != r.rank) continue;
      words.erase(words.begin());
    }
    run(r, words);
  }
  verify(r);
}

}  // namespace

int main(int argc, char **argv) {
  open_driver();
  open_maps();
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const char *limit = getenv("CLIENT_ALARM");
  alarm(limit ? (unsigned)atoi(limit) : 60);  // who hangs ends
  Rank r = {};
  r.ranks = atoi(getenv("WORLD"));
  if (const char *text = getenv("THREADS")) {  // the number of ranks of this process
    const int count = atoi(text), first = count * atoi(getenv("RANK"));
    std::vector<std::thread> threads;
    for (int i = first; i < first + count; i++)
      threads.emplace_back([=] { Rank own = r; own.rank = i; all(own, argc, argv); });
    for (std::thread &t : threads) t.join();
  } else {
    r.rank = atoi(getenv("RANK"));
    all(r, argc, argv);
  }
  return 0;
}
