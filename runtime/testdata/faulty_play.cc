// What a process does before a round and after it: its ranks, and what they have left.
#include "faulty.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

void open_driver() {
  void *h = dlopen(getenv("MSCCLC_LIBCUDA"), RTLD_NOW | RTLD_GLOBAL);
  if (!h) fprintf(stderr, "faulty: %s\n", dlerror()), _exit(1);
  const struct {
    void *at;
    const char *name;
  } all[] = {{&cu.init, "cuInit"}, {&cu.count, "cuDeviceGetCount"}, {&cu.retain, "cuDevicePrimaryCtxRetain"},
             {&cu.use, "cuCtxSetCurrent"}, {&cu.current, "cuCtxGetCurrent"},
             {&cu.mode, "cuThreadExchangeStreamCaptureMode"}, {&cu.stream, "cuStreamCreate"},
             {&cu.stream_end, "cuStreamDestroy_v2"},
             {&cu.sync, "cuStreamSynchronize"}, {&cu.query, "cuStreamQuery"}, {&cu.alloc, "cuMemAlloc_v2"},
             {&cu.release, "cuMemFree_v2"}, {&cu.capture, "cuStreamBeginCapture_v2"},
             {&cu.capture_end, "cuStreamEndCapture"}, {&cu.instantiate, "cuGraphInstantiateWithFlags"},
             {&cu.replay, "cuGraphLaunch"}, {&cu.graph_end, "cuGraphExecDestroy"}, {&cu.noted_end, "cuGraphDestroy"},
             {&cu.event, "cuEventCreate"}, {&cu.record, "cuEventRecord"}, {&cu.await, "cuStreamWaitEvent"},
             {&cu.create, "cuMemCreate"}, {&cu.drop, "cuMemRelease"}, {&cu.reserve, "cuMemAddressReserve"},
             {&cu.map, "cuMemMap"}, {&cu.access, "cuMemSetAccess"}, {&cu.granularity, "cuMemGetAllocationGranularity"},
             {&cu.unmap, "cuMemUnmap"}, {&cu.reserve_end, "cuMemAddressFree"}};
  for (const auto &f : all) *(void **)f.at = dlsym(h, f.name);
  int gpus = 0;
  if (cu.init(0) || cu.count(&gpus) || gpus < ranks) fprintf(stderr, "faulty: no driver\n"), _exit(1);
}

void barrier() {
  const u32 round = meeting->round;
  if (++meeting->arrived == (u32)ranks) meeting->arrived = 0, meeting->round++;
  while (meeting->round == round && !meeting->stop) usleep(1000);
}

int open_files(bool print = false) {
  int n = 0;
  DIR *d = opendir("/proc/self/fd");
  for (dirent *file; (file = readdir(d)); n++) {
    char link[200] = "";
    if (print && readlink((std::string("/proc/self/fd/") + file->d_name).c_str(), link, sizeof link - 1) > 0)
      fprintf(stderr, "open: %s\n", link);
  }
  closedir(d);
  return n;
}

// left is what this process has open that it has not usually: what the library has made, and files. It settles when
// later calls have freed what communicators leave.
struct Left {
  u64 (*of)(bool print);
  void (*learn)();
  int files;
  u64 now(bool print) {
    const int n = open_files() - files;
    if (print && n > 0) printf("left 0 %d files\n", n), open_files(true);
    return (of ? of(print) : 0) + (u64)(n > 0 ? n : 0);
  }
} left;

// look_again has the library look what it can free.
void look_again(Rank &r) {
  Comm one;
  if (ncclCommInitAll(&one, 1, &r.rank) == SUCCESS) ncclCommDestroy(one);
}

void settle_open(Rank &r) {
  if (!left.of) *(void **)&left.of = dlsym(RTLD_DEFAULT, "mscclc_faults_left");
  if (!left.learn) *(void **)&left.learn = dlsym(RTLD_DEFAULT, "mscclc_faults_usual");
  if (meeting->learn) {
    look_again(r);
    left.learn();
    for (int n = open_files(); control->files < (u64)n;) control->files = (u64)n;
    return;
  }
  left.files = (int)control->files;
  const u64 end = now_ms() + 15000;
  while (left.now(false)) {  // a thread in the background may have something open for a while
    if (now_ms() > end) {
      meeting->left += (u32)left.now(true);
      return;
    }
    usleep(5000);
    look_again(r);
  }
}

// end_all ends the communicators of a round.
void end_all(Rank &r) {
  for (Comm &c : r.comm) {
    if (c && (r.over || meeting->failed)) ncclCommAbort(c);
    else if (c && ncclCommDestroy(c) != SUCCESS) r.over = true;
    c = nullptr;
  }
}

void rank_of(int number) {
  Rank r = {};
  r.rank = number, r.ranks = ranks;
  if (cu.retain(&r.other, 7) || cu.retain(&r.context, number) || cu.use(r.context)) _exit(1);
  for (void *&s : r.streams) cu.stream(&s, 1);
  if (cu.alloc(&r.in, 4 * ELEMS * RANKS) || cu.alloc(&r.out, 4 * ELEMS * RANKS)) _exit(1);
  for (u32 round = 1; !meeting->stop; round++) {
    while (meeting->begun < round && !meeting->stop) usleep(1000);
    if (meeting->stop) break;
    r.over = false, r.turn = round, r.meetings = 0;
    scene->play(r);
    end_all(r);
    idle(r);
    barrier();
    meeting->settles = 1, control->one_in = 0;
    if (!threads || number == 0) settle_open(r);
    barrier();
    meeting->done++;
  }
}

}  // namespace

void play(int rank) {
  open_driver();
  if (!threads) return rank_of(rank);
  std::vector<std::thread> all;
  for (int i = 0; i < ranks; i++) all.emplace_back(rank_of, i);
  for (std::thread &t : all) t.join();
}
