// A program of NCCL whose library has calls that fail (faults/faults.cc), for tests. It reads commands, and answers
// each by a line; its ranks are threads of one process (THREADS), or processes.
//
//	faulty SCENE
//	record        runs three rounds and ends: prints "site PHASE AT NAME" for each call of a phase (1, 2, end)
//	steady AT NEXT  has the call at AT fail in a round of ranks that have run some, and the one at NEXT that
//	              follows, unless that is 0
//	fresh AT NEXT has it fail in ranks that have run nothing, which run two rounds more, and end
//	stays AT      what the call at AT makes may stay until the process ends
//	signal AT     has the call at AT fail as by a signal (EINTR), else as steady
//	random K SEED has each call fail with probability 1/K, in ranks that have run some rounds, or none
//
// The answer says whether the call was made, and how the round went: ours, nccl, or the text of an error. Other answers
// are faults: crash, hang, wrong, left.
#include "faulty.h"

#include <algorithm>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

Driver cu;
Meeting *meeting;
FaultControl *control;
const Scene *scene;
int ranks;
bool threads;

namespace {

std::vector<pid_t> children;

// start starts ranks that have run nothing.
void start() {
  memset((void *)meeting, 0, sizeof *meeting);
  memset((void *)control->site, 0, sizeof control->site);
  for (int i = 0; i < (threads ? 1 : ranks); i++) {
    const pid_t pid = fork();
    if (pid) {
      children.push_back(pid);
      continue;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    play(i);
    exit(0);
  }
}

void kill_all() {
  for (pid_t p : children) kill(p, SIGKILL);
  for (pid_t p : children) waitpid(p, nullptr, 0);
  children.clear();
}

// ended waits for the ends of all processes, and says what is wrong with one.
std::string ended() {
  std::string bad;
  const u64 end = now_ms() + LIMIT_MS;
  for (pid_t p : children) {
    int status = 0;
    pid_t got;
    while ((got = waitpid(p, &status, WNOHANG)) == 0 && now_ms() < end) usleep(1000);
    if (got == 0) bad = "hang: a process does not end";
    else if (WIFSIGNALED(status)) bad = "crash: signal " + std::to_string(WTERMSIG(status)) + " at the end";
    else if (WEXITSTATUS(status)) bad = "crash: exit " + std::to_string(WEXITSTATUS(status)) + " at the end";
    if (got == 0) kill(p, SIGKILL), waitpid(p, nullptr, 0);
  }
  children.clear();
  return bad;
}

// run_round has all ranks run a round, and says what came of it.
std::string run_round() {
  meeting->failed = 0, meeting->ids = 0, meeting->met = 0, meeting->left = 0, meeting->settles = 0;
  meeting->ways[0] = meeting->ways[1] = 0;
  memset(meeting->text, 0, sizeof meeting->text);
  const u32 before = meeting->done;
  meeting->begun++;
  const u64 end = now_ms() + LIMIT_MS;
  while (meeting->done < before + (u32)ranks) {
    for (pid_t p : children) {
      int status;
      if (waitpid(p, &status, WNOHANG) != p) continue;
      std::string bad = WIFSIGNALED(status) ? "crash: signal " + std::to_string(WTERMSIG(status))
                                            : "crash: exit " + std::to_string(WEXITSTATUS(status));
      if (meeting->hung[0]) bad = meeting->hung;
      for (pid_t &q : children)
        if (q == p) q = 0;
      children.erase(std::remove(children.begin(), children.end(), 0), children.end());
      return bad;
    }
    if (now_ms() > end) return "hang: a round does not end";
    usleep(1000);
  }
  if (meeting->left) return "left: " + std::to_string((u32)meeting->left) + " things";
  for (int i = 0; i < ranks; i++)
    if (meeting->text[i][0]) return std::string(meeting->text[i]);
  return meeting->ways[0] && meeting->ways[1] ? "both" : meeting->ways[0] ? "ours" : "nccl";
}

bool is_bad(const std::string &s) {
  for (const char *word : {"crash", "hang", "wrong", "left"})
    if (!s.compare(0, strlen(word), word)) return true;
  return false;
}

void print_sites(const char *phase) {
  for (FaultSite &s : control->site) {
    if (s.calls && (*phase != 'f' || !s.written)) printf("site %s %llx %s\n", phase, s.at, s.name);
    s.written |= s.calls != 0;
    s.calls = 0;
  }
}

void print_failed() {
  for (u64 i = 0; i < control->fired && i < FAULT_FIRED; i++) printf("failed %llx\n", control->failed[i]);
}

std::string record() {
  start();
  meeting->learn = 1;
  std::string way;
  for (const char *phase : {"1", "2", "3"}) {
    way = run_round();
    if (is_bad(way)) return way;
    print_sites(phase);
  }
  meeting->stop = 1;
  const std::string end = ended();
  print_sites("end");
  return end.empty() ? way : end;
}

void arm(u64 at, u64 next) {
  control->fired = control->seen = 0, control->next = next, control->armed = at;
}
void disarm() { control->armed = control->next = control->one_in = control->interrupts = 0; }

std::string fresh(u64 at, u64 next) {
  if (!children.empty()) kill_all();
  start();
  arm(at, next);
  std::string way = run_round();
  for (int i = 0; i < 2 && !is_bad(way); i++) {
    const std::string more = run_round();
    if (is_bad(more)) way = more + " (in a later round)";
  }
  if (is_bad(way)) return kill_all(), way;
  meeting->stop = 1;
  const std::string bad = ended();
  return bad.empty() ? way : bad;
}

// steady has ranks go on that have run rounds before.
std::string steady(u64 at, u64 next) {
  if (children.empty()) {
    disarm();
    start();
    for (int i = 0; i < 3; i++) {
      const std::string way = run_round();
      if (is_bad(way)) return kill_all(), "before: " + way;
    }
  }
  arm(at, next);
  const std::string way = run_round();
  disarm();
  if (is_bad(way)) return kill_all(), way;
  return way;
}

std::string random_round(u64 one_in, u64 seed) {
  std::string way;
  if (seed % 4 == 0 && !children.empty()) {
    meeting->stop = 1;
    way = ended();
  }
  if (children.empty()) start();
  control->fired = 0, control->seed = seed, control->one_in = one_in;
  if (way.empty()) way = run_round();
  control->one_in = 0;
  if (is_bad(way)) kill_all();
  return way;
}

std::string stays(u64 at) {
  FaultUsual *u = control->usual;
  while (u->at && u->at != at) u++;
  u->at = at, u->open = ~0ull;
  return "";
}

}  // namespace

int main(int argc, char **argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  ranks = atoi(getenv("WORLD")), threads = getenv("THREADS") != nullptr;
  for (const Scene *s = scenes; s->name; s++)
    if (argc > 1 && !strcmp(s->name, argv[1])) scene = s;
  const int fd = open(getenv("MSCCLC_FAULTS"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (!scene || fd < 0 || ftruncate(fd, sizeof *control)) return perror("faulty"), 1;
  control = (FaultControl *)mmap(nullptr, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  meeting = (Meeting *)mmap(nullptr, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  close(fd);
  char line[256], what[32];
  while (fgets(line, sizeof line, stdin)) {
    u64 a = 0, b = 0;
    std::string answer = "wrong: no such command";
    sscanf(line, "%31s %llx %llx", what, &a, &b);
    const u64 begin = now_ms();
    if (!strcmp(what, "record")) answer = record();
    if (!strcmp(what, "stays")) answer = stays(a);
    if (!strcmp(what, "steady")) answer = steady(a, b);
    if (!strcmp(what, "fresh")) answer = fresh(a, b);
    if (!strcmp(what, "random")) answer = random_round(a, b);
    if (!strcmp(what, "signal")) control->interrupts = 1, answer = steady(a, 0);
    print_sites("fault");
    print_failed();
    fflush(stdout);
    printf("answer %d %llu %s\n", (int)control->fired, now_ms() - begin, answer.c_str());
    disarm();
  }
  if (!children.empty()) kill_all();
  return 0;
}
