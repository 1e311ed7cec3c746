// What the client does wrong: calls that the library must refuse. client.cc includes it.
#pragma once

// missing calls a function that there is none of.
void missing(Rank &r) {
  typedef Result (*Put)();
  const Put f = (Put)dlsym(RTLD_DEFAULT, "ncclPutSignal");
  if (!f || f() != INVALID_USAGE) fail(r, "ncclPutSignal is not missing");
}

// nulls calls with what NCCL must refuse.
void nulls(Rank &r, Comm good) {
  int n;
  Result state;
  char other[4096] = {};
  const Comm none[] = {nullptr, (Comm)other, (Comm)8};
  bool ok = ncclGetUniqueId(nullptr) == 4 && ncclGetVersion(nullptr) == 4 && ncclCommInitAll(nullptr, 1, nullptr) == 4;
  ok &= ncclCommInitRank(nullptr, 1, UniqueId(), 0) == 4 && ncclCommSplit(good, 0, 0, nullptr, nullptr) == 4;
  ok &= ncclCommCount(good, nullptr) == 4 && ncclCommCuDevice(good, nullptr) == 4;
  ok &= ncclCommUserRank(good, nullptr) == 4 && ncclCommGetAsyncError(good, nullptr) == 4;
  for (const Comm c : none) {
    ok &= ncclCommCount(c, &n) == 4 && ncclCommCuDevice(c, &n) == 4 && ncclCommUserRank(c, &n) == 4;
    ok &= ncclCommGetAsyncError(c, &state) == 4 && ncclCommDestroy(c) == 4 && ncclGetLastError(c);
    ok &= ncclAllReduce(other, other, 1, 7, 0, c, nullptr) == 4;
  }
  if (!ok) fail(r, "an argument is taken that must be refused");
}

// codes calls with arguments that NCCL refuses, with its code.
void codes(Rank &r, Comm c) {
  float *f = (float *)take(r, 4096);
  void *s = r.streams[0];
  const struct {
    const char *what;
    Result want, got;
  } all[] = {{"type 99", 4, ncclAllReduce(f, f, 8, 99, 0, c, s)}, {"op 99", 4, ncclAllReduce(f, f, 8, 7, 99, c, s)},
             {"type -1", 4, ncclAllGather(f, f, 8, -1, c, s)}, {"op -1", 4, ncclReduceScatter(f, f, 8, 7, -1, c, s)},
             {"send null", 4, ncclAllReduce(nullptr, f, 8, 7, 0, c, s)},
             {"recv null", 4, ncclAllReduce(f, nullptr, 8, 7, 0, c, s)},
             {"root -1", 4, ncclBroadcast(f, f, 8, 7, -1, c, s)}, {"root 7", 4, ncclBroadcast(f, f, 8, 7, 7, c, s)},
             {"root 99", 4, ncclBcast(f, 8, 7, 99, c, s)}, {"peer 99", 4, ncclSend(f, 8, 7, 99, c, s)},
             {"no communicator", 4, ncclAllReduce(f, f, 8, 7, 0, nullptr, s)},
             {"count 2^62", 4, ncclAllReduce(f, f, 1ull << 62, 7, 0, c, s)},
             {"count 0", 0, ncclAllReduce(f, f, 0, 7, 0, c, s)},
             {"type 99, count 0", 4, ncclAllReduce(f, f, 0, 99, 0, c, s)},
             {"a group that nobody began", 5, ncclGroupEnd()}, {"destroy null", 4, ncclCommDestroy(nullptr)}};
  for (const auto &x : all)
    if (x.got != x.want) fail(r, "%s gives %d, not %d: %s", x.what, x.got, x.want, ncclGetLastError(nullptr));
}

// as makes a communicator as another rank, which must be refused.
void as(Rank &r, int rank, int ranks) {
  const UniqueId id = the_id(r, "as");
  const Result got = ncclCommInitRank(&r.comms[0], ranks, id, rank);
  if (got != INVALID_ARGUMENT && got != INVALID_USAGE) fail(r, "ncclCommInitRank gives %d", got);
}
