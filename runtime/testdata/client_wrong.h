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

// as makes a communicator as another rank, which must be refused.
void as(Rank &r, int rank, int ranks) {
  const UniqueId id = the_id(r, "as");
  const Result got = ncclCommInitRank(&r.comms[0], ranks, id, rank);
  if (got != INVALID_ARGUMENT && got != INVALID_USAGE) fail(r, "ncclCommInitRank gives %d", got);
}
