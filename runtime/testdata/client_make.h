// How the client makes communicators. client.cc includes it.
#pragma once

void init(Rank &r, const std::vector<std::string> &w) {
  Comm &c = comm_of(r, w[1]);
  const UniqueId id = the_id(r, w[1] + (w.size() > 4 ? w[4] : ""));
  if (w.size() < 4) return expect(r, "ncclCommInitRank", ncclCommInitRank(&c, r.ranks, id, r.rank));
  struct {
    Config begin;
    void *name;
    int rest[12];
  } config = {};
  config.begin = {sizeof config, 0xcafebeef, 22809, number(w[2]), NCCL_UNDEF, NCCL_UNDEF,
                  number(w[3]) ? number(w[3]) : NCCL_UNDEF};
  for (int &x : config.rest) x = NCCL_UNDEF;
  expect(r, "ncclCommInitRankConfig", ncclCommInitRankConfig(&c, r.ranks, id, r.rank, &config.begin));
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
