// How the client makes communicators. client.cc includes it.
#pragma once

void init(Rank &r, const std::vector<std::string> &w) {
  Comm &c = comm_of(r, w[1]);
  const UniqueId id = the_id(r, w[1] + (w.size() > 4 ? w[4] : ""));
  if (w.size() < 4) return expect(r, "ncclCommInitRank", ncclCommInitRank(&c, r.ranks, id, r.rank));
  struct {
    Config begin;
    int rest[12];
  } config = {};
  config.begin = {sizeof config, 0xcafebeef, 22809, number(w[2]), NCCL_UNDEF, NCCL_UNDEF,
                  number(w[3]) ? number(w[3]) : NCCL_UNDEF, nullptr, NCCL_UNDEF, NCCL_UNDEF, getenv("CLIENT_NAME")};
  for (int &x : config.rest) x = NCCL_UNDEF;
  expect(r, "ncclCommInitRankConfig", ncclCommInitRankConfig(&c, r.ranks, id, r.rank, &config.begin));
}

// try_init makes a communicator, and prints what comes of it.
void try_init(Rank &r, const std::string &name) {
  Comm &c = comm_of(r, name);
  const Result got = ncclCommInitRank(&c, r.ranks, the_id(r, name), r.rank);
  printf("rank %d: ncclCommInitRank gives %d: %s\n", r.rank, got, got ? ncclGetLastError(nullptr) : "");
}

// again makes a communicator with an identity that was used before.
void again(Rank &r, const std::vector<std::string> &w) {
  const UniqueId id = the_id(r, w[2]);
  expect(r, "ncclCommInitRank", ncclCommInitRank(&comm_of(r, w[1]), r.ranks, id, r.rank));
}

// many makes communicators, uses them and ends them; all are there at once.
void many(Rank &r, int count, int round) {
  for (int i = 0; i < count; i++) init(r, {"init", std::to_string(i), "1", "0", "-" + std::to_string(round)});
  for (int i = 0; i < count; i++) run(r, {"allreduce", std::to_string(i), "100", "7", "0", "0", "0", "v"});
  verify(r);
  for (int i = 0; i < count; i++) expect(r, "ncclCommDestroy", ncclCommDestroy(r.comms[i]));
}

// counts prints how many files and threads this process has. Each stream of the mock driver has a thread.
void counts(Rank &r) {
  int n[2] = {};
  const char *const dirs[] = {"/proc/self/fd", "/proc/self/task"};
  for (int i = 0; i < 2; i++) {
    DIR *d = opendir(dirs[i]);
    while (d && readdir(d)) n[i]++;
    closedir(d);
  }
  printf("rank %d: %d files, %d threads\n", r.rank, n[0], n[1]);
}

// child_makes has a forked child make a communicator of one rank, after this process has made an identity.
void child_makes(Rank &r) {
  UniqueId id;
  expect(r, "ncclGetUniqueId", ncclGetUniqueId(&id));
  const pid_t child = fork();
  if (!child) {
    Comm c = nullptr;
    UniqueId other;
    alarm(20);
    const Result a = ncclCommInitRank(&c, 1, id, 0), b = ncclGetUniqueId(&other);
    _exit(a || b ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status) fail(r, "a child that was forked after ncclGetUniqueId ends with %d", status);
}

// no_color takes part in a split, and gets no communicator of it.
void no_color(Rank &r, Comm of) {
  Comm none = nullptr;
  expect(r, "ncclCommSplit", ncclCommSplit(of, NCCL_NO_COLOR, 0, &none, nullptr));
  if (none) fail(r, "a rank without a color has a communicator");
}

// shrink makes a communicator of all ranks but one.
void shrink(Rank &r, const std::vector<std::string> &w) {
  int without = number(w[3]);
  if (r.rank == without) return;
  expect(r, "ncclCommShrink", ncclCommShrink(comm_of(r, w[1]), &without, 1, &comm_of(r, w[2]), nullptr, number(w[4])));
}

// grow makes a communicator of all ranks out of one that all but one have, which becomes the last.
void grow(Rank &r, const std::vector<std::string> &w) {
  const Comm old = comm_of(r, w[1]);
  UniqueId id;
  if (!old || r.rank == 0) id = the_id(r, "grow" + w[1], old);
  expect(r, "ncclCommGrow", ncclCommGrow(old, r.ranks, !old || r.rank == 0 ? &id : nullptr, old ? -1 : r.ranks - 1,
      &comm_of(r, w[2]), nullptr));
}

// init_all makes a rank on each of some GPUs, and a stream on each.
void init_all(Rank &r, int ranks, bool group) {
  UniqueId id;
  std::vector<int> devices;
  for (int i = 0; i < ranks; i++) devices.push_back(gpu_of(i));
  const int *list = ranks > cu.gpus ? devices.data() : nullptr;
  r.spread = true;
  if (!group) expect(r, "ncclCommInitAll", ncclCommInitAll(r.comms, ranks, list));
  if (group) expect(r, "ncclGetUniqueId", ncclGetUniqueId(&id)), expect(r, "ncclGroupStart", ncclGroupStart());
  for (int i = 0; i < ranks; i++) {
    side(r, gpu_of(i));
    if (cu.stream(&r.streams[i], 1)) fail(r, "no stream");
    if (group) expect(r, "ncclCommInitRank", ncclCommInitRank(&r.comms[i], ranks, id, i));
  }
  if (group) expect(r, "ncclGroupEnd", ncclGroupEnd());
  for (int i = ranks; i < 4; i++) side(r, gpu_of(i)), cu.stream(&r.streams[i], 1);
}
